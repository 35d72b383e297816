package dev.caisson.egress;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.nio.charset.StandardCharsets;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Any head: read or refused, and what is passed on reads as the same request with no credential.
 */
class ProxyRequestFuzzTest {
    static Stream<Arguments> seeds() {
        return Stream.of(
                        "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test",
                        "GET http://a.test/x?y HTTP/1.0\r\nA: b\r\nProxy-Authorization: x",
                        "GET http://[::1]:80 HTTP/1.1",
                        "POST http://a.test\\@b/ HTTP/1.1\r\n x: y",
                        " ",
                        "\r\n")
                .map(text -> Arguments.of((Object) text.getBytes(StandardCharsets.ISO_8859_1)));
    }

    @MethodSource("seeds")
    @FuzzTest
    void readsOrRefuses(byte[] bytes) {
        ProxyRequest request;
        try {
            request = ProxyRequest.parse(new String(bytes, StandardCharsets.ISO_8859_1));
        } catch (MalformedException e) {
            return;
        }
        assertThat(request.authority()).doesNotContain("@", "\\", "/", " ");
        if (!request.isConnect()) {
            String passed = request.rewritten();
            assertThat(passed.toLowerCase(java.util.Locale.ROOT))
                    .doesNotContain("\nproxy-authorization:");
            assertThat(passed).endsWith("\r\n\r\n");
            assertThat(passed.indexOf("\r\n\r\n")).isEqualTo(passed.length() - 4);
        }
        try {
            HostPort target = HostPort.parse(request.authority(), 80);
            assertThat(target.port()).isBetween(1, 65_535);
        } catch (IllegalArgumentException e) {
            assertThat(e.getMessage()).isNotEmpty();
        }
    }
}
