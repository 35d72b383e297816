package dev.caisson.control;

import dev.caisson.api.CapturedOutput;
import dev.caisson.core.Room;
import dev.caisson.v1.OutputJson;
import java.io.ByteArrayOutputStream;
import java.util.List;

/** What a result shows of an exec's output: its first bytes, as far as they are kept. */
final class Captures {
    /** Of each stream in a result, whatever its limit: the rest is in the stream and the log. */
    private static final int MOST = 16 << 20;

    /** What a byte costs until it is in an answer. */
    private static final long COST = 6;

    private Captures() {}

    /** Of stdout (or the terminal) and stderr. */
    static List<OutputJson> of(OutputLog log, boolean pty, long limit) {
        ByteArrayOutputStream[] kept = {
            new ByteArrayOutputStream(), new ByteArrayOutputStream(), new ByteArrayOutputStream()
        };
        long[] next = {-1, -1, -1};
        for (OutputRecord record : log.records()) {
            if (!record.kind().output()) {
                continue;
            }
            int fd = record.kind().fd();
            boolean follows = next[fd] < 0 || record.offset() == next[fd];
            int room =
                    (int)
                            Math.min(
                                    Math.min(limit, MOST) - kept[fd].size(),
                                    record.data().remaining());
            if (follows && room > 0) {
                Room.need(COST * room);
                byte[] data = new byte[room];
                record.data().get(record.data().position(), data);
                kept[fd].writeBytes(data);
                next[fd] = record.offset() + record.data().remaining();
            }
        }
        long[] totals = log.totals();
        int out = pty ? 2 : 0;
        return List.of(form(kept[out], totals[out]), form(kept[1], totals[1]));
    }

    private static OutputJson form(ByteArrayOutputStream kept, long total) {
        CapturedOutput output = new CapturedOutput(kept.toByteArray(), total);
        int shown = output.bytes().length;
        return new OutputJson(
                output.encoding(), output.data(), total, output.truncated(), total - shown);
    }
}
