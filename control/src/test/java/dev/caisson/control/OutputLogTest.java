package dev.caisson.control;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.v1.OutputJson;
import dev.caisson.v1.StreamItem;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The log of an exec and what its readers get, whatever is written and wherever it is cut. */
final class OutputLogTest {
    private static final String EXEC = "ex00000000000000000001";
    private static final long HEAD = 100 << 10;
    private static final long TAIL = 256 << 10;
    private static final String LETTERS = "aé€😀\n";

    @TempDir private Path folder;

    /** What an exec writes: whole and cut code points on two descriptors. */
    private static final class Writer {
        private final Random random;
        private final ByteArrayOutputStream[] written = {
            new ByteArrayOutputStream(), new ByteArrayOutputStream()
        };
        private final byte[][] text = {new byte[0], new byte[0]};
        private long seq;

        Writer(long seed) {
            random = new Random(seed);
        }

        OutputRecord started() {
            return new OutputRecord(
                    OutputRecord.Kind.STARTED, ++seq, 0, seq, OutputRecord.number(42));
        }

        OutputRecord next(int most) {
            int fd = random.nextInt(2);
            int size = 1 + random.nextInt(most);
            while (text[fd].length < size) {
                text[fd] = joined(text[fd], letters());
            }
            byte[] part = Arrays.copyOf(text[fd], size);
            text[fd] = Arrays.copyOfRange(text[fd], size, text[fd].length);
            OutputRecord record =
                    new OutputRecord(
                            OutputRecord.Kind.outputOf(fd),
                            ++seq,
                            written[fd].size(),
                            seq,
                            ByteBuffer.wrap(part));
            written[fd].writeBytes(part);
            return record;
        }

        private byte[] letters() {
            StringBuilder some = new StringBuilder();
            for (int i = 0; i < 64; i++) {
                some.appendCodePoint(
                        LETTERS.codePoints().toArray()[random.nextInt(LETTERS.length() - 1)]);
            }
            return some.toString().getBytes(StandardCharsets.UTF_8);
        }

        private static byte[] joined(byte[] first, byte[] second) {
            byte[] all = Arrays.copyOf(first, first.length + second.length);
            System.arraycopy(second, 0, all, first.length, second.length);
            return all;
        }
    }

    /** What a client has: each byte where its item says that it is. */
    private static final class Client {
        private final Map<String, byte[]> got = new HashMap<>();
        private final Map<String, Long> at = new HashMap<>();
        private final Map<String, Long> missing = new HashMap<>();
        private final List<StreamItem> items = new ArrayList<>();

        byte[] of(String fd) {
            return got.getOrDefault(fd, new byte[0]);
        }

        void take(StreamItem item) {
            items.add(item);
            switch (item.type()) {
                case "gap" -> {
                    String fd = String.valueOf(item.fd());
                    assertThat(item.offset()).isEqualTo(at.getOrDefault(fd, 0L));
                    at.merge(fd, value(item.bytes()), Long::sum);
                    missing.merge(fd, value(item.bytes()), Long::sum);
                }
                case "stdout", "stderr" -> {
                    byte[] bytes = bytes(item);
                    assertThat(item.offset()).isEqualTo(at.getOrDefault(item.type(), 0L));
                    at.merge(item.type(), (long) bytes.length, Long::sum);
                    got.merge(item.type(), bytes, Writer::joined);
                }
                default -> {}
            }
        }
    }

    private static long value(@Nullable Long number) {
        return number == null ? 0 : number;
    }

    private static byte[] bytes(StreamItem item) {
        String text = item.text();
        return text == null
                ? Base64.getDecoder().decode(String.valueOf(item.base64()))
                : text.getBytes(StandardCharsets.UTF_8);
    }

    private static Client read(OutputLog log, @Nullable String after) throws IOException {
        Client client = new Client();
        if (after != null) {
            Place place = Place.of(after);
            client.at.put("stdout", place.offset(0));
            client.at.put("stderr", place.offset(1));
        }
        Streamer streamer = new Streamer("sb", EXEC, null, after, client::take);
        log.visit(record -> {
            streamer.record(record);
            return true;
        });
        streamer.finish(log.totals(), Instant.EPOCH);
        return client;
    }

