package dev.caisson.egress;

import dev.caisson.policy.Destination;
import dev.caisson.policy.HttpRequestLine;
import dev.caisson.policy.Scheme;
import dev.caisson.policy.Verdict;
import dev.caisson.redact.Redactor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import javax.net.ssl.SSLException;

/**
 * Judges the requests of one connection and carries them to the server and their answers back,
 * whatever version of HTTP either side speaks. Safe for use by several threads.
 */
final class HttpForward {
    // Of this process.
    private static final RewriteRoom ROOM = new RewriteRoom();
    private static final Set<String> SENT_TWICE = Set.of("GET", "HEAD", "OPTIONS");

    private final Session session;
    private final Destination.Named to;
    private final Scheme scheme;
    private final List<RequestGate> gates;
    private final UpstreamPool servers;

    HttpForward(
            Session session,
            Destination.Named to,
            Scheme scheme,
            List<RequestGate> gates,
            UpstreamPool servers) {
        this.session = session;
        this.to = to;
        this.scheme = scheme;
        this.gates = List.copyOf(gates);
        this.servers = servers;
    }

    /** A refusal with the kind that it is recorded under. */
    private static final class RefusedException extends IOException {
        private static final long serialVersionUID = 1;

        private final String kind;
        private final String subject; // empty: the request
        private final transient Verdict verdict;

        RefusedException(String kind, String subject, Verdict verdict) {
            super(verdict.rule());
            this.kind = kind;
            this.subject = subject;
            this.verdict = verdict;
        }
    }

    /** A server that does not answer as it should. */
    private static final class ServerException extends IOException {
        private static final long serialVersionUID = 1;

        private final String why;

        ServerException(String message, IOException cause) {
            super(message, cause);
            this.why = message;
        }
    }

    /**
     * Serves one exchange; whatever goes wrong ends as an answer or, when that began already, as a
     * broken one.
     *
     * @throws IOException when the program inside cannot be answered
     */
    void serve(Exchange exchange) throws IOException {
        try {
            forward(exchange);
        } catch (RefusedException e) {
            String about = e.subject.isEmpty() ? target(exchange.request()) : e.subject;
            session.denied(e.kind, about, e.verdict);
            refuse(exchange, Refusal.denied(e.verdict));
        } catch (DeniedException e) {
            record("egress", exchange.request(), e.verdict());
            refuse(exchange, Refusal.denied(e.verdict()));
        } catch (ServerException e) {
            refuse(exchange, Refusal.failed(502, e.why));
        } catch (BadHttpException e) {
            refuse(exchange, Refusal.failed(e.status(), e.why()));
        } catch (IOException e) {
            exchange.abort();
            throw e;
        }
    }

    /** Records that a request was refused because too many are being served. */
    void full() {
        session.denied("egress", to.toString(), Refusals.full());
    }

    /** Records what a request was refused for before there was an exchange. */
    void record(String kind, RequestHead request, Verdict verdict) {
        session.denied(kind, target(request), verdict);
    }

    private static void refuse(Exchange exchange, Refusal refusal) throws IOException {
        if (exchange.answered()) {
            exchange.abort();
        } else {
            exchange.answer(refusal.head(), refusal.body());
        }
    }

