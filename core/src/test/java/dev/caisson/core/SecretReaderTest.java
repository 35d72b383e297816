package dev.caisson.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class SecretReaderTest {
    private static final String CANARY = "canary-value";

    @TempDir Path folder;
    private Path allowed;
    private Path outside;

    @BeforeEach
    void files() throws IOException {
        allowed = Files.createDirectories(folder.resolve("allowed"));
        outside = Files.createDirectories(folder.resolve("outside"));
        Files.writeString(allowed.resolve("key"), CANARY);
        Files.writeString(outside.resolve("key"), CANARY);
    }

    private String read(Path path) {
        return read(path.toString());
    }

    private String read(String path) {
        return new String(SecretReader.file(List.of(allowed), path), StandardCharsets.UTF_8);
    }

    private static void refused(ErrorCode code, ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> {
                            assertThat(e.code()).as(e.message()).isEqualTo(code);
                            assertThat(e.message()).doesNotContain(CANARY);
                        });
    }

    @Test
    void readsAFileWithoutItsLastNewline() throws IOException {
        assertThat(read(allowed.resolve("key"))).isEqualTo(CANARY);
        for (String end : List.of("\n", "\r\n")) {
            Files.writeString(allowed.resolve("key"), CANARY + end);
            assertThat(read(allowed.resolve("key"))).isEqualTo(CANARY);
        }
        Files.writeString(allowed.resolve("key"), CANARY + "\n\n");
        assertThat(read(allowed.resolve("key"))).isEqualTo(CANARY + "\n");
        Files.createDirectories(allowed.resolve("a/b"));
        Files.writeString(allowed.resolve("a/b/key"), CANARY);
        assertThat(read(allowed.resolve("a/b/key"))).isEqualTo(CANARY);
    }

    @Test
    void refusesWhatIsNotBelowAFolder() {
        for (String path :
                List.of(
                        outside.resolve("key").toString(),
                        allowed + "/../outside/key",
                        allowed.toString(),
                        "key",
                        "/etc/passwd",
                        "/",
                        "")) {
            refused(ErrorCode.POLICY_DENIED, () -> read(path));
        }
        refused(
                ErrorCode.POLICY_DENIED,
                () -> SecretReader.file(List.of(), allowed.resolve("key").toString()));
        // A name that only begins the same.
        refused(ErrorCode.POLICY_DENIED, () -> read(allowed + "-not/key"));
        refused(ErrorCode.INVALID, () -> read("/\0"));
    }

    @Test
    void followsLinksWithinAFolderOnly() throws IOException {
        Files.createSymbolicLink(allowed.resolve("out"), outside.resolve("key"));
        Files.createSymbolicLink(allowed.resolve("folder"), outside);
        Files.createSymbolicLink(allowed.resolve("data"), Path.of("real"));
        Files.createDirectories(allowed.resolve("real"));
        Files.writeString(allowed.resolve("real/key"), CANARY);
        Files.createSymbolicLink(allowed.resolve("in"), Path.of("data/key"));

        refused(ErrorCode.POLICY_DENIED, () -> read(allowed.resolve("out")));
        refused(ErrorCode.POLICY_DENIED, () -> read(allowed.resolve("folder/key")));
        assertThat(read(allowed.resolve("in"))).isEqualTo(CANARY);
        assertThat(read(allowed.resolve("data/key"))).isEqualTo(CANARY);
    }

    @Test
    void refusesWhatIsNoRegularFile() throws Exception {
        Files.createDirectories(allowed.resolve("directory"));
        Path pipe = allowed.resolve("pipe");
        assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor()).isZero();

        refused(ErrorCode.INVALID, () -> read(allowed.resolve("directory")));
        refused(ErrorCode.INVALID, () -> read(pipe)); // and does not wait for a writer
        refused(ErrorCode.INVALID, () -> read(allowed.resolve("missing")));
    }

    @Test
    void refusesWhatIsTooLong() throws IOException {
        Files.writeString(allowed.resolve("key"), "x".repeat(SecretReader.MAX_BYTES));
        assertThat(read(allowed.resolve("key"))).hasSize(SecretReader.MAX_BYTES);
        Files.writeString(allowed.resolve("key"), "x".repeat(SecretReader.MAX_BYTES) + "\n");
        assertThat(read(allowed.resolve("key"))).hasSize(SecretReader.MAX_BYTES);

        Files.writeString(allowed.resolve("key"), "x".repeat(SecretReader.MAX_BYTES + 1));
        refused(ErrorCode.TOO_LARGE, () -> read(allowed.resolve("key")));
        refused(ErrorCode.TOO_LARGE, () -> read2("head -c 70000 /dev/zero"));
    }

    private static String read2(String line) {
        return new String(
                SecretReader.command(List.of("/bin/sh", "-c", line)), StandardCharsets.UTF_8);
    }

    @Test
    void takesWhatACommandPrints() {
        assertThat(read2("echo " + CANARY)).isEqualTo(CANARY);
        assertThat(read2("cat; printf x")).isEqualTo("x"); // its input is at its end
    }

    @Test
    void aCommandHasOnlyAMinimalEnvironment() {
        assertThat(read2("env").lines().map(line -> line.split("=", 2)[0]))
                .contains("PATH", "HOME", "LANG")
                .isSubsetOf("PATH", "HOME", "LANG", "PWD", "SHLVL", "_", "OLDPWD");
        assertThat(
                        SecretReader.command(
                                List.of("/bin/sh", "-c", "printf $MINE"), Map.of("MINE", "x")))
                .containsExactly('x');
    }

    @Test
    void argumentsAreNotReadByAShell() {
        assertThat(SecretReader.command(List.of("/bin/echo", "$HOME;id")))
                .isEqualTo("$HOME;id".getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void whatACommandSaysWhileItFailsIsNotTold() {
        refused(ErrorCode.INVALID, () -> read2("echo " + CANARY + "; exit 3"));
        refused(ErrorCode.INVALID, () -> read2("echo " + CANARY + " >&2; exit 3"));
        refused(ErrorCode.INVALID, () -> SecretReader.command(List.of("/no/such/program", CANARY)));
    }

    @Test
    void aCommandThatTakesTooLongIsKilledWithItsChildren() throws Exception {
        Path mark = folder.resolve("mark");
        long begin = System.nanoTime();

        refused(
                ErrorCode.INVALID,
                () ->
                        SecretReader.command(
                                List.of(
                                        "/bin/sh",
                                        "-c",
                                        "(sleep 2; touch " + mark + ") & echo x; wait"),
                                Map.of("PATH", "/usr/bin:/bin"),
                                Duration.ofMillis(300)));

        assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(Duration.ofSeconds(2));
        Thread.sleep(2500);
        assertThat(mark).doesNotExist();
    }

    @Test
    void itsOwnUsersFileMayBeALink() throws IOException {
        Files.createSymbolicLink(allowed.resolve("out"), outside.resolve("key"));

        assertThat(SecretReader.file(allowed.resolve("out")))
                .isEqualTo(CANARY.getBytes(StandardCharsets.UTF_8));
        refused(ErrorCode.INVALID, () -> SecretReader.file(allowed));
        refused(ErrorCode.INVALID, () -> SecretReader.file(allowed.resolve("missing")));
    }
}
