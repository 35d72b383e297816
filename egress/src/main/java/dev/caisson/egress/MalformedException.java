package dev.caisson.egress;

/** Bytes that are not what they should be. */
final class MalformedException extends Exception {
    private static final long serialVersionUID = 1;

    MalformedException(String what) {
        super(what);
    }
}
