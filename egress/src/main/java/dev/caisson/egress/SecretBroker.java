package dev.caisson.egress;

import dev.caisson.policy.Destination;
import dev.caisson.policy.EgressPolicy;
import dev.caisson.policy.HttpRequestLine;
import dev.caisson.policy.Scheme;
import dev.caisson.policy.Verdict;
import dev.caisson.redact.Redactor;
import dev.caisson.v1.EgressJson;
import dev.caisson.v1.EgressRule;
import dev.caisson.v1.HttpRule;
import dev.caisson.v1.SecretBinding;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The credentials of one sandbox. What it may use can be replaced at any time: the next request
 * sees it, those under way go on. Safe for use by several threads.
 */
final class SecretBroker implements Broker {
    /** Rule of a placeholder that is somewhere else than in its slot. */
    static final String MISPLACED = "secret placeholder";

    // What was a secret of this sandbox until lately may still come back.
    private static final int FORMER = 64;

    private final OauthToken.TokenServer tokens;
    private final SecretMeters meters;
    private final Clock clock;
    private final ReentrantLock lock = new ReentrantLock();
    // Guarded by lock; the newest last.
    private final Deque<byte[]> former = new ArrayDeque<>();
    private volatile State state = new State(List.of(), Redactor.of(List.of()));

    private record State(List<Bound> bounds, Redactor redactor) {}

    private record Bound(
            SecretGrant grant,
            SecretBinding binding,
            Slot slot,
            EgressPolicy matcher,
            Optional<OauthToken> token) {
        boolean host(Destination.Named to) {
            return to.host().value().equals(binding.host().toLowerCase(Locale.ROOT))
                    && to.port() == (binding.port() == null ? 443 : binding.port());
        }
    }

    /**
     * A broker of no secret.
     *
     * @param tokens the way to servers of access tokens
     * @param meters of all secrets of the gateway
     */
    SecretBroker(OauthToken.TokenServer tokens, SecretMeters meters, Clock clock) {
        this.tokens = tokens;
        this.meters = meters;
        this.clock = clock;
    }

    /** From now on the sandbox may use these, and no other. */
    void replace(List<SecretGrant> grants) {
        lock.lock();
        try {
            List<Bound> bounds = new ArrayList<>();
            for (SecretGrant grant : grants) {
                grant.hidden().forEach(this::remember);
                for (SecretBinding binding : grant.spec().bindings()) {
                    bounds.add(bound(grant, binding));
                }
            }
            state = new State(List.copyOf(bounds), Redactor.of(former));
        } finally {
            lock.unlock();
        }
    }

    @Override
    public boolean concerns(Destination.Named to) {
        return state.bounds.stream().anyMatch(bound -> bound.host(to));
    }

    @Override
    public Use apply(Destination.Named to, Outgoing request) throws IOException {
        List<Bound> matches =
                request.scheme() == Scheme.HTTPS ? matches(to, request) : List.<Bound>of();
        if (matches.size() > 1) {
            throw new DeniedException(
                    new Verdict(
                            Verdict.Answer.DENY,
                            "secret ambiguous",
                            "Several bindings of secrets match this request ("
                                    + String.join(
                                            ", ",
                                            matches.stream().map(b -> b.grant.name()).toList())
                                    + "); their owner must make them differ by host, method or"
                                    + " path."));
        }
        if (matches.isEmpty()) {
            scan(request);
            return Use.NONE;
        }
        Bound bound = matches.getFirst();
        for (String removed : bound.slot.clear(request)) {
            if (foreign(removed, bound.grant.placeholder())) {
                throw new DeniedException(misplaced("the slot of another secret"));
            }
        }
        scan(request);
        SecretMeter meter = meters.of(bound.grant.id());
        meter.request(bound.grant.name(), bound.grant.spec());
        String value = bound.token.isPresent() ? bound.token.get().value() : bound.grant.text();
        bound.slot.put(request, value);
        return new Metered(bound.grant, meter);
    }

    @Override
    public Redactor redactor() {
        return state.redactor;
    }

    /** What is said of a placeholder that is somewhere else than in its slot. */
    static Verdict misplaced(String where) {
        return new Verdict(
                Verdict.Answer.DENY,
                MISPLACED,
                "A placeholder of a secret is in "
                        + where
                        + ". It is put in by the gateway for the hosts and paths that the secret is"
                        + " bound to, in its own slot; send it nowhere else.");
    }

