package dev.caisson.redact;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.function.Consumer;

/**
 * One stream under redaction. Two gaits: it walks the automaton byte by byte where a form or an
 * escape may be, and skips with the sieve where none can be. Beside the plain reading it walks up
 * to three others, one for each kind of escape; a cursor for one lives only while its reading
 * differs.
 *
 * <p>Positions count from the stream's beginning. {@code released} &lt;= where any cursor's form
 * begins &lt;= {@code position} &lt;= the limit of the buffer.
 */
final class Scan implements Redactor.Stream {
    private static final int CHUNK = 64 << 10;
    private static final int FIRST = 512;
    private static final int WORTH_SKIPPING = 2 * (Sieve.BLOCK + Sieve.AHEAD);
    private static final byte[] REPLACEMENT =
            Redactor.REPLACEMENT.getBytes(StandardCharsets.US_ASCII);

    private final Trie trie;
    private final Sieve sieve;
    private final int reach; // a form without escapes shows at most so far behind its beginning
    private final Cursor[] cursors = new Cursor[Escape.KINDS];
    private final long[] escapeEnds = new long[Escape.KINDS]; // of the last of each kind
    private final Escape escape = new Escape();
    private final Spans spans = new Spans();

    private byte[] buffer = new byte[0];
    private int size;
    private long base; // position of the buffer's first byte
    private long position; // all before was read
    private long released; // all before was handed out, or taken out
    private long covered; // all before that is not released is part of what was replaced
    private long walkTo; // no skipping before
    private boolean beside; // whether a cursor is active
    private int plain; // state
    private long found;

    Scan(Trie trie, Sieve sieve) {
        this.trie = trie;
        this.sieve = sieve;
        this.reach = sieve.stride() + sieve.gram() - 1;
        for (int kind = 0; kind < cursors.length; kind++) {
            cursors[kind] = new Cursor(trie);
        }
    }

    @Override
    public long found() {
        return found;
    }

    @Override
    public int held() {
        return (int) (base + size - released);
    }

    @Override
    public void write(ByteBuffer bytes, Consumer<ByteBuffer> out) {
        while (bytes.hasRemaining()) {
            append(bytes);
            read(false);
            release(safe(), out);
        }
    }

    @Override
    public void flush(Consumer<ByteBuffer> out) {
        read(true);
        release(base + size, out);
    }

    // ---- the buffer

    private void append(ByteBuffer bytes) {
        int count = Math.min(bytes.remaining(), CHUNK);
        if (size + count > buffer.length) {
            int held = held();
            byte[] to = buffer;
            if (held + count > buffer.length) {
                to = new byte[Math.max(FIRST, Integer.highestOneBit(held + count) * 2)];
            }
            System.arraycopy(buffer, size - held, to, 0, held);
            buffer = to;
            size = held;
            base = released;
        }
        bytes.get(buffer, size, count);
        size += count;
    }

    // ---- reading

    private void read(boolean last) {
        while (position < base + size) {
            if (maySkip()) {
                skip();
            }
            if (!step(last)) {
                return;
            }
        }
    }

    private boolean maySkip() {
        int depth = trie.depth(plain);
        return !beside
                && position >= walkTo
                && base + size - position >= WORTH_SKIPPING
                && depth < sieve.stride()
                && position - depth >= base;
    }

    /** Reads one byte, and the escape that it begins; whether that could be told. */
    private boolean step(boolean last) {
        int index = (int) (position - base);
        byte b = buffer[index];
        int kind = Escape.kind(b);
        int length = 0;
        if (kind != Escape.NONE && position >= escapeEnds[kind]) {
            length = escape.read(buffer, index, size);
            if (length == Escape.INCOMPLETE) {
                if (!last && awaited(kind)) {
                    return false;
                }
                length = 0;
            }
        }
        if (beside || length > 0) {
            others(b, kind, length);
        }
        plain = trie.next(plain, b);
        position++;
        int match = trie.match(plain);
        if (match > 0) {
            spans.add(Math.max(released, position - match), position);
        }
        return true;
    }

    /** Reads a byte, or the escape that it begins, beside the plain reading. */
    private void others(byte b, int kind, int length) {
        beside = false;
        for (int other = 0; other < cursors.length; other++) {
            if (other == kind && length > 0) {
                escaped(kind, length);
            } else if (cursors[other].active() && position >= escapeEnds[other]) {
                int match = cursors[other].readPlain(b, position + 1);
                found(cursors[other], match, 0);
            }
            beside |= cursors[other].active();
        }
    }

