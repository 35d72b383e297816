package dev.caisson.core;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.TreeSet;

/** Which program runs which language, told by the extension of a file or by name. */
public final class Interpreters {
    private static final List<Language> LANGUAGES =
            List.of(
                    language("python", "py", "python3", "python3").or("python").named("python3"),
                    language("node", "js", "nodejs", "node")
                            .or("nodejs")
                            .named("javascript")
                            .named("nodejs"),
                    language("node-module", "mjs", "nodejs", "node").or("nodejs"),
                    language("node-commonjs", "cjs", "nodejs", "node").or("nodejs"),
                    language(
                                    "typescript",
                                    "ts",
                                    "a Node.js of at least 22.18, Deno or Bun",
                                    "deno",
                                    "run")
                            .or("bun", "run")
                            .or("tsx")
                            .or("node"),
                    language("sh", "sh", "dash", "sh").named("shell"),
                    language("bash", "bash", "bash", "bash"),
                    language("perl", "pl", "perl", "perl"),
                    language("java", "java", "a JDK of at least 11", "java"),
                    language("ruby", "rb", "ruby", "ruby"),
                    language("r", "R", "r-base-core", "Rscript").named("rscript"),
                    language("php", "php", "php-cli", "php"),
                    language("lua", "lua", "lua5.4", "lua").or("lua5.4").or("lua5.3").or("luajit"),
                    language("julia", "jl", "julia", "julia"),
                    language("awk", "awk", "gawk or mawk", "awk", "-f"),
                    language("tcl", "tcl", "tcl", "tclsh"),
                    language("groovy", "groovy", "groovy", "groovy"),
                    language("elixir", "exs", "elixir", "elixir"),
                    language("go", "go", "golang-go", "go", "run"));

    private Interpreters() {}

    /**
     * A language.
     *
     * @param names the first is the usual one
     * @param extension without the dot
     * @param install what to install for it
     * @param commands to try in this order; the file and its arguments follow
     */
    public record Language(
            List<String> names, String extension, String install, List<List<String>> commands) {
        /** Copies the lists. */
        public Language {
            names = List.copyOf(names);
            commands = List.copyOf(commands);
        }

        /** The usual name. */
        public String name() {
            return names.getFirst();
        }

        private Language or(String... command) {
            List<List<String>> more = new ArrayList<>(commands);
            more.add(List.of(command));
            return new Language(names, extension, install, more);
        }

        private Language named(String name) {
            List<String> more = new ArrayList<>(names);
            more.add(name);
            return new Language(more, extension, install, commands);
        }

        /** What is said when none of its commands is there. */
        public CaissonException missing() {
            String tried =
                    String.join(", ", commands.stream().map(List::getFirst).distinct().toList());
            return CaissonException.of(
                            ErrorCode.INTERPRETER_MISSING,
                            "There is no interpreter for "
                                    + name()
                                    + " in the sandbox (tried "
                                    + tried
                                    + ").")
                    .withRemedy(
                            "The template 'host' shows the host's own /usr: install "
                                    + install
                                    + " on the host, for instance with apt.")
                    .withDetail("language", name());
        }
    }

    private static Language language(
            String name, String extension, String install, String... command) {
        return new Language(List.of(name), extension, install, List.of(List.of(command)));
    }

    /** The language of a file, by its extension. */
    public static Optional<Language> ofFile(String fileName) {
        int dot = fileName.lastIndexOf('.');
        return dot < 0 ? Optional.empty() : ofExtension(fileName.substring(dot + 1));
    }

    private static Optional<Language> ofExtension(String extension) {
        return LANGUAGES.stream()
                .filter(language -> language.extension().equalsIgnoreCase(extension))
                .findFirst();
    }

    /**
     * The language of a name or an extension.
     *
     * @throws CaissonException {@link ErrorCode#INVALID}
     */
    public static Language ofName(String name) {
        String lower = name.toLowerCase(Locale.ROOT);
        return LANGUAGES.stream()
                .filter(language -> language.names().contains(lower))
                .findFirst()
                .or(() -> ofExtension(lower))
                .orElseThrow(() ->
                        CaissonException.invalid(
                                        "language", "The language '" + name + "' is not known.")
                                .withDetail("allowed", names()));
    }

    /** All names, for people. */
    public static String names() {
        TreeSet<String> names = new TreeSet<>();
        LANGUAGES.forEach(language -> names.add(language.name()));
        return String.join(", ", names);
    }

    /** All extensions with their dots, for people. */
    public static String extensions() {
        return String.join(
                " ", LANGUAGES.stream().map(language -> "." + language.extension()).toList());
    }
}
