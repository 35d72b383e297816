package dev.caisson.engine.namespaces;

import java.util.HexFormat;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Finds a string in the one line of JSON that the launcher writes when it cannot run. Not a parser
 * for anybody else's.
 */
final class JsonStrings {
    private JsonStrings() {}

    static Optional<String> find(String json, String name) {
        Matcher matcher =
                Pattern.compile("\"" + name + "\"\\s*:\\s*\"((?:[^\"\\\\]|\\\\.){0,4096})\"")
                        .matcher(json);
        return matcher.find() ? Optional.of(unescape(matcher.group(1))) : Optional.empty();
    }

    private static String unescape(String escaped) {
        StringBuilder text = new StringBuilder(escaped.length());
        for (int i = 0; i < escaped.length(); i++) {
            char c = escaped.charAt(i);
            if (c != '\\') {
                text.append(c);
                continue;
            }
            char kind = escaped.charAt(++i);
            switch (kind) {
                case 'n' -> text.append('\n');
                case 't' -> text.append('\t');
                case 'r' -> text.append('\r');
                case 'u' -> {
                    if (hexAt(escaped, i + 1)) {
                        text.append((char) HexFormat.fromHexDigits(escaped, i + 1, i + 5));
                        i += 4;
                    }
                }
                default -> text.append(kind);
            }
        }
        return text.toString();
    }

    private static boolean hexAt(String text, int from) {
        return from + 4 <= text.length()
                && text.substring(from, from + 4).chars().allMatch(HexFormat::isHexDigit);
    }
}
