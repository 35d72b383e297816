package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.core.EgressGateway;
import dev.caisson.core.EgressListener;
import dev.caisson.core.EgressPlan;
import dev.caisson.core.Engine;
import dev.caisson.core.HostedSandbox;
import dev.caisson.policy.RegistryFill;
import dev.caisson.v1.EgressJson;
import dev.caisson.v1.Json;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The egress gateways of this host's engines: they are told of the ways out of this server's
 * sandboxes, of changed policies and of secrets, and what they tell becomes events, usage and
 * questions. A gateway is started by the first sandbox that has a way out. Thread-safe.
 */
final class Gateways {
    private static final Logger LOG = LoggerFactory.getLogger(Gateways.class);

    private final Policies policies;
    private final Boxes boxes;
    private final SecretParts secrets;
    private final Function<String, Optional<String>> registries;
    private final GatewayEvents events;
    private final Destinations destinations;
    private final Map<Engine, EgressGateway> open = new ConcurrentHashMap<>();

    /** What the gateway was told of a sandbox last. */
    private final Map<String, List<EgressJson>> told = new ConcurrentHashMap<>();

    Gateways(
            Ledger ledger,
            Policies policies,
            Boxes boxes,
            Approvals approvals,
            SecretParts secrets,
            Function<String, Optional<String>> registries) {
        this.registries = registries;
        this.policies = policies;
        this.boxes = boxes;
        this.secrets = secrets;
        this.events = new GatewayEvents(ledger, boxes);
        this.destinations = new Destinations(policies, boxes, approvals);
    }

    /**
     * The way out of a sandbox that is to be made, with the gateway ready for it.
     *
     * @throws CaissonException when the gateway does not start
     */
    Optional<EgressPlan> plan(String sandbox, SandboxDoc doc, Engine engine) {
        if (!doc.wayOut) {
            return Optional.empty();
        }
        gateway(engine);
        List<EgressJson> layers = layers(doc);
        told.put(sandbox, layers);
        return Optional.of(plan(doc, layers));
    }

    /** The documents that hold, with the addresses of registries that they lack. */
    private List<EgressJson> layers(SandboxDoc doc) {
        return RegistryFill.fill(policies.egress(doc), registries);
    }

    private static EgressPlan plan(SandboxDoc doc, List<EgressJson> layers) {
        return new EgressPlan(
                layers.stream().map(Json::write).toList(),
                String.valueOf(doc.policyVersion),
                doc.tenant);
    }

    private EgressGateway gateway(Engine engine) {
        return open.computeIfAbsent(
                engine,
                starting -> {
                    Hearer hearer = new Hearer();
                    EgressGateway gateway = starting.gateway(hearer, events.last());
                    hearer.gateway.complete(gateway);
                    // Before the sandbox that this is for begins.
                    secrets.connect(gateway);
                    return gateway;
                });
    }

    /** A sandbox that lives already has a new client: its gateway may know less of it. */
    void adopted(Box box, Engine engine, HostedSandbox hosted) {
        SandboxDoc doc = box.doc();
        if (!doc.wayOut) {
            return;
        }
        try {
            gateway(engine);
            List<EgressJson> layers = layers(doc);
            hosted.engine().setEgress(plan(doc, layers));
            told.put(box.id, layers);
        } catch (CaissonException e) {
            warn(box, e); // told at the next tick
        }
    }

    /** Tells what has changed in policies since the last time; a timer calls it. */
    void tick() {
        for (Box box : boxes.all()) {
            HostedSandbox hosted = box.hostedOrNull();
            SandboxDoc doc = box.doc();
            if (hosted == null || !doc.wayOut || doc.over()) {
                continue;
            }
            List<EgressJson> layers = layers(doc);
            if (layers.equals(told.get(box.id)) || !hosted.engine().hasEgress()) {
                continue;
            }
            try {
                hosted.engine().setEgress(plan(doc, layers));
                told.put(box.id, layers);
            } catch (CaissonException e) {
                warn(box, e);
            }
        }
    }

    private static void warn(Box box, CaissonException e) {
        LOG.atWarn()
                .addKeyValue("sandbox", box.id)
                .addKeyValue("cause", e.message())
                .log("the gateway was not told of a way out, trying again");
    }

    /**
     * The sandbox is gone for good: the gateway may forget it, whoever told it. What keeps policies
     * outlives this server and its engines.
     */
    void gone(String sandbox) {
        told.remove(sandbox);
        open.values().forEach(gateway -> gateway.drop(sandbox));
    }

    /** An engine was opened anew: what belonged to the old one is of no use. */
    void reopened() {
        open.keySet().removeIf(engine -> engine.onLost().isDone());
        told.clear();
    }

    /** Hands on what a gateway says. */
    private final class Hearer implements EgressListener {
        private final CompletableFuture<EgressGateway> gateway = new CompletableFuture<>();

        @Override
        public void event(Event event) {
            events.take(event, () -> gateway.join().taken(event.number()));
        }

        @Override
        public void renumbered() {
            events.renumbered();
        }

        @Override
        public void question(Question question) {
            Thread.ofVirtual()
                    .name("caisson-question")
                    .start(() -> destinations.ask(question, gateway.join()));
        }

        @Override
        public void connected() {
            secrets.connect(gateway.join());
        }
    }
}
