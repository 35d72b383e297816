package dev.caisson.egress;

import java.util.regex.Pattern;

/**
 * A sandbox of a client: ids of different clients never meet.
 *
 * @param owner uid of the client, unsigned
 * @param id of the sandbox; a part of file names
 */
record SandboxKey(int owner, String id) {
    private static final Pattern ID = Pattern.compile("[a-z0-9][a-z0-9-]{0,63}");

    /** Checks the id. */
    SandboxKey {
        if (!isId(id)) {
            throw new IllegalArgumentException("No id of a sandbox.");
        }
    }

    static boolean isId(String text) {
        return ID.matcher(text).matches();
    }

    /** For file names: {@code UID-ID}. */
    @Override
    public String toString() {
        return Integer.toUnsignedString(owner) + "-" + id;
    }

    /** Reads what {@link #toString} wrote. */
    static SandboxKey parse(String text) {
        int dash = text.indexOf('-');
        if (dash <= 0) {
            throw new IllegalArgumentException("No sandbox: " + text);
        }
        return new SandboxKey(
                Integer.parseUnsignedInt(text.substring(0, dash)), text.substring(dash + 1));
    }
}
