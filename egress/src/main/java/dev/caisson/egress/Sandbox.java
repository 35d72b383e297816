package dev.caisson.egress;

import dev.caisson.policy.ConnectVerdict;
import dev.caisson.policy.Destination;
import dev.caisson.policy.EgressPolicy;
import dev.caisson.policy.HostName;
import dev.caisson.policy.IpAddress;
import dev.caisson.policy.Scheme;
import dev.caisson.policy.Verdict;
import dev.caisson.wire.egress.Denials;
import dev.caisson.wire.egress.PutSandbox;
import dev.caisson.wire.egress.ResetReason;
import dev.caisson.wire.egress.Trust;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One sandbox: its policy of the moment, its names and limits, its channel and what passes on it.
 * Lives from the first policy until it is dropped. Safe for use by several threads.
 */
final class Sandbox implements Session, DnsAnswers.Names {
    /** The name by which programs with proxy settings find the gateway. */
    static final HostName PROXY = HostName.of("proxy.caisson.internal");

    private static final Set<Integer> PROXY_PORTS = Set.of(3128, 8080);
    private static final int DNS_PORT = 53;
    private static final long ASK_MILLIS = 60_000;
    private static final int ASKING = 16;
    private static final int RESOLVING = 8;
    private static final long TOUCH = TimeUnit.HOURS.toNanos(6);
    private static final ConnectVerdict LEARNED =
            new ConnectVerdict(
                    new Verdict(Verdict.Answer.ALLOW, "packages files", ""),
                    Set.of(Scheme.HTTPS),
                    true,
                    false,
                    false);
    private static final Logger LOG = LoggerFactory.getLogger(Sandbox.class);

    private final SandboxKey key;
    private final Services services;
    private final NameTable names;
    private final Limits limits;
    private final EventBudget events;
    private final DenialLog denials = new DenialLog();
    private final DnsAnswers dns = new DnsAnswers(this);
    private final Broker broker;
    private final Set<Connection> connections = ConcurrentHashMap.newKeySet();
    private final Set<Destination> remembered = ConcurrentHashMap.newKeySet();
    private final LabelBudget labels = new LabelBudget(System::nanoTime);
    private final Semaphore asking = new Semaphore(ASKING);
    private final Semaphore resolving = new Semaphore(RESOLVING, true);
    private final LearnedFiles files = new LearnedFiles();
    private volatile Rules rules;
    private volatile List<HeldSecret> secrets = List.of();
    private volatile @Nullable Channel channel;
    // Guarded by this.
    private @Nullable Authority authority;
    private @Nullable String trustedPem;
    private long usedKept;
    private long touched = System.nanoTime();
    private boolean closed;

    /**
     * What a client said of the sandbox.
     *
     * @param policy compiled
     * @param put as it came
     */
    record Rules(EgressPolicy policy, PutSandbox put) {}

    Sandbox(SandboxKey key, Services services, Rules rules) throws IOException {
        this.key = key;
        this.services = services;
        this.rules = rules;
        names = services.state().names(key, services.ranges());
        usedKept = services.state().used(key);
        events = new EventBudget(this::record);
        limits = new Limits(rules.policy().caps(), usedKept, this::limited);
        refreshSecrets();
        broker = services.parts().brokers().make(this, () -> secrets);
    }

    String id() {
        return key.id();
    }

    SandboxKey key() {
        return key;
    }

    Services services() {
        return services;
    }

    // ---- what the client says -------------------------------------------------------------------

    /** Its first policy is in force. */
    void begun() {
        event("policy.applied", "", Map.of());
    }

    /** Another policy: what is no longer allowed is cut. */
    void apply(Rules next) {
        rules = next;
        refreshSecrets();
        limits.caps(next.policy().caps());
        event("policy.applied", "", Map.of());
        judgeAgain();
        sendTrust();
    }

    /** Secrets came or went; one at a time, so that what was read last is what holds. */
    synchronized void refreshSecrets() {
        PutSandbox put = rules.put();
        secrets = services.secrets().held(key.owner(), put.getTenant(), put.getSecretsList());
    }

    /** Cuts the connections that are not allowed any more. */
    void judgeAgain() {
        connections.forEach(Connection::judgeAgain);
    }

    Denials denials(long after) {
        return denials.after(after);
    }

    // ---- the channel
    // ------------------------------------------------------------------------------

    /**
     * A channel was admitted; an earlier one ends.
     *
     * @return false: the sandbox was dropped meanwhile, and nothing may pass on the channel
     */
    boolean joined(Channel next) {
        Channel before;
        synchronized (this) {
            if (closed) {
                return false;
            }
            before = channel;
            channel = next;
            // It may be a restored sandbox, of which a copy may run elsewhere: it gets keys of its
            // own.
            if (authority instanceof SandboxAuthority former) {
                authority = former.successor();
                former.close();
            }
        }
        if (before != null) {
            before.close();
        }
        return true;
    }

