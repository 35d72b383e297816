package dev.caisson.api;

import java.util.function.Function;

/** Looks up values of closed lists by their wire names. */
final class Closed {
    private Closed() {}

    static <E> E find(E[] values, Function<E, String> name, String wanted, E unknown) {
        for (E value : values) {
            if (name.apply(value).equals(wanted)) {
                return value;
            }
        }
        return unknown;
    }
}
