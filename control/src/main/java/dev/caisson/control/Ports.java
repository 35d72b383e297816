package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.EventType;
import dev.caisson.api.Tunnel;
import dev.caisson.v1.PortJson;
import dev.caisson.v1.PortLinkJson;
import dev.caisson.v1.PortLinkRequest;
import dev.caisson.v1.PortRequest;
import java.io.InputStream;
import java.io.OutputStream;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Ports inside sandboxes. Thread-safe. */
final class Ports implements PortService {
    private static final int MAX_PORT = 65_535;
    private static final int MAX_OPEN = 64;
    private static final String TOKEN = "token";
    private static final String PUBLIC = "public";
    private static final Duration USUAL_VISIT = Duration.ofHours(1);
    private static final Duration LONGEST_VISIT = Duration.ofHours(24);
    private static final int MAX_PATH = 2048;

    private final Parts parts;
    private final PortAccess doors;
    private final Lives lives;
    private final Uses uses;
    private final Consumer<Caller> still;
    private final ConcurrentHashMap<String, Set<Tunnel>> tunnels = new ConcurrentHashMap<>();

    /**
     * None open yet.
     *
     * @param still refuses a caller whose key or tenant is not good any more
     */
    Ports(Parts parts, Lives lives, Uses uses, Consumer<Caller> still) {
        this.parts = parts;
        this.lives = lives;
        this.uses = uses;
        this.still = still;
        this.doors = new PortAccess(parts.vault(), parts.ledger()::now);
    }

    @Override
    public PortJson open(Caller caller, String sandbox, PortRequest request) {
        Access.require(caller, "ports:write");
        int port = port(request.port());
        Box box = parts.boxes().living(caller, sandbox);
        uses.requireRoot(caller, box);
        EffectivePolicy policy = parts.policies().effective(caller, box.doc().policy);
        String access = access(request.access(), policy);
        approve(caller, policy, box, port, access);
        PortJson opened;
        boolean another;
        box.lock.lock();
        try {
            box.mustLive();
            SandboxDoc doc = box.draft();
            String before = doc.ports.put(Integer.toString(port), access);
            if (doc.ports.size() > MAX_OPEN) {
                throw CaissonException.invalid("port", "A sandbox opens at most 64 ports.");
            }
            another = before != null && !access.equals(before);
            if (before == null || another) {
                doc.openings.put(Integer.toString(port), PortAccess.newOpening());
            }
            save(caller, box, doc, EventType.PORT_OPENED, access, port);
            opened = form(doc, port, access, true);
        } finally {
            box.lock.unlock();
        }
        if (another) {
            cut(box, port); // who was let in as it was is not as it is
        }
        return opened;
    }

    private void cut(Box box, int port) {
        Set<Tunnel> cut = tunnels.remove(box.id + ":" + port);
        if (cut != null) {
            cut.forEach(Tunnel::close);
        }
    }

    private void save(
            Caller caller, Box box, SandboxDoc doc, EventType type, String reason, int port) {
        Map<String, Object> data = Map.of("port", (long) port);
        lives.save(
                box,
                doc,
                tx -> parts.ledger().event(tx, caller, type, doc.subject(), reason, data));
    }

    private static int port(int port) {
        if (port < 1 || port > MAX_PORT) {
            throw CaissonException.invalid("port", "A port is 1 to 65535.");
        }
        return port;
    }

    private static String access(@Nullable String asked, EffectivePolicy policy) {
        if (asked == null || asked.equals(TOKEN)) {
            return TOKEN;
        }
        if (!asked.equals(PUBLIC)) {
            throw CaissonException.invalid("access", "The access of a port is token or public.");
        }
        if (!policy.publicPorts()) {
            throw EffectivePolicy.denied("access", PUBLIC, TOKEN);
        }
        return PUBLIC;
    }

