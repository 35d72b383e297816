package dev.caisson.control;

import dev.caisson.v1.StreamItem;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Arrays;
import java.util.Base64;
import org.jspecify.annotations.Nullable;

/**
 * Makes stream items of records: text is cut between code points only, what is missing is a gap,
 * and each item's id is the place behind it. Used by one thread.
 */
final class Streamer {
    private static final String[] NAMES = {"stdout", "stderr", "pty"};

    private final String sandbox;
    private final String exec;
    private final @Nullable String run;
    private final Place place;
    private final Follower follower;
    private final byte[][] held = {new byte[0], new byte[0], new byte[0]};

    Streamer(
            String sandbox,
            String exec,
            @Nullable String run,
            @Nullable String after,
            Follower follower) {
        this.sandbox = sandbox;
        this.exec = exec;
        this.run = run;
        this.place = Place.of(after);
        this.follower = follower;
    }

    void record(OutputRecord record) throws IOException {
        Instant time = Instant.ofEpochMilli(record.timeMillis());
        if (record.kind().output()) {
            output(record, time);
        } else if (record.kind().gap()) {
            gap(record.kind().fd(), record.offset() + record.number(), time);
            place.see(record.seq());
        } else if (!place.seen(record.seq())) {
            place.see(record.seq());
            follower.accept(other(record, time));
        }
    }

    private StreamItem other(OutputRecord record, Instant time) {
        if (record.kind() == OutputRecord.Kind.STARTED) {
            return new StreamItem(
                    place.toString(),
                    time,
                    "started",
                    null,
                    null,
                    null,
                    null,
                    null,
                    exec,
                    sandbox,
                    run,
                    record.number(),
                    null,
                    null,
                    null,
                    null);
        }
        String limit = StandardCharsets.UTF_8.decode(record.data().duplicate()).toString();
        return new StreamItem(
                place.toString(),
                time,
                "limit",
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                limit,
                null,
                null,
                null);
    }

    private void output(OutputRecord record, Instant time) throws IOException {
        int fd = record.kind().fd();
        place.see(record.seq());
        long next = place.offset(fd) + held[fd].length;
        long end = record.offset() + record.data().remaining();
        if (end <= next) {
            return;
        }
        if (record.offset() > next) {
            gap(fd, record.offset(), time);
            next = record.offset();
        }
        int skip = (int) (next - record.offset());
        byte[] fresh = new byte[record.data().remaining() - skip];
        record.data().get(record.data().position() + skip, fresh);
        emit(fd, joined(held[fd], fresh), time, false);
    }

    private static byte[] joined(byte[] first, byte[] second) {
        if (first.length == 0) {
            return second;
        }
        byte[] all = Arrays.copyOf(first, first.length + second.length);
        System.arraycopy(second, 0, all, first.length, second.length);
        return all;
    }

    private void emit(int fd, byte[] bytes, Instant time, boolean all) throws IOException {
        int length = all ? bytes.length : bytes.length - Utf8.incomplete(bytes);
        held[fd] = Arrays.copyOfRange(bytes, length, bytes.length);
        if (length == 0) {
            return;
        }
        long from = place.offset(fd);
        place.offset(fd, from + length);
        String text = Utf8.text(bytes, length).orElse(null);
        String base64 =
                text == null
                        ? Base64.getEncoder().encodeToString(Arrays.copyOf(bytes, length))
                        : null;
        follower.accept(
                new StreamItem(
                        place.toString(),
                        time,
                        NAMES[fd],
                        text,
                        base64,
                        from,
                        null,
                        null,
                        null,
                        null,
                        null,
                        null,
                        null,
                        null,
                        null,
                        null));
    }

    private void gap(int fd, long until, Instant time) throws IOException {
        flush(fd, time);
        long from = place.offset(fd);
        if (until <= from) {
            return;
        }
        place.offset(fd, until);
        follower.accept(
                new StreamItem(
                        place.toString(),
                        time,
                        "gap",
                        null,
                        null,
                        from,
                        until - from,
                        NAMES[fd],
                        null,
                        null,
                        null,
                        null,
                        null,
                        null,
                        null,
                        null));
    }

    private void flush(int fd, Instant time) throws IOException {
        if (held[fd].length > 0) {
            emit(fd, held[fd], time, true);
        }
    }

    /** What is still held, and what is missing up to the totals. */
    void finish(long[] totals, Instant time) throws IOException {
        for (int fd = 0; fd < NAMES.length; fd++) {
            flush(fd, time);
            gap(fd, totals[fd], time);
        }
    }

    void keepalive(Instant time) throws IOException {
        follower.accept(
                new StreamItem(
                        place.toString(),
                        time,
                        "keepalive",
                        null,
                        null,
                        null,
                        null,
                        null,
                        null,
                        null,
                        null,
                        null,
                        null,
                        null,
                        null,
                        null));
    }

    /** The last item. */
    void exit(ExecDoc doc, Instant time) throws IOException {
        follower.accept(
                new StreamItem(
                        place.toString(),
                        time,
                        "exit",
                        null,
                        null,
                        null,
                        null,
                        null,
                        exec,
                        sandbox,
                        run,
                        null,
                        null,
                        null,
                        doc.result,
                        doc.error));
    }
}
