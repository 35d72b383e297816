package dev.caisson.control;

import dev.caisson.api.CaissonException;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Paths of the API: absolute or below /work, escaped, never upwards. */
final class Paths {
    private static final int MAX = 4096;
    private static final Pattern ESCAPE = Pattern.compile("%([0-9A-Fa-f]{2})");

    private Paths() {}

    /**
     * The absolute path.
     *
     * @throws CaissonException {@link dev.caisson.api.ErrorCode#INVALID}
     */
    static String absolute(String path) {
        check(path);
        return trimmed(path.startsWith("/") ? path : "/work/" + path);
    }

    /**
     * A path of something that is mounted at a folder; a first slash is that folder.
     *
     * @throws CaissonException {@link dev.caisson.api.ErrorCode#INVALID}
     */
    static String within(String folder, String path) {
        check(path);
        return trimmed(path.startsWith("/") ? folder + path : folder + "/" + path);
    }

    private static String trimmed(String absolute) {
        return absolute.length() > 1 && absolute.endsWith("/")
                ? absolute.substring(0, absolute.length() - 1)
                : absolute;
    }

    private static void check(String path) {
        if (path.isEmpty() || path.length() > MAX || path.indexOf('\0') >= 0) {
            throw invalid(path, "is empty, too long or holds a NUL");
        }
        for (String part : decoded(path).split("/", -1)) {
            if (part.equals("..") || part.equals(".") || part.indexOf('\0') >= 0) {
                throw invalid(path, "has a part that is . or .., or a NUL");
            }
        }
    }

    /** As the sandbox will read it, for looking at only. */
    private static String decoded(String path) {
        return ESCAPE.matcher(path)
                .replaceAll(found ->
                        Matcher.quoteReplacement(
                                String.valueOf((char) Integer.parseInt(found.group(1), 16))));
    }

    /** The name that an escaped path stands for; escaped still where that is no text. */
    static String literal(String escaped) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        int at = 0;
        Matcher matcher = ESCAPE.matcher(escaped);
        while (matcher.find()) {
            bytes.writeBytes(
                    escaped.substring(at, matcher.start()).getBytes(StandardCharsets.UTF_8));
            bytes.write(Integer.parseInt(matcher.group(1), 16));
            at = matcher.end();
        }
        bytes.writeBytes(escaped.substring(at).getBytes(StandardCharsets.UTF_8));
        return Utf8.text(bytes.toByteArray(), bytes.size())
                .filter(text -> text.chars().noneMatch(Character::isISOControl))
                .orElse(escaped);
    }

    private static CaissonException invalid(String path, String why) {
        return CaissonException.invalid("path", "The path '" + Boxes.shown(path) + "' " + why + ".")
                .withRemedy("Give an absolute path, or one below /work.");
    }

    /** A path below a folder. */
    static String below(String folder, String relative) {
        return folder.equals("/") ? "/" + relative : folder + "/" + relative;
    }
}