    /** Whether it matters how an escape goes on. A line break does only within a form. */
    private boolean awaited(int kind) {
        return kind != Escape.LINE || cursors[kind].active() || trie.depth(plain) > 0;
    }

    private void escaped(int kind, int length) {
        Cursor cursor = cursors[kind];
        boolean empty = escape.count() == 0;
        if (empty && position == escapeEnds[kind] && position > 0) {
            cursor.stop(); // an empty line ends what was broken into lines
            escapeEnds[kind] = position + length;
            return;
        }
        if (!cursor.active()) {
            int from = trie.shortened(plain, position - escapeEnds[kind]);
            if (empty && trie.depth(from) == 0) {
                escapeEnds[kind] = position + length;
                return;
            }
            cursor.begin(from);
        }
        escapeEnds[kind] = position + length;
        cursor.escape(length, escape.count(), position + length);
        for (int i = 0; i < escape.count(); i++) {
            found(cursor, cursor.read(escape.meaning(i)), escape.count() - 1 - i);
        }
    }

    private void found(Cursor cursor, int match, int behind) {
        if (match > 0) {
            spans.add(Math.max(released, cursor.begin(match, behind)), cursor.at());
        }
    }

    // ---- skipping

    /** Goes on to where a form may begin, with nothing read of it. */
    private void skip() {
        long floor = position - trie.depth(plain);
        int at = (int) (position - base);
        while (true) {
            at = sieve.next(buffer, at, size, (int) (floor - base));
            if (size - at < Sieve.BLOCK + Sieve.AHEAD) {
                enter(floor, base + at, base + at);
                return;
            }
            int hit = hit(at);
            int odd = odd(at, hit < 0 ? at + Sieve.BLOCK : hit, floor);
            if (odd >= 0) {
                enter(floor, base + odd, base + odd + 1);
                return;
            }
            if (hit >= 0) {
                enter(floor, base + hit, base + hit + sieve.gram());
                return;
            }
            at += Sieve.BLOCK;
        }
    }

    private void enter(long floor, long near, long seen) {
        position = Math.max(floor, near - reach);
        plain = 0;
        walkTo = seen;
    }

    /** The first place in a block that the sieve knows, or -1. */
    private int hit(int block) {
        for (int at = block; at < block + Sieve.BLOCK; at += sieve.stride()) {
            if (sieve.hit(buffer, at)) {
                return at;
            }
        }
        return -1;
    }

    /** The first escape in a part of the buffer that may be part of a form, or -1. */
    private int odd(int from, int to, long floor) {
        for (int at = from; at < to; at++) {
            byte b = buffer[at];
            if ((b == '%' || b == '\\' || b == '\n') && matters(at, floor)) {
                return at;
            }
        }
        return -1;
    }

    private boolean matters(int at, long floor) {
        int kind = Escape.kind(buffer[at]);
        if (base + at < escapeEnds[kind]) {
            return false;
        }
        if (kind == Escape.LINE) {
            return sieve.breaks(buffer, at, (int) (floor - base));
        }
        int length = escape.read(buffer, at, size);
        if (length == 0) {
            return false;
        }
        for (int i = 0; i < escape.count(); i++) {
            if (sieve.uses(escape.meaning(i))) {
                return true;
            }
        }
        escapeEnds[kind] = base + at + length;
        return false;
    }

    // ---- handing out

    /** Where the first form begins that may go on. */
    private long safe() {
        long safe = position - trie.depth(plain);
        for (Cursor cursor : cursors) {
            if (cursor.active()) {
                safe = Math.min(safe, cursor.start());
            }
        }
        return Math.max(safe, released);
    }

    private void release(long until, Consumer<ByteBuffer> out) {
        while (!spans.isEmpty() && (spans.start() < until || spans.end() <= until)) {
            if (spans.start() >= covered) {
                text(spans.start(), out);
                out.accept(ByteBuffer.wrap(REPLACEMENT.clone()));
                found++;
            }
            covered = Math.max(covered, spans.end());
            released = Math.max(released, Math.min(spans.end(), until));
            spans.removeFirst();
        }
        text(until, out);
    }

    /** Hands out what was not handed out yet and is not covered. */
    private void text(long until, Consumer<ByteBuffer> out) {
        long from = Math.max(released, covered);
        if (from < until) {
            int length = (int) (until - from);
            out.accept(ByteBuffer.wrap(buffer, (int) (from - base), length).slice());
        }
        released = Math.max(released, until);
    }
}
