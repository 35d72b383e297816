package dev.caisson.api;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * What a sandbox is to be. Everything is closed or limited unless said otherwise here.
 *
 * @param name for people, {@code [A-Za-z0-9_][A-Za-z0-9._-]{0,62}}, so neither an option nor {@code
 *     ..}; unique among the living of one {@link Caisson}
 * @param labels up to 64 of the caller's own words; found again in events
 * @param tier how strong the boundary is; default {@link Tier#AUTO}
 * @param template root file system by name; default {@code host}: the host's own /usr, read-only
 * @param limits what it may use
 * @param env environment of every exec, beneath the exec's own; never in events
 * @param maxLife the sandbox is ended after that, whatever happens; empty: it lives until it is
 *     closed
 * @param allowDegraded whether a host that cannot do all is accepted; what is missing is then in
 *     every result
 * @param root whether commands may run as uid 0 inside, which has few capabilities; default false
 * @param egress the way out, as the JSON document of docs/egress-policy.md; empty: none, and on a
 *     server what its policy gives
 * @param secrets that requests on the way out get; only where there is no server
 */
public record SandboxSpec(
        Optional<String> name,
        Map<String, String> labels,
        Tier tier,
        String template,
        Limits limits,
        Map<String, String> env,
        Optional<Duration> maxLife,
        boolean allowDegraded,
        boolean root,
        Optional<String> egress,
        List<SandboxSecret> secrets) {

    private static final SandboxSpec DEFAULTS =
            new SandboxSpec(
                    Optional.empty(),
                    Map.of(),
                    Tier.AUTO,
                    "host",
                    Limits.defaults(),
                    Map.of(),
                    Optional.empty(),
                    false,
                    false,
                    Optional.empty(),
                    List.of());

    /** Template {@code host}, the strongest tier of this host, default limits. */
    public static SandboxSpec defaults() {
        return DEFAULTS;
    }

    /**
     * Copies the collections; refuses names and labels out of bounds with {@link
     * ErrorCode#INVALID}.
     */
    public SandboxSpec {
        labels = Map.copyOf(labels);
        secrets = List.copyOf(secrets);
        Environment.check(env);
        env = Map.copyOf(env);
        name.ifPresent(given -> {
            if (!given.matches("[A-Za-z0-9_][A-Za-z0-9._-]{0,62}")) {
                throw CaissonException.invalid(
                        "name",
                        "The name '" + given + "' is not [A-Za-z0-9_][A-Za-z0-9._-]{0,62}.");
            }
        });
        if (!template.matches("[a-z0-9][a-z0-9._-]{0,62}")) {
            throw CaissonException.invalid(
                    "template", "'" + template + "' is not the name of a template.");
        }
        if (labels.size() > 64) {
            throw CaissonException.invalid("labels", "More than 64 labels.")
                    .withDetail("allowed", "64");
        }
        if (tier == Tier.UNKNOWN) {
            throw CaissonException.invalid("tier", "No such tier.")
                    .withDetail("allowed", "container, gvisor, microvm, auto");
        }
        maxLife.ifPresent(life -> {
            if (life.isNegative() || life.toMillis() < 1) {
                throw CaissonException.invalid(
                        "maxLife", "The longest life of a sandbox is at least 1 ms.");
            }
        });
    }

    /** The same with another name. */
    public SandboxSpec withName(String newName) {
        Draft draft = new Draft(this);
        draft.name = Optional.of(newName);
        return draft.spec();
    }

    /** The same with another set of labels. */
    public SandboxSpec withLabels(Map<String, String> newLabels) {
        Draft draft = new Draft(this);
        draft.labels = newLabels;
        return draft.spec();
    }

    /** The same with another tier. */
    public SandboxSpec withTier(Tier newTier) {
        Draft draft = new Draft(this);
        draft.tier = newTier;
        return draft.spec();
    }

    /** The same with another template. */
    public SandboxSpec withTemplate(String newTemplate) {
        Draft draft = new Draft(this);
        draft.template = newTemplate;
        return draft.spec();
    }

    /** The same with another limits. */
    public SandboxSpec withLimits(Limits newLimits) {
        Draft draft = new Draft(this);
        draft.limits = newLimits;
        return draft.spec();
    }

    /** The same with another environment. */
    public SandboxSpec withEnv(Map<String, String> newEnv) {
        Draft draft = new Draft(this);
        draft.env = newEnv;
        return draft.spec();
    }

    /** The same with another longest life. */
    public SandboxSpec withMaxLife(Duration newMaxLife) {
        Draft draft = new Draft(this);
        draft.maxLife = Optional.of(newMaxLife);
        return draft.spec();
    }

    /** The same with another answer to a host that cannot do all. */
    public SandboxSpec withAllowDegraded(boolean newAllowDegraded) {
        Draft draft = new Draft(this);
        draft.allowDegraded = newAllowDegraded;
        return draft.spec();
    }

    /** The same with another answer to commands that run as uid 0 inside. */
    public SandboxSpec withRoot(boolean newRoot) {
        Draft draft = new Draft(this);
        draft.root = newRoot;
        return draft.spec();
    }

    /**
     * The same with another way out.
     *
     * @param document JSON, as docs/egress-policy.md says
     */
    public SandboxSpec withEgress(String document) {
        Draft draft = new Draft(this);
        draft.egress = Optional.of(document);
        return draft.spec();
    }

    /**
     * The same with HTTPS to these hosts, and nothing else, for its way out.
     *
     * @param hosts names, or {@code *.suffix} for every name below it
     * @throws CaissonException {@link ErrorCode#INVALID} for what cannot be a name
     */
    public SandboxSpec withAllowedHosts(String... hosts) {
        for (String host : hosts) {
            if (!host.matches("(\\*\\.)?[A-Za-z0-9_.-]{1,253}")) {
                throw CaissonException.invalid("egress", "'" + host + "' is not a host name.")
                        .withRemedy(
                                "Write api.example.org or *.example.org, without scheme, port and"
                                        + " path; withEgress takes a whole document.");
            }
        }
        return withEgress(
                Arrays.stream(hosts)
                        .map(host -> "{\"host\":\"" + host + "\"}")
                        .collect(Collectors.joining(",", "{\"allow\":[", "]}")));
    }

    /**
     * The same with these secrets. What they are bound to must be allowed by the way out, whose
     * document names them.
     */
    public SandboxSpec withSecrets(List<SandboxSecret> newSecrets) {
        Draft draft = new Draft(this);
        draft.secrets = newSecrets;
        return draft.spec();
    }

    /** A copy of which one field is set. */
    private static final class Draft {
        private Optional<String> name;
        private Map<String, String> labels;
        private Tier tier;
        private String template;
        private Limits limits;
        private Map<String, String> env;
        private Optional<Duration> maxLife;
        private boolean allowDegraded;
        private boolean root;
        private Optional<String> egress;
        private List<SandboxSecret> secrets;

        Draft(SandboxSpec spec) {
            name = spec.name;
            labels = spec.labels;
            tier = spec.tier;
            template = spec.template;
            limits = spec.limits;
            env = spec.env;
            maxLife = spec.maxLife;
            allowDegraded = spec.allowDegraded;
            root = spec.root;
            egress = spec.egress;
            secrets = spec.secrets;
        }

        SandboxSpec spec() {
            return new SandboxSpec(
                    name,
                    labels,
                    tier,
                    template,
                    limits,
                    env,
                    maxLife,
                    allowDegraded,
                    root,
                    egress,
                    secrets);
        }
    }
}
