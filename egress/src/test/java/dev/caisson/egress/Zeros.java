package dev.caisson.egress;

import java.io.InputStream;

/** So many zeros. */
final class Zeros extends InputStream {
    private long left;

    Zeros(long size) {
        left = size;
    }

    @Override
    public int read() {
        return left-- > 0 ? 0 : -1;
    }

    @Override
    public int read(byte[] into, int offset, int length) {
        if (left <= 0) {
            return -1;
        }
        int count = (int) Math.min(left, length);
        java.util.Arrays.fill(into, offset, offset + count, (byte) 0);
        left -= count;
        return count;
    }
}
