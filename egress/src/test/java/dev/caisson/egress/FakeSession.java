package dev.caisson.egress;

import dev.caisson.policy.Destination;
import dev.caisson.policy.EgressPolicy;
import dev.caisson.policy.Verdict;
import dev.caisson.v1.EgressJson;
import dev.caisson.v1.EgressRule;
import dev.caisson.v1.HttpRule;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.SocketChannel;
import java.time.Clock;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/** A sandbox of tests: its connections go to servers on the loopback, whatever the host. */
final class FakeSession implements Session {
    final List<String> denied = new CopyOnWriteArrayList<>();
    final List<String> events = new CopyOnWriteArrayList<>();
    final AtomicInteger dials = new AtomicInteger();
    final SandboxAuthority authority = new SandboxAuthority("sbtest", Clock.systemUTC());
    final LearnedFiles files = new LearnedFiles();
    final SecretBroker broker;
    volatile EgressPolicy policy = allowing(List.of());
    volatile int port;
    volatile int tokenPort;

    FakeSession(OutsideTls tls) {
        this.broker =
                new SecretBroker(
                        to -> tls.connect(this, to, dialer().dial(to), List.of("http/1.1")),
                        new SecretMeters(System::nanoTime),
                        Clock.systemUTC());
    }

    /** A policy that allows the hosts of tests, by these rules of requests. */
    static EgressPolicy allowing(List<HttpRule> rules) {
        return EgressPolicy.of(
                List.of(
                        new EgressJson(
                                null,
                                null,
                                List.of(
                                        new EgressRule(
                                                "*.example.org",
                                                null,
                                                List.of(443, 80),
                                                List.of("https", "http"),
                                                rules,
                                                true,
                                                null,
                                                null)),
                                List.of(),
                                null,
                                List.of(),
                                Map.of())));
    }

    @Override
    public String sandbox() {
        return "sbtest";
    }

    @Override
    public EgressPolicy policy() {
        return policy;
    }

    @Override
    public Dialer dialer() {
        return to -> {
            dials.incrementAndGet();
            boolean token = ((Destination.Named) to).host().value().startsWith("token.");
            return new SocketPipe(
                    SocketChannel.open(
                            new InetSocketAddress(
                                    InetAddress.getLoopbackAddress(), token ? tokenPort : port)));
        };
    }

    @Override
    public Broker broker() {
        return broker;
    }

    @Override
    public Authority authority() {
        return authority;
    }

    @Override
    public LearnedFiles files() {
        return files;
    }

    @Override
    public void denied(String kind, String target, Verdict verdict) {
        denied.add(kind + " " + target + " [" + verdict.rule() + "]");
    }

    @Override
    public void event(String type, String reason, Map<String, Object> data) {
        events.add(type + " " + data);
    }

    @Override
    public boolean ask(Destination to, Verdict verdict) {
        return false;
    }
}