    void left(Channel gone) {
        synchronized (this) {
            if (channel == gone) {
                channel = null;
            }
        }
    }

    /** What programs inside have to trust; null while nothing is terminated. */
    synchronized @Nullable Trust trust() {
        if (closed || (!rules.policy().terminates() && secrets.isEmpty())) {
            return null;
        }
        trustedPem = authority().pem();
        return services.parts().trust().apply(authority());
    }

    /** Tells the agent when that has changed. */
    void sendTrust() {
        Channel to = channel;
        if (to == null) {
            return; // the next one asks at its start
        }
        Trust now;
        synchronized (this) {
            if (authority instanceof SandboxAuthority ours) {
                ours.renew();
            }
            boolean known = authority != null && authority.pem().equals(trustedPem);
            now = known ? null : trust();
        }
        if (now != null) {
            to.trust(now);
        }
    }

    Traffic traffic() {
        return new Traffic(limits, services.buffers());
    }

    DnsAnswers dns() {
        return dns;
    }

    /**
     * Serves a connection of a program inside; what the agent is told if it did not end in order.
     */
    ResetReason serve(AgentStream stream, Traffic traffic, byte[] address, int port)
            throws IOException {
        if (!limits.begin()) {
            return ResetReason.RESET_LIMIT;
        }
        try {
            if (port == DNS_PORT) {
                return DnsTcp.serve(stream, dns);
            }
            Connection connection = new Connection(this, stream, traffic);
            connections.add(connection);
            try {
                return connection.serve(IpAddress.of(address), port);
            } finally {
                connections.remove(connection);
            }
        } finally {
            limits.end();
        }
    }

    /** Where an address leads; empty when it is synthetic and stands for nothing. */
    Optional<Destination> destination(IpAddress address, int port) {
        if (!services.ranges().contains(address)) {
            return Optional.of(new Destination.Literal(address, port));
        }
        return names.name(address).map(name -> new Destination.Named(name, port));
    }

    static boolean isProxy(Destination to) {
        return to instanceof Destination.Named named
                && named.host().equals(PROXY)
                && PROXY_PORTS.contains(named.port());
    }

    /** The secret that a destination needs and that is not here. */
    Optional<HeldSecret> missing(Destination to) {
        return secrets.stream()
                .filter(secret -> secret.isMissing() && belongs(secret, to))
                .findFirst();
    }

    private static boolean belongs(HeldSecret secret, Destination to) {
        return to instanceof Destination.Named named
                && secret.spec().bindings().stream()
                        .anyMatch(binding -> binding.host().equalsIgnoreCase(named.host().value()));
    }

    /** Whether somebody allowed it for as long as the sandbox lives. */
    boolean isRemembered(Destination to) {
        return remembered.contains(to);
    }

    /** What the policy of now says, and where it says nothing, what indexes of packages do. */
    ConnectVerdict connectVerdict(Destination to) {
        EgressPolicy now = policy();
        ConnectVerdict verdict = now.connect(to);
        boolean theirs =
                verdict.verdict().answer() != Verdict.Answer.ALLOW
                        && files.opens(to, now)
                        && now.refused(to).isEmpty();
        return theirs ? LEARNED : verdict;
    }

    /** Whether an address that a destination leads to may be connected to. */
    Verdict address(Destination to, IpAddress address) {
        EgressPolicy now = policy();
        return now.address(to, address, files.opens(to, now));
    }

    /** What the policy of now says, a remembered word taken into account. */
    Verdict judge(Destination to, ConnectVerdict verdict) {
        boolean asks = verdict.verdict().answer() == Verdict.Answer.ASK;
        return asks && remembered.contains(to)
                ? new Verdict(Verdict.Answer.ALLOW, "approval", "")
                : verdict.verdict();
    }

    // ---- Session
    // ------------------------------------------------------------------------------------

    @Override
    public String sandbox() {
        return key.id();
    }

    @Override
    public EgressPolicy policy() {
        return rules.policy();
    }

    @Override
    public Dialer dialer() {
        return to -> connect(to).duplex();
    }

