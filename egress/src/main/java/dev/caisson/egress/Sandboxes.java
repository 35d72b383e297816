package dev.caisson.egress;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.policy.EgressPolicy;
import dev.caisson.v1.EgressJson;
import dev.caisson.v1.Json;
import dev.caisson.wire.egress.PutSandbox;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The sandboxes that have a policy. Safe for use by several threads. */
final class Sandboxes {
    private static final int MAX_LAYERS = 16;
    private static final int MAX_SECRETS = 256;
    private static final int MAX = 20_000;
    private static final Logger LOG = LoggerFactory.getLogger(Sandboxes.class);

    private final Services services;
    private final ConcurrentHashMap<SandboxKey, Sandbox> sandboxes = new ConcurrentHashMap<>();
    // One change at a time, so that the file and the memory say the same.
    private final Object changing = new Object();

    /** Goes on with those that an earlier gateway kept. */
    Sandboxes(Services services) throws IOException {
        this.services = services;
        services.state()
                .sandboxes()
                .forEach((key, put) -> {
                    try {
                        sandboxes.put(key, new Sandbox(key, services, rules(put)));
                    } catch (CaissonException | IOException e) {
                        LOG.error("policy not taken up again sandbox={}", key.id(), e);
                    }
                });
    }

    Optional<Sandbox> find(SandboxKey key) {
        return Optional.ofNullable(sandboxes.get(key));
    }

    /**
     * Makes one, or gives it another policy.
     *
     * @throws CaissonException when the policy is none
     */
    void put(SandboxKey key, PutSandbox put) throws IOException {
        Sandbox.Rules rules = rules(put);
        synchronized (changing) {
            Sandbox known = sandboxes.get(key);
            if (known == null && sandboxes.size() >= MAX) {
                throw CaissonException.of(ErrorCode.NO_CAPACITY, "The gateway has no room.");
            }
            services.state().keep(key, put);
            if (known == null) {
                Sandbox made = new Sandbox(key, services, rules);
                if (sandboxes.putIfAbsent(key, made) != null) {
                    throw new IllegalStateException("Two of " + key + " at once");
                }
                made.begun();
            } else {
                known.apply(rules);
            }
        }
    }

    private Sandbox.Rules rules(PutSandbox put) {
        if (put.getLayersCount() > MAX_LAYERS || put.getSecretsCount() > MAX_SECRETS) {
            throw CaissonException.invalid("layers", "There are too many layers or secrets.");
        }
        List<EgressJson> layers = new ArrayList<>();
        for (com.google.protobuf.ByteString layer : put.getLayersList()) {
            layers.add(Json.request(layer.toByteArray(), EgressJson.class));
        }
        if (layers.isEmpty()) {
            layers.add(EgressJson.closed());
        }
        EgressPolicy policy = EgressPolicy.of(layers);
        layers.forEach(services.ranges()::check);
        return new Sandbox.Rules(policy, put);
    }

    void drop(SandboxKey key) throws IOException {
        synchronized (changing) {
            Sandbox gone = sandboxes.remove(key);
            if (gone != null) {
                gone.close();
            }
            services.state().drop(key);
        }
    }

    /** A client's secret came or went. */
    void secretsChanged(int owner) {
        for (Sandbox sandbox : sandboxes.values()) {
            if (sandbox.key().owner() == owner) {
                sandbox.refreshSecrets();
                sandbox.judgeAgain();
                sandbox.sendTrust();
            }
        }
    }

    /** Now and then: keeps counters, renews what is about to expire. */
    void tend() {
        for (Sandbox sandbox : sandboxes.values()) {
            try {
                sandbox.keep();
                sandbox.sendTrust();
            } catch (RuntimeException e) {
                // The others are tended all the same.
                LOG.error("not tended sandbox={}", sandbox.key().id(), e);
            }
        }
    }

    void close() {
        sandboxes.values().forEach(Sandbox::close);
    }
}
