package dev.caisson.cli;

import java.util.List;
import java.util.Set;
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

    private static final List<String> ALL =
            List.of(
                    "run",
                    "serve",
                    "version",
                    "create",
                    "ls",
                    "show",
                    "update",
                    "exec",
                    "execs",
                    "shell",
                    "cp",
                    "files",
                    "links",
                    "logs",
                    "ps",
                    "top",
                    "users",
                    "forward",
                    "port",
                    "snapshot",
                    "pause",
                    "resume",
                    "fork",
                    "extend",
                    "rm",
                    "runs",
                    "approvals",
                    "volumes",
                    "pools",
                    "policies",
                    "policy",
                    "templates",
                    "keys",
                    "tenants",
                    "webhooks",
                    "secrets",
                    "tickets",
                    "usage",
                    "events",
                    "info",
                    "login",
                    "context",
                    "mcp",
                    "config",
                    "doctor",
                    "tls",
                    "backup",
                    "restore",
                    "completion");

    private Commands() {}

    /** A switch, and no method references: those load the classes that they name. */
    private static @Nullable Object command(String name) {
        return switch (name) {
            case "run" -> new RunCommand();
            case "serve" -> new ServeCommand();
            case "version" -> new VersionCommand();
            case "create" -> new CreateCommand();
            case "ls" -> new LsCommand();
            case "show" -> new ShowCommand();
            case "update" -> new UpdateCommand();
            case "exec" -> new ExecCommand();
            case "execs" -> new ExecsCommand();
            case "shell" -> new ShellCommand();
            case "cp" -> new CpCommand();
            case "files" -> new FilesCommand();
            case "links" -> new LinksCommand();
            case "logs" -> new LogsCommand();
            case "ps" -> new PsCommand();
            case "top" -> new TopCommand();
            case "users" -> new UsersCommand();
            case "forward" -> new ForwardCommand();
            case "port" -> new PortCommand();
            case "snapshot" -> new SnapshotCommand();
            case "pause" -> new PauseCommand();
            case "resume" -> new ResumeCommand();
            case "fork" -> new ForkCommand();
            case "extend" -> new ExtendCommand();
            case "rm" -> new RmCommand();
            case "runs" -> new RunsCommand();
            case "approvals" -> new ApprovalsCommand();
            case "volumes" -> new VolumesCommand();
            case "pools" -> new PoolsCommand();
            case "policies" -> new PoliciesCommand();
            case "policy" -> new PolicyCommand();
            case "templates" -> new TemplatesCommand();
            case "keys" -> new KeysCommand();
            case "tenants" -> new TenantsCommand();
            case "webhooks" -> new WebhooksCommand();
            case "secrets" -> new SecretsCommand();
            case "tickets" -> new TicketsCommand();
            case "usage" -> new UsageCommand();
            case "events" -> new EventsCommand();
            case "info" -> new InfoCommand();
            case "login" -> new LoginCommand();
            case "context" -> new ContextCommand();
            case "mcp" -> new McpCommand();
            case "config" -> new ConfigCommand();
            case "doctor" -> new DoctorCommand();
            case "tls" -> new TlsCommand();
            case "backup" -> new BackupCommand();
            case "restore" -> new RestoreCommand();
            case "completion" -> new CompletionCommand();
            default -> null;
        };
    }

    /**
     * {@code help GROUP COMMAND} as {@code GROUP COMMAND --help}, the only way that the library
     * knows; any other line as it is.
     */
    static List<String> helpOfGroup(List<String> given) {
        return given.size() == 3
                        && given.getFirst().equals("help")
                        && !given.get(2).startsWith("-")
                        && command(given.get(1)) instanceof Group
                ? List.of(given.get(1), given.get(2), "--help")
                : given;
    }

    /** Adds the command of that name, or all of them when it is none of these. */
    static void add(CommandLine line, String name) {
        Object one = name.equals("completion") ? null : command(name);
        if (one != null) {
            line.addSubcommand(name, one);
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
        ALL.forEach(name -> line.addSubcommand(name, command(name)));
        // No lambda of it: the JVM that makes a class cache crashes at one of a class from before
        // Java 6.
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