    private void forward(Exchange exchange) throws IOException {
        Optional<RequestGate.Gated> gated = judge(exchange);
        Optional<AnswerFilter> filter = gated.flatMap(RequestGate.Gated::filter);
        OutgoingRequest request = new OutgoingRequest(exchange, scheme);
        Broker.Use use = credential(exchange, request);
        Redactor redactor = session.broker().redactor();
        prepare(exchange, request, !redactor.isEmpty() || filter.isPresent());
        HttpBody body = Bodies.watched(Bodies.ofRequest(request.body()), new Look(use)::request);
        boolean again = SENT_TWICE.contains(request.method()) && exchange.body().length() == 0;
        UpstreamPool.Lease lease = lease(again);
        try {
            Upstream.Reply reply;
            try {
                reply = send(lease.outside(), exchange, request.head(), body, redactor);
            } catch (ServerException e) {
                servers.give(lease.outside());
                if (!again || !lease.reused() || exchange.answered()) {
                    throw e;
                }
                lease = new UpstreamPool.Lease(lease(false).outside(), false);
                reply = send(lease.outside(), exchange, request.head(), body, redactor);
            }
            if (reply.tunnel().isPresent()) {
                tunnel(exchange, reply, redactor);
                return;
            }
            answer(exchange, reply, new Answering(redactor, gated, use, request.method()));
        } finally {
            servers.give(lease.outside());
        }
    }

    // ---- before ------------------------------------------------------------------------------

    private Optional<RequestGate.Gated> judge(Exchange exchange) throws IOException {
        RequestHead request = exchange.request();
        HttpRequestLine line =
                new HttpRequestLine(scheme, request.method(), request.path(), request.headers());
        for (RequestGate gate : gates) {
            Optional<RequestGate.Gated> gated = gate.judge(session, to, line, request.target());
            Optional<String> first = gated.flatMap(RequestGate.Gated::first);
            if (first.isPresent() && !(exchange instanceof OwnExchange)) {
                forward(new OwnExchange(request, first.get()));
                gated = gate.judge(session, to, line, request.target());
            }
            if (gated.isPresent()) {
                pass(gated.get().kind(), gated.get().subject(), request, gated.get().verdict());
                change(request.headers(), gated.get().headers());
                return gated;
            }
        }
        Verdict verdict = session.policy().request(to, line);
        pass("egress", "", request, verdict);
        DnsOverHttps.check(line, verdict);
        return Optional.empty();
    }

    private static void change(
            Map<String, List<String>> headers, Map<String, List<String>> changes) {
        changes.forEach((name, values) -> {
            headers.remove(name);
            if (!values.isEmpty()) {
                headers.put(name, new ArrayList<>(values));
            }
        });
    }

    private void pass(String kind, String subject, RequestHead request, Verdict verdict)
            throws IOException {
        switch (verdict.answer()) {
            case ALLOW -> {}
            case OBSERVE -> session.event("egress.observed", verdict.rule(), data(request));
            case ASK -> {
                if (!asked(verdict)) {
                    throw new RefusedException(kind, subject, verdict);
                }
            }
            case DENY -> throw new RefusedException(kind, subject, verdict);
        }
    }

