package dev.caisson.cli;

import dev.caisson.api.CaissonException;
import dev.caisson.api.CapturedOutput;
import dev.caisson.api.Denied;
import dev.caisson.api.ExecResult;
import dev.caisson.api.Limit;
import dev.caisson.api.ResultFile;
import dev.caisson.api.RunResult;
import dev.caisson.api.Sandbox;
import dev.caisson.api.Usage;
import java.io.StringWriter;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.ObjectWriteContext;
import tools.jackson.core.json.JsonFactory;

/**
 * The object that {@code --json} prints; {@code docs/run-result.schema.json} describes it. Written
 * field by field: a binding library would cost more time than the run of a small script.
 */
final class RunJson {
    private final JsonGenerator json;

    private RunJson(JsonGenerator json) {
        this.json = json;
    }

    /** One line for a run that came to an end. */
    static String result(RunResult run) {
        return object(writer -> writer.run(run));
    }

    /** One line for an error; with the sandbox where one was made. */
    static String error(CaissonException failure, Optional<Sandbox> sandbox) {
        return object(writer -> writer.failure(failure, sandbox));
    }

    private interface Body {
        void write(RunJson writer);
    }

    private static String object(Body body) {
        StringWriter text = new StringWriter();
        try (JsonGenerator json =
                new JsonFactory().createGenerator(ObjectWriteContext.empty(), text)) {
            json.writeStartObject();
            body.write(new RunJson(json));
            json.writeEndObject();
        }
        return text.append('\n').toString();
    }

    private void failure(CaissonException failure, Optional<Sandbox> sandbox) {
        json.writeObjectPropertyStart("error");
        json.writeStringProperty("code", failure.code().value());
        json.writeStringProperty("message", failure.message());
        json.writeStringProperty("remedy", failure.remedy());
        json.writeName("requestId");
        json.writeString(failure.requestId().orElse(null));
        json.writeBooleanProperty("retryable", failure.retryable());
        json.writeObjectPropertyStart("details");
        failure.details().forEach(json::writeStringProperty);
        json.writeEndObject();
        json.writeEndObject();
        sandbox.ifPresent(
                made -> where(made.id(), made.session(), made.tier().value(), made.engine()));
    }

    private void run(RunResult run) {
        json.writeStringProperty("run", run.run());
        where(run.sandbox(), run.session(), run.tier().value(), run.engine());
        ExecResult result = run.result();
        number("exitCode", result.exitCode());
        number("signal", result.signal());
        json.writeStringProperty("reason", result.reason().value());
        strings("limitsHit", result.limitsHit().stream().map(Limit::value).toList());
        output("stdout", result.stdout());
        output("stderr", result.stderr());
        json.writeArrayPropertyStart("results");
        result.results().forEach(this::bundle);
        json.writeEndArray();
        json.writeArrayPropertyStart("files");
        result.files().forEach(this::file);
        json.writeEndArray();
        json.writeArrayPropertyStart("denied");
        result.denied().forEach(this::denied);
        json.writeEndArray();
        usage(result.usage());
        strings("degraded", result.degraded());
    }

    private void where(String sandbox, String session, String tier, String engine) {
        json.writeStringProperty("sandbox", sandbox);
        json.writeStringProperty("session", session);
        json.writeStringProperty("tier", tier);
        json.writeStringProperty("engine", engine);
    }

    private void output(String name, CapturedOutput output) {
        json.writeObjectPropertyStart(name);
        json.writeStringProperty("encoding", output.encoding());
        json.writeStringProperty("data", output.data());
        json.writeNumberProperty("totalBytes", output.totalBytes());
        json.writeBooleanProperty("truncated", output.truncated());
        json.writeEndObject();
    }

    private void bundle(Map<String, String> bundle) {
        json.writeStartObject();
        bundle.forEach(json::writeStringProperty);
        json.writeEndObject();
    }

    private void file(ResultFile file) {
        json.writeStartObject();
        json.writeStringProperty("path", file.path());
        json.writeStringProperty("type", file.type().value());
        json.writeNumberProperty("size", file.size());
        json.writeName("sha256");
        json.writeString(file.sha256().orElse(null));
        json.writeStringProperty("mode", String.format("%04o", file.mode()));
        json.writeBooleanProperty("collected", file.collected());
        json.writeStringProperty("note", file.note());
        json.writeEndObject();
    }

    private void denied(Denied denied) {
        json.writeStartObject();
        json.writeStringProperty("kind", denied.kind());
        json.writeStringProperty("target", denied.target());
        json.writeStringProperty("rule", denied.rule());
        json.writeStringProperty("remedy", denied.remedy());
        json.writeEndObject();
    }

    private void usage(Usage usage) {
        json.writeObjectPropertyStart("usage");
        json.writeNumberProperty("wallMillis", usage.wall().toMillis());
        json.writeNumberProperty("cpuMillis", usage.cpu().toMillis());
        json.writeNumberProperty("cpuThrottledMillis", usage.cpuThrottled().toMillis());
        json.writeNumberProperty("peakMemoryBytes", usage.peakMemory().bytes());
        json.writeNumberProperty("memoryByteSeconds", usage.memoryByteSeconds());
        json.writeNumberProperty("diskBytes", usage.disk().bytes());
        json.writeNumberProperty("egressBytes", usage.egress().bytes());
        json.writeEndObject();
    }

    private void number(String name, OptionalInt value) {
        if (value.isPresent()) {
            json.writeNumberProperty(name, value.getAsInt());
        } else {
            json.writeNullProperty(name);
        }
    }

    private void strings(String name, List<String> values) {
        json.writeArrayPropertyStart(name);
        values.forEach(json::writeString);
        json.writeEndArray();
    }
}
