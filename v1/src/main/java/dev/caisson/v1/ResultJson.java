package dev.caisson.v1;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * How a command ended.
 *
 * @param exitCode exit code
 * @param signal signal
 * @param reason see ExecReason
 * @param limitsHit limits met
 * @param stdout output
 * @param stderr output
 * @param results of an interpreter
 * @param files new and changed
 * @param denied stopped
 * @param usage cost
 * @param degraded what the host could not do
 * @param hint what to do about it
 */
public record ResultJson(
        @Nullable Integer exitCode,
        @Nullable Integer signal,
        String reason,
        List<String> limitsHit,
        OutputJson stdout,
        OutputJson stderr,
        List<Map<String, String>> results,
        List<ResultFileJson> files,
        List<DeniedJson> denied,
        UsageJson usage,
        List<String> degraded,
        @Nullable String hint) {
    /** Copies the collections; absent ones are empty. */
    public ResultJson {
        limitsHit = List.copyOf(Absent.list(limitsHit));
        results = List.copyOf(Absent.list(results));
        files = List.copyOf(Absent.list(files));
        denied = List.copyOf(Absent.list(denied));
        degraded = List.copyOf(Absent.list(degraded));
    }
}
