package dev.caisson.cli;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.HelpCommand;

/**
 * All commands. A command is a class of its own and a line here, and is loaded without the others:
 * a run starts as fast as it can.
 */
final class Commands {
    /** Everything behind their first word belongs to somebody else's program. */
    private static final Set<String> FOR_PROGRAMS = Set.of("run", "exec", "shell");

    private static final Map<String, Supplier<Object>> ALL = all();

    private Commands() {}

    private static Map<String, Supplier<Object>> all() {
        Map<String, Supplier<Object>> all = new LinkedHashMap<>();
        all.put("run", RunCommand::new);
        all.put("serve", ServeCommand::new);
        all.put("version", VersionCommand::new);
        all.put("create", CreateCommand::new);
        all.put("ls", LsCommand::new);
        all.put("show", ShowCommand::new);
        all.put("exec", ExecCommand::new);
        all.put("shell", ShellCommand::new);
        all.put("cp", CpCommand::new);
        all.put("files", FilesCommand::new);
        all.put("logs", LogsCommand::new);
        all.put("ps", PsCommand::new);
        all.put("top", TopCommand::new);
        all.put("forward", ForwardCommand::new);
        all.put("port", PortCommand::new);
        all.put("snapshot", SnapshotCommand::new);
        all.put("pause", PauseCommand::new);
        all.put("resume", ResumeCommand::new);
        all.put("fork", ForkCommand::new);
        all.put("extend", ExtendCommand::new);
        all.put("rm", RmCommand::new);
        all.put("runs", RunsCommand::new);
        all.put("approvals", ApprovalsCommand::new);
        all.put("volumes", VolumesCommand::new);
        all.put("pools", PoolsCommand::new);
        all.put("policies", PoliciesCommand::new);
        all.put("keys", KeysCommand::new);
        all.put("tenants", TenantsCommand::new);
        all.put("webhooks", WebhooksCommand::new);
        all.put("tickets", TicketsCommand::new);
        all.put("usage", UsageCommand::new);
        all.put("events", EventsCommand::new);
        all.put("info", InfoCommand::new);
        all.put("login", LoginCommand::new);
        all.put("context", ContextCommand::new);
        all.put("mcp", McpCommand::new);
        all.put("config", ConfigCommand::new);
        all.put("doctor", DoctorCommand::new);
        all.put("tls", TlsCommand::new);
        all.put("backup", BackupCommand::new);
        all.put("restore", RestoreCommand::new);
        all.put("completion", CompletionCommand::new);
        return all;
    }

    /** Adds the command of that name, or all of them when it is none of these. */
    static void add(CommandLine line, String name) {
        @Nullable Supplier<Object> one = ALL.get(name);
        if (one != null && !name.equals("completion")) {
            line.addSubcommand(name, one.get());
        } else {
            addAll(line);
        }
    }

    /** Blank lines around what a command does, as its own help shows it. */
    static void space(CommandLine line) {
        for (CommandLine command : line.getSubcommands().values()) {
            if (!command.getCommandName().equals("run")) {
                command.getCommandSpec()
                        .usageMessage()
                        .descriptionHeading("%n")
                        .parameterListHeading("%n")
                        .optionListHeading("%n")
                        .commandListHeading("%nCommands:%n");
            }
            space(command);
        }
    }

    static void addAll(CommandLine line) {
        ALL.forEach((name, command) -> line.addSubcommand(name, command.get()));
        // No lambda: the JVM that makes a class cache crashes at one of a class from before Java 6.
        line.addSubcommand("help", new HelpCommand());
    }

    /** Lets options stand behind words, where no other program's options can be meant. */
    static void mixOptionsAndWords(CommandLine line) {
        line.getSubcommands()
                .forEach((name, command) -> {
                    if (!FOR_PROGRAMS.contains(name)) {
                        command.setStopAtPositional(false);
                    }
                });
    }
}
