package dev.caisson.egress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class ClientHelloTest {
    @Test
    void readsWhatTheJdkSends() throws Exception {
        ClientHello hello = read(Hellos.real("allowed.test"), 1 << 16);
        assertThat(hello.serverName()).contains("allowed.test");
        assertThat(hello.alpn()).containsExactly("h2", "http/1.1");
        assertThat(hello.encryptedHello()).isFalse();
        assertThat(read(Hellos.real(""), 1 << 16).serverName()).isEmpty();
    }

    @Test
    void readsItHoweverItIsCut() throws Exception {
        byte[] body = Hellos.body(Hellos.sni("allowed.test"), Hellos.ech());
        for (int record : new int[] {1, 2, 3, 4, 5, 7, 64, 16_000}) {
            for (int piece : new int[] {1, 2, 6, 1000}) {
                ClientHello hello = read(Hellos.records(body, record), piece);
                assertThat(hello.serverName()).contains("allowed.test");
                assertThat(hello.encryptedHello()).isTrue();
            }
        }
    }

    static Stream<Arguments> malformed() {
        byte[] sni = Hellos.sni("allowed.test");
        byte[] twoNames = Hellos.extension(0, new byte[] {0, 8, 0, 0, 1, 'a', 0, 0, 1, 'b'});
        byte[] otherKind = Hellos.extension(0, new byte[] {0, 4, 1, 0, 1, 'a'});
        byte[] noName = Hellos.extension(0, new byte[] {0, 3, 0, 0, 0});
        byte[] good = Hellos.body(sni);
        byte[] behind = Arrays.copyOf(good, good.length + 1);
        byte[] longSession = good.clone();
        longSession[34] = 33;
        return Stream.of(
                Arguments.of("two server names", Hellos.body(twoNames)),
                Arguments.of("the extension twice", Hellos.body(sni, sni)),
                Arguments.of("another kind of name", Hellos.body(otherKind)),
                Arguments.of("an empty name", Hellos.body(noName)),
                Arguments.of("a zero in the name", Hellos.body(Hellos.sni("allowed.test\0.evil"))),
                Arguments.of("a space in the name", Hellos.body(Hellos.sni("a b"))),
                Arguments.of("not ASCII", Hellos.body(Hellos.sni("\u00e4.test"))),
                Arguments.of("256 characters", Hellos.body(Hellos.sni("a".repeat(256)))),
                Arguments.of("bytes behind it", behind),
                Arguments.of("a long session id", longSession),
                Arguments.of("cut off", Arrays.copyOf(good, good.length - 3)),
                Arguments.of("nothing", new byte[0]));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("malformed")
    void refuses(String what, byte[] body) throws Exception {
        assertThat(read(Hellos.records(Hellos.body(Hellos.sni("a.test")), 100), 50)).isNotNull();
        assertThatThrownBy(() -> read(Hellos.records(body, 16_000), 1 << 16))
                .as(what)
                .isInstanceOf(MalformedException.class);
    }

    @Test
    void refusesOtherRecordsAndEndlessOnes() {
        for (byte[] bytes :
                List.of(
                        new byte[] {23, 3, 1, 0, 1, 1},
                        new byte[] {22, 2, 1, 0, 1, 1},
                        new byte[] {22, 3, 1, 0, 0},
                        new byte[] {22, 3, 1, 0x40, 1},
                        new byte[] {22, 3, 1, 0, 4, 2, 0, 0, 1},
                        new byte[] {22, 3, 1, 0, 4, 1, 1, 0, 0})) {
            assertThatThrownBy(() -> read(bytes, 1)).isInstanceOf(MalformedException.class);
        }
        byte[] large = Hellos.records(Hellos.body(Hellos.extension(21, new byte[30_000])), 1);
        assertThatThrownBy(() -> read(large, 1000)).isInstanceOf(MalformedException.class);
    }

    /** Feeds pieces, as they come from a network. */
    static ClientHello read(byte[] bytes, int piece) throws MalformedException {
        HelloReader reader = new HelloReader();
        for (int at = 0; at < bytes.length; at += piece) {
            Optional<ClientHello> hello =
                    reader.next(bytes, at, Math.min(bytes.length, at + piece));
            if (hello.isPresent()) {
                return hello.get();
            }
        }
        throw new MalformedException("not whole");
    }

    @Test
    void parsesOnlyTheBuffersRange() throws Exception {
        byte[] body = Hellos.body(Hellos.sni("a.test"));
        ByteBuffer wide = ByteBuffer.allocate(body.length + 20).position(10).put(body);
        assertThat(ClientHello.parse(wide.flip().position(10)).serverName()).contains("a.test");
    }
}
