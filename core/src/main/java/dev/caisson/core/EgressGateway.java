package dev.caisson.core;

import com.google.protobuf.ByteString;
import dev.caisson.api.CaissonException;
import dev.caisson.api.Denied;
import dev.caisson.api.ErrorCode;
import dev.caisson.wire.egress.AskDenials;
import dev.caisson.wire.egress.ControlRequest;
import dev.caisson.wire.egress.Decision;
import dev.caisson.wire.egress.Denial;
import dev.caisson.wire.egress.DropSandbox;
import dev.caisson.wire.egress.DropSecret;
import dev.caisson.wire.egress.EventsTaken;
import dev.caisson.wire.egress.PutSandbox;
import dev.caisson.wire.egress.PutSecret;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The egress gateway of a host, as a client of its control socket. It holds what it was told of
 * sandboxes and tells it again to a gateway that was started anew; secrets are told again by
 * whoever put them ({@link EgressListener#connected}). Safe for use by several threads.
 */
public final class EgressGateway implements SecretSink, AutoCloseable {
    private static final long MICROS = 1_000_000;

    private final EgressConnection connection;
    private final Map<String, Told> sandboxes = new ConcurrentHashMap<>();

    /**
     * What the gateway is to know of a sandbox.
     *
     * @param plan null: nothing yet, it is not made
     */
    private record Told(@Nullable EgressPlan plan, List<SecretUse> uses) {}

    private EgressGateway(Path socket, EgressListener listener, long eventsAfter) {
        this.connection = new EgressConnection(socket, new Again(listener), eventsAfter);
    }

    /**
     * Connects to the gateway behind a socket.
     *
     * @param eventsAfter number of the last event that was taken, or {@link
     *     EgressListener#ONLY_NEW}
     * @throws CaissonException {@link ErrorCode#LAUNCHER_UNAVAILABLE} when it does not answer
     */
    public static EgressGateway connect(Path socket, EgressListener listener, long eventsAfter) {
        EgressGateway gateway = new EgressGateway(socket, listener, eventsAfter);
        gateway.connection.open();
        return gateway;
    }

    /** Tells a new connection what the old one was told. */
    private final class Again implements EgressListener {
        private final EgressListener listener;

        Again(EgressListener listener) {
            this.listener = listener;
        }

        @Override
        public void event(Event event) {
            listener.event(event);
        }

        @Override
        public void renumbered() {
            listener.renumbered();
        }

        @Override
        public void question(Question question) {
            listener.question(question);
        }

        @Override
        public void connected() {
            listener.connected();
            sandboxes.forEach((sandbox, told) -> {
                if (told.plan() != null) {
                    connection.send(put(sandbox, told.plan(), told.uses()));
                }
            });
        }
    }

    /**
     * The way out of a sandbox, before it is made or while it lives; what is no longer allowed is
     * cut within a second.
     *
     * @throws CaissonException {@link ErrorCode#INVALID} when the gateway does not understand a
     *     document
     */
    public void put(String sandbox, EgressPlan plan) {
        Told told =
                sandboxes.merge(
                        sandbox,
                        new Told(plan, List.of()),
                        (before, now) -> new Told(now.plan(), before.uses()));
        try {
            connection.call(put(sandbox, plan, told.uses()));
        } catch (CaissonException e) {
            if (e.code() == ErrorCode.INVALID) {
                sandboxes.remove(sandbox);
            }
            throw e;
        }
    }

    private static ControlRequest.Builder put(
            String sandbox, EgressPlan plan, List<SecretUse> uses) {
        PutSandbox.Builder put =
                PutSandbox.newBuilder()
                        .setSandbox(sandbox)
                        .setPolicyVersion(plan.policyVersion())
                        .setTenant(plan.tenant());
        plan.layers().forEach(layer -> put.addLayers(ByteString.copyFromUtf8(layer)));
        for (SecretUse use : uses) {
            put.addSecrets(
                    dev.caisson.wire.egress.SecretUse.newBuilder()
                            .setSecret(use.secret())
                            .setPlaceholder(use.placeholder()));
        }
        return ControlRequest.newBuilder().setPut(put);
    }

    /**
     * The sandbox is gone for good; nothing of it is kept. Waits for nothing. The gateway is told
     * whether or not this client put it there: it may be of an earlier one.
     */
    public void drop(String sandbox) {
        sandboxes.remove(sandbox);
        connection.send(
                ControlRequest.newBuilder().setDrop(DropSandbox.newBuilder().setSandbox(sandbox)));
    }

    /**
     * What was refused to a sandbox since then; the gateway keeps the last thousand. Empty when it
     * does not answer: a gateway that is away refuses everything.
     */
    public List<Denied> refusals(String sandbox, Instant since) {
        if (!sandboxes.containsKey(sandbox)) {
            return List.of();
        }
        long from = since.getEpochSecond() * MICROS + since.getNano() / 1000;
        try {
            return connection
                    .callNow(
                            ControlRequest.newBuilder()
                                    .setDenials(AskDenials.newBuilder().setSandbox(sandbox)))
                    .getDenials()
                    .getDenialsList()
                    .stream()
                    .filter(denial -> denial.getTimeMicros() >= from)
                    .map(EgressGateway::denied)
                    .toList();
        } catch (CaissonException e) {
            return List.of();
        }
    }

    private static Denied denied(Denial denial) {
        return new Denied(
                denial.getKind(), denial.getTarget(), denial.getRule(), denial.getRemedy());
    }

    @Override
    public void putSecret(String secret, String tenant, String name, byte[] spec, byte[] value) {
        connection.call(
                ControlRequest.newBuilder()
                        .setPutSecret(
                                PutSecret.newBuilder()
                                        .setSecret(secret)
                                        .setTenant(tenant)
                                        .setName(name)
                                        .setSpec(ByteString.copyFrom(spec))
                                        .setValue(ByteString.copyFrom(value))));
    }

    @Override
    public void dropSecret(String secret) {
        connection.call(
                ControlRequest.newBuilder()
                        .setDropSecret(DropSecret.newBuilder().setSecret(secret)));
    }

    @Override
    public void useSecrets(String sandbox, List<SecretUse> uses) {
        @Nullable Told told =
                sandboxes.compute(
                        sandbox,
                        (id, before) -> {
                            EgressPlan plan = before == null ? null : before.plan();
                            // Of one that was never made, or is gone, nothing is left to know.
                            return plan == null && uses.isEmpty()
                                    ? null
                                    : new Told(plan, List.copyOf(uses));
                        });
        if (told != null && told.plan() != null) {
            connection.call(put(sandbox, told.plan(), uses));
        }
    }

    /** Answers a question; one that is answered already stays so. */
    public void decide(long question, boolean allow, boolean remember) {
        connection.send(
                ControlRequest.newBuilder()
                        .setDecision(
                                Decision.newBuilder()
                                        .setQuestion(question)
                                        .setAllow(allow)
                                        .setRemember(remember)));
    }

    /** Events up to that number are kept elsewhere: the gateway may forget them. */
    public void taken(long upTo) {
        connection.taken(upTo);
        connection.send(
                ControlRequest.newBuilder().setTaken(EventsTaken.newBuilder().setUpTo(upTo)));
    }

    /** Closes the connection; what the gateway was told stays in force. */
    @Override
    public void close() {
        connection.close();
    }
}
