package dev.caisson.policy;

/** Hexadecimal digits of ASCII; the JDK's own method takes those of every script. */
final class Hex {
    private Hex() {}

    /** 0 to 15, or −1. */
    static int value(char c) {
        if (c >= '0' && c <= '9') {
            return c - '0';
        }
        char lower = (char) (c | 0x20);
        return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
    }
}
