package dev.caisson.mcp;

import dev.caisson.api.CapturedOutput;
import dev.caisson.api.Denied;
import dev.caisson.api.ExecResult;
import dev.caisson.api.FileInfo;
import dev.caisson.api.FileType;
import dev.caisson.api.Limit;
import dev.caisson.api.Limits;
import dev.caisson.api.ResultFile;
import dev.caisson.api.Sandbox;
import dev.caisson.api.Usage;
import dev.caisson.v1.DeniedJson;
import dev.caisson.v1.FileJson;
import dev.caisson.v1.LimitsJson;
import dev.caisson.v1.OutputJson;
import dev.caisson.v1.ResultFileJson;
import dev.caisson.v1.ResultJson;
import dev.caisson.v1.SandboxJson;
import dev.caisson.v1.UsageJson;
import java.time.Instant;
import java.util.Base64;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What the Java API says, in the forms of {@code /v1}. */
final class CaissonForms {
    private CaissonForms() {}

    static ResultJson result(ExecResult result, String hint) {
        return new ResultJson(
                result.exitCode().isPresent() ? result.exitCode().getAsInt() : null,
                result.signal().isPresent() ? result.signal().getAsInt() : null,
                result.reason().value(),
                result.limitsHit().stream().map(Limit::value).toList(),
                output(result.stdout()),
                output(result.stderr()),
                result.results(),
                result.files().stream().map(CaissonForms::file).toList(),
                result.denied().stream().map(CaissonForms::denied).toList(),
                usage(result.usage()),
                result.degraded(),
                hint.isEmpty() ? null : hint);
    }

    /** Of a command that this program killed: what it wrote until then. */
    static ResultJson killed(CapturedOutput stdout, CapturedOutput stderr) {
        return new ResultJson(
                null,
                null,
                "killed",
                List.of(),
                output(stdout),
                output(stderr),
                List.of(),
                List.of(),
                List.of(),
                usage(Usage.NONE),
                List.of(),
                null);
    }

    private static OutputJson output(CapturedOutput output) {
        boolean text = output.encoding().equals("text");
        return new OutputJson(
                text ? "text" : "base64",
                output.data(),
                output.totalBytes(),
                output.truncated(),
                output.totalBytes() - output.bytes().length);
    }

    private static ResultFileJson file(ResultFile file) {
        String data =
                file.content()
                        .map(content -> Base64.getEncoder().encodeToString(content.bytes()))
                        .orElse(null);
        return new ResultFileJson(
                file.path(),
                type(file.type()),
                file.size(),
                file.sha256().orElse(null),
                file.mode(),
                data,
                file.note().isEmpty() ? null : file.note());
    }

    private static DeniedJson denied(Denied denied) {
        return new DeniedJson(denied.kind(), denied.target(), denied.rule(), denied.remedy());
    }

    private static UsageJson usage(Usage usage) {
        return new UsageJson(
                usage.wall().toMillis(),
                usage.cpu().toMillis(),
                usage.cpuThrottled().toMillis(),
                usage.peakMemory().bytes(),
                usage.memoryByteSeconds(),
                usage.disk().bytes(),
                usage.egress().bytes());
    }

    private static String type(FileType type) {
        return type.value();
    }

    /** An entry of a folder, or the path itself with an empty folder. */
    static FileJson file(FileInfo info, String folder) {
        String path = info.path().startsWith("/") ? info.path() : join(folder, info.path());
        return new FileJson(
                path,
                path.substring(path.lastIndexOf('/') + 1),
                type(info.type()),
                info.size(),
                info.mode(),
                info.modified(),
                info.target().orElse(null));
    }

    private static String join(String folder, String name) {
        String above = folder.startsWith("/") ? folder : "/work/" + folder;
        return above.endsWith("/") ? above + name : above + "/" + name;
    }

    static SandboxJson sandbox(Sandbox sandbox, Instant createdAt, @Nullable Instant endsAt) {
        return new SandboxJson(
                sandbox.id(),
                sandbox.spec().name().orElse(null),
                "local",
                sandbox.session(),
                sandbox.state().value(),
                sandbox.tier().value(),
                sandbox.engine(),
                sandbox.spec().template(),
                null,
                null,
                sandbox.spec().labels(),
                limits(sandbox.spec().limits()),
                "denied",
                List.of(),
                createdAt,
                createdAt,
                endsAt,
                endsAt == null ? null : "max_life",
                null,
                null,
                "delete",
                false,
                null,
                null,
                null,
                null,
                null,
                sandbox.degraded(),
                "local",
                1,
                null);
    }

    private static LimitsJson limits(Limits limits) {
        return new LimitsJson(
                Math.round(limits.cpus() * 1000),
                limits.memory().bytes(),
                (long) limits.pids(),
                limits.disk().bytes(),
                limits.inodes(),
                (long) limits.openFiles(),
                limits.timeout().toMillis(),
                limits.outputLimit().bytes(),
                limits.onOutputLimit().value(),
                limits.ioRate().map(rate -> rate.bytes()).orElse(null));
    }
}
