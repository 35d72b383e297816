package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.core.SecretReader;
import dev.caisson.core.SecretUse;
import dev.caisson.v1.EgressJson;
import dev.caisson.v1.ExecRequest;
import dev.caisson.v1.SandboxRequest;
import java.time.Instant;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Which secrets a sandbox may use, and what stands for them inside. A sandbox keeps the ids of what
 * it was given, so that a later secret of the same name is not given to it. Thread-safe.
 */
final class SecretUses {
    private static final int MAX_NAMES = 32;
    private static final int PLACEHOLDER_BYTES = 16;
    private static final String PREFIX = "csp_";

    private final Ledger ledger;
    private final Vault vault;
    private final SecretRefresh refresh;
    private final SecretFeed feed;

    SecretUses(Ledger ledger, Vault vault, SecretRefresh refresh, SecretFeed feed) {
        this.ledger = ledger;
        this.vault = vault;
        this.refresh = refresh;
        this.feed = feed;
    }

    /**
     * What stands for a secret in one sandbox: derived, so that it is the same after a restore and
     * nowhere stored, and tells nothing of that of another sandbox.
     */
    static String placeholder(Vault vault, String sandbox, String secret) {
        byte[] mac = vault.hmac("secret placeholder\n" + sandbox + "\n" + secret);
        return PREFIX + HexFormat.of().formatHex(mac, 0, PLACEHOLDER_BYTES);
    }

    /**
     * The secrets of these names, if each policy lists them.
     *
     * @param layers documents of the way out that hold together; none: nothing is allowed
     * @param env variables that are set already
     * @return variables that hold placeholders, by the ids of the secrets; empty: no variable
     * @throws CaissonException {@link ErrorCode#POLICY_DENIED}, {@link ErrorCode#NOT_FOUND}, {@link
     *     ErrorCode#INVALID_STATE} for one that has come to its end
     */
    Map<String, String> resolve(
            String tenant, List<EgressJson> layers, List<String> names, Set<String> env) {
        if (names.size() > MAX_NAMES) {
            throw CaissonException.invalid(
                            "secrets", "There are at most " + MAX_NAMES + " secrets.")
                    .withDetail("allowed", Integer.toString(MAX_NAMES));
        }
        Map<String, String> found = new LinkedHashMap<>();
        Map<String, String> variables = new HashMap<>(); // to the name of the secret
        int bytes = 0;
        for (String name : names) {
            requireListed(layers, name);
            Row row = row(tenant, name);
            SecretDoc doc = SecretDoc.of(row);
            requireUsable(doc, name);
            bytes += Vault.length(doc.sealed());
            requireFew(bytes);
            String variable = doc.spec().env();
            if (found.put(row.id(), variable == null ? "" : variable) != null) {
                continue;
            }
            if (variable != null) {
                if (env.contains(variable) || variables.put(variable, name) != null) {
                    throw CaissonException.invalid(
                                    "secrets",
                                    "The variable "
                                            + variable
                                            + " of the secret '"
                                            + name
                                            + "' is set already.")
                            .withRemedy("Leave it out of env, or give secrets other variables.");
                }
            }
            refresh.now(row);
        }
        return found;
    }

    /** What finds them in output takes a thousand times their size. */
    private static void requireFew(int bytes) {
        if (bytes > SecretReader.MAX_BYTES) {
            throw CaissonException.invalid(
                            "secrets",
                            "The secrets of a sandbox have more than "
                                    + SecretReader.MAX_BYTES
                                    + " bytes in all.")
                    .withRemedy("Name fewer or shorter ones.")
                    .withDetail("allowed", Integer.toString(SecretReader.MAX_BYTES));
        }
    }

    private static void requireListed(List<EgressJson> layers, String name) {
        if (layers.isEmpty() || !layers.stream().allMatch(one -> one.secrets().contains(name))) {
            throw CaissonException.of(
                            ErrorCode.POLICY_DENIED,
                            "The policy does not allow the secret '" + Boxes.shown(name) + "'.")
                    .withRemedy("Ask an admin to list it in egress.secrets of the policy.")
                    .withDetail("field", "secrets")
                    .withDetail("requested", Boxes.shown(name));
        }
    }

    /** By name only: a policy lists names. */
    private Row row(String tenant, String name) {
        return ledger.read(tx -> tx.named(Kind.SECRET, tenant, name))
                .orElseThrow(() -> Rows.missing(Kind.SECRET, Boxes.shown(name)));
    }

    private void requireUsable(SecretDoc doc, String name) {
        Instant now = ledger.now();
        if (!doc.usable(now)) {
            throw CaissonException.of(
                            ErrorCode.INVALID_STATE,
                            "The secret '" + name + "' is " + doc.state(now) + ".")
                    .withRemedy("Ask an admin to rotate it, or to make another one.")
                    .withDetail("current", doc.state(now));
        }
    }

    /** The names that a request wants: its own, and those that its way out lists. */
    static List<String> wanted(SandboxRequest request) {
        Set<String> names = new LinkedHashSet<>(request.secrets());
        EgressJson egress = request.egress();
        if (egress != null) {
            names.addAll(egress.secrets());
        }
        return List.copyOf(names);
    }

    /** What a new sandbox may use. */
    Map<String, String> ofSandbox(Caller caller, EffectivePolicy policy, SandboxRequest request) {
        return resolve(caller.tenant(), policy.egress(), wanted(request), request.env().keySet());
    }

