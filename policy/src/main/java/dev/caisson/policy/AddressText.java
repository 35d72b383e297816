package dev.caisson.policy;

import org.jspecify.annotations.Nullable;

/** Addresses as text (RFC 4291 2.2, RFC 5952), strictly. */
final class AddressText {
    /** The longest: eight groups, the last two as IPv4. */
    private static final int MAX = 45;

    private AddressText() {}

    /** The address, or null for any other text. */
    static @Nullable IpAddress parse(String text) {
        if (text.length() > MAX) {
            return null;
        }
        if (text.indexOf(':') >= 0) {
            return v6(text);
        }
        long four = v4(text);
        return four < 0 ? null : IpAddress.v4((int) four);
    }

    /** 32 bits, or −1. */
    private static long v4(String text) {
        long bits = 0;
        int at = 0;
        for (int part = 0; part < 4; part++) {
            int end = part < 3 ? text.indexOf('.', at) : text.length();
            int number = end < 0 ? -1 : decimal(text, at, end);
            if (number < 0) {
                return -1;
            }
            bits = (bits << 8) | number;
            at = end + 1;
        }
        return bits;
    }

    /** 0 to 255 without leading zeros, which some libraries read as octal; or −1. */
    private static int decimal(String text, int from, int to) {
        int length = to - from;
        if (length < 1 || length > 3 || (length > 1 && text.charAt(from) == '0')) {
            return -1;
        }
        int number = 0;
        for (int i = from; i < to; i++) {
            char c = text.charAt(i);
            if (c < '0' || c > '9') {
                return -1;
            }
            number = number * 10 + c - '0';
        }
        return number > 255 ? -1 : number;
    }

    private static @Nullable IpAddress v6(String text) {
        int[] groups = new int[8];
        int count = 0;
        int gap = -1;
        int at = 0;
        if (text.startsWith("::")) {
            gap = 0;
            at = 2;
        }
        while (at < text.length()) {
            int colon = text.indexOf(':', at);
            int end = colon < 0 ? text.length() : colon;
            if (colon < 0 && text.indexOf('.', at) >= 0) {
                long four = v4(text.substring(at));
                if (four < 0 || count > 6) {
                    return null;
                }
                groups[count++] = (int) (four >>> 16);
                groups[count++] = (int) (four & 0xffff);
                break;
            }
            int group = group(text, at, end);
            if (group < 0 || count == 8) {
                return null;
            }
            groups[count++] = group;
            if (colon < 0) {
                break;
            }
            at = end + 1;
            if (at == text.length()) {
                return null;
            }
            if (text.charAt(at) == ':') {
                if (gap >= 0) {
                    return null;
                }
                gap = count;
                at++;
            }
        }
        return gap < 0 ? count == 8 ? join(groups) : null : expand(groups, count, gap);
    }

    private static int group(String text, int from, int to) {
        if (to - from < 1 || to - from > 4) {
            return -1;
        }
        int group = 0;
        for (int i = from; i < to; i++) {
            int digit = Hex.value(text.charAt(i));
            if (digit < 0) {
                return -1;
            }
            group = (group << 4) | digit;
        }
        return group;
    }

    private static @Nullable IpAddress expand(int[] groups, int count, int gap) {
        if (count > 7) {
            return null;
        }
        int[] all = new int[8];
        System.arraycopy(groups, 0, all, 0, gap);
        System.arraycopy(groups, gap, all, 8 - (count - gap), count - gap);
        return join(all);
    }

    private static IpAddress join(int[] groups) {
        long high = 0;
        long low = 0;
        for (int i = 0; i < 4; i++) {
            high = (high << 16) | groups[i];
            low = (low << 16) | groups[i + 4];
        }
        return IpAddress.of(high, low);
    }

    static String format(IpAddress address) {
        long low = address.low();
        if (address.isV4()) {
            return ((low >>> 24) & 255)
                    + "."
                    + ((low >>> 16) & 255)
                    + "."
                    + ((low >>> 8) & 255)
                    + "."
                    + (low & 255);
        }
        int[] groups = new int[8];
        for (int i = 0; i < 4; i++) {
            groups[i] = (int) ((address.high() >>> (48 - 16 * i)) & 0xffff);
            groups[i + 4] = (int) ((low >>> (48 - 16 * i)) & 0xffff);
        }
        int[] run = longestZeros(groups);
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 8; i++) {
            if (run[1] > 1 && i == run[0]) {
                text.append("::");
                i += run[1] - 1;
                continue;
            }
            if (!text.isEmpty() && text.charAt(text.length() - 1) != ':') {
                text.append(':');
            }
            text.append(Integer.toHexString(groups[i]));
        }
        return text.toString();
    }

    /** Start and length of the first of the longest runs of zeros. */
    private static int[] longestZeros(int[] groups) {
        int[] best = {0, 0};
        int start = 0;
        for (int i = 0; i < 8; i++) {
            if (groups[i] != 0) {
                start = i + 1;
            } else if (i - start + 1 > best[1]) {
                best = new int[] {start, i - start + 1};
            }
        }
        return best;
    }
}
