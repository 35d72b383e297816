package dev.caisson.cli;

import dev.caisson.api.Caisson;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.RunResult;
import dev.caisson.api.RunSpec;
import dev.caisson.api.SandboxSpec;
import dev.caisson.api.Tier;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** {@code caisson run}: one program, one sandbox. */
@Command(
        name = "run",
        customSynopsis = {
            "caisson run [options] SCRIPT [ARGS...]        language by extension",
            "   or: caisson run [options] -- COMMAND [ARGS...]",
            "   or: caisson run [options] --lang python -   code from standard input"
        },
        description =
                "Runs a program in a new sandbox and destroys the sandbox after it. It has no"
                    + " network but for what is allowed here, sees the host's /usr read-only and"
                    + " none of its other files, and works in /work.",
        descriptionHeading = "%n",
        optionListHeading = "%nOptions (with their defaults):%n",
        sortOptions = false,
        footer = {
            "",
            "Sizes are written 512m or 1g, times 1500ms, 60s or 2h.",
            "Exit status: the program's; 124 time limit, 125 Caisson itself, 126 cannot execute,"
                    + " 127 not found, 128+n ended by signal n."
        })
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class RunCommand implements Callable<Integer> {
    private static final String DENIED = "denied";

    @ParentCommand private Main main;
    @Spec private @Nullable CommandSpec spec; // null where the line was plain

    @Option(
            names = "--lang",
            paramLabel = "LANG",
            description = "language of SCRIPT, or of the code on standard input when SCRIPT is -")
    private @Nullable String lang;

    @ArgGroup(validate = false)
    private LimitOptions limits = new LimitOptions();

    @Option(
            names = "--file",
            paramLabel = "HOST[:INSIDE]",
            description = "copy a file or folder in, repeatable (to /work, under its name)")
    private List<String> files = new ArrayList<>();

    @Option(
            names = "--out",
            paramLabel = "DIR",
            description = "bring new and changed files of /work back")
    private @Nullable Path out;

    @Option(
            names = "--env",
            paramLabel = "K=V",
            description = "set a variable, repeatable (none of the host's are there)")
    private List<String> env = new ArrayList<>();

    @Option(names = "--stdin", description = "give the program this standard input (empty)")
    private boolean stdin;

    @Option(
            names = "--workdir",
            paramLabel = "PATH",
            defaultValue = "/work",
            description = "working directory inside (${DEFAULT-VALUE})")
    private String workdir = "/work";

    @Option(names = "--json", description = "print one JSON object instead of the output")
    private boolean json;

    @Option(
            names = "--tier",
            paramLabel = "container|gvisor|microvm|auto",
            defaultValue = "auto",
            converter = Converters.TierName.class,
            description = "strength of the boundary (${DEFAULT-VALUE}: strongest there is)")
    private Tier tier = Tier.AUTO;

    @Option(
            names = "--allow-degraded",
            description = "accept a host that cannot enforce everything; results say what")
    private boolean allowDegraded;

    @Option(
            names = "--root",
            paramLabel = "denied|allowed",
            defaultValue = DENIED,
            converter = Converters.Root.class,
            description = "whether sudo works inside (${DEFAULT-VALUE})")
    private String root = DENIED;

    @ArgGroup(validate = false)
    private EgressOptions egress = new EgressOptions();

    @Mixin private SecretOptions secrets = new SecretOptions();

    @Option(names = "--quiet", description = "no lines from Caisson about a run that ended")
    private boolean quiet;

    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "show this")
    @SuppressWarnings("UnusedVariable") // picocli asks its own model
    private boolean help;

    @Parameters(hidden = true, arity = "0..*")
    private List<String> words = new ArrayList<>();

    private boolean dashes; // of a plain line: the words stood behind --

    @Override
    public Integer call() {
        RunSpec run = runSpec();
        Watcher watcher = new Watcher(main.streams(), !json);
        try {
            return report(run(run, watcher), watcher);
        } catch (CaissonException e) {
            return report(e, watcher);
        }
    }

    // ---- without the library that reads command lines

    /**
     * Reads the plain ways to write it: an option, its value, and no value that may be an option. A
     * third of a run's time is the library that reads the others, whose classes are too old for a
     * class cache.
     *
     * @param args of the whole command line
     * @return empty where the library must look: help, what is wrong, and other ways to write it
     */
    static Optional<RunCommand> plain(Main main, List<String> args) {
        RunCommand run = new RunCommand();
        run.main = main;
        Set<String> seen = new HashSet<>();
        int at = 1;
        while (at < args.size() && args.get(at).startsWith("--") && args.get(at).length() > 2) {
            String name = args.get(at++);
            boolean repeats = name.equals("--file") || name.equals("--env");
            if (!repeats && !seen.add(name)) {
                return Optional.empty();
            }
            if (run.plainFlag(name)) {
                continue;
            }
            if (at == args.size() || args.get(at).isEmpty() || args.get(at).startsWith("-")) {
                return Optional.empty();
            }
            try {
                if (!run.plainOption(name, args.get(at++))) {
                    return Optional.empty();
                }
            } catch (CaissonException | InvalidPathException e) {
                return Optional.empty();
            }
        }
        return run.plainWords(args.subList(at, args.size())) ? Optional.of(run) : Optional.empty();
    }

    private boolean plainFlag(String name) {
        switch (name) {
            case "--stdin" -> stdin = true;
            case "--json" -> json = true;
            case "--allow-degraded" -> allowDegraded = true;
            case "--quiet" -> quiet = true;
            default -> {
                return false;
            }
        }
        return true;
    }

    private boolean plainOption(String name, String value) {
        switch (name) {
            case "--lang" -> lang = value;
            case "--file" -> files.add(value);
            case "--out" -> out = Path.of(value);
            case "--env" -> env.add(value);
            case "--workdir" -> workdir = value;
            case "--root" -> root = new Converters.Root().convert(value);
            case "--tier" -> tier = new Converters.TierName().convert(value);
            default -> {
                return limits.plain(name, value);
            }
        }
        return true;
    }

    private boolean plainWords(List<String> given) {
        dashes = !given.isEmpty() && given.getFirst().equals("--");
        words = dashes ? given.subList(1, given.size()) : given;
        return !words.isEmpty()
                && (dashes || (!words.getFirst().startsWith("-") || words.getFirst().equals("-")));
    }

    private boolean behindDashes() {
        if (spec == null) {
            return dashes;
        }
        List<String> all = spec.commandLine().getParseResult().originalArgs();
        int before = all.size() - words.size() - 1;
        return before >= 0 && all.get(before).equals("--");
    }

    // ---- running

    private RunResult run(RunSpec run, Watcher watcher) {
        try (Caisson caisson = main.opener().get()) {
            Interruption interruption = Interruption.closing(caisson);
            try {
                return caisson.run(run, watcher);
            } finally {
                watcher.finish();
                interruption.over();
            }
        }
    }

    private boolean alone() {
        return main.env().getOrDefault("CAISSON_URL", "").isBlank();
    }

    private SandboxSpec withWayOut(SandboxSpec sandbox) {
        if (alone() && !secrets.stored().isEmpty()) {
            throw wrong("No server keeps the secret " + secrets.stored().getFirst() + " here.")
                    .withRemedy(
                            "Say where its value is and who gets it: --secret NAME=env:VARIABLE"
                                    + " --secret-for NAME=HOST.");
        }
        List<SecretOptions.Local> local = secrets.local(main.env());
        Optional<String> wayOut =
                egress.with(secrets.names(), SecretOptions.hosts(local)).document(main);
        SandboxSpec open = wayOut.map(sandbox::withEgress).orElse(sandbox);
        return local.isEmpty() ? open : open.withSecrets(SecretOptions.handOver(local));
    }

    /** What is asked for. */
    RunSpec runSpec() {
        SandboxSpec sandbox =
                SandboxSpec.defaults()
                        .withTier(tier)
                        .withLimits(limits.limits())
                        .withEnv(environment())
                        .withAllowDegraded(allowDegraded)
                        .withRoot(!root.equals(DENIED));
        sandbox = withWayOut(sandbox);
        ProgramWords program = ProgramWords.of(words, behindDashes(), lang);
        if (stdin && program.fromStdin()) {
            throw wrong("--stdin and code from standard input exclude each other.");
        }
        RunSpec run =
                RunSpec.of(program.program(main.streams().in()))
                        .withArguments(program.arguments())
                        .withSandbox(sandbox)
                        .withFiles(files.stream().map(FileOption::parse).toList())
                        .withWorkdir(workdir)
                        .withCapture(json || limits.killsOnOutput())
                        .withListFiles(json || out != null);
        RunSpec withOut = out == null ? run : run.withOut(out);
        return stdin ? withOut.withStdin(main.streams().in()) : withOut;
    }

    private Map<String, String> environment() {
        Map<String, String> variables = new LinkedHashMap<>();
        for (String variable : env) {
            int equals = variable.indexOf('=');
            if (equals < 1) {
                throw wrong("--env: '" + variable + "' is not of the form NAME=VALUE.");
            }
            variables.put(variable.substring(0, equals), variable.substring(equals + 1));
        }
        CredentialWarning.tell(main.streams(), variables);
        return variables;
    }

    static CaissonException wrong(String message) {
        return CaissonException.of(ErrorCode.INVALID, message).withRemedy("See: caisson help run");
    }

    private int report(RunResult result, Watcher watcher) {
        if (watcher.readerGone()) {
            return ExitStatus.READER_GONE;
        }
        if (json) {
            main.streams().print(RunJson.result(result));
        }
        if (!quiet) {
            Explain.result(result, limits.limits()).forEach(main.streams()::say);
        }
        return ExitStatus.of(result.result());
    }

    private int report(CaissonException failure, Watcher watcher) {
        if (watcher.readerGone()) {
            return ExitStatus.READER_GONE;
        }
        if (json) {
            main.streams().print(RunJson.error(failure, watcher.sandbox()));
        } else {
            main.streams().say(Explain.failure(failure));
        }
        return ExitStatus.of(failure.code());
    }
}