    /** Connects to the outside; a few names are resolved at a time, so that others get theirs. */
    Outside.Connected connect(Destination to) throws IOException {
        if (to instanceof Destination.Named named
                && !labels.take(named.host(), policy().connect(to).verdict().rule())) {
            limited("labels");
            throw new DeniedException(Refusals.limit("labels"));
        }
        if (!limits.beginOutside()) {
            throw new DeniedException(Refusals.limit("connections"));
        }
        boolean done = false;
        try {
            Outside.Connected connected =
                    services.outside().connect(address -> address(to, address), to, resolving);
            done = true;
            return new Outside.Connected(
                    new WatchedDuplex(connected.duplex(), over -> limits.endOutside()),
                    connected.address());
        } finally {
            if (!done) {
                limits.endOutside();
            }
        }
    }

    @Override
    public Broker broker() {
        return broker;
    }

    @Override
    public synchronized Authority authority() {
        if (authority == null) {
            authority = services.parts().authorities().apply(key.id());
        }
        return authority;
    }

    /** A limit stops something: an event now and then, and a line for the exec that it stopped. */
    private void limited(String what) {
        events.limit(what);
        denials.add("egress", "limit " + what, Refusals.limit(what));
    }

    @Override
    public LearnedFiles files() {
        return files;
    }

    /** Something that is allowed could not be reached, which a program only sees as a reset. */
    void unreachable(String target, IOException why) {
        denials.add("unreachable", target, Refusals.unreachable(why));
    }

    @Override
    public void denied(String kind, String target, Verdict verdict) {
        events.denied(kind, target, verdict, denials.add(kind, target, verdict));
    }

    @Override
    public void event(String type, String reason, Map<String, Object> data) {
        events.event(type, reason, data);
    }

    private void record(dev.caisson.wire.egress.GatewayEvent.Builder event) {
        event.setTimeMicros(Clock.micros())
                .setSandbox(key.id())
                .setPolicyVersion(rules.put().getPolicyVersion());
        services.outboxes().record(key.owner(), event);
    }

    @Override
    public boolean ask(Destination to, Verdict verdict) throws InterruptedException {
        if (remembered.contains(to)) {
            return true;
        }
        if (!asking.tryAcquire()) {
            return false; // nobody could answer so many at once
        }
        try {
            Questions.Word word =
                    services.questions().ask(key, to.toString(), verdict.rule(), ASK_MILLIS);
            if (word.allow() && word.remember() && remembered.size() < NameTable.MAX) {
                remembered.add(to);
            }
            return word.allow();
        } finally {
            asking.release();
        }
    }

    // ---- names
    // ----------------------------------------------------------------------------------------

    @Override
    public boolean mayAsk() {
        return limits.query();
    }

    @Override
    public boolean allowed(HostName name) {
        if (name.equals(PROXY)) {
            return true;
        }
        EgressPolicy now = policy();
        Verdict verdict = now.name(name);
        if (verdict.answer() == Verdict.Answer.DENY && !files.opens(name, now)) {
            lookupDenied(name.value(), verdict);
            return false;
        }
        return true;
    }

    @Override
    public void unreadable(String text) {
        lookupDenied(text, Refusals.notAName());
    }

    private void lookupDenied(String name, Verdict verdict) {
        if (events.recordsLookup(name)) {
            denied("egress", name, verdict);
        }
    }

    @Override
    public Optional<List<IpAddress>> addresses(HostName name) throws IOException {
        Optional<Integer> index = names.index(name);
        if (index.isEmpty()) {
            events.limit("names");
        }
        return index.map(i -> List.of(services.ranges().four(i), services.ranges().six(i)));
    }

    @Override
    public Optional<HostName> name(IpAddress address) {
        return names.name(address);
    }

    // ---- life
    // -------------------------------------------------------------------------------------------

    /** Keeps what must not be forgotten; called now and then. */
    void keep() {
        long now = System.nanoTime();
        synchronized (this) {
            if (closed) {
                return; // its files are gone, and stay so
            }
            if (channel != null && now - touched > TOUCH) {
                touched = now;
                try {
                    services.state().touch(key);
                } catch (IOException e) {
                    LOG.warn("files not touched sandbox={}", key.id(), e);
                }
            }
            long used = limits.used();
            if (limits.countsBytes() && used != usedKept) {
                try {
                    services.state().keepUsed(key, used);
                    usedKept = used;
                } catch (IOException e) {
                    LOG.error("counter not kept sandbox={}", key.id(), e);
                }
            }
        }
        events.flush();
    }

    /** Ends its channel and forgets what is in memory. */
    void close() {
        Channel open;
        synchronized (this) {
            closed = true;
            open = channel;
        }
        names.close();
        if (open != null) {
            open.close();
        }
        connections.forEach(Connection::cut);
        events.flush();
        synchronized (this) {
            if (authority instanceof AutoCloseable closeable) {
                try {
                    closeable.close();
                } catch (Exception e) {
                    LOG.warn("closing an authority sandbox={}", key.id(), e);
                }
            }
            authority = null;
        }
    }
}
