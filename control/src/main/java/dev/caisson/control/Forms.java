package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.Denied;
import dev.caisson.api.ExecResult;
import dev.caisson.api.FileInfo;
import dev.caisson.api.Limit;
import dev.caisson.api.ResultFile;
import dev.caisson.api.Usage;
import dev.caisson.v1.DeniedJson;
import dev.caisson.v1.ErrorJson;
import dev.caisson.v1.FileJson;
import dev.caisson.v1.OutputJson;
import dev.caisson.v1.ResultFileJson;
import dev.caisson.v1.ResultJson;
import dev.caisson.v1.UsageJson;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/** The library's values as the forms of {@code /v1}. */
public final class Forms {
    private static final OutputJson NOTHING = new OutputJson("text", "", 0, false, 0);

    private Forms() {}

    /** The error object of a failure. */
    public static ErrorJson error(CaissonException e, @Nullable String requestId) {
        return new ErrorJson(
                e.code().value(),
                e.message(),
                e.remedy(),
                requestId,
                e.code().retryable(),
                new LinkedHashMap<>(e.details()));
    }

    /** What it cost. */
    public static UsageJson usage(Usage usage) {
        return new UsageJson(
                usage.wall().toMillis(),
                usage.cpu().toMillis(),
                usage.cpuThrottled().toMillis(),
                usage.peakMemory().bytes(),
                usage.memoryByteSeconds(),
                usage.disk().bytes(),
                usage.egress().bytes());
    }

    static @Nullable Integer boxed(OptionalInt value) {
        return value.isPresent() ? value.getAsInt() : null;
    }

    /** A result without output, which is told from the log. */
    static ResultJson result(ExecResult result) {
        return new ResultJson(
                boxed(result.exitCode()),
                boxed(result.signal()),
                result.reason().value(),
                result.limitsHit().stream().map(Limit::value).toList(),
                NOTHING,
                NOTHING,
                result.results(),
                List.of(),
                result.denied().stream().map(Forms::denied).toList(),
                usage(result.usage()),
                result.degraded(),
                null);
    }

    private static DeniedJson denied(Denied denied) {
        return new DeniedJson(denied.kind(), denied.target(), denied.rule(), denied.remedy());
    }

    /** The same with its output. */
    static ResultJson with(ResultJson result, OutputJson stdout, OutputJson stderr) {
        List<String> hit = result.limitsHit();
        boolean cut = stdout.truncated() || stderr.truncated();
        if (cut && !hit.contains(Limit.OUTPUT.value())) {
            hit = new java.util.ArrayList<>(hit);
            hit.add(Limit.OUTPUT.value());
        }
        return new ResultJson(
                result.exitCode(),
                result.signal(),
                result.reason(),
                hit,
                stdout,
                stderr,
                result.results(),
                result.files(),
                result.denied(),
                result.usage(),
                result.degraded(),
                result.hint());
    }

    /** The same with files and a hint. */
    static ResultJson with(ResultJson result, List<ResultFileJson> files, String hint) {
        return new ResultJson(
                result.exitCode(),
                result.signal(),
                result.reason(),
                result.limitsHit(),
                result.stdout(),
                result.stderr(),
                result.results(),
                files,
                result.denied(),
                result.usage(),
                result.degraded(),
                hint.isEmpty() ? null : hint);
    }

    static ResultFileJson file(ResultFile file, @Nullable String data) {
        return new ResultFileJson(
                file.path(),
                file.type().value(),
                file.size(),
                file.sha256().orElse(null),
                file.mode(),
                data,
                file.note().isEmpty() ? null : file.note());
    }

    static FileJson file(String path, FileInfo info) {
        int slash = path.lastIndexOf('/');
        return new FileJson(
                path,
                path.substring(slash + 1),
                info.type().value(),
                info.size(),
                info.mode(),
                info.modified(),
                info.target().orElse(null));
    }

    /** Labels after a merge patch. */
    static Map<String, String> merged(
            Map<String, String> now, Map<String, @Nullable String> patch) {
        Map<String, String> labels = new LinkedHashMap<>(now);
        patch.forEach((key, value) -> {
            if (value == null) {
                labels.remove(key);
            } else {
                labels.put(key, value);
            }
        });
        return labels;
    }

    static Map<String, Object> data(Usage usage) {
        UsageJson form = usage(usage);
        Map<String, Object> data = new LinkedHashMap<>();
        data.put("wallMillis", form.wallMillis());
        data.put("cpuMillis", form.cpuMillis());
        data.put("peakMemoryBytes", form.peakMemoryBytes());
        return data;
    }
}
