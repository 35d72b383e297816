package dev.caisson.api;

import java.util.List;
import java.util.Map;
import java.util.OptionalInt;

/**
 * How a command ended, and what it left.
 *
 * @param exitCode when the main process exited
 * @param signal when a signal ended the main process
 * @param reason what ended it, as observed
 * @param limitsHit limits that it met, whether or not they ended it
 * @param stdout captured standard output
 * @param stderr captured standard error
 * @param results results of an interpreter, each by media type; empty for commands
 * @param files new and changed files of /work, where they were asked for
 * @param denied what the policy stopped
 * @param usage what it cost
 * @param degraded what this host could not enforce or observe, one sentence each
 */
public record ExecResult(
        OptionalInt exitCode,
        OptionalInt signal,
        ExecReason reason,
        List<Limit> limitsHit,
        CapturedOutput stdout,
        CapturedOutput stderr,
        List<Map<String, String>> results,
        List<ResultFile> files,
        List<Denied> denied,
        Usage usage,
        List<String> degraded) {

    /** Copies the collections. */
    public ExecResult {
        limitsHit = List.copyOf(limitsHit);
        results = List.copyOf(results);
        files = List.copyOf(files);
        denied = List.copyOf(denied);
        degraded = List.copyOf(degraded);
    }

    /** Whether the main process exited with 0. */
    public boolean succeeded() {
        return reason == ExecReason.EXITED && exitCode.orElse(-1) == 0;
    }

    /**
     * The status a shell would show: the exit code, 124 for a timeout, 128 + n for signal n, 137
     * for any other end.
     */
    public int shellStatus() {
        if (reason == ExecReason.TIMEOUT) {
            return 124;
        }
        if (exitCode.isPresent()) {
            return exitCode.getAsInt();
        }
        return signal.isPresent() ? 128 + signal.getAsInt() : 137;
    }

    /** The same with another list of files. */
    public ExecResult withFiles(List<ResultFile> newFiles) {
        return new ExecResult(
                exitCode, signal, reason, limitsHit, stdout, stderr, results, newFiles, denied,
                usage, degraded);
    }

    /** The same with another list of what the policy stopped. */
    public ExecResult withDenied(List<Denied> newDenied) {
        return new ExecResult(
                exitCode, signal, reason, limitsHit, stdout, stderr, results, files, newDenied,
                usage, degraded);
    }
}
