package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.Sandbox;
import java.io.IOException;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/**
 * Only the kinds of sockets that {@code docs/seccomp.md} lists can be made with the network off.
 */
class SocketKindsTest {
    private static final Set<String> ALLOWED = Set.of("unix", "tcp", "udp", "netlink_route");
    private static final Set<String> REFUSALS = Set.of("1", "97"); // EPERM, EAFNOSUPPORT

    private static Map<String, String> inside = Map.of();
    private static Map<String, String> outside = Map.of();

    @BeforeAll
    static void tryAll() throws IOException, InterruptedException {
        Lab.needsSandboxes();
        outside = Probe.outside("sockets.py");
        try (Sandbox sandbox = Lab.sandbox()) {
            inside = Probe.inside(sandbox, "sockets.py");
        }
    }

    @Test
    @DisplayName("K24 raw and packet sockets are refused")
    void rawAndPacketSocketsAreRefused() {
        assertRefused("raw_icmp", "raw_tcp", "raw_udp", "ping", "packet", "packet_dgram");
        assertRefused("packet_old", "inet_packet", "inet6_raw");
    }

    @Test
    @DisplayName("K25 K26 crypto and host sockets are refused")
    void cryptoAndHostSocketsAreRefused() {
        assertRefused("alg", "vsock", "vsock_dgram");
    }

    @Test
    @DisplayName("K28 netlink answers for routes only")
    void netlinkAnswersForRoutesOnly() {
        assertRefused("netlink_audit", "netlink_uevent", "netlink_generic", "netlink_xfrm");
        assertRefused("netlink_netfilter", "netlink_sock_diag", "netlink_connector");
    }

    @Test
    @DisplayName("K27 every other kind is refused with whatever flags")
    void everyOtherKindIsRefusedWithWhateverFlags() {
        Set<String> made =
                inside.entrySet().stream()
                        .filter(tried -> !REFUSALS.contains(tried.getValue()))
                        .map(tried -> tried.getKey().replace("_cloexec", ""))
                        .collect(Collectors.toCollection(TreeSet::new));

        assertThat(made).containsExactlyInAnyOrderElementsOf(ALLOWED);
        assertThat(outside.keySet()).as("control").isEqualTo(inside.keySet());
        assertThat(outside.entrySet().stream().filter(tried -> tried.getValue().equals("0")))
                .as("control: kinds that the host makes, with and without flags")
                .hasSizeGreaterThan(4 * ALLOWED.size());
    }

    private static void assertRefused(String... kinds) {
        boolean proven = false;
        for (String kind : kinds) {
            assertThat(inside.get(kind)).as(kind).isIn(REFUSALS);
            assertThat(inside.get(kind + "_cloexec")).as(kind + " with flags").isIn(REFUSALS);
            proven |= "0".equals(outside.get(kind));
        }
        assertThat(proven).as("control: the host makes one of them: %s", outside).isTrue();
    }
}
