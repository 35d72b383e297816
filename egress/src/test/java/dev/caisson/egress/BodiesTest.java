package dev.caisson.egress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.zip.Deflater;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;

class BodiesTest {
    private static final byte[] TEXT = "a text. ".repeat(20_000).getBytes(StandardCharsets.UTF_8);

    private interface Coding {
        OutputStream of(OutputStream out) throws IOException;
    }

    private static byte[] coded(Coding coding) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (OutputStream coder = coding.of(out)) {
            coder.write(TEXT);
        }
        return out.toByteArray();
    }

    private static HttpBody decoded(String name) throws IOException {
        return switch (name) {
            case "gzip" -> Bodies.decoded(Bodies.of(coded(GZIPOutputStream::new)), "gzip");
            case "zlib" -> Bodies.decoded(Bodies.of(coded(DeflaterOutputStream::new)), "deflate");
            default ->
                    Bodies.decoded(
                            Bodies.of(
                                    coded(out ->
                                            new DeflaterOutputStream(
                                                    out,
                                                    new Deflater(
                                                            Deflater.DEFAULT_COMPRESSION, true)))),
                            "deflate");
        };
    }

    @Test
    void aCodingIsTakenOffAndNothingComesBehindTheEndOrACancel() throws Exception {
        for (String name : new String[] {"gzip", "zlib", "raw"}) {
            HttpBody whole = decoded(name);
            assertThat(Bodies.whole(whole, TEXT.length)).as(name).isEqualTo(TEXT);
            assertThat(whole.next()).as(name).isNull();
            HttpBody cut = decoded(name);
            assertThat(cut.next()).as("control, " + name).isNotNull();
            cut.cancel();
            cut.cancel();
            assertThat(cut.next()).as(name).isNull();
        }
    }

    @Test
    void escapesOfAPageTakeTimeThatIsLinear() {
        String signs = "&".repeat(4_000_000) + ";&amp;&#65;&nosuchthing;";
        assertTimeoutPreemptively(
                Duration.ofSeconds(20),
                () -> assertThat(PypiPage.unescape(signs)).endsWith("&;&A&nosuchthing;"));
    }
}
