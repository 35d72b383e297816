package dev.caisson.core;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import dev.caisson.api.CaissonException;
import dev.caisson.testkit.Frames;
import dev.caisson.wire.agent.ClientFrame;
import dev.caisson.wire.agent.Ping;
import java.io.ByteArrayInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Small parts, each for itself. */
class PartsTest {
    @Test
    void idsAreDnsLabelsAndDiffer() {
        Set<String> seen = new HashSet<>();
        for (int i = 0; i < 10_000; i++) {
            String id = Ids.next(Ids.Kind.SANDBOX);
            assertThat(id).matches("sb[a-z0-9]{20}");
            assertThat(seen.add(id)).isTrue();
        }
        assertThat(Ids.matches(Ids.Kind.SANDBOX, "sb0000000000000000000")).isFalse();
        assertThat(Ids.matches(Ids.Kind.EXEC, Ids.next(Ids.Kind.EXEC))).isTrue();
    }

    @Test
    void namesOfAnyBytesComeBackAndDifferentOnesStayDifferent() {
        Random random = new Random(7);
        for (int i = 0; i < 20_000; i++) {
            byte[] name = new byte[random.nextInt(12)];
            random.nextBytes(name);
            String text = Names.escape(name);
            assertThat(Names.unescape(text)).isEqualTo(name);
            assertThat(Names.unescape(Names.escapeToAscii(name))).isEqualTo(name);
        }
    }

    @Test
    void namesShowWhatIsTextAndEscapeWhatDoesNotShow() {
        assertThat(Names.escape("Grüße €😀 1.txt".getBytes(StandardCharsets.UTF_8)))
                .isEqualTo("Grüße €😀 1.txt");
        assertThat(Names.escape("a\u202Eb\u0000\n".getBytes(StandardCharsets.UTF_8)))
                .isEqualTo("a%E2%80%AEb%00%0A");
        assertThat(Names.escape(new byte[] {(byte) 0xC0, (byte) 0xAF})).isEqualTo("%C0%AF");
        assertThat(Names.escape(new byte[] {(byte) 0xED, (byte) 0xA0, (byte) 0x80}))
                .isEqualTo("%ED%A0%80");
    }

    @Test
    void pathsInsideAreAbsoluteOrBelowWork() {
        assertThat(Names.inside("a").toStringUtf8()).isEqualTo("/work/a");
        assertThat(Names.inside("/a").toStringUtf8()).isEqualTo("/a");
        assertThatThrownBy(() -> Names.inside("a\0b")).isInstanceOf(CaissonException.class);
        assertThatThrownBy(() -> Names.inside("")).isInstanceOf(CaissonException.class);
        assertThatThrownBy(() -> Names.inside("a".repeat(4096)))
                .isInstanceOf(CaissonException.class);
    }

    @Test
    void captureKeepsTheFirstBytesAndCountsAll() {
        Capture capture = new Capture(5);
        capture.append(ByteString.copyFromUtf8("abc"));
        assertThat(capture.over()).isFalse();
        capture.append(ByteString.copyFromUtf8("defg"));
        capture.skip(10);
        assertThat(capture.over()).isTrue();
        assertThat(capture.output().text()).isEqualTo("abcde");
        assertThat(capture.output().totalBytes()).isEqualTo(17);
    }

    /** A channel that gives its bytes in pieces of a size. */
    private static ReadableByteChannel inPieces(byte[] bytes, int piece) {
        ByteArrayInputStream in = new ByteArrayInputStream(bytes);
        return new ReadableByteChannel() {
            @Override
            public int read(ByteBuffer target) {
                byte[] some = new byte[Math.min(piece, target.remaining())];
                int count = in.read(some, 0, some.length);
                if (count > 0) {
                    target.put(some, 0, count);
                }
                return count;
            }

            @Override
            public boolean isOpen() {
                return true;
            }

            @Override
            public void close() {}
        };
    }

    @Test
    void framesAreReadHoweverTheBytesAreCut() throws IOException {
        byte[] one =
                Frames.encode(
                        ClientFrame.newBuilder().setPing(Ping.newBuilder().setValue(5)).build());
        byte[] large = ByteBuffer.allocate(4 + 100_000).putInt(100_000).array();
        byte[] all =
                ByteBuffer.allocate(2 * one.length + large.length)
                        .put(one)
                        .put(large)
                        .put(one)
                        .array();
        for (int piece : new int[] {1, 2, 3, 5, 4096, 1 << 20}) {
            FrameReader reader = new FrameReader(inPieces(all, piece), 1 << 20);
            assertThat(reader.next(ClientFrame.parser()).getPing().getValue()).isEqualTo(5);
            assertThat(reader.next().size()).isEqualTo(100_000);
            assertThat(reader.next(ClientFrame.parser()).getPing().getValue()).isEqualTo(5);
            assertThatThrownBy(reader::next).isInstanceOf(EOFException.class);
        }
    }

    @Test
    void noBytesMakeTheFrameReaderThrowAnythingElse() {
        Random random = new Random(11);
        for (int i = 0; i < 20_000; i++) {
            byte[] bytes = new byte[4 + random.nextInt(60)];
            random.nextBytes(bytes);
            ByteBuffer.wrap(bytes).putInt(random.nextInt(64));
            FrameReader reader = new FrameReader(inPieces(bytes, 7), 1024);
            assertThatThrownBy(
                            () -> {
                                while (true) {
                                    reader.next(dev.caisson.wire.agent.AgentFrame.parser());
                                }
                            })
                    .isInstanceOf(IOException.class);
        }
    }

    @Test
    void languagesAreToldByExtensionAndName() {
        assertThat(Interpreters.ofFile("a.b.py").orElseThrow().name()).isEqualTo("python");
        assertThat(Interpreters.ofFile("a.r").orElseThrow().name()).isEqualTo("r");
        assertThat(Interpreters.ofFile("noextension")).isEmpty();
        assertThat(Interpreters.ofName("JavaScript").extension()).isEqualTo("js");
        assertThat(Interpreters.ofName("mjs").extension()).isEqualTo("mjs");
        assertThatThrownBy(() -> Interpreters.ofName("cobol"))
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> assertThat(e.details()).containsKey("allowed"));
    }

    @Test
    void coreKnowsNoEngineNoHttpAndNoDatabase() {
        noClasses()
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(
                        "dev.caisson.engine..",
                        "dev.caisson.embedded..",
                        "dev.caisson.cli..",
                        "java.sql..",
                        "java.net.http..",
                        "tools.jackson..")
                .check(
                        new ClassFileImporter()
                                .withImportOption(new ImportOption.DoNotIncludeTests())
                                .importPackages("dev.caisson.core"));
    }
}
