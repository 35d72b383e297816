package dev.caisson.mcp;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.v1.InputFileJson;
import dev.caisson.v1.Json;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ObjectNode;

/**
 * The arguments of the tools, one record each; their components are the properties of the input
 * schemas, and nothing else is taken.
 */
final class Arguments {
    private static final long MAX_TIMEOUT_MILLIS = 86_400_000;

    private Arguments() {}

    record RunCode(
            @Nullable String code,
            @Nullable String language,
            @Nullable List<InputFile> files,
            @Nullable String sandbox,
            @Nullable String input,
            @Nullable Long timeoutMillis) {
        RunCode {
            files = files == null ? List.of() : List.copyOf(files);
            timeout(timeoutMillis, 1);
        }

        List<InputFile> given() {
            return files == null ? List.of() : files;
        }
    }

    record InputFile(@Nullable String path, @Nullable String text, @Nullable String base64) {
        byte[] content() {
            return Arguments.content(text, base64);
        }

        InputFileJson form() {
            content();
            return new InputFileJson(required("files.path", path), text, base64, null);
        }
    }

    record RunCommand(
            @Nullable String command,
            @Nullable List<String> argv,
            @Nullable String sandbox,
            @Nullable String cwd,
            @Nullable Map<String, String> env,
            @Nullable String input,
            @Nullable Long timeoutMillis,
            @Nullable Boolean background) {
        RunCommand {
            timeout(timeoutMillis, 1);
            if ((command == null) == (argv == null || argv.isEmpty())) {
                throw CaissonException.invalid(
                        "command", "Give either 'command' or 'argv', not both.");
            }
            if (cwd != null && sandbox == null) {
                throw CaissonException.invalid("cwd", "'cwd' needs a 'sandbox'.")
                        .withRemedy("Make one with create_sandbox, or use cd in the command.");
            }
        }

        List<String> words() {
            return argv == null ? List.of() : argv;
        }

        Map<String, String> variables() {
            return env == null ? Map.of() : env;
        }
    }

    record GetOutput(
            @Nullable String id,
            @Nullable String stream,
            @Nullable Long offset,
            @Nullable Integer length,
            @Nullable Long waitMillis) {
        GetOutput {
            within("offset", offset, 0, Long.MAX_VALUE);
            within("length", length, 1, 256 << 10);
            within("waitMillis", waitMillis, 0, 600_000);
            if (stream != null && !stream.equals("stdout") && !stream.equals("stderr")) {
                throw CaissonException.invalid("stream", "'stream' is stdout or stderr.");
            }
        }

        boolean stderr() {
            return "stderr".equals(stream);
        }
    }

    record Stop(@Nullable String id) {}

    record WriteFile(
            @Nullable String sandbox,
            @Nullable String path,
            @Nullable String text,
            @Nullable String base64,
            @Nullable Boolean executable) {
        byte[] content() {
            return Arguments.content(text, base64);
        }
    }

    record ReadFile(
            @Nullable String sandbox,
            @Nullable String run,
            @Nullable String path,
            @Nullable Long offset,
            @Nullable Integer length,
            @Nullable String encoding) {
        ReadFile {
            within("offset", offset, 0, Long.MAX_VALUE);
            within("length", length, 1, 1 << 20);
            if ((sandbox == null) == (run == null)) {
                throw CaissonException.invalid(
                        "sandbox", "Give either 'sandbox' or 'run', not both.");
            }
            if (encoding != null && !encoding.equals("auto") && !encoding.equals("base64")) {
                throw CaissonException.invalid("encoding", "'encoding' is auto or base64.");
            }
        }

        boolean raw() {
            return "base64".equals(encoding);
        }
    }

    record ListFiles(
            @Nullable String sandbox, @Nullable String path, @Nullable Boolean recursive) {}

    record DeleteFile(
            @Nullable String sandbox, @Nullable String path, @Nullable Boolean recursive) {}

    record CreateSandbox(
            @Nullable String name,
            @Nullable Map<String, String> labels,
            @Nullable Long timeoutMillis) {
        CreateSandbox {
            timeout(timeoutMillis, 1000);
        }
    }

    record ListSandboxes(
            @Nullable Map<String, String> labels,
            @Nullable Integer limit,
            @Nullable String cursor) {
        ListSandboxes {
            within("limit", limit, 1, 200);
        }
    }

    record DeleteSandbox(@Nullable String sandbox) {}

    /**
     * The arguments out of a call.
     *
     * @throws CaissonException {@link ErrorCode#INVALID} that names the field
     */
    static <T> T read(ObjectNode given, Class<T> type) {
        try {
            return Json.request(Json.bytes(given), type);
        } catch (CaissonException e) {
            CaissonException cause = within(e);
            throw cause.code() == ErrorCode.INVALID && !cause.remedy().contains("create_sandbox")
                    ? cause.withRemedy("Use only what the inputSchema of this tool names.")
                    : cause;
        }
    }

    /** What a record's own check said, where the JSON library wrapped it. */
    private static CaissonException within(CaissonException e) {
        for (Throwable at = e.getCause(); at != null; at = at.getCause()) {
            if (at instanceof CaissonException inner) {
                return inner;
            }
        }
        return e;
    }

    /** An argument that must be there. */
    static String required(String field, @Nullable String value) {
        if (value == null || value.isEmpty()) {
            throw CaissonException.invalid(field, "The field '" + field + "' is missing.");
        }
        return value;
    }

    private static byte[] content(@Nullable String text, @Nullable String base64) {
        if ((text == null) == (base64 == null)) {
            throw CaissonException.invalid("text", "Give either 'text' or 'base64', not both.");
        }
        if (text != null) {
            return text.getBytes(java.nio.charset.StandardCharsets.UTF_8);
        }
        try {
            return Base64.getDecoder().decode(base64);
        } catch (IllegalArgumentException e) {
            throw CaissonException.of(ErrorCode.INVALID, "'base64' is not valid base64.", e)
                    .withDetail("field", "base64");
        }
    }

    private static void timeout(@Nullable Long millis, long least) {
        within("timeoutMillis", millis, least, MAX_TIMEOUT_MILLIS);
    }

    private static void within(String field, @Nullable Number value, long min, long max) {
        if (value != null && (value.longValue() < min || value.longValue() > max)) {
            throw CaissonException.invalid(
                            field,
                            "The field '" + field + "' is not within " + min + " to " + max + ".")
                    .withDetail("requested", value.toString())
                    .withDetail("allowed", min + " to " + max);
        }
    }
}
