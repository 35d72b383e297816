package dev.caisson.redact;

import java.util.Arrays;
import java.util.Collection;

/**
 * An Aho-Corasick automaton over bytes ("Efficient string matching", 1975). State 0 has read
 * nothing of a form. Mostly chains: a state has its children in a list, and a table once they are
 * many.
 */
final class Trie {
    private static final int BYTES = 256;
    private static final int LISTED = 3; // children, before a table is made

    private byte[] label = new byte[BYTES];
    private int[] child = new int[BYTES];
    private int[] sibling = new int[BYTES];
    private int[] depth = new int[BYTES];
    private int[] match = new int[BYTES];
    private int size = 1;
    private final int[] fail;
    private final int[] table; // of a state: where its row starts in rows, or -1
    private int[] rows = new int[BYTES]; // the first is the root's
    private int rowsUsed = BYTES;

    Trie(Collection<byte[]> forms) {
        forms.forEach(this::insert);
        label = Arrays.copyOf(label, size);
        child = Arrays.copyOf(child, size);
        sibling = Arrays.copyOf(sibling, size);
        depth = Arrays.copyOf(depth, size);
        match = Arrays.copyOf(match, size);
        fail = new int[size];
        table = new int[size];
        Arrays.fill(table, -1);
        link();
        rows = Arrays.copyOf(rows, rowsUsed);
    }

    private void insert(byte[] form) {
        int state = 0;
        for (byte b : form) {
            int next = listed(state, b);
            state = next == 0 ? added(state, b) : next;
        }
        match[state] = form.length;
    }

    private int added(int parent, byte b) {
        if (size == label.length) {
            label = Arrays.copyOf(label, 2 * size);
            child = Arrays.copyOf(child, 2 * size);
            sibling = Arrays.copyOf(sibling, 2 * size);
            depth = Arrays.copyOf(depth, 2 * size);
            match = Arrays.copyOf(match, 2 * size);
        }
        label[size] = b;
        sibling[size] = child[parent];
        child[parent] = size;
        depth[size] = depth[parent] + 1;
        return size++;
    }

    /** Breadth first, so that what a state falls back to is done before it. */
    private void link() {
        int[] queue = new int[size];
        int end = 1;
        for (int at = 0; at < end; at++) {
            int state = queue[at];
            tabulate(state);
            for (int c = child[state]; c != 0; c = sibling[c]) {
                fail[c] = state == 0 ? 0 : next(fail[state], label[c]);
                match[c] = Math.max(match[c], match[fail[c]]);
                queue[end++] = c;
            }
        }
    }

    private void tabulate(int state) {
        int children = 0;
        for (int c = child[state]; c != 0; c = sibling[c]) {
            children++;
        }
        if (state != 0 && children <= LISTED) {
            return;
        }
        int row = state == 0 ? 0 : rowsUsed;
        if (state != 0) {
            rowsUsed += BYTES;
        }
        if (rowsUsed > rows.length) {
            rows = Arrays.copyOf(rows, 2 * rowsUsed);
        }
        for (int c = child[state]; c != 0; c = sibling[c]) {
            rows[row + (label[c] & 0xFF)] = c;
        }
        table[state] = row;
    }

    private int listed(int state, byte b) {
        int c = child[state];
        while (c != 0 && label[c] != b) {
            c = sibling[c];
        }
        return c;
    }

    /** The state after one more byte. */
    int next(int from, byte b) {
        int state = from;
        while (true) {
            int row = table[state];
            int to = row < 0 ? listed(state, b) : rows[row + (b & 0xFF)];
            if (to != 0 || state == 0) {
                return to;
            }
            state = fail[state];
        }
    }

    /** The state that has forgotten all but at most that many bytes. */
    int shortened(int from, long most) {
        int state = from;
        while (depth[state] > most) {
            state = fail[state];
        }
        return state;
    }

    /** How many bytes of a form were read. */
    int depth(int state) {
        return depth[state];
    }

    /** The length of the longest form that ends here; 0 when none does. */
    int match(int state) {
        return match[state];
    }
}
