package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.Exec;
import dev.caisson.api.ExecResult;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.Sandbox;
import java.time.Duration;
import java.util.Set;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** One sandbox asks the gateway, which is everybody's, for more than it has memory for. */
class EgressFloodTest {
    private static final String POLICY =
            """
            {"allow": [
              {"host": "allowed.test", "ports": [$TLS], "terminate": true},
              {"cidr": "127.0.0.1/32", "ports": [$TLS]}]}
            """;

    /**
     * A hundred requests on each of many connections, each of a thousand small fields, by one who
     * takes no byte of an answer.
     */
    private static final String FLOOD =
            """
            import socket, ssl, struct, sys
            context = ssl.create_default_context()
            context.set_alpn_protocols(['h2'])
            def frame(kind, flags, stream, body):
                return struct.pack('>I', len(body))[1:] + bytes([kind, flags]) + struct.pack('>I', stream) + body
            def field(name, value):
                return bytes([0, len(name)]) + name + bytes([len(value)]) + value
            head = (field(b':method', b'GET') + field(b':scheme', b'https') + field(b':path', b'/flood')
                    + field(b':authority', b'allowed.test:$TLS')
                    + b''.join(field(b'x%03d' % i, b'') for i in range(900)))
            no_window = struct.pack('>HI', 4, 0)
            flood = b'PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n' + frame(4, 0, 0, no_window) + b''.join(
                frame(1, 5, 2 * i + 1, head) for i in range(100))
            kept = []
            for i in range(70):
                plain = socket.create_connection(('allowed.test', $TLS), 20)
                kept.append(context.wrap_socket(plain, server_hostname='allowed.test'))
                assert kept[-1].selected_alpn_protocol() == 'h2'
                kept[-1].sendall(flood)
            print('asked', flush=True)
            sys.stdin.read()
            """;

    @Test
    @DisplayName(
            "N38 R34 a flood of requests over HTTP/2 does not bring the gateway of others down")
    void aFloodOfRequestsLeavesTheGatewayToOthers() {
        try (WayOut out = WayOut.own()) {
            try (Sandbox bad = out.sandbox(POLICY);
                    Sandbox good = out.sandbox(POLICY)) {
                // Other tests have gateways of their own beside it: this one asks our zone.
                String zone = "127.0.0.1:" + out.zone.port();
                Set<Long> gateways = HostView.withArgument(zone);
                gateways.retainAll(HostView.withArgument("dev.caisson.egress.Main"));
                assertThat(gateways).hasSize(1);

                Exec flood =
                        bad.start(
                                ExecSpec.of("/usr/bin/python3", "-c", out.filled(FLOOD))
                                        .withTimeout(Duration.ofSeconds(60)));
                ExecResult flooded = flood.await();
                assertThat(flooded.stdout().text()).as(WayOut.said(flooded)).isEqualTo("asked\n");
                assertThat(WayOut.denied(flooded)).contains("requests at once");

                assertThat(HostView.withArgument(zone)).containsAll(gateways);
                String curl = "curl -sS -m 8 https://allowed.test:$TLS/r34-";
                assertThat(out.sh(good, curl + "good").stdout().text()).contains("hello /r34-good");
                // Who asks as others do is served, also where it was too much before.
                assertThat(out.sh(bad, curl + "bad").stdout().text()).contains("hello /r34-bad");
            }
        }
    }
}
