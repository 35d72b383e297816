package dev.caisson.control;

import java.nio.ByteBuffer;

/**
 * One thing that an exec told, as it is kept.
 *
 * @param kind what
 * @param seq the agent's number
 * @param offset of the first byte of output; bytes of a gap begin there
 * @param timeMillis when it arrived, by the server's clock
 * @param data output; of {@code STARTED} the pid, of {@code GAP} its bytes, of {@code LIMIT} the
 *     name
 */
record OutputRecord(Kind kind, long seq, long offset, long timeMillis, ByteBuffer data) {
    static final int HEADER = Integer.BYTES + 1 + 3 * Long.BYTES;

    /** What a record holds; the codes are those of files that are kept. */
    enum Kind {
        STDOUT(0, 0),
        STDERR(1, 1),
        PTY(2, 2),
        STARTED(3, -1),
        GAP_STDOUT(4, 0),
        GAP_STDERR(5, 1),
        GAP_PTY(6, 2),
        LIMIT(7, -1);

        private static final Kind[] ALL = values();

        private final int code;
        private final int fd;

        Kind(int code, int fd) {
            this.code = code;
            this.fd = fd;
        }

        boolean output() {
            return this == STDOUT || this == STDERR || this == PTY;
        }

        boolean gap() {
            return fd >= 0 && !output();
        }

        /** The descriptor of output and gaps: 0, 1, 2. */
        int fd() {
            return fd;
        }

        static Kind gapOf(int fd) {
            return ALL[GAP_STDOUT.code + fd];
        }

        static Kind outputOf(int fd) {
            return ALL[fd];
        }
    }

    /** The bytes of a number, of {@code STARTED} and gaps. */
    static ByteBuffer number(long value) {
        return ByteBuffer.allocate(Long.BYTES).putLong(value).flip();
    }

    long number() {
        return data.getLong(data.position());
    }

    ByteBuffer header() {
        return ByteBuffer.allocate(HEADER)
                .putInt(data.remaining())
                .put((byte) kind.code)
                .putLong(seq)
                .putLong(offset)
                .putLong(timeMillis)
                .flip();
    }

    /** The next record, or null when what follows is cut off or damaged. */
    static @org.jspecify.annotations.Nullable OutputRecord next(ByteBuffer from) {
        if (from.remaining() < HEADER) {
            return null;
        }
        int start = from.position();
        int length = from.getInt(start);
        int kind = from.get(start + Integer.BYTES);
        if (length < 0
                || length > from.remaining() - HEADER
                || kind < 0
                || kind >= Kind.ALL.length) {
            return null;
        }
        int at = start + Integer.BYTES + 1;
        OutputRecord record =
                new OutputRecord(
                        Kind.ALL[kind],
                        from.getLong(at),
                        from.getLong(at + Long.BYTES),
                        from.getLong(at + 2 * Long.BYTES),
                        from.slice(start + HEADER, length));
        from.position(start + HEADER + length);
        return record;
    }
}
