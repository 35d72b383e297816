package dev.caisson.redact;

import java.util.Arrays;

/** Parts of the stream that are to go, in order and apart; those that overlap become one. */
final class Spans {
    private long[] starts = new long[4];
    private long[] ends = new long[4];
    private int first;
    private int end;

    boolean isEmpty() {
        return first == end;
    }

    long start() {
        return starts[first];
    }

    long end() {
        return ends[first];
    }

    void removeFirst() {
        first++;
        if (first == end) {
            first = 0;
            end = 0;
        }
    }

    /** Adds one; most belong to the end. */
    void add(long from, long to) {
        int index = end;
        while (index > first && starts[index - 1] >= to) {
            index--;
        }
        int merged = index;
        long start = from;
        long last = to;
        while (merged > first && ends[merged - 1] > from) {
            merged--;
            start = Math.min(start, starts[merged]);
            last = Math.max(last, ends[merged]);
        }
        if (merged == index) {
            open(index);
        } else {
            close(merged + 1, index);
        }
        starts[merged] = start;
        ends[merged] = last;
    }

    /** Makes room for one. */
    private void open(int index) {
        if (end == starts.length) {
            starts = Arrays.copyOf(starts, 2 * end);
            ends = Arrays.copyOf(ends, 2 * end);
        }
        System.arraycopy(starts, index, starts, index + 1, end - index);
        System.arraycopy(ends, index, ends, index + 1, end - index);
        end++;
    }

    /** Takes out those from one index up to another. */
    private void close(int from, int to) {
        System.arraycopy(starts, to, starts, from, end - to);
        System.arraycopy(ends, to, ends, from, end - to);
        end -= to - from;
    }
}
