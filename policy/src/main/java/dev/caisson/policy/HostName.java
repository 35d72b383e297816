package dev.caisson.policy;

import dev.caisson.api.CaissonException;
import java.net.IDN;
import java.text.Normalizer;
import java.util.Locale;

/**
 * A host name in the one form that policy, resolver and dialer share: lower-case ASCII labels
 * (international names as A-labels, UTS 46), no trailing dot, at most 253 characters. Never an
 * address.
 *
 * <p>The JDK knows the mapping of IDNA 2003 only. So it is asked for Punycode, and a name is
 * refused when its mapping does anything but lower case and composition (NFC), because UTS 46 or
 * another program may map it differently: sharp s, final sigma, joiners, full-width letters and
 * dots.
 */
public record HostName(String value) {
    private static final int MAX_NAME = 253;
    private static final int MAX_LABEL = 63;

    /**
     * A name that is in that form.
     *
     * @throws CaissonException {@link dev.caisson.api.ErrorCode#INVALID} for any other text
     */
    public HostName {
        check(value);
    }

    /**
     * Reads a name as people and programs write it.
     *
     * @throws CaissonException {@link dev.caisson.api.ErrorCode#INVALID} when it is none, or could
     *     be read in two ways
     */
    public static HostName of(String text) {
        if (text.length() > MAX_NAME + 1) {
            throw refused(text, "is longer than " + MAX_NAME + " characters");
        }
        String name = text.endsWith(".") ? text.substring(0, text.length() - 1) : text;
        return new HostName(ascii(name) ? lower(name) : international(text, name));
    }

    private static boolean ascii(String text) {
        return text.chars().allMatch(c -> c < 0x80);
    }

    private static String lower(String text) {
        // Of ASCII only: toLowerCase would also change what is not.
        StringBuilder lower = new StringBuilder(text);
        for (int i = 0; i < lower.length(); i++) {
            char c = lower.charAt(i);
            if (c >= 'A' && c <= 'Z') {
                lower.setCharAt(i, (char) (c + 32));
            }
        }
        return lower.toString();
    }

    private static String international(String text, String name) {
        if (!name.codePoints().allMatch(HostName::letter)) {
            throw refused(text, "has a character that names do not have");
        }
        String plain = Normalizer.normalize(name.toLowerCase(Locale.ROOT), Normalizer.Form.NFC);
        StringBuilder ascii = new StringBuilder();
        for (String label : plain.split("\\.", -1)) {
            ascii.append(ascii.isEmpty() ? "" : ".").append(label(text, label));
        }
        return ascii.toString();
    }

    private static String label(String text, String label) {
        if (ascii(label)) {
            return label;
        }
        int type = Character.getType(label.codePointAt(0));
        if (label.startsWith("xn--")
                || (type == Character.DECIMAL_DIGIT_NUMBER && label.charAt(0) >= 0x80)
                || type == Character.NON_SPACING_MARK
                || type == Character.COMBINING_SPACING_MARK) {
            throw refused(text, "is no international name");
        }
        String encoded;
        try {
            encoded = IDN.toASCII(label);
        } catch (IllegalArgumentException e) {
            throw refused(text, "is no international name that this version can encode");
        }
        if (!IDN.toUnicode(encoded).equals(label)) {
            throw refused(text, "is read differently by different programs");
        }
        return encoded;
    }

    private static boolean letter(int c) {
        int type = Character.getType(c);
        boolean own = Character.toLowerCase(c) >= 0x80; // the Kelvin sign is a k of ASCII
        return c < 0x80
                || (own && Character.isLetterOrDigit(c))
                || type == Character.NON_SPACING_MARK
                || type == Character.COMBINING_SPACING_MARK;
    }

    private static void check(String name) {
        if (name.isEmpty() || name.length() > MAX_NAME) {
            throw refused(name, "does not have 1 to " + MAX_NAME + " characters");
        }
        int start = 0;
        int last = 0;
        for (int i = 0; i <= name.length(); i++) {
            if (i == name.length() || name.charAt(i) == '.') {
                label(name, start, i);
                last = start;
                start = i + 1;
            }
        }
        if (number(name.substring(last))) {
            throw refused(name, "is an address or could be read as one");
        }
    }

    private static void label(String name, int start, int end) {
        if (end == start || end - start > MAX_LABEL) {
            throw refused(name, "has a label that does not have 1 to " + MAX_LABEL + " characters");
        }
        for (int i = start; i < end; i++) {
            char c = name.charAt(i);
            boolean inner = i > start && i < end - 1;
            if (!((c >= 'a' && c <= 'z')
                    || (c >= '0' && c <= '9')
                    || (c == '-' && inner)
                    || (c == '_' && i == start && end - start > 1))) {
                throw refused(name, "has a character where names do not have it");
            }
        }
    }

    /** Whether libraries would take a name with this last label for an address (WHATWG URL). */
    private static boolean number(String label) {
        if (label.startsWith("0x")) {
            return label.chars().skip(2).allMatch(c -> Hex.value((char) c) >= 0);
        }
        return label.chars().allMatch(c -> c >= '0' && c <= '9');
    }

    private static CaissonException refused(String text, String why) {
        return CaissonException.invalid(
                        "host", "The host name '" + Wrong.printable(text) + "' " + why + ".")
                .withRemedy(
                        "Write a plain host name, an international one as A-labels (xn--…);"
                                + " addresses go into cidr.")
                .withDetail("requested", Wrong.printable(text))
                .withDetail("allowed", "a host name without scheme, port and user");
    }

    @Override
    public String toString() {
        return value;
    }
}
