package dev.caisson.redact;

/**
 * Reads the stream with escapes of one kind undone. Exists only while what it has read of a form
 * has an escape in it: else it is where the plain reading is.
 */
final class Cursor {
    private final Trie trie;
    private int state;
    private long symbols; // bytes read, of what escapes stand for
    private long at; // in the stream, behind what was read

    // A ring of the escapes within what was read of a form: the last symbol of each, and how much
    // longer than its symbols it is.
    private long[] lasts = new long[16];
    private int[] extras = new int[16];
    private int first;
    private int count;
    private long extra; // of all in the ring

    Cursor(Trie trie) {
        this.trie = trie;
    }

    boolean active() {
        return count > 0;
    }

    /** Goes on from where the plain reading is. */
    void begin(int from) {
        state = from;
        first = 0;
        count = 0;
        extra = 0;
    }

    /** Forgets everything. */
    void stop() {
        begin(0);
    }

    /** Where the stream was read up to. */
    long at() {
        return at;
    }

    /** Where that which was read of a form begins in the stream. */
    long start() {
        return at - trie.depth(state) - extra;
    }

    /**
     * Comes to an escape; its bytes are told to {@link #read} next.
     *
     * @param length in the stream
     * @param meant how many bytes it stands for
     * @param end in the stream
     */
    void escape(int length, int meant, long end) {
        if (count == lasts.length) {
            grow();
        }
        int free = (first + count) % lasts.length;
        lasts[free] = symbols + meant - 1;
        extras[free] = length - meant;
        count++;
        extra += length - meant;
        at = end;
    }

    private void grow() {
        long[] longer = new long[2 * count];
        int[] more = new int[2 * count];
        int tail = count - first;
        System.arraycopy(lasts, first, longer, 0, tail);
        System.arraycopy(lasts, 0, longer, tail, first);
        System.arraycopy(extras, first, more, 0, tail);
        System.arraycopy(extras, 0, more, tail, first);
        lasts = longer;
        extras = more;
        first = 0;
    }

    /** Reads a byte that stands for itself. */
    int readPlain(byte b, long end) {
        at = end;
        return read(b);
    }

    /** Reads a byte; the length of the form that ends with it, or 0. */
    int read(byte b) {
        state = trie.next(state, b);
        symbols++;
        long begin = symbols - trie.depth(state);
        while (count > 0 && lasts[first] < begin) {
            extra -= extras[first];
            first = (first + 1) % lasts.length;
            count--;
        }
        return trie.match(state);
    }

    /**
     * Where a form begins in the stream.
     *
     * @param length of the form
     * @param behind bytes of the last escape that were not read yet
     */
    long begin(int length, int behind) {
        long begin = at - length - behind;
        for (int i = count - 1; i >= 0; i--) {
            int index = (first + i) % lasts.length;
            if (lasts[index] < symbols - length) {
                break;
            }
            begin -= extras[index];
        }
        return begin;
    }
}
