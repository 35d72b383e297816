package dev.caisson.mcp;

import dev.caisson.core.Interpreters;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.List;

/** How code runs in a sandbox that is there already. */
final class Scripts {
    private static final SecureRandom RANDOM = new SecureRandom();

    private Scripts() {}

    /** A file for code of that language; no other call has the same. */
    static String file(Interpreters.Language language) {
        byte[] random = new byte[4];
        RANDOM.nextBytes(random);
        return "/work/code_" + HexFormat.of().formatHex(random) + "." + language.extension();
    }

    /**
     * The first interpreter that is there, on that file. The line holds words of the table of
     * languages only; the file is an argument.
     */
    static List<String> argv(Interpreters.Language language, String file) {
        StringBuilder line = new StringBuilder();
        for (List<String> command : language.commands()) {
            line.append("command -v ")
                    .append(command.getFirst())
                    .append(" >/dev/null 2>&1 && exec ")
                    .append(String.join(" ", command))
                    .append(" \"$0\"\n");
        }
        line.append("echo 'There is no interpreter for ")
                .append(language.name())
                .append(" in this sandbox.' >&2; exit 127");
        return List.of("/bin/sh", "-c", line.toString(), file);
    }
}
