package dev.caisson.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.networknt.schema.Error;
import com.networknt.schema.InputFormat;
import com.networknt.schema.Schema;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SpecificationVersion;
import dev.caisson.api.CaissonException;
import dev.caisson.api.CapturedOutput;
import dev.caisson.api.Denied;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.ExecReason;
import dev.caisson.api.ExecResult;
import dev.caisson.api.FileType;
import dev.caisson.api.Limit;
import dev.caisson.api.ResultFile;
import dev.caisson.api.Usage;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@Timeout(30)
class RunJsonTest {
    private static final Path SCHEMA = Path.of("../docs/run-result.schema.json");

    private static ExecResult everything(ExecReason reason) {
        return new ExecResult(
                OptionalInt.of(1),
                OptionalInt.empty(),
                reason,
                List.of(Limit.values()),
                new CapturedOutput("ü\"\n".getBytes(StandardCharsets.UTF_8), 4),
                new CapturedOutput(new byte[] {(byte) 0xff, 0}, 9),
                List.of(Map.of("text/plain", "1")),
                List.of(
                        new ResultFile(
                                "a%0Ab",
                                FileType.REGULAR,
                                3,
                                Optional.of("0".repeat(64)),
                                0644,
                                true,
                                Optional.empty(),
                                ""),
                        new ResultFile(
                                "link",
                                FileType.SYMLINK,
                                11,
                                Optional.empty(),
                                0777,
                                false,
                                Optional.empty(),
                                "a link")),
                List.of(new Denied("egress", "example.com:443", "default", "Ask for it.")),
                Usage.NONE,
                List.of("No limit on disk traffic."));
    }

    @ParameterizedTest
    @EnumSource(ExecReason.class)
    void resultIsAsTheSchemaSays(ExecReason reason) throws IOException {
        assertThat(errors(RunJson.result(FakeCaisson.run(everything(reason))))).isEmpty();
    }

    @ParameterizedTest
    @EnumSource(ErrorCode.class)
    void errorIsAsTheSchemaSays(ErrorCode code) throws IOException {
        CaissonException failure =
                CaissonException.of(code, "No \"x\".")
                        .withRemedy("Do that.")
                        .withDetail("field", "memory");

        assertThat(errors(RunJson.error(failure, Optional.empty()))).isEmpty();
    }

    @Test
    void schemaRefusesWhatItDoesNotKnow() throws IOException {
        String result = RunJson.result(FakeCaisson.run(FakeCaisson.exited(0)));

        assertThat(errors(result)).isEmpty();
        assertThat(errors(result.replace("\"reason\"", "\"why\""))).isNotEmpty();
        assertThat(errors(result.replace("\"exitCode\":0", "\"exitCode\":\"0\""))).isNotEmpty();
        assertThat(errors("{}")).isNotEmpty();
    }

    @Test
    void bytesThatAreNoTextAreBase64() {
        assertThat(RunJson.result(FakeCaisson.run(everything(ExecReason.EXITED))))
                .contains(
                        "\"stdout\":{\"encoding\":\"text\",\"data\":\"ü\\\"\\n\",\"totalBytes\":4,"
                                + "\"truncated\":false}")
                .contains(
                        "\"stderr\":{\"encoding\":\"base64\",\"data\":\"/wA=\",\"totalBytes\":9,"
                                + "\"truncated\":true}");
    }

    private static List<Error> errors(String json) throws IOException {
        Schema schema =
                SchemaRegistry.withDefaultDialect(SpecificationVersion.DRAFT_2020_12)
                        .getSchema(Files.readString(SCHEMA), InputFormat.JSON);
        return schema.validate(json, InputFormat.JSON);
    }
}
