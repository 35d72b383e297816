package dev.caisson.cli;

import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Recognises what interpreters say when a module is missing, and says what to do about it. */
final class Hints {
    /** Names only: what a program writes is not repeated to a terminal unchecked. */
    private static final String NAME = "([\\w.@/:-]{1,100})";

    private record Hint(Pattern pattern, String language) {}

    private static final List<Hint> HINTS =
            List.of(
                    hint("ModuleNotFoundError: No module named '" + NAME + "'", "Python module"),
                    hint("Cannot find (?:module|package) '" + NAME + "'", "Node module"),
                    hint("Can't locate " + NAME + " in @INC", "Perl module"),
                    hint("cannot load such file -- " + NAME, "Ruby library"),
                    hint("error: package " + NAME + " does not exist", "Java package"),
                    hint("there is no package called \\W?" + NAME, "R package"));

    private Hints() {}

    static Optional<String> missingModule(String errors) {
        for (Hint hint : HINTS) {
            Matcher matcher = hint.pattern.matcher(errors);
            if (matcher.find()) {
                return Optional.of(
                        "the "
                                + hint.language
                                + " "
                                + matcher.group(1)
                                + " is not in this sandbox: bring it along with --file, or install"
                                + " it on the host beneath /usr, which sandboxes see; there is no"
                                + " network inside");
            }
        }
        return Optional.empty();
    }

    private static Hint hint(String pattern, String language) {
        return new Hint(Pattern.compile(pattern), language);
    }
}
