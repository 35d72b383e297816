package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.EventType;
import dev.caisson.api.Tunnel;
import dev.caisson.v1.PortJson;
import dev.caisson.v1.PortRequest;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
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

    private final Parts parts;
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
    }

    @Override
    public PortJson open(Caller caller, String sandbox, PortRequest request) {
        Access.require(caller, "ports:write");
        int port = port(request.port());
        Box box = parts.boxes().living(caller, sandbox);
        EffectivePolicy policy = parts.policies().effective(caller, box.doc().policy);
        String access = access(request.access(), policy);
        approve(caller, policy, box, port, access);
        box.lock.lock();
        try {
            box.mustLive();
            SandboxDoc doc = box.draft();
            doc.ports.put(Integer.toString(port), access);
            if (doc.ports.size() > MAX_OPEN) {
                throw CaissonException.invalid("port", "A sandbox opens at most 64 ports.");
            }
            save(caller, box, doc, EventType.PORT_OPENED, access, port);
            return form(doc, port, access);
        } finally {
            box.lock.unlock();
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
        try {
            if (pending.get().decision().get(longest.toMillis(), TimeUnit.MILLISECONDS)) {
                still.accept(caller); // it may have waited for long
                return;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (ExecutionException | TimeoutException e) {
            // No answer is a no.
        }
        throw CaissonException.of(ErrorCode.POLICY_DENIED, "The port was not approved.");
    }

    private PortJson form(SandboxDoc doc, int port, String access) {
        String url =
                parts.config()
                        .portsUrl()
                        .replace("{port}", Integer.toString(port))
                        .replace("{id}", doc.id);
        return new PortJson(port, access, url, access.equals(TOKEN) ? token(doc, port) : null);
    }

    /** Derived, not stored: of this session only. */
    private String token(SandboxDoc doc, int port) {
        return HexFormat.of()
                .formatHex(
                        parts.vault().hmac("port\n" + doc.id + "\n" + doc.session + "\n" + port),
                        0,
                        20);
    }

    @Override
    public List<PortJson> list(Caller caller, String sandbox) {
        Access.require(caller, "ports:read");
        SandboxDoc doc = parts.boxes().living(caller, sandbox).doc();
        return doc.ports.entrySet().stream()
                .map(entry -> form(doc, Integer.parseInt(entry.getKey()), entry.getValue()))
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
                throw CaissonException.of(
                        ErrorCode.NOT_FOUND, "The port " + port + " is not open.");
            }
            save(caller, box, doc, EventType.PORT_CLOSED, "", port);
        } finally {
            box.lock.unlock();
        }
        Set<Tunnel> cut = tunnels.remove(box.id + ":" + port);
        if (cut != null) {
            cut.forEach(Tunnel::close);
        }
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
            String sandbox, int port, @Nullable String token, Consumer<String> admission) {
        Box box = parts.boxes().of(sandbox).orElseThrow(() -> Boxes.unknown(sandbox));
        SandboxDoc doc = box.doc();
        String access = doc.ports.get(Integer.toString(port));
        if (access == null || !parts.quotas().isActive(doc.tenant)) {
            throw Boxes.unknown(sandbox);
        }
        if (access.equals(TOKEN)) {
            byte[] expected = token(doc, port).getBytes(StandardCharsets.UTF_8);
            byte[] given = token == null ? new byte[0] : token.getBytes(StandardCharsets.UTF_8);
            if (!MessageDigest.isEqual(expected, given)) {
                throw CaissonException.of(ErrorCode.UNAUTHENTICATED, "This port needs its token.")
                        .withRemedy("Send it in the header Caisson-Port-Token.");
            }
        }
        admission.accept(doc.tenant);
        Uses.Use use = uses.visit(visitor(doc), sandbox);
        return connect(use, box, port, box.id + ":" + port);
    }

    /** Whoever holds a port's token acts with the rights of its tenant's agents. */
    private static Caller visitor(SandboxDoc doc) {
        return new Caller(
                doc.tenant,
                doc.keyId,
                "port",
                Role.AGENT,
                Set.of(),
                doc.policy,
                false,
                Map.of(),
                null);
    }

    private Tunnel connect(Uses.Use use, Box box, int port, String key) {
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
                if (!box.doc().ports.containsKey(Integer.toString(port))) {
                    counted.close(); // the port was closed meanwhile
                    throw Boxes.unknown(box.id);
                }
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

        Counted(Tunnel tunnel, Uses.Use use, String key) {
            this.tunnel = tunnel;
            this.use = use;
            this.key = key;
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