    private OutputLog log() {
        return new OutputLog(folder.resolve("log"), EXEC, HEAD, TAIL);
    }

    private static void whole(Writer writer, Client client) {
        assertThat(client.missing).isEmpty();
        assertThat(client.got.getOrDefault("stdout", new byte[0]))
                .isEqualTo(writer.written[0].toByteArray());
        assertThat(client.got.getOrDefault("stderr", new byte[0]))
                .isEqualTo(writer.written[1].toByteArray());
    }

    @Test
    void givesBackWhatWasWritten() throws IOException {
        for (int seed = 0; seed < 20; seed++) {
            Writer writer = new Writer(seed);
            OutputLog log = new OutputLog(folder.resolve("log" + seed), EXEC, HEAD, TAIL);
            log.append(writer.started());
            for (int i = 0; i < 5 + seed; i++) {
                log.append(writer.next(seed % 2 == 0 ? 200 : 6000));
                whole(writer, read(log, null));
            }
            byte[] small = log.finish();
            whole(writer, read(log, null));
            log.complete();
            whole(writer, read(log, null));
            OutputLog later =
                    small == null
                            ? OutputLog.recover(folder.resolve("log" + seed), EXEC, HEAD, TAIL)
                            : OutputLog.of(folder, EXEC, small);
            whole(writer, read(later, null));
            assertThat(later.totals()).isEqualTo(log.totals());
        }
    }

    @Test
    void goesOnBehindEveryItem() throws IOException {
        Writer writer = new Writer(7);
        OutputLog log = log();
        log.append(writer.started());
        for (int i = 0; i < 60; i++) {
            log.append(writer.next(50));
        }
        Client all = read(log, null);
        for (int i = 0; i < all.items.size(); i++) {
            Client rest = read(log, all.items.get(i).id());
            assertThat(rest.missing).isEmpty();
            for (String fd : List.of("stdout", "stderr")) {
                byte[] before = new byte[0];
                for (StreamItem item : all.items.subList(0, i + 1)) {
                    before = item.type().equals(fd) ? Writer.joined(before, bytes(item)) : before;
                }
                assertThat(Writer.joined(before, rest.got.getOrDefault(fd, new byte[0])))
                        .isEqualTo(all.got.get(fd));
            }
            assertThat(rest.items).filteredOn(item -> item.type().equals("started")).isEmpty();
        }
    }

    @Test
    void neverSplitsCodePoints() throws IOException {
        Writer writer = new Writer(3);
        OutputLog log = log();
        for (int i = 0; i < 300; i++) {
            log.append(writer.next(5));
        }
        Client client = read(log, null);
        long base64 = client.items.stream().filter(item -> item.base64() != null).count();
        assertThat(base64).isLessThanOrEqualTo(2); // only what the exec itself left cut at its end
        whole(writer, client);
    }

    @Test
    void countsWhatIsGoneExactly() throws IOException {
        Writer writer = new Writer(11);
        OutputLog log = log();
        for (int i = 0; i < 400; i++) {
            log.append(writer.next(8000));
        }
        Client client = read(log, null);
        assertThat(client.missing).isNotEmpty();
        for (int fd = 0; fd < 2; fd++) {
            String name = fd == 0 ? "stdout" : "stderr";
            assertThat(client.of(name).length + client.missing.getOrDefault(name, 0L))
                    .isEqualTo(writer.written[fd].size());
        }
        OutputJson shown = Captures.of(log, false, 10_000).getFirst();
        assertThat(shown.totalBytes()).isEqualTo(writer.written[0].size());
        assertThat(shown.truncated()).isTrue();
        log.finish();
        OutputLog again = OutputLog.recover(folder.resolve("log"), EXEC, HEAD, TAIL);
        assertThat(read(again, null).missing).isEqualTo(client.missing);
    }