    /** What an exec uses besides what its sandbox has. */
    Map<String, String> ofExec(EffectivePolicy policy, Box box, ExecRequest request) {
        if (request.secrets().isEmpty()) {
            return Map.of();
        }
        Set<String> env = new HashSet<>(box.env().keySet());
        env.addAll(request.env().keySet());
        return resolve(box.tenant, policy.egress(), request.secrets(), env);
    }

    /** The variables of an exec in a sandbox. */
    Map<String, String> env(Box box, Map<String, String> own) {
        Map<String, String> env = env(box.id, box.doc().secrets);
        env.putAll(env(box.id, own));
        return env;
    }

    /** What a person is asked about: secrets by their ids, which are the same everywhere. */
    Map<String, String> asked(Map<String, String> env, RunningExec exec) {
        Map<String, String> all = new HashMap<>(exec.box().doc().secrets);
        Map<String, String> own = exec.doc().secrets;
        all.putAll(own == null ? Map.of() : own);
        Map<String, String> asked = new HashMap<>(env);
        all.forEach((secret, variable) -> {
            String stands = placeholder(vault, exec.box().id, secret);
            if (variable.isEmpty()) {
                asked.put(secret, secret);
            } else {
                asked.replace(variable, stands, secret); // unless the request sets it
            }
        });
        return asked;
    }

    /** Variables with their placeholders, as they are inside. */
    Map<String, String> env(String sandbox, Map<String, String> secrets) {
        Map<String, String> env = new HashMap<>();
        secrets.forEach((secret, variable) -> {
            if (!variable.isEmpty()) {
                env.put(variable, placeholder(vault, sandbox, secret));
            }
        });
        return env;
    }

    // ---- at the gateway

    /** A sandbox that is about to begin, or to go on, uses these. */
    void open(String sandbox, Map<String, String> secrets) {
        feed.open(sandbox, secrets.keySet());
    }

    /** The secrets of an exec are its sandbox's from now to its end: nobody tells them apart. */
    void during(RunningExec exec) {
        Map<String, String> own = exec.doc().secrets;
        if (own != null) {
            feed.open(exec.box().id, own.keySet());
            untilEnd(exec, own);
        }
    }

    /** The same of an exec that went on without this server. */
    void adopt(RunningExec exec) {
        Map<String, String> own = exec.doc().secrets;
        if (own != null) {
            feed.adopt(exec.box().id, own.keySet());
            untilEnd(exec, own);
        }
    }

    @SuppressWarnings("FutureReturnValueIgnored") // whatever the end was
    private void untilEnd(RunningExec exec, Map<String, String> own) {
        exec.end().whenComplete((last, failure) -> feed.close(exec.box().id, own.keySet()));
    }

    /** A sandbox that lived on without this server uses these. */
    void adopt(String sandbox, Map<String, String> secrets) {
        feed.adopt(sandbox, secrets.keySet());
    }

    /** Takes back what was opened. */
    void close(String sandbox, Map<String, String> secrets) {
        feed.close(sandbox, secrets.keySet());
    }

    /** A sandbox is gone. */
    void gone(String sandbox) {
        feed.gone(sandbox);
    }

    /**
     * The way out of a living sandbox has changed: what is not listed any more it cannot use from
     * now on, and what is listed again it can.
     */
    void permit(String sandbox, List<EgressJson> layers) {
        feed.permit(
                sandbox,
                row ->
                        !layers.isEmpty()
                                && layers.stream()
                                        .allMatch(one ->
                                                one.secrets()
                                                        .contains(String.valueOf(row.name()))));
    }

    /** What a sandbox may use now, with the placeholders inside. */
    List<SecretUse> of(String sandbox) {
        return feed.usesOf(sandbox);
    }

    /**
     * All values that must not be seen in what comes out of a sandbox, and the parts of them that
     * are secret by themselves; the caller clears them.
     */
    List<byte[]> valuesFor(String sandbox) {
        return feed.valuesOf(sandbox);
    }

    /** Told the id of each sandbox whose values may have changed; must not block. */
    void watch(Consumer<String> watcher) {
        feed.watch(watcher);
    }

    /**
     * Requests of a sandbox got a secret: counted in the transaction that notes the event, so that
     * nothing is counted twice or lost.
     *
     * @param tenant of the sandbox; another one's secret is not counted
     */
    static void used(
            Store.Tx tx, String tenant, String secret, long requests, long bytes, Instant at) {
        tx.find(Kind.SECRET, secret)
                .filter(row -> row.tenant().equals(tenant))
                .ifPresent(row -> {
                    SecretDoc doc = SecretDoc.of(row);
                    SecretDoc.Usage usage = doc.usage().plus(requests, bytes, at);
                    tx.update(Kind.SECRET, Rows.withBody(row, doc.used(usage)));
                });
    }

    /** Looks at what is in use, and reads sources again; a timer calls it. */
    void tick() {
        Collection<Row> rows = feed.tick();
        refresh.tick(rows);
    }

    /** The same, and holds what living sandboxes have against the policies of now. */
    void tick(Boxes boxes, Policies policies) {
        tick();
        for (Box box : boxes.all()) {
            if (feed.uses(box.id)) {
                SandboxDoc doc = box.doc();
                List<EgressJson> layers = policies.egress(doc);
                // The request's own document, the last, names what it wants and takes nothing.
                permit(box.id, doc.egress == null ? layers : layers.subList(0, layers.size() - 1));
            }
        }
    }
}
