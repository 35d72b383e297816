package dev.caisson.client;

import dev.caisson.api.ByteSize;
import dev.caisson.api.CapturedOutput;
import dev.caisson.api.Denied;
import dev.caisson.api.ExecReason;
import dev.caisson.api.ExecResult;
import dev.caisson.api.FileInfo;
import dev.caisson.api.FileType;
import dev.caisson.api.Limit;
import dev.caisson.api.ResultFile;
import dev.caisson.api.Usage;
import dev.caisson.v1.FileJson;
import dev.caisson.v1.MetricsJson;
import dev.caisson.v1.OutputJson;
import dev.caisson.v1.ResultFileJson;
import dev.caisson.v1.ResultJson;
import dev.caisson.v1.UsageJson;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/** Turns what a server answers into what the API says. */
final class Results {
    private Results() {}

    static ExecResult exec(ResultJson result) {
        return new ExecResult(
                number(result.exitCode()),
                number(result.signal()),
                ExecReason.of(String.valueOf(result.reason())),
                result.limitsHit().stream().map(Limit::of).toList(),
                output(result.stdout()),
                output(result.stderr()),
                result.results(),
                result.files().stream().map(Results::file).toList(),
                result.denied().stream()
                        .map(d -> new Denied(d.kind(), d.target(), d.rule(), d.remedy()))
                        .toList(),
                usage(result.usage()),
                result.degraded());
    }

    /** The same with output that was captured here. */
    static ExecResult with(ExecResult result, CapturedOutput stdout, CapturedOutput stderr) {
        return new ExecResult(
                result.exitCode(),
                result.signal(),
                result.reason(),
                result.limitsHit(),
                stdout,
                stderr,
                result.results(),
                result.files(),
                result.denied(),
                result.usage(),
                result.degraded());
    }

    /** The same with another reason. */
    static ExecResult because(ExecResult result, ExecReason reason) {
        return new ExecResult(
                result.exitCode(),
                result.signal(),
                reason,
                result.limitsHit(),
                result.stdout(),
                result.stderr(),
                result.results(),
                result.files(),
                result.denied(),
                result.usage(),
                result.degraded());
    }

    private static OptionalInt number(@Nullable Integer value) {
        return value == null ? OptionalInt.empty() : OptionalInt.of(value);
    }

    static CapturedOutput output(@Nullable OutputJson output) {
        if (output == null) {
            return CapturedOutput.EMPTY;
        }
        String data = Objects.requireNonNullElse(output.data(), "");
        byte[] bytes =
                "base64".equals(output.encoding())
                        ? base64(data)
                        : data.getBytes(StandardCharsets.UTF_8);
        return new CapturedOutput(bytes, Math.max(output.totalBytes(), bytes.length));
    }

    static byte[] base64(String data) {
        try {
            return Base64.getDecoder().decode(data);
        } catch (IllegalArgumentException e) {
            throw Failures.malformed("bytes that are not base64", e);
        }
    }

    static ResultFile file(ResultFileJson file) {
        @Nullable String data = file.data();
        return new ResultFile(
                file.path(),
                type(file.type()),
                size(file.size()),
                Optional.ofNullable(file.sha256()),
                file.mode(),
                false,
                data == null
                        ? Optional.empty()
                        : Optional.of(new CapturedOutput(base64(data), file.size())),
                Objects.requireNonNullElse(file.note(), ""));
    }

    static FileType type(@Nullable String name) {
        return "file".equals(name) ? FileType.REGULAR : FileType.of(String.valueOf(name));
    }

    static FileInfo info(FileJson file, String path) {
        return new FileInfo(
                path,
                type(file.type()),
                size(file.size()),
                size(file.size()),
                file.mode(),
                file.modifiedAt(),
                Optional.ofNullable(file.target()));
    }

    private static long size(long told) {
        return Math.max(0, told);
    }

    private static Usage usage(@Nullable UsageJson usage) {
        return usage == null
                ? Usage.NONE
                : new Usage(
                        Duration.ofMillis(usage.wallMillis()),
                        Duration.ofMillis(usage.cpuMillis()),
                        Duration.ofMillis(usage.cpuThrottledMillis()),
                        ByteSize.of(size(usage.peakMemoryBytes())),
                        usage.memoryByteSeconds(),
                        ByteSize.of(size(usage.diskBytes())),
                        ByteSize.of(size(usage.egressBytes())));
    }

    /** Usage so far; what metrics do not tell is 0. */
    static Usage usage(MetricsJson metrics, Duration wall) {
        return new Usage(
                wall,
                Duration.ofMillis(metrics.cpuMillis()),
                Duration.ofMillis(metrics.cpuThrottledMillis()),
                ByteSize.of(size(metrics.peakMemoryBytes())),
                0,
                ByteSize.of(size(metrics.diskBytes())),
                ByteSize.of(0));
    }
}
