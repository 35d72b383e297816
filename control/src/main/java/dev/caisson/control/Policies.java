package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.EventType;
import dev.caisson.core.Ids;
import dev.caisson.policy.EgressLint;
import dev.caisson.v1.EgressJson;
import dev.caisson.v1.EgressLayersJson;
import dev.caisson.v1.Json;
import dev.caisson.v1.Page;
import dev.caisson.v1.PolicyCheckJson;
import dev.caisson.v1.PolicyJson;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;

/**
 * Policies and what they add up to. What this server changes counts at once, what another one
 * changes after a second. Thread-safe.
 */
final class Policies implements PolicyService {
    /** The tenant's own. */
    static final String OWN = "default";

    private static final String NOUN = "policies";
    private static final String STATE = "active";
    private static final Duration TTL = Duration.ofSeconds(1);

    private final Ledger ledger;
    private final Cursors cursors;
    private final Recent<Optional<Layer>> recent;

    Policies(Ledger ledger, Cursors cursors) {
        this.ledger = ledger;
        this.cursors = cursors;
        this.recent = new Recent<>(ledger::now, TTL);
    }

    /** The row of a tenant's own policy. */
    static Row own(String tenant, PolicyJson policy, Instant now) {
        return fresh(tenant, OWN, policy, now);
    }

    private static Row fresh(String tenant, String name, PolicyJson policy, Instant now) {
        return Rows.fresh(
                Ids.next(Ids.Kind.POLICY), tenant, name, STATE, now, form(policy, null, null));
    }

    /**
     * What a caller may do: the tenant's own policy, the key's and one that the request names, each
     * of which can only narrow.
     *
     * @param narrower id or name; null: none
     * @throws CaissonException {@link ErrorCode#NOT_FOUND} for the narrower; {@link
     *     ErrorCode#POLICY_DENIED} when the tenant's or the key's cannot be read
     */
    EffectivePolicy effective(Caller caller, @Nullable String narrower) {
        List<Layer> layers = new ArrayList<>();
        layers.add(required(caller.tenant(), OWN));
        if (caller.policy() != null) {
            layers.add(ofKey(caller, caller.policy()));
        }
        if (narrower != null) {
            layers.add(
                    named(caller.tenant(), narrower)
                            .orElseThrow(() -> Rows.missing(Kind.POLICY, narrower)));
        }
        List<PolicyJson> policies = layers.stream().map(Layer::content).toList();
        String version = layers.stream().map(Layer::version).collect(Collectors.joining(","));
        return Narrowing.of(policies, version);
    }

    /**
     * The way out of a sandbox as the policies of now have it, the tenant's first. A policy that is
     * gone or cannot be read allows nothing.
     */
    List<EgressJson> egress(SandboxDoc doc) {
        List<EgressJson> layers = new ArrayList<>();
        layers.add(egress(named(doc.tenant, OWN)));
        String ofKey = doc.keyPolicy;
        if (ofKey != null) {
            layers.add(egress(anywhere(ofKey)));
        }
        String narrower = doc.policy;
        if (narrower != null) {
            layers.add(egress(named(doc.tenant, narrower)));
        }
        EgressJson asked = doc.egress;
        if (asked != null) {
            layers.add(asked);
        }
        return layers;
    }

    private static EgressJson egress(Optional<Layer> layer) {
        PolicyJson policy = layer.map(Layer::readable).orElse(null);
        EgressJson egress = policy == null ? null : policy.egress();
        return egress == null ? EgressJson.closed() : egress;
    }

    /**
     * A policy as it was read.
     *
     * @param readable null: what it holds cannot be understood
     */
    private record Layer(String name, String version, @Nullable PolicyJson readable) {
        static Layer of(Row row) {
            return new Layer(String.valueOf(row.name()), Policies.version(row), read(row));
        }

        /** Strictly: what a newer version wrote and this one does not know could only narrow. */
        private static @Nullable PolicyJson read(Row row) {
            try {
                PolicyJson policy = Json.STRICT.readValue(row.body(), PolicyJson.class);
                if (policy != null) {
                    PolicyRules.check(policy);
                }
                return policy;
            } catch (JacksonException | CaissonException e) {
                return null;
            }
        }

        PolicyJson content() {
            if (readable == null) {
                throw unreadable(name);
            }
            return readable;
        }
    }

    private Optional<Layer> named(String tenant, String idOrName) {
        return recent.get(
                tenant + "/" + idOrName,
                () ->
                        ledger.read(tx -> Rows.find(tx, Kind.POLICY, tenant, idOrName))
                                .map(Layer::of));
    }

    private Layer required(String tenant, String idOrName) {
        return named(tenant, idOrName).orElseThrow(() -> unreadable(idOrName));
    }

    /** The policy of a key, which is of another tenant when its holder acts for one. */
    private Layer ofKey(Caller caller, String id) {
        if (!caller.actingFor()) {
            return required(caller.tenant(), id);
        }
        return anywhere(id).orElseThrow(() -> unreadable(id));
    }

    private Optional<Layer> anywhere(String id) {
        return recent.get(
                "/" + id, () -> ledger.read(tx -> tx.find(Kind.POLICY, id)).map(Layer::of));
    }

    private static CaissonException unreadable(String policy) {
        return CaissonException.of(
                        ErrorCode.POLICY_DENIED,
                        "The policy '" + policy + "' cannot be read, so nothing is allowed.")
                .withRemedy("Ask an admin to store the policy again.");
    }

