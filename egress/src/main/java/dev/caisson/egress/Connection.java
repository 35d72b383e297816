package dev.caisson.egress;

import dev.caisson.policy.ConnectVerdict;
import dev.caisson.policy.Destination;
import dev.caisson.policy.EgressPolicy;
import dev.caisson.policy.IpAddress;
import dev.caisson.policy.Scheme;
import dev.caisson.policy.Verdict;
import dev.caisson.wire.egress.ResetReason;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One connection of a program inside, from the decision to the event at its end. It is a session of
 * its own, so that what is dialled for it is known and can be cut. Served by one thread; {@link
 * #judgeAgain} and {@link #cut} may be called by any.
 */
final class Connection implements Session {
    private static final long FIRST_BYTES = TimeUnit.SECONDS.toNanos(10);
    // A server that speaks first is not kept waiting longer for a client that never does.
    private static final long FIRST_BYTES_IF_ANY = TimeUnit.MILLISECONDS.toNanos(200);

    private final Sandbox sandbox;
    private final AgentStream stream;
    private final Traffic traffic;
    private final Set<Duplex> outsides = ConcurrentHashMap.newKeySet();
    private final long begun = System.nanoTime();
    private volatile @Nullable Destination to;
    private volatile @Nullable Scheme scheme;
    private volatile Optional<IpAddress> address = Optional.empty();
    private volatile boolean inspected;
    private volatile boolean approved;
    private volatile boolean cut;

    /** Says to the program that its connection is there, in the protocol that it speaks. */
    interface Greeting {
        void there() throws IOException;
    }

    Connection(Sandbox sandbox, AgentStream stream, Traffic traffic) {
        this.sandbox = sandbox;
        this.stream = stream;
        this.traffic = traffic;
    }

    /** Serves it; what the agent is told if it did not end in order. */
    ResetReason serve(IpAddress at, int port) throws IOException {
        Inside inside = new Inside(stream);
        try {
            Optional<Destination> found = sandbox.destination(at, port);
            if (found.isEmpty()) {
                denied("egress", at + ":" + port, Refusals.synthetic());
                return ResetReason.RESET_DENIED;
            }
            if (Sandbox.isProxy(found.get())) {
                stream.opened();
                return new ProxyDoor(this, inside).serve();
            }
            return converse(inside, found.get(), stream::opened);
        } catch (DeniedException e) {
            return ResetReason.RESET_DENIED;
        }
    }

    /**
     * Carries a connection to a destination.
     *
     * @throws DeniedException when it is refused, which is recorded already
     */
    ResetReason converse(Inside inside, Destination where, Greeting greeting) throws IOException {
        to = where;
        ConnectVerdict verdict = admit(where);
        String ended = "ended";
        try {
            carry(inside, where, verdict, greeting);
            return ResetReason.RESET_ABORTED;
        } catch (DeniedException e) {
            ended = "denied";
            throw e;
        } catch (UnreachableException e) {
            ended = "failed";
            return ResetReason.RESET_FAILED;
        } catch (ResetException e) {
            ended = e.reason() == ResetReason.RESET_LIMIT ? "limit" : "aborted";
            return cut ? ResetReason.RESET_DENIED : e.reason();
        } catch (IOException e) {
            ended = "aborted";
            return cut ? ResetReason.RESET_DENIED : ResetReason.RESET_ABORTED;
        } finally {
            outsides.forEach(Duplex::close);
            tell(cut ? "cut" : ended);
        }
    }

    private ConnectVerdict admit(Destination where) throws DeniedException {
        ConnectVerdict verdict = sandbox.connectVerdict(where);
        Verdict judged = sandbox.judge(where, verdict);
        if (judged.answer() == Verdict.Answer.ASK) {
            if (!asked(where, judged)) {
                throw refuse(where, Refusals.asked());
            }
            approved = true;
        } else if (!judged.passes()) {
            throw refuse(where, judged);
        }
        Optional<HeldSecret> missing = sandbox.missing(where);
        if (missing.isPresent()) {
            throw refuse(where, Refusals.secretMissing(missing.get().id()));
        }
        if (judged.answer() == Verdict.Answer.OBSERVE) {
            event("egress.observed", judged.rule(), data(where));
        }
        return verdict;
    }

    private boolean asked(Destination where, Verdict verdict) {
        try {
            return sandbox.ask(where, verdict);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private void carry(Inside inside, Destination where, ConnectVerdict verdict, Greeting greeting)
            throws IOException {
        boolean inspect = verdict.terminate() || concerns(where);
        boolean anything = verdict.schemes().contains(Scheme.TCP);
        if (anything && verdict.schemes().size() == 1 && !inspect) {
            plain(inside, where, verdict, greeting);
            return;
        }
        greeting.there();
        FirstBytes.Kind first =
                FirstBytes.look(inside, anything ? FIRST_BYTES_IF_ANY : FIRST_BYTES);
        switch (first) {
            case FirstBytes.Tls tls -> {
                Verdict refused = refusal(where, verdict, tls.hello(), inspect);
                if (refused != null) {
                    throw refuse(where, refused);
                }
                if (inspect && !onlyAnything(verdict)) {
                    intercept(inside, where, Scheme.HTTPS);
                } else {
                    Set<Scheme> may = verdict.schemes();
                    through(inside, where, may.contains(Scheme.HTTPS) ? Scheme.HTTPS : Scheme.TLS);
                }
            }
            case FirstBytes.Http http when verdict.schemes().contains(Scheme.HTTP) ->
                    intercept(inside, where, Scheme.HTTP);
            case FirstBytes.Http http -> throughIf(anything, inside, where, verdict);
            case FirstBytes.Other other -> throughIf(anything, inside, where, verdict);
            case FirstBytes.Silence silence -> {
                if (!anything) {
                    throw new ResetException(ResetReason.RESET_ABORTED);
                }
                through(inside, where, Scheme.TCP);
            }
        }
    }

    private static boolean onlyAnything(ConnectVerdict verdict) {
        return verdict.schemes().equals(Set.of(Scheme.TCP)) && !verdict.terminate();
    }

    private boolean concerns(Destination where) {
        return where instanceof Destination.Named named && sandbox.broker().concerns(named);
    }

    private void throughIf(
            boolean anything, Inside inside, Destination where, ConnectVerdict verdict)
            throws IOException {
        if (!anything) {
            throw refuse(where, Refusals.scheme(words(verdict.schemes())));
        }
        through(inside, where, Scheme.TCP);
    }

    private static String words(Set<Scheme> schemes) {
        return String.join(
                ", ",
                schemes.stream().map(s -> s.name().toLowerCase(Locale.ROOT)).sorted().toList());
    }

    /** Why this TLS may not be spoken; null: it may. */
    private static @Nullable Verdict refusal(
            Destination where, ConnectVerdict verdict, ClientHello hello, boolean inspect) {
        boolean anything = verdict.schemes().contains(Scheme.TCP);
        boolean tls =
                verdict.schemes().contains(Scheme.TLS) || verdict.schemes().contains(Scheme.HTTPS);
        if (!tls && !anything) {
            return Refusals.scheme(words(verdict.schemes()));
        }
        return TlsRules.refusal(where, verdict, hello, inspect);
    }

    /** Any bytes, from either side first; TLS is looked at as it passes. */
    private void plain(Inside inside, Destination where, ConnectVerdict verdict, Greeting greeting)
            throws IOException {
        try (Duplex outside = dial(where)) {
            scheme = Scheme.TCP;
            greeting.there();
            new Pump(inside, outside, traffic.buffers())
                    .run(() -> checkName(inside, where, verdict));
        }
    }

    private void checkName(Inside inside, Destination where, ConnectVerdict verdict)
            throws IOException {
        if (where instanceof Destination.Named) {
            Optional<ClientHello> hello = FirstBytes.awaitTls(inside);
            Verdict refused =
                    hello.isEmpty() ? null : TlsRules.refusal(where, verdict, hello.get(), false);
            if (refused != null) {
                throw refuse(where, refused);
            }
        }
    }

    private void through(Inside inside, Destination where, Scheme spoken) throws IOException {
        scheme = spoken;
        try (Duplex outside = dial(where)) {
            new Pump(inside, outside, traffic.buffers()).run(() -> {});
        }
    }

    private void intercept(Inside inside, Destination where, Scheme spoken) throws IOException {
        scheme = spoken;
        if (where instanceof Destination.Named named) {
            inspected = true;
            sandbox.services().parts().intercept().serve(this, inside, named, spoken);
        } else if (spoken == Scheme.HTTP && !policy().connect(where).terminate()) {
            through(inside, where, spoken);
        } else {
            throw refuse(where, Refusals.terminate());
        }
    }

    private Duplex dial(Destination where) throws IOException {
        if (cut) {
            throw new ResetException(ResetReason.RESET_DENIED);
        }
        Outside.Connected connected;
        try {
            connected = sandbox.connect(where);
        } catch (DeniedException e) {
            throw refuse(where, e.verdict());
        } catch (IOException e) {
            sandbox.unreachable(where.toString(), e);
            throw new UnreachableException(e);
        }
        address = connected.address();
        Duplex outside = new WatchedDuplex(connected.duplex(), outsides::remove);
        outsides.add(outside);
        if (cut) {
            outside.close();
        }
        return outside;
    }

    private DeniedException refuse(Destination where, Verdict verdict) {
        denied("egress", where.toString(), verdict);
        return new DeniedException(verdict);
    }

    private Map<String, Object> data(Destination where) {
        Map<String, Object> data = new LinkedHashMap<>();
        data.put(
                "host",
                switch (where) {
                    case Destination.Named named -> named.host().value();
                    case Destination.Literal literal -> literal.address().toString();
                });
        data.put("port", where.port());
        return data;
    }

    private void tell(String reason) {
        Destination where = to;
        Scheme spoken = scheme;
        if (where == null || reason.equals("denied")) {
            return; // told as denied
        }
        Map<String, Object> data = data(where);
        data.put("scheme", spoken == null ? "" : spoken.name().toLowerCase(Locale.ROOT));
        data.put("address", address.map(IpAddress::toString).orElse(""));
        data.put("bytesIn", traffic.bytesIn());
        data.put("bytesOut", traffic.bytesOut());
        data.put("millis", TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun));
        data.put("inspected", inspected);
        event("egress.allowed", reason, data);
    }

    /** After a change of the policy: cuts what would be decided in another way now. */
    void judgeAgain() {
        Destination where = to;
        if (where == null || cut) {
            return;
        }
        ConnectVerdict verdict = sandbox.connectVerdict(where);
        Verdict judged = sandbox.judge(where, verdict);
        boolean stays = judged.passes() || (approved && judged.answer() == Verdict.Answer.ASK);
        Scheme spoken = scheme;
        if (stays && spoken != null) {
            stays = verdict.schemes().contains(spoken) || verdict.schemes().contains(Scheme.TCP);
            stays &= inspected || spoken == Scheme.TCP || !(verdict.terminate() || concerns(where));
        }
        if (stays && address.isPresent()) {
            judged = sandbox.address(where, address.get());
            stays = judged.passes();
        }
        if (!stays) {
            denied("egress", where.toString(), judged.passes() ? Refusals.changed() : judged);
            cut();
        }
    }

    /** Ends it at once. */
    void cut() {
        cut = true;
        stream.lost(ResetReason.RESET_DENIED, false);
        outsides.forEach(Duplex::close);
    }

    // ---- Session, as those see it who speak for this connection
    // ------------------------------------

    @Override
    public String sandbox() {
        return sandbox.sandbox();
    }

    @Override
    public EgressPolicy policy() {
        return sandbox.policy();
    }

    @Override
    public Dialer dialer() {
        return this::dial;
    }

    @Override
    public Broker broker() {
        return sandbox.broker();
    }

    @Override
    public Authority authority() {
        return sandbox.authority();
    }

    @Override
    public LearnedFiles files() {
        return sandbox.files();
    }

    @Override
    public void denied(String kind, String target, Verdict verdict) {
        sandbox.denied(kind, target, verdict);
    }

    @Override
    public void event(String type, String reason, Map<String, Object> data) {
        sandbox.event(type, reason, data);
    }

    @Override
    public boolean ask(Destination where, Verdict verdict) throws InterruptedException {
        return sandbox.ask(where, verdict);
    }

    Sandbox owner() {
        return sandbox;
    }
}
