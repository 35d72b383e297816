package dev.caisson.cli;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.util.Comparator;
import java.util.List;
import picocli.CommandLine.MissingParameterException;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;

/** Says in one line what is wrong with a command line, and what is allowed. */
final class BadOption {
    private BadOption() {}

    static CaissonException explain(ParameterException e) {
        String help = help(e.getCommandLine().getCommandSpec());
        if (e.getCause() instanceof CaissonException cause) {
            return name(CaissonException.of(cause.code(), prefix(e) + cause.message()), e)
                    .withRemedy(Explain.remedy(cause).isEmpty() ? "See: " + help : cause.remedy());
        }
        return name(CaissonException.of(ErrorCode.INVALID, message(e)), e)
                .withRemedy("See: " + help);
    }

    private static String help(CommandSpec command) {
        CommandSpec parent = command.parent();
        if (parent == null) {
            return "caisson help";
        }
        return parent.parent() == null
                ? "caisson help " + command.name()
                : command.qualifiedName() + " --help";
    }

    private static String message(ParameterException e) {
        if (e instanceof UnmatchedArgumentException unmatched) {
            return unknown(unmatched);
        }
        String text = String.valueOf(e.getMessage()).lines().findFirst().orElse("Bad option.");
        if (e instanceof MissingParameterException missing
                && missing.getMissing().getFirst() instanceof OptionSpec option) {
            return option.longestName() + " needs a value: " + option.paramLabel() + ".";
        }
        return text.endsWith(".") ? text : text + ".";
    }

    private static String unknown(UnmatchedArgumentException e) {
        String given = e.getUnmatched().getFirst();
        boolean option = given.startsWith("-");
        List<String> near = option ? near(given, e.getCommandLine().getCommandSpec()) : List.of();
        List<String> suggestions = near.isEmpty() ? e.getSuggestions() : near;
        String meant =
                suggestions.isEmpty() || (!option && !close(given, suggestions.getFirst().strip()))
                        ? ""
                        : " Did you mean " + suggestions.getFirst().strip() + "?";
        return "There is no " + (option ? "option " : "command ") + given + "." + meant;
    }

    /** Options that it may be, mistyped: picocli prefers long ones with the same letters. */
    private static List<String> near(String given, CommandSpec command) {
        return command.optionsMap().keySet().stream()
                .filter(name -> name.startsWith("--") && close(given, name))
                .min(Comparator.comparingInt(name -> distance(given, name)))
                .map(List::of)
                .orElse(List.of());
    }

    /** Whether one word may be the other, mistyped: picocli always suggests some command. */
    private static boolean close(String given, String word) {
        return distance(given, word) <= 2;
    }

    private static int distance(String given, String word) {
        int[] row = new int[word.length() + 1];
        for (int j = 0; j <= word.length(); j++) {
            row[j] = j;
        }
        for (int i = 1; i <= Math.min(given.length(), 64); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= word.length(); j++) {
                int change = given.charAt(i - 1) == word.charAt(j - 1) ? 0 : 1;
                int best = Math.min(Math.min(row[j], row[j - 1]) + 1, diagonal + change);
                diagonal = row[j];
                row[j] = best;
            }
        }
        return row[word.length()];
    }

    private static String prefix(ParameterException e) {
        return e.getArgSpec() instanceof OptionSpec option ? option.longestName() + ": " : "";
    }

    private static CaissonException name(CaissonException failure, ParameterException e) {
        ArgSpec argument = e.getArgSpec();
        return argument instanceof OptionSpec option
                ? failure.withDetail("field", option.longestName())
                : failure;
    }
}
