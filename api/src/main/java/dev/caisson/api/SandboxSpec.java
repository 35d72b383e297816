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
        return new SandboxSpec(
                Optional.of(newName),
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

    /** The same with another set of labels. */
    public SandboxSpec withLabels(Map<String, String> newLabels) {
        return new SandboxSpec(
                name,
                newLabels,
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

    /** The same with another tier. */
    public SandboxSpec withTier(Tier newTier) {
        return new SandboxSpec(
                name,
                labels,
                newTier,
                template,
                limits,
                env,
                maxLife,
                allowDegraded,
                root,
                egress,
                secrets);
    }

    /** The same with another template. */
    public SandboxSpec withTemplate(String newTemplate) {
        return new SandboxSpec(
                name,
                labels,
                tier,
                newTemplate,
                limits,
                env,
                maxLife,
                allowDegraded,
                root,
                egress,
                secrets);
    }

    /** The same with another limits. */
    public SandboxSpec withLimits(Limits newLimits) {
        return new SandboxSpec(
                name,
                labels,
                tier,
                template,
                newLimits,
                env,
                maxLife,
                allowDegraded,
                root,
                egress,
                secrets);
    }

    /** The same with another environment. */
    public SandboxSpec withEnv(Map<String, String> newEnv) {
        return new SandboxSpec(
                name,
                labels,
                tier,
                template,
                limits,
                newEnv,
                maxLife,
                allowDegraded,
                root,
                egress,
                secrets);
    }

    /** The same with another longest life. */
    public SandboxSpec withMaxLife(Duration newMaxLife) {
        return new SandboxSpec(
                name,
                labels,
                tier,
                template,
                limits,
                env,
                Optional.of(newMaxLife),
                allowDegraded,
                root,
                egress,
                secrets);
    }

    /** The same with another answer to a host that cannot do all. */
    public SandboxSpec withAllowDegraded(boolean newAllowDegraded) {
        return new SandboxSpec(
                name,
                labels,
                tier,
                template,
                limits,
                env,
                maxLife,
                newAllowDegraded,
                root,
                egress,
                secrets);
    }

    /** The same with another answer to commands that run as uid 0 inside. */
    public SandboxSpec withRoot(boolean newRoot) {
        return new SandboxSpec(
                name,
                labels,
                tier,
                template,
                limits,
                env,
                maxLife,
                allowDegraded,
                newRoot,
                egress,
                secrets);
    }

    /**
     * The same with another way out.
     *
     * @param document JSON, as docs/egress-policy.md says
     */
    public SandboxSpec withEgress(String document) {
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
                Optional.of(document),
                secrets);
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
                newSecrets);
    }
}
