package dev.caisson.control;

import dev.caisson.api.CapturedOutput;
import dev.caisson.core.Room;
import dev.caisson.v1.OutputJson;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;

/** What a result shows of an exec's output: its first bytes, as far as they are kept. */
final class Captures {
    /** Of each stream in a result, whatever its limit: the rest is in the stream and the log. */
    private static final int MOST = 16 << 20;

    /** What a byte costs until it is in an answer. */
    private static final long COST = 6;

    /** What the first segment of a log must hold so that a result finds all that it captures. */
    static long headBytes(long outputLimit) {
        return 2 * Math.min(outputLimit, MOST) + (64 << 10);
    }

    private Captures() {}

    /** What is held in memory while a stream of so many bytes is told. */
    static long held(long totalBytes) {
        return COST * Math.min(totalBytes, MOST);
    }

    /** Of stdout (or the terminal) and stderr. */
    static List<OutputJson> of(OutputLog log, boolean pty, long limit) {
        ByteArrayOutputStream[] kept = {
            new ByteArrayOutputStream(), new ByteArrayOutputStream(), new ByteArrayOutputStream()
        };
        long[] next = {-1, -1, -1};
        int out = pty ? 2 : 0;
        long most = Math.min(limit, MOST);
        try {
            log.visit(record -> {
                if (record.kind().output()) {
                    keep(record, kept[record.kind().fd()], next, most);
                }
                return kept[out].size() < most || kept[1].size() < most;
            });
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        long[] totals = log.totals();
        return List.of(form(kept[out], totals[out]), form(kept[1], totals[1]));
    }

    private static void keep(
            OutputRecord record, ByteArrayOutputStream kept, long[] next, long most) {
        int fd = record.kind().fd();
        boolean follows = next[fd] < 0 || record.offset() == next[fd];
        int room = (int) Math.min(most - kept.size(), record.data().remaining());
        if (follows && room > 0) {
            Room.need(COST * room);
            byte[] data = new byte[room];
            record.data().get(record.data().position(), data);
            kept.writeBytes(data);
            next[fd] = record.offset() + record.data().remaining();
        }
    }

    private static OutputJson form(ByteArrayOutputStream kept, long total) {
        CapturedOutput output = new CapturedOutput(kept.toByteArray(), total);
        int shown = output.bytes().length;
        return new OutputJson(
                output.encoding(), output.data(), total, output.truncated(), total - shown);
    }
}
