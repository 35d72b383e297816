package dev.caisson.api;

import java.nio.file.Path;
import java.util.List;

/** What a run runs. */
public sealed interface Program {

    /**
     * A file of the host, copied to /work and run by the interpreter of its extension.
     *
     * @param file regular file
     */
    record Script(Path file) implements Program {}

    /**
     * Code as text, written to /work and run by the interpreter of its language.
     *
     * @param language a name such as {@code python}, {@code node}, {@code sh}, or an extension
     *     without its dot
     */
    record Code(String language, String text) implements Program {}

    /**
     * A command that is there inside.
     *
     * @param argv at least one
     */
    record Command(List<String> argv) implements Program {
        /** Copies the list. */
        public Command {
            argv = List.copyOf(argv);
            if (argv.isEmpty()) {
                throw CaissonException.invalid("argv", "A command needs a program.");
            }
        }
    }
}
