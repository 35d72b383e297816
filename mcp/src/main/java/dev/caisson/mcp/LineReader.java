package dev.caisson.mcp;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** Reads lines of bytes up to a length; of a longer one it keeps nothing but that it was there. */
final class LineReader {
    private final InputStream in;
    private final int longest;
    private final byte[] buffer = new byte[1 << 16];
    private int at;
    private int filled;

    LineReader(InputStream in, int longest) {
        this.in = in;
        this.longest = longest;
    }

    /**
     * A line.
     *
     * @param bytes without the end of line; empty when too long
     */
    @SuppressWarnings("ArrayRecordComponent") // handed over, never compared
    record Line(byte[] bytes, boolean tooLong) {}

    /** The next line; null at the end. A last one without its newline counts. */
    @Nullable Line next() throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        boolean tooLong = false;
        boolean any = false;
        while (at < filled || fill()) {
            any = true;
            int end = at;
            while (end < filled && buffer[end] != '\n') {
                end++;
            }
            if (line.size() + (end - at) > longest) {
                tooLong = true;
                line = new ByteArrayOutputStream();
            }
            if (!tooLong) {
                line.write(buffer, at, end - at);
            }
            at = end + 1;
            if (end < filled) {
                return line(line, tooLong);
            }
            at = filled;
        }
        return any ? line(line, tooLong) : null;
    }

    private boolean fill() throws IOException {
        at = 0;
        filled = Math.max(0, in.read(buffer));
        return filled > 0;
    }

    private static Line line(ByteArrayOutputStream line, boolean tooLong) {
        byte[] bytes = line.toByteArray();
        boolean carriage = bytes.length > 0 && bytes[bytes.length - 1] == '\r';
        return new Line(carriage ? Arrays.copyOf(bytes, bytes.length - 1) : bytes, tooLong);
    }
}
