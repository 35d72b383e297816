package dev.caisson.doctor;

import java.util.Locale;

/**
 * What was found about one thing.
 *
 * @param name of the thing, such as {@code cgroup.memory}
 * @param found as it is here
 * @param remedy what to do; empty when it is well
 */
public record Finding(String name, State state, String found, String remedy) {
    /** How it is. */
    public enum State {
        /** As it should be. */
        OK,
        /** Works, with less safety or fewer features. */
        WARN,
        /** Caisson does not work without it. */
        MISSING;

        /** In small letters. */
        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    static Finding ok(String name, String found) {
        return new Finding(name, State.OK, found, "");
    }

    static Finding warn(String name, String found, String remedy) {
        return new Finding(name, State.WARN, found, remedy);
    }

    static Finding missing(String name, String found, String remedy) {
        return new Finding(name, State.MISSING, found, remedy);
    }
}
