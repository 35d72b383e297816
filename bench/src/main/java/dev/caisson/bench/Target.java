package dev.caisson.bench;

import java.util.OptionalDouble;

/**
 * What a row is to reach.
 *
 * @param subject what is compared
 * @param direction which side of the bound is good
 * @param bound in the row's unit, or a plain number for a ratio
 */
record Target(Subject subject, Direction direction, double bound) {
    /** What is compared with the bound. */
    enum Subject {
        VALUE,
        RATIO
    }

    /** Which side of the bound is good; the bound itself is. */
    enum Direction {
        AT_LEAST,
        AT_MOST
    }

    static Target valueAtLeast(double bound) {
        return new Target(Subject.VALUE, Direction.AT_LEAST, bound);
    }

    static Target valueAtMost(double bound) {
        return new Target(Subject.VALUE, Direction.AT_MOST, bound);
    }

    static Target ratioAtLeast(double bound) {
        return new Target(Subject.RATIO, Direction.AT_LEAST, bound);
    }

    static Target ratioAtMost(double bound) {
        return new Target(Subject.RATIO, Direction.AT_MOST, bound);
    }

    /** Whether it is reached; never without the number that it speaks of. */
    boolean met(OptionalDouble value, OptionalDouble ratio) {
        OptionalDouble compared = subject == Subject.VALUE ? value : ratio;
        if (compared.isEmpty()) {
            return false;
        }
        return switch (direction) {
            case AT_LEAST -> compared.getAsDouble() >= bound;
            case AT_MOST -> compared.getAsDouble() <= bound;
        };
    }

    /** For example {@code ratio <= 1.0}. */
    @Override
    public String toString() {
        return (subject == Subject.VALUE ? "value" : "ratio")
                + (direction == Direction.AT_LEAST ? " >= " : " <= ")
                + Numbers.text(bound);
    }
}
