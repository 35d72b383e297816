package dev.caisson.cli;

import dev.caisson.api.CaissonException;
import dev.caisson.api.Denied;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.ExecReason;
import dev.caisson.api.ExecResult;
import dev.caisson.api.Limit;
import dev.caisson.api.Limits;
import dev.caisson.api.RunResult;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Says for people why a run ended, when that was not the program's own doing, and what helps. */
final class Explain {
    /** The signal of a system call that the filter refuses. */
    private static final int SIGSYS = 31;

    private static final int MOST_DENIED = 10;

    private Explain() {}

    /** One line for an error. */
    static String failure(CaissonException failure) {
        String line = withStop(Clean.text(sentence(failure.message())));
        String allowed = failure.details().getOrDefault("allowed", "");
        if (!allowed.isEmpty()
                && !line.contains(allowed)
                && !failure.remedy().contains(allowed)) { // said once
            line += " Allowed: " + allowed + ".";
        }
        return (line + " " + Clean.text(sentence(remedy(failure)))).strip();
    }

    /** What to do; empty where the message says it: a request is corrected by who made it. */
    static String remedy(CaissonException failure) {
        boolean usual = failure.remedy().equals(ErrorCode.INVALID.remedy());
        return usual ? "" : failure.remedy();
    }

    /** One line with a capital letter: other parts of the system say half sentences at times. */
    private static String sentence(String text) {
        String line = text.strip().replaceAll("\\s*\\R\\s*", " ");
        return line.isEmpty() ? line : Character.toUpperCase(line.charAt(0)) + line.substring(1);
    }

    private static String withStop(String line) {
        return line.matches(".*[.!?:]") ? line : line + ".";
    }

    /** The lines for a result; none when there is nothing to say. */
    static List<String> result(RunResult run, Limits limits) {
        ExecResult result = run.result();
        List<String> lines = new ArrayList<>();
        ended(result, limits).ifPresent(lines::add);
        if (result.reason() == ExecReason.EXITED && !result.succeeded()) {
            for (Limit limit : result.limitsHit()) {
                met(limit, limits).ifPresent(lines::add);
            }
        }
        if (!run.hint().isEmpty()) {
            lines.add(run.hint());
        }
        denied(result.denied(), lines);
        result.degraded().forEach(what -> lines.add("degraded: " + what));
        result.files().stream()
                .filter(file -> !file.note().isEmpty())
                .forEach(file -> lines.add("not collected: " + file.path() + ": " + file.note()));
        return lines;
    }

    /** What the policy stopped; a program may have gone on without it. */
    private static void denied(List<Denied> denied, List<String> lines) {
        denied.stream()
                .limit(MOST_DENIED)
                .forEach(one ->
                        lines.add(
                                Clean.text(
                                        (one.kind().equals("unreachable")
                                                        ? "not reached: "
                                                        : "refused: ")
                                                + one.target()
                                                + " ("
                                                + one.rule()
                                                + "). "
                                                + one.remedy())));
        if (denied.size() > MOST_DENIED) {
            lines.add("refused: " + (denied.size() - MOST_DENIED) + " more (--json has all)");
        }
    }

    private static Optional<String> ended(ExecResult result, Limits limits) {
        return switch (result.reason()) {
            case TIMEOUT ->
                    Optional.of(
                            "ended by the time limit of "
                                    + time(limits.timeout())
                                    + " (--timeout)");
            case OOM ->
                    Optional.of("ended by the memory limit of " + limits.memory() + " (--memory)");
            case OUTPUT ->
                    Optional.of(
                            "ended by the output limit of "
                                    + limits.outputLimit()
                                    + " (--output-limit, --on-output-limit kill)");
            case SIGNALLED ->
                    result.signal().orElse(0) == SIGSYS
                            ? Optional.of(
                                    "ended by SIGSYS: it made a system call that no sandbox has")
                            : Optional.empty();
            case SANDBOX_ENDED -> Optional.of("the sandbox ended before its program");
            case LOST -> Optional.of("the sandbox was lost; how its program ended is not known");
            case ERROR -> Optional.of("the program could not be run to its end");
            case EXITED, CANCELLED, KILLED, UNKNOWN -> Optional.empty();
        };
    }

    /** For a program that met a limit and gave up by itself. */
    private static Optional<String> met(Limit limit, Limits limits) {
        return switch (limit) {
            case MEMORY -> Optional.of(metLine("memory", limits.memory().toString(), "--memory"));
            case PIDS -> Optional.of(metLine("process", Integer.toString(limits.pids()), "--pids"));
            case DISK -> Optional.of(metLine("disk", limits.disk().toString(), "--disk"));
            case INODES -> Optional.of(metLine("file", Long.toString(limits.inodes()), "--inodes"));
            case OUTPUT, TIME, CPU, IO, EGRESS, UNKNOWN -> Optional.empty();
        };
    }

    private static String metLine(String what, String value, String option) {
        return "the program met its " + what + " limit of " + value + " (" + option + ")";
    }

    static String time(Duration time) {
        return time.toMillis() % 1000 == 0 ? time.toSeconds() + "s" : time.toMillis() + "ms";
    }
}