    private void approve(Caller caller, EffectivePolicy policy, Box box, int port, String access) {
        var pending =
                parts.approvals()
                        .other(
                                caller,
                                policy,
                                box.doc().subject(),
                                "port",
                                "open port " + port + " (" + access + ") of " + box.id,
                                Map.of("port", Integer.toString(port), "access", access));
        if (pending.isEmpty()) {
            return;
        }
        Duration longest = policy.approvalTimeout().plusSeconds(5);
        boolean decided = false;
        try {
            boolean yes = pending.get().decision().get(longest.toMillis(), TimeUnit.MILLISECONDS);
            decided = true;
            if (yes) {
                still.accept(caller); // it may have waited for long
                return;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (ExecutionException | TimeoutException e) {
            // No answer is a no.
        } finally {
            if (!decided) {
                parts.approvals().withdraw(pending.get().id()); // nobody waits for it any more
            }
        }
        throw CaissonException.of(ErrorCode.POLICY_DENIED, "The port was not approved.");
    }

    private PortJson form(SandboxDoc doc, int port, String access, boolean opens) {
        boolean told = opens && access.equals(TOKEN);
        return new PortJson(port, access, url(doc, port), told ? doors.token(doc, port) : null);
    }

    private String url(SandboxDoc doc, int port) {
        return parts.config()
                .portsUrl()
                .replace("{port}", Integer.toString(port))
                .replace("{id}", doc.id);
    }

    @Override
    public List<PortJson> list(Caller caller, String sandbox) {
        Access.require(caller, "ports:read");
        Box box = parts.boxes().living(caller, sandbox);
        boolean opens = Access.allows(caller, "ports:write") && uses.mayUse(caller, box);
        SandboxDoc doc = box.doc();
        return doc.ports.entrySet().stream()
                .map(entry -> form(doc, Integer.parseInt(entry.getKey()), entry.getValue(), opens))
                .toList();
    }

    @Override
    public void close(Caller caller, String sandbox, int port) {
        Access.require(caller, "ports:write");
        Box box = parts.boxes().living(caller, sandbox);
        box.lock.lock();
        try {
            box.mustLive();
            SandboxDoc doc = box.draft();
            if (doc.ports.remove(Integer.toString(port)) == null) {
                throw notOpen(port);
            }
            doc.openings.remove(Integer.toString(port));
            save(caller, box, doc, EventType.PORT_CLOSED, "", port);
        } finally {
            box.lock.unlock();
        }
        cut(box, port);
    }

    private static CaissonException notOpen(int port) {
        return CaissonException.of(ErrorCode.NOT_FOUND, "The port " + port + " is not open.")
                .withRemedy("Open it first.");
    }

    @Override
    public PortLinkJson link(Caller caller, String sandbox, int port, PortLinkRequest request) {
        Access.require(caller, "ports:write");
        String path = Objects.requireNonNullElse(request.path(), "/");
        checkPath(path);
        long millis = Objects.requireNonNullElse(request.expiresInMillis(), USUAL_VISIT.toMillis());
        if (millis < 1 || millis > LONGEST_VISIT.toMillis()) {
            throw CaissonException.invalid("expiresInMillis", "A visit lasts up to 24 hours.")
                    .withDetail("limit", "expiresInMillis")
                    .withDetail("allowed", Long.toString(LONGEST_VISIT.toMillis()));
        }
        Box box = parts.boxes().living(caller, sandbox);
        uses.requireRoot(caller, box);
        SandboxDoc doc = box.doc();
        if (!doc.ports.containsKey(Integer.toString(port(port)))) {
            throw notOpen(port);
        }
        String url = url(doc, port);
        if (url.isEmpty()) {
            throw CaissonException.of(
                            ErrorCode.NOT_AVAILABLE, "This server serves no ports of sandboxes.")
                    .withRemedy("Start it with ports.listen.");
        }
        Instant now = parts.ledger().now();
        Instant until = caller.within(now.plusMillis(millis));
        Instant expires = caller.within(now.plus(PortAccess.LINK_LIFE));
        PortAccess.Link link =
                new PortAccess.Link(
                        Credentials.newSecret(),
                        expires,
                        until,
                        caller.keyId(),
                        caller.proof().mark(),
                        path);
        return new PortLinkJson(url + LINKS + doors.write(doc, port, link), expires, until);
    }

    /** A browser must stay on the port's host: no second slash, nothing that it reads as one. */
    private static void checkPath(String path) {
        boolean own =
                path.matches("/[!-~]{0," + MAX_PATH + "}")
                        && !path.startsWith("//")
                        && path.indexOf('\\') < 0;
        if (!own) {
            throw CaissonException.invalid(
                            "path", "The path must be one of the port, such as /app?x=1.")
                    .withRemedy(
                            "Begin with one slash; no backslash; escape what is not printable"
                                    + " ASCII.");
        }
    }

    @Override
    public Entry enter(String sandbox, int port, String text) {
        SandboxDoc doc = box(sandbox, port).doc();
        PortAccess.Link link = doors.follow(doc, port, text);
        still.accept(maker(doc, link.keyId(), link.mark()));
        Duration life = Duration.between(parts.ledger().now(), link.until());
        return new Entry(doors.pass(doc, port, link), life, link.path());
    }

    /** The living sandbox whose port is open, of a tenant that may be visited. */
    private Box box(String sandbox, int port) {
        Box box = parts.boxes().of(sandbox).orElseThrow(() -> Boxes.unknown(sandbox));
        SandboxDoc doc = box.doc();
        if (!doc.ports.containsKey(Integer.toString(port))
                || !parts.quotas().isActive(doc.tenant)) {
            throw Boxes.unknown(sandbox);
        }
        return box;
    }

    @Override
    public Tunnel dial(Caller caller, String sandbox, int port) {
        Access.require(caller, "ports:write");
        Uses.Use use = uses.of(caller, sandbox);
        try {
            Box box = use.box();
            EffectivePolicy policy = parts.policies().effective(caller, box.doc().policy);
            if (!box.doc().ports.containsKey(Integer.toString(port(port)))) {
                approve(caller, policy, box, port, "forward");
            }
        } catch (CaissonException e) {
            use.close();
            throw e;
        }
        return connect(use, use.box(), port, "");
    }

    @Override
    public Tunnel dialPublic(
            String sandbox, int port, PortVisitor visitor, Consumer<String> admission) {
        Box box = box(sandbox, port);
        SandboxDoc doc = box.doc();
        Optional<Instant> until = admitted(doc, port, visitor);
        admission.accept(doc.tenant);
        Uses.Use use = uses.visit(visitor(doc), sandbox);
        Counted tunnel = connect(use, box, port, box.id + ":" + port);
        if (!opening(box.doc(), port).equals(opening(doc, port))) {
            tunnel.close(); // the port was closed meanwhile, and perhaps opened again
            throw Boxes.unknown(sandbox);
        }
        until.ifPresent(tunnel::endAt);
        return tunnel;
    }

    /** What another opening of a port has other than this one. */
    private static List<String> opening(SandboxDoc doc, int port) {
        String number = Integer.toString(port);
        return List.of(doc.ports.getOrDefault(number, ""), doc.openings.getOrDefault(number, ""));
    }

    /**
     * Lets a visitor in.
     *
     * @return until when; empty: until the port is closed
     * @throws CaissonException {@link ErrorCode#UNAUTHENTICATED}
     */
    private Optional<Instant> admitted(SandboxDoc doc, int port, PortVisitor visitor) {
        String access = doc.ports.get(Integer.toString(port));
        if (PUBLIC.equals(access) || doors.isToken(doc, port, visitor.token())) {
            return Optional.empty();
        }
        return Optional.of(
                visitor.passes().stream()
                        .flatMap(pass -> doors.check(doc, port, pass).stream())
                        .filter(pass -> isStill(maker(doc, pass.keyId(), pass.mark())))
                        .map(PortAccess.Pass::until)
                        .max(Instant::compareTo)
                        .orElseThrow(() ->
                                CaissonException.of(
                                                ErrorCode.UNAUTHENTICATED,
                                                "This port needs its token.")
                                        .withRemedy(
                                                "Send it in the header Caisson-Port-Token, or"
                                                        + " follow a new link to the port.")));
    }

    private boolean isStill(Caller caller) {
        try {
            still.accept(caller);
            return true;
        } catch (CaissonException e) {
            return false; // as if it were not there
        }
    }

    /** Who made a link, as far as it tells. */
    private static Caller maker(SandboxDoc doc, String keyId, String mark) {
        return agent(doc.tenant, keyId, null, new Proof(mark, null));
    }

    /** Whoever holds a port's token acts with the rights of its tenant's agents. */
    private static Caller visitor(SandboxDoc doc) {
        return agent(doc.tenant, doc.keyId, doc.policy, Proof.NONE);
    }

    private static Caller agent(String tenant, String keyId, @Nullable String policy, Proof proof) {
        return new Caller(
                tenant, keyId, "port", Role.AGENT, Set.of(), policy, false, Map.of(), null, proof);
    }

    private Counted connect(Uses.Use use, Box box, int port, String key) {
        try {
            Tunnel tunnel = box.hosted().dial(port(port));
            Counted counted = new Counted(tunnel, use, key);
            if (!key.isEmpty()) {
                tunnels.compute(
                        key,
                        (k, all) -> {
                            Set<Tunnel> open = all == null ? ConcurrentHashMap.newKeySet() : all;
                            open.add(counted);
                            return open;
                        });
            }
            return counted;
        } catch (CaissonException e) {
            use.close();
            throw e;
        }
    }

    /** How many ports have tunnels. */
    int count() {
        return tunnels.size();
    }

    /** A tunnel that keeps its sandbox in use until it is closed. */
    private final class Counted implements Tunnel {
        private final Tunnel tunnel;
        private final Uses.Use use;
        private final String key;
        private final java.util.concurrent.atomic.AtomicBoolean open =
                new java.util.concurrent.atomic.AtomicBoolean(true);
        private volatile @Nullable ScheduledFuture<?> end;

        Counted(Tunnel tunnel, Uses.Use use, String key) {
            this.tunnel = tunnel;
            this.use = use;
            this.key = key;
        }

        /** Nobody stays longer than they were let in. */
        void endAt(Instant until) {
            long millis = Duration.between(parts.ledger().now(), until).toMillis();
            end = parts.later(Math.max(0, millis), "port-visit-end", this::close).orElse(null);
            if (!open.get()) {
                cancel(); // closed meanwhile
            }
        }

        private void cancel() {
            ScheduledFuture<?> timer = end;
            if (timer != null) {
                timer.cancel(false);
            }
        }

        @Override
        public InputStream input() {
            return tunnel.input();
        }

        @Override
        public OutputStream output() {
            return tunnel.output();
        }

        @Override
        public void close() {
            tunnel.close();
            if (open.compareAndSet(true, false)) {
                cancel();
                use.close();
                tunnels.computeIfPresent(
                        key,
                        (k, all) -> {
                            all.remove(this);
                            return all.isEmpty() ? null : all;
                        });
            }
        }
    }
}
