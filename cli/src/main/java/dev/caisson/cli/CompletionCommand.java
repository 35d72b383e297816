package dev.caisson.cli;

import java.util.Map;
import java.util.concurrent.Callable;
import picocli.AutoComplete;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code caisson completion}: a script that completes commands and options. */
@Command(
        name = "completion",
        description = "Prints a script that completes commands and options.",
        footer = {
            "",
            "Examples:",
            "  . <(caisson completion bash)",
            "  . <(caisson completion zsh)",
            "  caisson completion fish | source"
        })
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class CompletionCommand implements Callable<Integer> {
    @Spec private CommandSpec spec;

    @Parameters(paramLabel = "bash|zsh|fish", description = "the shell")
    private String shell;

    @Override
    public Integer call() {
        CommandLine line = spec.root().commandLine();
        String script =
                switch (shell) {
                    // The script of bash turns on zsh's support for such scripts by itself.
                    case "bash", "zsh" -> AutoComplete.bash("caisson", line);
                    case "fish" -> fish(line);
                    default ->
                            throw new ParameterException(
                                    spec.commandLine(), "'" + shell + "' is none of these shells.");
                };
        ((Main) spec.root().userObject()).streams().print(script + "\n");
        return 0;
    }

    private static String fish(CommandLine line) {
        StringBuilder script = new StringBuilder("complete -c caisson -f\n");
        for (Map.Entry<String, CommandLine> entry : line.getSubcommands().entrySet()) {
            CommandSpec command = entry.getValue().getCommandSpec();
            complete(script, "__fish_use_subcommand", entry.getKey(), command);
            String within = "__fish_seen_subcommand_from " + entry.getKey();
            for (Map.Entry<String, CommandLine> below : command.subcommands().entrySet()) {
                complete(script, within, below.getKey(), below.getValue().getCommandSpec());
            }
            for (OptionSpec option : command.options()) {
                option(script, within, option);
            }
        }
        return script.toString();
    }

    private static void complete(
            StringBuilder script, String when, String name, CommandSpec command) {
        script.append("complete -c caisson -n '")
                .append(when)
                .append("' -a ")
                .append(name)
                .append(" -d '")
                .append(first(command.usageMessage().description()))
                .append("'\n");
    }

    private static void option(StringBuilder script, String when, OptionSpec option) {
        script.append("complete -c caisson -n '").append(when).append('\'');
        for (String name : option.names()) {
            script.append(name.startsWith("--") ? " -l " : " -s ")
                    .append(name.replaceFirst("^-+", ""));
        }
        script.append(option.arity().max() > 0 ? " -r" : "")
                .append(" -d '")
                .append(first(option.description()))
                .append("'\n");
    }

    /** The first line that says something, as a word of fish. */
    private static String first(String[] lines) {
        for (String line : lines) {
            if (!line.isBlank()) {
                return line.replace("\\", "\\\\").replace("'", "\\'").replaceAll("\\R.*", "");
            }
        }
        return "";
    }
}
