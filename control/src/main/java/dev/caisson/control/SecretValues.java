package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.core.SecretReader;
import dev.caisson.v1.SecretBinding;
import dev.caisson.v1.SecretSlot;
import dev.caisson.v1.SecretSpec;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** What the bytes of a secret must be like for its slots, and which of them nobody may see. */
final class SecretValues {
    /** A shorter one would be found everywhere, so it could not be kept out of output. */
    static final int MIN_BYTES = 6;

    private static final int MAX_SIGV4_PARTS = 3;

    private SecretValues() {}

    /**
     * Refuses what could not be put into every slot.
     *
     * @throws CaissonException {@link dev.caisson.api.ErrorCode#INVALID}; never with a part of it
     */
    static void check(SecretSpec spec, byte[] value) {
        if (value.length < MIN_BYTES || value.length > SecretReader.MAX_BYTES) {
            throw wrong(
                    "It has "
                            + MIN_BYTES
                            + " to "
                            + SecretReader.MAX_BYTES
                            + " bytes; a shorter"
                            + " one could not be kept out of output.");
        }
        for (byte one : value) {
            if ((one >= 0 && one < ' ') || one == 0x7f) {
                throw wrong("It has no control characters, and so a single line.");
            }
        }
        requireText(value);
        for (SecretBinding binding : spec.bindings()) {
            fits(binding.slot(), value);
        }
    }

    private static void requireText(byte[] value) {
        try {
            char[] text =
                    StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(value)).array();
            Arrays.fill(text, '\0');
        } catch (CharacterCodingException e) {
            throw wrong("It is text in UTF-8.");
        }
    }

    private static void fits(SecretSlot slot, byte[] value) {
        switch (slot.kind()) {
            case "header" -> {
                for (byte one : value) {
                    if (one < 0) {
                        throw wrong("In a header it is ASCII.");
                    }
                }
                if (value[0] == ' ' || value[value.length - 1] == ' ') {
                    throw wrong("In a header it has no blanks around it.");
                }
            }
            case "basic", "git" -> {
                if (slot.user() == null) {
                    parted("USER:PASSWORD", parts(value, 2), 2);
                }
            }
            case "oauth" -> parted("CLIENT_ID:SECRET", parts(value, 2), 2);
            case "sigv4" ->
                    parted(
                            "KEY_ID:SECRET or KEY_ID:SECRET:SESSION_TOKEN",
                            parts(value, MAX_SIGV4_PARTS),
                            2);
            default -> {
                // A parameter of a query is escaped.
            }
        }
    }

    /** The first is a name; the others are secret. */
    private static void parted(String form, List<byte[]> parts, int least) {
        boolean whole =
                parts.size() >= least
                        && parts.getFirst().length > 0
                        && parts.stream().skip(1).allMatch(part -> part.length >= MIN_BYTES);
        clear(parts);
        if (!whole) {
            throw wrong(
                    "For its slot it is "
                            + form
                            + ", each secret part of at least "
                            + MIN_BYTES
                            + " bytes.");
        }
    }

    /** Between the first colons, at most that many. */
    private static List<byte[]> parts(byte[] value, int most) {
        List<byte[]> parts = new ArrayList<>();
        int from = 0;
        for (int i = 0; i < value.length && parts.size() < most - 1; i++) {
            if (value[i] == ':') {
                parts.add(Arrays.copyOfRange(value, from, i));
                from = i + 1;
            }
        }
        parts.add(Arrays.copyOfRange(value, from, value.length));
        return parts;
    }

    static void clear(List<byte[]> all) {
        all.forEach(one -> Arrays.fill(one, (byte) 0));
    }

    /** All that is to be taken out of output: the value, and its secret parts by themselves. */
    static List<byte[]> hidden(SecretSpec spec, byte[] value) {
        List<byte[]> hidden = new ArrayList<>();
        hidden.add(value.clone());
        for (SecretBinding binding : spec.bindings()) {
            SecretSlot slot = binding.slot();
            int most =
                    switch (slot.kind()) {
                        case "basic", "git" -> slot.user() == null ? 2 : 1;
                        case "oauth" -> 2;
                        case "sigv4" -> MAX_SIGV4_PARTS;
                        default -> 1;
                    };
            if (most > 1) {
                parts(value, most).stream().skip(1).forEach(part -> add(hidden, part));
            }
        }
        return hidden;
    }

    private static void add(List<byte[]> hidden, byte[] part) {
        if (part.length >= MIN_BYTES
                && hidden.stream().noneMatch(other -> Arrays.equals(other, part))) {
            hidden.add(part);
        }
    }

    private static CaissonException wrong(String why) {
        return CaissonException.invalid("source", "The secret's value is wrong: " + why);
    }
}
