package dev.caisson.control;

import dev.caisson.api.CaissonException;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Where a reader of an exec's stream is: what it has seen of each descriptor, and the last record
 * without output. Written {@code SEQ.OUT.ERR.PTY}.
 */
final class Place {
    private static final int PARTS = 4;

    private long seq;
    private final long[] offsets = new long[3];

    /** The start when null. */
    static Place of(@Nullable String id) {
        Place place = new Place();
        if (id == null || id.isEmpty() || id.equals("0")) {
            return place;
        }
        String[] parts = id.split("\\.", -1);
        try {
            if (parts.length == PARTS && id.length() <= 80) {
                place.seq = Long.parseLong(parts[0]);
                for (int fd = 0; fd < 3; fd++) {
                    place.offsets[fd] = Long.parseLong(parts[fd + 1]);
                }
                if (place.seq >= 0 && Arrays.stream(place.offsets).allMatch(n -> n >= 0)) {
                    return place;
                }
            }
        } catch (NumberFormatException e) {
            // Told below.
        }
        throw CaissonException.invalid("after", "'" + id + "' is not the id of a stream's item.")
                .withRemedy("Give the id of the last item that you have, or none.");
    }

    long offset(int fd) {
        return offsets[fd];
    }

    void offset(int fd, long value) {
        offsets[fd] = value;
    }

    boolean seen(long record) {
        return record <= seq;
    }

    void see(long record) {
        seq = Math.max(seq, record);
    }

    @Override
    public String toString() {
        return seq + "." + offsets[0] + "." + offsets[1] + "." + offsets[2];
    }
}
