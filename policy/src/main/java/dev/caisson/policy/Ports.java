package dev.caisson.policy;

/** Port numbers, which have one way to be written. */
final class Ports {
    static final int MAX = 65535;

    private Ports() {}

    /** A decimal number of 1 to 65535 without sign and leading zeros. */
    static int parse(String text) {
        int port = 0;
        boolean fit = !text.isEmpty() && text.length() <= 5 && text.charAt(0) != '0';
        for (int i = 0; fit && i < text.length(); i++) {
            char c = text.charAt(i);
            fit = c >= '0' && c <= '9';
            port = port * 10 + c - '0';
        }
        if (!fit || port > MAX) {
            throw Wrong.field("port", text, "1 to 65535");
        }
        return port;
    }
}
