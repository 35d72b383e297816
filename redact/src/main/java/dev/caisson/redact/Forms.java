package dev.caisson.redact;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.LinkedHashSet;
import java.util.Locale;
import java.util.Set;

/**
 * The literal forms of a secret. Percent-encoding, JSON escapes and line breaks are not here: they
 * mix freely with each form, and the scanner undoes them.
 */
final class Forms {
    private static final char[] BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".toCharArray();
    private static final int BASE32_GROUP = 5;
    private static final int BASE64_GROUP = 3;

    private Forms() {}

    /** Every form once, as text of one character per byte. */
    static Set<String> of(byte[] secret) {
        Set<String> forms = new LinkedHashSet<>();
        String plain = latin(secret);
        forms.add(plain);
        forms.add(plain.replace(' ', '+')); // as HTML forms send it
        String hex = HexFormat.of().formatHex(secret);
        String apart = HexFormat.ofDelimiter(":").formatHex(secret);
        for (String form : new String[] {hex, apart}) {
            forms.add(form);
            forms.add(form.toUpperCase(Locale.ROOT));
        }
        for (int before = 0; before < BASE64_GROUP; before++) {
            byte[] shifted = shifted(secret, before);
            forms.add(dependent(Base64.getEncoder().encode(shifted), before, secret.length, 6));
            forms.add(dependent(Base64.getUrlEncoder().encode(shifted), before, secret.length, 6));
        }
        for (int before = 0; before < BASE32_GROUP; before++) {
            forms.add(dependent(base32(shifted(secret, before)), before, secret.length, 5));
        }
        return forms;
    }

    static byte[] bytes(String form) {
        return form.getBytes(StandardCharsets.ISO_8859_1);
    }

    private static String latin(byte[] bytes) {
        return new String(bytes, StandardCharsets.ISO_8859_1);
    }

    private static byte[] shifted(byte[] secret, int before) {
        byte[] shifted = new byte[before + secret.length];
        System.arraycopy(secret, 0, shifted, before, secret.length);
        return shifted;
    }

    /** The characters that hold no bit of the neighbours. */
    private static String dependent(byte[] encoded, int before, int length, int bits) {
        int first = (8 * before + bits - 1) / bits;
        int end = 8 * (before + length) / bits;
        return latin(Arrays.copyOfRange(encoded, first, end));
    }

    private static byte[] base32(byte[] bytes) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        long bits = 0;
        int count = 0;
        for (byte b : bytes) {
            bits = (bits << 8) | (b & 0xFF);
            count += 8;
            while (count >= 5) {
                count -= 5;
                out.write(BASE32[(int) (bits >>> count) & 31]);
            }
        }
        return out.toByteArray();
    }
}
