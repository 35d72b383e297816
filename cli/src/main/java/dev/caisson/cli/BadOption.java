package dev.caisson.cli;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
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
                    .withRemedy(cause.remedy().isEmpty() ? "See: " + help : cause.remedy());
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
        List<String> suggestions = e.getSuggestions();
        boolean option = given.startsWith("-");
        String meant =
                suggestions.isEmpty()
                        ? ""
                        : " Did you mean " + suggestions.getFirst().strip() + "?";
        return "There is no " + (option ? "option " : "command ") + given + "." + meant;
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