    /** What is said of a secret that came back in a WebSocket. */
    static Verdict reflected() {
        return new Verdict(
                Verdict.Answer.DENY,
                "secret reflected",
                "The server sent a secret back over a WebSocket; the connection was cut.");
    }

    private record Metered(SecretGrant grant, SecretMeter meter) implements Use {
        @Override
        public Optional<String> secret() {
            return Optional.of(grant.name());
        }

        @Override
        public void moved(long bytes) throws DeniedException {
            meter.bytes(grant.name(), grant.spec(), bytes);
        }
    }

    private Bound bound(SecretGrant grant, SecretBinding binding) {
        for (Bound known : state.bounds) {
            // The access token that it has goes on.
            if (known.grant.equals(grant) && known.binding.equals(binding)) {
                return known;
            }
        }
        Optional<OauthToken> token =
                binding.slot().kind().equals("oauth")
                        ? Optional.of(
                                new OauthToken(
                                        binding.slot(), grant.text(), tokens, clock, this::learn))
                        : Optional.empty();
        return new Bound(grant, binding, new Slot(binding.slot(), clock), matcher(binding), token);
    }

    // A binding's methods and path mean what they mean in a rule of requests.
    private static EgressPolicy matcher(SecretBinding binding) {
        HttpRule rule = new HttpRule("allow", binding.methods(), binding.path(), Map.of());
        EgressRule allow =
                new EgressRule(
                        binding.host(),
                        null,
                        List.of(Objects.requireNonNullElse(binding.port(), 443)),
                        List.of("https"),
                        List.of(rule),
                        null,
                        null,
                        null);
        return EgressPolicy.of(
                List.of(
                        new EgressJson(
                                null, null, List.of(allow), List.of(), null, List.of(), Map.of())));
    }

    private List<Bound> matches(Destination.Named to, Outgoing request) {
        List<Bound> matches = new ArrayList<>();
        for (Bound bound : state.bounds) {
            if (bound.host(to)
                    && bound.slot.fits(request.method(), request.target())
                    && bound.matcher.request(to, line(request)).passes()) {
                matches.add(bound);
            }
        }
        return matches;
    }

    private static HttpRequestLine line(Outgoing request) {
        String target = request.target();
        int mark = target.indexOf('?');
        return new HttpRequestLine(
                request.scheme(),
                request.method(),
                mark < 0 ? target : target.substring(0, mark),
                request.headers());
    }

    private void learn(String token) {
        lock.lock();
        try {
            remember(token.getBytes(StandardCharsets.UTF_8));
            state = new State(state.bounds, Redactor.of(former));
        } finally {
            lock.unlock();
        }
    }

    private void remember(byte[] secret) {
        former.removeIf(known -> java.util.Arrays.equals(known, secret));
        former.addLast(secret);
        if (former.size() > FORMER) {
            former.removeFirst();
        }
    }

    // ---- placeholders where they do not belong ------------------------------------------------

    private static void scan(Outgoing request) throws DeniedException {
        if (holds(request.target())) {
            throw new DeniedException(misplaced("the address"));
        }
        for (Map.Entry<String, List<String>> field : request.headers().entrySet()) {
            for (String value : field.getValue()) {
                if (holds(value) || holds(decodedBasic(value)) || holds(field.getKey())) {
                    throw new DeniedException(misplaced("the header " + field.getKey()));
                }
            }
        }
    }

    private static boolean holds(String text) {
        if (Placeholders.in(text)) {
            return true;
        }
        String once = Queries.decode(text);
        return Placeholders.in(once) || Placeholders.in(Queries.decode(once));
    }

    private static boolean foreign(String text, String own) {
        return holds(text.replace(own, ""))
                || holds(decodedBasic(text).replace(own, ""))
                || holds(Queries.decode(text).replace(own, ""));
    }

    private static String decodedBasic(String value) {
        String start = value.strip();
        if (!start.regionMatches(true, 0, "basic ", 0, 6)) {
            return "";
        }
        try {
            return new String(
                    Base64.getDecoder().decode(start.substring(6).strip()),
                    StandardCharsets.ISO_8859_1);
        } catch (IllegalArgumentException e) {
            return "";
        }
    }
}