    /** A policy of the same name that was made again has another version. */
    private static String version(Row row) {
        return row.name()
                + "@"
                + row.version()
                + "."
                + row.id().substring(Math.max(0, row.id().length() - 6));
    }

    private static PolicyJson form(PolicyJson p, @Nullable Row row, @Nullable Long version) {
        return new PolicyJson(
                row == null ? null : row.id(),
                row == null ? null : row.name(),
                row == null ? null : row.tenant(),
                p.tiers(),
                p.minTier(),
                p.maxLimits(),
                p.defaultLimits(),
                p.templates(),
                p.egress(),
                p.root(),
                p.publicPorts(),
                p.maxLifeMillis(),
                p.maxTimeoutMillis(),
                p.ask(),
                p.approvalTimeoutMillis(),
                p.allowDegraded(),
                version);
    }

    private static PolicyJson form(Row row) {
        return form(Json.read(row.body(), PolicyJson.class), row, row.version());
    }

    @Override
    public PolicyJson find(Caller caller, String id) {
        Access.require(caller, "policies:read");
        return form(ledger.read(tx -> Rows.require(tx, Kind.POLICY, caller.tenant(), id)));
    }

    @Override
    public Page<PolicyJson> list(Caller caller, Listing listing) {
        Access.require(caller, "policies:read");
        Query query = cursors.page(Query.of(caller.tenant()), listing, NOUN);
        List<Row> rows = ledger.read(tx -> tx.list(Kind.POLICY, query));
        return cursors.answer(rows, query, listing, NOUN, Policies::form);
    }

    @Override
    public PolicyJson put(Caller caller, String name, PolicyJson policy, @Nullable Long version) {
        Access.require(caller, "policies:write");
        PolicyRules.checkName("name", name);
        if (policy.name() != null && !policy.name().equals(name)) {
            throw CaissonException.invalid("name", "The policy names itself " + policy.name() + ".")
                    .withRemedy("Leave the name out of the body.");
        }
        PolicyRules.check(policy);
        if (caller.policy() != null) {
            throw bound();
        }
        Row row = ledger.write(tx -> put(tx, caller, name, policy, version));
        recent.forget();
        return form(row);
    }

    @Override
    public EgressLayersJson egress(Caller caller, String sandbox) {
        Access.require(caller, "policies:read");
        Row row = ledger.read(tx -> Rows.require(tx, Kind.SANDBOX, caller.tenant(), sandbox));
        return new EgressLayersJson(egress(SandboxDoc.of(row)));
    }

    @Override
    public PolicyCheckJson check(Caller caller, PolicyJson policy) {
        Access.require(caller, "policies:read");
        PolicyRules.check(policy);
        EgressJson egress = policy.egress();
        return new PolicyCheckJson(egress == null ? List.of() : EgressLint.of(egress));
    }

    private Row put(
            Store.Tx tx, Caller caller, String name, PolicyJson policy, @Nullable Long version) {
        Row before = tx.named(Kind.POLICY, caller.tenant(), name).orElse(null);
        Row after;
        if (before == null) {
            if (version != null) {
                throw Rows.missing(Kind.POLICY, name);
            }
            after = fresh(caller.tenant(), name, policy, ledger.now());
            tx.insert(Kind.POLICY, after);
        } else {
            Rows.match(before, Kind.POLICY, version);
            after = tx.update(Kind.POLICY, Rows.withBody(before, form(policy, null, null)));
        }
        changed(tx, caller, after, before == null ? "created" : "replaced");
        return after;
    }

    private void changed(Store.Tx tx, Caller caller, Row row, String reason) {
        ledger.event(
                tx,
                caller,
                EventType.POLICY_CHANGED,
                Ledger.Subject.tenant(row.tenant()),
                reason,
                Map.of("policy", row.id(), "name", String.valueOf(row.name())));
    }

    /** Who is narrowed by a policy could else take it off. */
    private static CaissonException bound() {
        return CaissonException.of(
                        ErrorCode.POLICY_DENIED, "A key with a policy may not change policies.")
                .withRemedy("Use a key without a policy.");
    }

    @Override
    public void delete(Caller caller, String id) {
        Access.require(caller, "policies:write");
        if (caller.policy() != null) {
            throw bound();
        }
        ledger.write(tx -> {
            Row row = Rows.require(tx, Kind.POLICY, caller.tenant(), id);
            refuseUsed(tx, row);
            tx.delete(Kind.POLICY, row.id());
            changed(tx, caller, row, "deleted");
            return row;
        });
        recent.forget();
    }

    private static void refuseUsed(Store.Tx tx, Row row) {
        if (OWN.equals(row.name())) {
            throw CaissonException.of(
                            ErrorCode.INVALID_STATE, "The policy 'default' is the tenant's own.")
                    .withRemedy("Replace it with PUT.");
        }
        Query active = Query.of(row.tenant()).withStates(Keys.ACTIVE);
        for (Row key : tx.list(Kind.KEY, active)) {
            if (row.id().equals(Json.read(key.body(), KeyDoc.class).policyId())) {
                throw CaissonException.of(
                                ErrorCode.INVALID_STATE,
                                "The key " + key.id() + " has the policy " + row.name() + ".")
                        .withRemedy("Revoke the key first.")
                        .withDetail("key", key.id());
            }
        }
    }

    /** Policies were changed by another part of this server. */
    void forget() {
        recent.forget();
    }
}