    @Test
    void goesOnWhereACutFileStops() throws IOException {
        Path file = folder.resolve("log").resolve(EXEC + ".0");
        Writer writer = new Writer(5);
        OutputLog log = log();
        log.append(writer.started());
        List<OutputRecord> records = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            OutputRecord record = writer.next(40);
            records.add(record);
            log.append(record);
        }
        byte[] full = Files.readAllBytes(file);
        for (int cut = 0; cut <= full.length; cut++) {
            Files.write(file, Arrays.copyOf(full, cut));
            OutputLog again = OutputLog.recover(folder.resolve("log"), EXEC, HEAD, TAIL);
            long seq = again.position(0).seq();
            for (OutputRecord record : records) {
                if (record.seq() > seq) {
                    again.append(record); // as the agent sends it again
                }
            }
            whole(writer, read(again, null));
            again.finish();
            again.complete();
            whole(writer, read(OutputLog.recover(folder.resolve("log"), EXEC, HEAD, TAIL), null));
        }
    }

    @Test
    void neverGoesBackBehindZerosOfAHostThatLostPower() throws IOException {
        Writer writer = new Writer(2);
        OutputLog log = log();
        for (int i = 0; i < 5; i++) {
            log.append(writer.next(40));
        }
        Path file = folder.resolve("log").resolve(EXEC + ".0");
        byte[] full = Files.readAllBytes(file);
        Files.write(file, Arrays.copyOf(full, full.length + 500));
        assertThat(OutputLog.recover(folder.resolve("log"), EXEC, HEAD, TAIL).totals())
                .isEqualTo(log.totals());
    }

    @Test
    void tellsASlowReaderWhatItMissedWhileFilesRotate() throws Exception {
        Writer writer = new Writer(13);
        OutputLog log = log();
        Client client = new Client();
        Streamer streamer = new Streamer("sb", EXEC, null, null, client::take);
        Thread reader =
                Thread.ofVirtual()
                        .start(() -> {
                            OutputLog.Reader from = log.reader();
                            try {
                                while (true) {
                                    OutputRecord record = from.next(1000);
                                    if (record != null) {
                                        streamer.record(record);
                                        Thread.sleep(record.seq() % 50 == 0 ? 5 : 0);
                                    } else if (from.ended()) {
                                        streamer.finish(log.totals(), Instant.EPOCH);
                                        return;
                                    }
                                }
                            } catch (IOException | InterruptedException e) {
                                throw new IllegalStateException(e);
                            }
                        });
        for (int i = 0; i < 1500; i++) {
            log.append(writer.next(4000));
        }
        log.finish();
        log.complete();
        reader.join();
        for (int fd = 0; fd < 2; fd++) {
            String name = fd == 0 ? "stdout" : "stderr";
            assertThat(client.of(name).length + client.missing.getOrDefault(name, 0L))
                    .isEqualTo(writer.written[fd].size());
        }
    }

    @Test
    void keepsNoFileOfASmallLog() throws IOException {
        Writer writer = new Writer(1);
        OutputLog log = log();
        log.append(writer.started());
        assertThat(folder.resolve("log")).doesNotExist();
        log.append(writer.next(100));
        assertThat(log.finish()).isNotNull();
        log.complete();
        try (var files = Files.list(folder.resolve("log"))) {
            assertThat(files).isEmpty();
        }
        whole(writer, read(log, null));
    }

    @Test
    void refusesIdsThatNoItemHas() {
        for (String id :
                List.of("x", "1.2.3", "1.2.3.4.5", "-1.0.0.0", "1.2.3.x", "9".repeat(99))) {
            Fixture.refused(dev.caisson.api.ErrorCode.INVALID, () -> Place.of(id));
        }
        assertThat(Place.of("3.1.2.0").toString()).isEqualTo("3.1.2.0");
    }

    @Test
    void cutsTextWhereACodePointIsNotWhole() {
        byte[] text = "x€".getBytes(StandardCharsets.UTF_8);
        assertThat(Utf8.incomplete(text)).isZero();
        assertThat(Utf8.incomplete(Arrays.copyOf(text, 3))).isEqualTo(2);
        assertThat(Utf8.incomplete(Arrays.copyOf(text, 2))).isEqualTo(1);
        assertThat(Utf8.incomplete(new byte[] {(byte) 0x80, (byte) 0x80})).isZero();
        assertThat(Utf8.incomplete(new byte[0])).isZero();
        assertThat(Utf8.text(new byte[] {(byte) 0xFF}, 1)).isEmpty();
    }
}
