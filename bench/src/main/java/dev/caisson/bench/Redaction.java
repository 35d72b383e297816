package dev.caisson.bench;

import dev.caisson.redact.Redactor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Secrets taken out of ordinary text and of random bytes, in this process on one thread, beside a
 * plain copy of the same bytes and a regular expression that knows the plain secrets only.
 */
final class Redaction implements Measure {
    private static final double MIB_PER_SECOND = 500;
    private static final int WRITE = 256 << 10;
    private static final String LETTERS =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

    @Override
    public String name() {
        return "redact";
    }

    @Override
    public void run(Setting setting, Report report) {
        int size = setting.times(64, 8) << 20;
        int rounds = setting.times(9, 2);
        byte[] random = new byte[size];
        new Random(1).nextBytes(random);
        byte[] text = text(setting.checkout(), size);
        for (int count : new int[] {1, 10, 100}) {
            row(report, "text", text, count, rounds);
            row(report, "random", random, count, rounds);
        }
        row(report, "none", text, 0, rounds);
        hostile(report, size / 8, rounds);
    }

    private void row(Report report, String what, byte[] bytes, int count, int rounds) {
        List<byte[]> secrets = secrets(count);
        Redactor redactor = Redactor.of(secrets);
        byte[] copy = new byte[WRITE];
        Samples own = new Samples();
        Samples plain = new Samples();
        Samples regex = new Samples();
        Pattern pattern = pattern(secrets);
        for (int i = 0; i < rounds + 3; i++) {
            long redacted = redact(redactor, bytes, copy);
            long copied = copy(bytes, copy);
            if (i >= 3) { // The first ones warm.
                own.add(redacted);
                plain.add(copied);
            }
            if (count > 0 && i < 3) {
                regex.add(matched(pattern, bytes));
            }
        }
        String name = count == 0 ? name() + ".none" : name() + "." + what + "." + count;
        String note = count == 0 ? "" : "java.util.regex, plain form only: %.0f MiB/s";
        Row row = Row.of(name, rate(bytes, own), "MiB/s").withPeer("copy", rate(bytes, plain));
        report.row(
                count == 0
                        ? row
                        : row.withTarget(Target.valueAtLeast(MIB_PER_SECOND))
                                .withNote(note.formatted(rate(bytes, regex))));
    }

    /** A secret that is like itself, and bytes that are nearly it. */
    private void hostile(Report report, int size, int rounds) {
        byte[] bytes = new byte[size];
        Arrays.fill(bytes, (byte) 'a');
        byte[] secret = ("a".repeat(1000) + "b").getBytes(StandardCharsets.US_ASCII);
        Redactor redactor = Redactor.of(List.of(secret));
        Samples own = new Samples();
        for (int i = 0; i < rounds; i++) {
            own.add(redact(redactor, bytes, new byte[WRITE]));
        }
        report.row(
                Row.of(name() + ".hostile", rate(bytes, own), "MiB/s")
                        .withNote("a secret of 1,000 a and a b, in bytes that are all a"));
    }

    private static List<byte[]> secrets(int count) {
        Random random = new Random(2);
        List<byte[]> secrets = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            String secret =
                    random.ints(36, 0, LETTERS.length())
                            .mapToObj(index -> LETTERS.substring(index, index + 1))
                            .collect(Collectors.joining("", "tok_", ""));
            secrets.add(secret.getBytes(StandardCharsets.US_ASCII));
        }
        return secrets;
    }

    private static Pattern pattern(List<byte[]> secrets) {
        return Pattern.compile(
                secrets.stream()
                        .map(secret -> Pattern.quote(new String(secret, StandardCharsets.US_ASCII)))
                        .collect(Collectors.joining("|")));
    }

    private static long redact(Redactor redactor, byte[] bytes, byte[] target) {
        long start = cpuNanos();
        Redactor.Stream stream = redactor.stream();
        Consumer<ByteBuffer> out = part -> part.get(target, 0, part.remaining());
        for (int at = 0; at < bytes.length; at += WRITE) {
            stream.write(ByteBuffer.wrap(bytes, at, Math.min(WRITE, bytes.length - at)), out);
        }
        stream.flush(out);
        return cpuNanos() - start;
    }

    private static long copy(byte[] bytes, byte[] target) {
        long start = cpuNanos();
        for (int at = 0; at < bytes.length; at += WRITE) {
            System.arraycopy(bytes, at, target, 0, Math.min(WRITE, bytes.length - at));
        }
        return cpuNanos() - start;
    }

    private static long matched(Pattern pattern, byte[] bytes) {
        int part = Math.min(bytes.length, 4 << 20);
        long start = cpuNanos();
        Matcher matcher = pattern.matcher(new String(bytes, 0, part, StandardCharsets.ISO_8859_1));
        if (matcher.find()) {
            throw new IllegalStateException("A secret is in bytes that have none.");
        }
        return (cpuNanos() - start) * (bytes.length / part);
    }

    /** Of this thread: the rate of one processor, whatever else runs. */
    private static long cpuNanos() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    private static double rate(byte[] bytes, Samples samples) {
        return bytes.length / 1048576.0 / (samples.medianMillis() / 1e3);
    }

    /** The sources of this product, again and again. */
    private static byte[] text(Path checkout, int size) {
        byte[] text = new byte[size];
        int at = 0;
        try (var files = Files.walk(checkout.resolve("core/src"))) {
            for (Path file : files.filter(Files::isRegularFile).sorted().toList()) {
                byte[] one = Files.readAllBytes(file);
                int length = Math.min(one.length, size - at);
                System.arraycopy(one, 0, text, at, length);
                at += length;
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        for (int from = 0; at < size; from++) {
            text[at++] = text[from];
        }
        return text;
    }
}
