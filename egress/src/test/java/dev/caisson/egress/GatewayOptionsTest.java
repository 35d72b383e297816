package dev.caisson.egress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.OptionalInt;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class GatewayOptionsTest {
    @TempDir Path folder;

    @Test
    void readsEverything() {
        GatewayOptions options =
                GatewayOptions.parse(
                        "--folder",
                        "/run/x",
                        "--control-gid",
                        "12",
                        "--resolver",
                        "192.0.2.1",
                        "--resolver",
                        "[2001:db8::1]:5353",
                        "--synthetic4",
                        "10.99.0.0/16",
                        "--synthetic6",
                        "fd00:1::/64",
                        "--upstream-proxy",
                        "/etc/p",
                        "--allow-control-uid",
                        "1000",
                        "--exit-with-stdin");
        assertThat(options.controlGid()).hasValue(12);
        assertThat(options.resolvers()).extracting(one -> one.getPort()).containsExactly(53, 5353);
        assertThat(options.ranges().four()).hasToString("10.99.0.0/16");
        assertThat(options.upstreamProxy()).isEqualTo(Path.of("/etc/p"));
        assertThat(options.controlUids()).containsExactly(1000);
        assertThat(options.exitWithStdin()).isTrue();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "--folder",
                "--folder /x --nonsense",
                "--folder /x --control-gid -1",
                "--folder /x --resolver a.test",
                "--folder /x --resolver 192.0.2.1:0",
                "--folder /x --synthetic4 198.18.0.1/15",
                "--folder /x --synthetic4 198.18.0.0/30",
                "--folder /x --synthetic4 fd00::/64",
                "--folder /x --synthetic6 fd00::/112",
                "--folder /x --synthetic6 10.0.0.0/8"
            })
    void refuses(String line) {
        String[] args = line.isEmpty() ? new String[0] : line.split(" ");
        assertThatThrownBy(() -> GatewayOptions.parse(args)).isInstanceOf(RuntimeException.class);
    }

    @Test
    void theSocketsAreOpenToThoseWhoMayOnly() throws Exception {
        Path socket = folder.resolve("control.sock");
        Files.createFile(socket); // left by an earlier one
        try (ListeningSocket open =
                ListeningSocket.open(socket, "rw-rw----", OptionalInt.empty())) {
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(socket)))
                    .isEqualTo("rw-rw----");
            int own = (Integer) Files.getAttribute(socket, "unix:uid");
            try (SocketChannel client = SocketChannel.open(UnixDomainSocketAddress.of(socket));
                    SocketChannel server = open.accept()) {
                assertThat(client.isConnected()).isTrue();
                assertThat(new KernelPeers(Set.of(own, 4711)).uid(server)).hasValue(own);
                assertThat(new KernelPeers(Set.of(4711, 4712)).uid(server)).isEmpty();
            }
        }
        assertThat(socket).doesNotExist();
        try (var left = Files.list(folder)) {
            assertThat(left).isEmpty();
        }
    }

    @Test
    void theProxysFileMustBeForItsOwnerAlone() throws Exception {
        Path file = folder.resolve("proxy");
        Files.writeString(file, "http://user:pw@192.0.2.1:8080\n");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r-----"));
        assertThatThrownBy(() -> UpstreamProxy.read(file)).hasMessageContaining("0600");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
        assertThat(UpstreamProxy.read(file)).isNotNull();
        for (String wrong : List.of("https://u:secretpw@h", "http:// u:secretpw@h", "x")) {
            Files.writeString(file, wrong);
            assertThatThrownBy(() -> UpstreamProxy.read(file))
                    .hasMessageNotContaining("secretpw")
                    .hasNoCause();
        }
    }
}
