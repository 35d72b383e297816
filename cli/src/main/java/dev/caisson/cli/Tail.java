package dev.caisson.cli;

import java.nio.charset.StandardCharsets;

/** Keeps the last bytes of a stream. */
final class Tail {
    private final byte[] ring;
    private long total;

    Tail(int size) {
        ring = new byte[size];
    }

    synchronized void add(byte[] bytes, int length) {
        for (int i = Math.max(0, length - ring.length); i < length; i++) {
            ring[(int) ((total + i) % ring.length)] = bytes[i];
        }
        total += length;
    }

    synchronized String text() {
        int kept = (int) Math.min(total, ring.length);
        byte[] ordered = new byte[kept];
        for (int i = 0; i < kept; i++) {
            ordered[i] = ring[(int) ((total - kept + i) % ring.length)];
        }
        return new String(ordered, StandardCharsets.UTF_8);
    }
}
