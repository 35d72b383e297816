package dev.caisson.cli;

import dev.caisson.api.CaissonException;
import dev.caisson.api.Program;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The words of a command line after its options: a script, or a command behind {@code --}.
 *
 * @param words at least one
 * @param lang what {@code --lang} said
 */
record ProgramWords(List<String> words, boolean command, @Nullable String lang) {
    /** Longest code that is read from standard input. */
    private static final int MAX_CODE = 16 << 20;

    /**
     * Checks them.
     *
     * @param command whether they stood behind {@code --}
     */
    static ProgramWords of(List<String> words, boolean command, @Nullable String lang) {
        ProgramWords program = new ProgramWords(List.copyOf(words), command, lang);
        program.check();
        return program;
    }

    boolean fromStdin() {
        return !command && words.getFirst().equals("-");
    }

    List<String> arguments() {
        return command ? List.of() : words.subList(1, words.size());
    }

    /** What to run; reads the code when it comes from standard input. */
    Program program(InputStream stdin) {
        if (command) {
            return new Program.Command(words);
        }
        try {
            if (lang == null) {
                return new Program.Script(Path.of(words.getFirst()));
            }
            return new Program.Code(lang, fromStdin() ? code(stdin) : Files.readString(script()));
        } catch (IOException e) {
            throw wrong("Cannot read " + words.getFirst() + ": " + e.getMessage() + ".");
        }
    }

    private void check() {
        if (words.isEmpty()) {
            throw wrong("No program given: name a SCRIPT, or write -- COMMAND.");
        }
        if (command && lang != null) {
            throw wrong("--lang goes with a script, not with a command behind --.");
        }
        if (fromStdin() && lang == null) {
            throw wrong("Code from standard input needs its language, for example --lang python.");
        }
        if (!command && !fromStdin() && !Files.isRegularFile(script())) {
            throw wrong(
                    "There is no script "
                            + words.getFirst()
                            + " on this host. A command of the sandbox is run with: caisson run -- "
                            + words.getFirst()
                            + ".");
        }
    }

    private Path script() {
        return Path.of(words.getFirst());
    }

    private String code(InputStream stdin) throws IOException {
        byte[] code = stdin.readNBytes(MAX_CODE + 1);
        if (code.length > MAX_CODE) {
            throw wrong("The code on standard input is longer than 16m.");
        }
        return new String(code, StandardCharsets.UTF_8);
    }

    private static CaissonException wrong(String message) {
        return RunCommand.wrong(message);
    }
}
