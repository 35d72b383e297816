package dev.caisson.control;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.caisson.api.CaissonException;
import dev.caisson.api.SandboxFiles;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Archives whose heads are larger than what is in them. */
final class ArchivesTest {
    private static final long CAP = 1L << 30;

    @TempDir
    private Path temporary;

    private final AtomicInteger calls = new AtomicInteger();

    @Test
    void aLongNameThatIsLargerThanTheHeapIsRefused() throws IOException {
        byte[] megabyte = new byte[1 << 20];
        byte[] bomb = gzip(out -> {
            out.write(head("././@LongLink", 2047L << 20, 'L'));
            for (int i = 0; i < 2047; i++) {
                out.write(megabyte);
            }
        });
        assertThat(bomb.length).isLessThan(4 << 20);
        refused(bomb);
    }

    @Test
    void headsThatNeverComeToAnEntryAreRefused() throws IOException {
        for (char type : new char[] {'x', 'g', 'K'}) {
            byte[] head = head("x", 0, type);
            refused(gzip(out -> {
                for (int i = 0; i < 200_000; i++) {
                    out.write(head);
                }
            }));
        }
    }

    @Test
    void aLongNameAndAttributesWithinReasonAreTaken() throws IOException {
        byte[] name = ("d/" + "n".repeat(200)).getBytes(StandardCharsets.UTF_8);
        byte[] good = gzip(out -> {
            out.write(head("././@LongLink", name.length, 'L'));
            out.write(java.util.Arrays.copyOf(name, 512));
            out.write(head("short", 600, '0'));
            out.write(new byte[1024]);
            out.write(head("other", 0, '0'));
            out.write(new byte[1024]);
        });
        assertThat(unpack(good)).isEqualTo(2);
        assertThat(calls).hasValue(2);
    }

    private void refused(byte[] archive) {
        assertThatThrownBy(() -> unpack(archive))
                .isInstanceOf(CaissonException.class)
                .hasMessageContaining("nothing was written");
        assertThat(calls).hasValue(0);
    }

    private long unpack(byte[] archive) throws IOException {
        SandboxFiles files =
                (SandboxFiles)
                        Proxy.newProxyInstance(
                                SandboxFiles.class.getClassLoader(),
                                new Class<?>[] {SandboxFiles.class},
                                (proxy, method, arguments) -> {
                                    calls.incrementAndGet();
                                    return method.getReturnType() == long.class ? 0L : null;
                                });
        return Archives.unpack(files, "/work", new ByteArrayInputStream(archive), CAP, temporary);
    }

    private interface Writing {
        void to(OutputStream out) throws IOException;
    }

    private static byte[] gzip(Writing writing) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (OutputStream out = new GZIPOutputStream(bytes, 64 << 10)) {
            writing.to(out);
        }
        return bytes.toByteArray();
    }

    private static byte[] head(String name, long size, char type) {
        byte[] head = new byte[512];
        put(head, 0, name);
        put(head, 100, "0000644");
        put(head, 108, "0000000");
        put(head, 116, "0000000");
        put(head, 124, String.format("%011o", size));
        put(head, 136, "00000000000");
        put(head, 148, "        ");
        head[156] = (byte) type;
        put(head, 257, "ustar");
        put(head, 263, "00");
        int sum = 0;
        for (byte b : head) {
            sum += b & 0xFF;
        }
        put(head, 148, String.format("%06o", sum) + "\0 ");
        return head;
    }

    private static void put(byte[] head, int at, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.ISO_8859_1);
        System.arraycopy(bytes, 0, head, at, bytes.length);
    }
}