    private boolean asked(Verdict verdict) {
        try {
            return session.ask(to, verdict);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private Broker.Use credential(Exchange exchange, OutgoingRequest request) throws IOException {
        try {
            Broker.Use use = session.broker().apply(to, request);
            use.secret()
                    .ifPresent(name -> {
                        Map<String, Object> data = data(exchange.request());
                        data.put("secret", name);
                        session.event("secret.used", "", data);
                    });
            return use;
        } catch (DeniedException e) {
            throw secret(exchange.request(), e.verdict());
        } catch (BadHttpException e) {
            throw e;
        } catch (IOException e) {
            throw new ServerException("no access token could be had for this request", e);
        }
    }

    private RefusedException secret(RequestHead request, Verdict verdict) {
        if (verdict.rule().equals(SecretBroker.MISPLACED)) {
            session.event("secret.misused", verdict.rule(), data(request));
        }
        return new RefusedException("secret", "", verdict);
    }

    // Looks at bodies on their way.
    private static final class Look {
        private final Placeholders placeholders = new Placeholders();
        private final Broker.Use use;

        Look(Broker.Use use) {
            this.use = use;
        }

        void request(ByteBuffer bytes) throws IOException {
            if (placeholders.scan(bytes)) {
                throw new DeniedException(SecretBroker.misplaced("the body"));
            }
            use.moved(bytes.remaining());
        }
    }

    private void prepare(Exchange exchange, OutgoingRequest request, boolean readable) {
        Map<String, List<String>> headers = request.headers();
        if (readable) {
            HttpHeaders.set(headers, "accept-encoding", "identity");
        }
        if (session.broker().concerns(to)) {
            // A reflected secret could be fetched piece by piece, each too short to be known; also
            // by a request without it, from where the server keeps what it got.
            headers.remove("range");
            headers.remove("if-range");
        }
        if (exchange.webSocket()) {
            HttpHeaders.set(headers, "connection", "Upgrade");
            HttpHeaders.set(headers, "upgrade", "websocket");
            if (readable) {
                headers.remove("sec-websocket-extensions");
            }
        }
    }

    private UpstreamPool.Lease lease(boolean again) throws IOException {
        try {
            return servers.take(again);
        } catch (DeniedException e) {
            throw e;
        } catch (SSLException e) {
            throw new DeniedException(
                    new Verdict(
                            Verdict.Answer.DENY,
                            "certificate of the server",
                            "The server does not show that it is "
                                    + to.host()
                                    + " ("
                                    + Optional.ofNullable(e.getMessage()).orElse("TLS failed")
                                    + "). An operator can name its authority to the gateway."));
        } catch (IOException e) {
            throw new ServerException(to + " cannot be reached", e);
        }
    }

    private Upstream.Reply send(
            Upstream outside, Exchange exchange, RequestHead head, HttpBody body, Redactor redactor)
            throws IOException {
        try {
            return outside.send(
                    head,
                    body,
                    interim ->
                            exchange.interim(
                                    new AnswerHead(interim.status(), clean(interim, redactor))));
        } catch (DeniedException e) {
            throw secret(exchange.request(), e.verdict());
        } catch (RequestBodyException e) {
            throw e.getCause() instanceof BadHttpException bad ? bad : e;
        } catch (BadHttpException e) {
            throw new ServerException(to + " did not answer in HTTP: " + e.why(), e);
        } catch (IOException e) {
            throw new ServerException(to + " did not answer", e);
        }
    }

    // ---- after -------------------------------------------------------------------------------

    private record Answering(
            Redactor redactor, Optional<RequestGate.Gated> gated, Broker.Use use, String method) {
        RefusedException refused(DeniedException e) {
            return new RefusedException(
                    gated.map(RequestGate.Gated::kind).orElse("egress"),
                    gated.map(RequestGate.Gated::subject).orElse(""),
                    e.verdict());
        }

        Optional<AnswerFilter> filter() {
            return gated.flatMap(RequestGate.Gated::filter);
        }
    }

    private void answer(Exchange exchange, Upstream.Reply reply, Answering how) throws IOException {
        Map<String, List<String>> headers = clean(reply.head(), how.redactor);
        AnswerHead head = new AnswerHead(reply.head().status(), headers);
        HttpBody body = Bodies.watched(reply.body(), bytes -> how.use.moved(bytes.remaining()));
        try (RewriteRoom.Place place = ROOM.of(session.sandbox())) {
            AnswerFilter.Plan plan =
                    how.filter().isPresent()
                            ? how.filter().get().begin(head.status(), headers)
                            : new AnswerFilter.Pass();
            if (!head.bodiless(how.method)) {
                body = transform(headers, body, new Making(plan, place), how.redactor);
            }
            exchange.answer(head, body);
        } catch (DeniedException e) {
            body.cancel();
            throw how.refused(e);
        } catch (IOException e) {
            body.cancel();
            throw e;
        }
    }

    private record Making(AnswerFilter.Plan plan, RewriteRoom.Place place) {}

    private HttpBody transform(
            Map<String, List<String>> headers, HttpBody source, Making making, Redactor redactor)
            throws IOException {
        AnswerFilter.Plan plan = making.plan;
        HttpBody body = source;
        if (plan instanceof AnswerFilter.Tap tap) {
            body = Bodies.tapped(body, tap);
        }
        if (plan instanceof AnswerFilter.Rewrite || !redactor.isEmpty()) {
            body = decoded(headers, body);
        }
        if (plan instanceof AnswerFilter.Rewrite rewrite) {
            body = rewritten(headers, body, rewrite, making.place);
        }
        if (!redactor.isEmpty()) {
            headers.remove("content-length");
            body = Bodies.redacted(body, redactor);
        }
        return body;
    }

    private static HttpBody decoded(Map<String, List<String>> headers, HttpBody body)
            throws IOException {
        List<String> codings = new ArrayList<>(HttpHeaders.words(headers, "content-encoding"));
        codings.remove("identity");
        if (codings.isEmpty()) {
            return body;
        }
        String coding = codings.getFirst().equals("x-gzip") ? "gzip" : codings.getFirst();
        if (codings.size() > 1 || !Set.of("gzip", "deflate").contains(coding)) {
            body.cancel();
            throw new ServerException(
                    "the answer is coded in a way that cannot be looked into, though it was asked"
                            + " for without",
                    new IOException("content coding"));
        }
        headers.remove("content-encoding");
        headers.remove("content-length");
        return Bodies.decoded(body, coding);
    }

    private HttpBody rewritten(
            Map<String, List<String>> headers,
            HttpBody body,
            AnswerFilter.Rewrite rewrite,
            RewriteRoom.Place place)
            throws IOException {
        byte[] whole;
        try {
            HttpBody counted = Bodies.watched(body, bytes -> place.read(bytes.remaining()));
            whole = Bodies.whole(counted, rewrite.maxBytes());
        } catch (DeniedException e) {
            throw e;
        } catch (BadHttpException e) {
            body.cancel();
            if (e.status() == 503) {
                throw e;
            }
            throw new ServerException("the answer of " + to + " could not be read whole", e);
        } catch (IOException e) {
            body.cancel();
            throw new ServerException("the answer of " + to + " could not be read whole", e);
        }
        byte[] changed = rewrite.change().apply(whole);
        place.made(changed.length);
        HttpHeaders.set(headers, "content-length", Integer.toString(changed.length));
        return Bodies.of(changed);
    }

    private static Map<String, List<String>> clean(AnswerHead head, Redactor redactor) {
        Map<String, List<String>> headers = HttpHeaders.copy(head.headers());
        HttpHeaders.removeHopByHop(headers);
        // Other ways to the same server are not open from inside.
        headers.remove("alt-svc");
        return redactor.isEmpty() ? headers : HttpRedaction.headers(headers, redactor);
    }

    private void tunnel(Exchange exchange, Upstream.Reply reply, Redactor redactor)
            throws IOException {
        Map<String, List<String>> headers = clean(reply.head(), redactor);
        HttpHeaders.set(headers, "connection", "Upgrade");
        HttpHeaders.set(headers, "upgrade", "websocket");
        Duplex outside = reply.tunnel().orElseThrow();
        Duplex inside = exchange.tunnel(new AnswerHead(101, headers));
        boolean reflected = new Tunnel(inside, outside, redactor).run();
        if (reflected) {
            Verdict verdict = SecretBroker.reflected();
            session.denied("secret", target(exchange.request()), verdict);
            session.event("secret.misused", verdict.rule(), data(exchange.request()));
        }
    }

    // ---- for people --------------------------------------------------------------------------

    private String target(RequestHead request) {
        String start = scheme == Scheme.HTTPS ? "https://" : "http://";
        String path = request.path().startsWith("/") ? request.path() : "/";
        return request.method()
                + " "
                + start
                + new RequestCheck(to, scheme).authority()
                + (Placeholders.in(path) ? "/" : path);
    }

    private Map<String, Object> data(RequestHead request) {
        Map<String, Object> data = new LinkedHashMap<>();
        data.put("target", target(request));
        return data;
    }
}
