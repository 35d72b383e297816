package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.FileType;
import dev.caisson.api.Sandbox;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Links that a sandbox leaves lead nobody anywhere, neither to the host's files nor to its own
 * agent's.
 */
class ResultLinksTest {
    private static final String CANARY = "canary of the host";

    /** Makes links of every kind beside a good file; a place is left for the canary's path. */
    private static final String LINKS =
            """
            echo good > good; mkdir real; echo inner > real/file
            ln -s CANARY abs; ln -s ../../../../../../../..CANARY up; ln -s CANARYDIR dir; ln -s / root; ln -s /etc etc
            ln -s /proc/self/environ env; ln -s /proc/self proc; ln -s /dev/zero zero; ln -s /proc/kmsg kmsg
            ln -s /proc/self/fd/0 stdin; ln -s /proc/self/fd/3 life; ln -s good near; ln -s ../good real/link
            ln -s loop loop; ln -s nowhere dangling; ln good hard; ln -s real folder
            """;

    private static final List<String> NAMES =
            List.of(
                    "abs",
                    "up",
                    "dir",
                    "root",
                    "etc",
                    "env",
                    "proc",
                    "zero",
                    "kmsg",
                    "stdin",
                    "life",
                    "near",
                    "real/link",
                    "loop",
                    "dangling",
                    "folder");

    @TempDir Path host;
    private Path canary = Path.of("/");

    @BeforeEach
    void makeCanary() throws IOException {
        canary =
                Files.writeString(
                        Files.createDirectory(host.resolve("secret")).resolve("canary"), CANARY);
    }

    private String trigger() {
        return LINKS.replace("CANARYDIR", canary.getParent() + "").replace("CANARY", canary + "");
    }

    @Test
    @DisplayName("F01 F02 F03 F05 F06 links are listed and not followed when results are collected")
    void linksAreListedAndNotFollowed() throws IOException, InterruptedException {
        Path out = host.resolve("out");
        try (Sandbox sandbox = Lab.sandbox()) {
            sandbox.files().mark();
            assertThat(Lab.sh(sandbox, trigger()).succeeded()).isTrue();

            Results results = Results.collect(sandbox, out, ByteSize.ofMib(64));

            for (String name : NAMES) {
                assertThat(results.get(name))
                        .as(name)
                        .satisfies(result -> {
                            assertThat(result.type()).isEqualTo(FileType.SYMLINK);
                            assertThat(result.collected()).isFalse();
                            assertThat(result.note()).isNotEmpty();
                        });
            }
        }
        try (Stream<Path> tree = Files.walk(out)) {
            assertThat(tree.map(path -> out.relativize(path).toString()))
                    .containsExactlyInAnyOrder("", "good", "hard", "real", "real/file");
        }
        assertThat(Files.getAttribute(out.resolve("hard"), "unix:nlink"))
                .as("no longer linked")
                .isEqualTo(1);
        assertControl();
    }

    /** The same links outside, copied as one does without thinking. */
    private void assertControl() throws IOException, InterruptedException {
        Path naive = Files.createDirectory(host.resolve("naive"));
        Lab.outside("/bin/sh", "-c", "cd " + naive + "; " + trigger());
        assertThat(Files.readString(naive.resolve("abs"))).as("control").isEqualTo(CANARY);
        assertThat(Files.readString(naive.resolve("dir/canary"))).as("control").isEqualTo(CANARY);
        assertThat(Files.readString(naive.resolve("env")))
                .as("control: own environment")
                .contains("PATH=");
        Lab.outside("rm", "-r", naive.toString());
    }

    @Test
    @DisplayName(
            "F01 F07 no way of reading follows a link, as the last part of a path or within it")
    void noWayOfReadingFollowsALink() {
        try (Sandbox sandbox = Lab.sandbox()) {
            assertThat(Lab.sh(sandbox, trigger()).succeeded()).isTrue();
            for (String name : NAMES) {
                assertRefused(name, () -> sandbox.files().read(name));
                assertRefused(name, () -> sandbox.files().get(name, host.resolve("got")));
                assertRefused(name, () -> sandbox.files().list(name));
                assertRefused(name, () -> sandbox.files().listTree(name));
                assertThat(sandbox.files().stat(name).orElseThrow().type())
                        .isEqualTo(FileType.SYMLINK);
            }
            for (String path :
                    List.of(
                            "etc/passwd",
                            "proc/environ",
                            "proc/mem",
                            "root/etc/passwd",
                            "folder/file",
                            "dir/canary",
                            "proc/root/etc/passwd",
                            "proc/fd/3",
                            "proc/cwd/etc/passwd")) {
                assertRefused(path, () -> sandbox.files().read(path));
                assertRefused(path, () -> sandbox.files().get(path, host.resolve("got")));
            }
            assertThat(host.resolve("got")).doesNotExist();
            assertThat(sandbox.files().readText("real/file")).as("control").isEqualTo("inner\n");
            assertThat(Lab.sh(sandbox, "cat folder/file; head -1 etc/passwd").stdout().text())
                    .as("control: inside they lead on")
                    .startsWith("inner\nroot:");
        }
    }

    @Test
    @DisplayName("F05 the agent's own /proc cannot be read or written through the files API")
    void theAgentsOwnProcCannotBeReached() {
        try (Sandbox sandbox = Lab.sandbox()) {
            for (String path :
                    List.of(
                            "/proc/self/environ",
                            "/proc/1/environ",
                            "/proc/self/maps",
                            "/proc/version",
                            "/dev/zero",
                            "//proc/version",
                            "/./proc/version",
                            "/sys/fs/cgroup/pids/pids.max",
                            "/dev/pts/ptmx")) {
                assertRefused(path, () -> sandbox.files().read(path));
                assertRefused(path, () -> sandbox.files().write(path, "x"));
            }
            assertThat(sandbox.files().readText("/etc/hostname"))
                    .as("control")
                    .isEqualTo("sandbox\n");
        }
    }

    @Test
    @DisplayName("F09 no way of writing follows a link, as the last part of a path or within it")
    void noWayOfWritingFollowsALink() throws IOException {
        Path folder = Files.createDirectory(host.resolve("folder"));
        Files.writeString(folder.resolve("put"), "new");
        try (Sandbox sandbox = Lab.sandbox()) {
            Lab.sh(
                    sandbox,
                    "mkdir /tmp/aim; echo old > /tmp/aim/victim; ln -s /tmp/aim dir; ln -s"
                            + " /tmp/aim/victim file; ln -s /tmp/aim/fresh fresh");

            assertRefused("dir/new", () -> sandbox.files().write("dir/new", "new"));
            assertRefused("dir/victim", () -> sandbox.files().write("dir/victim", "new"));
            assertRefused("dir/made", () -> sandbox.files().makeDirectory("dir/made"));
            assertRefused("dir/a/b", () -> sandbox.files().makeDirectory("dir/a/b"));
            assertRefused("dir/", () -> sandbox.files().put(folder, "dir/"));
            assertRefused("dir/put", () -> sandbox.files().put(folder.resolve("put"), "dir/put"));
            assertRefused("dir/victim", () -> sandbox.files().remove("dir/victim"));
            assertRefused("dir/victim", () -> sandbox.files().move("dir/victim", "moved"));
            // The last part: what stands there is replaced or removed, not followed.
            attempt(() -> sandbox.files().write("file", "new"));
            attempt(() -> sandbox.files().write("fresh", "new"));
            attempt(() -> sandbox.files().removeTree("dir"));

            assertThat(Lab.sh(sandbox, "ls -A /tmp/aim; cat /tmp/aim/victim").stdout().text())
                    .isEqualTo("victim\nold\n");
            Lab.sh(sandbox, "ln -s /tmp/aim/victim again; echo new > again");
            assertThat(Lab.sh(sandbox, "cat /tmp/aim/victim").stdout().text())
                    .as("control")
                    .isEqualTo("new\n");
        }
    }

    private static void attempt(Runnable action) {
        try {
            action.run();
        } catch (CaissonException e) {
            assertThat(e.code())
                    .isIn(ErrorCode.NOT_REGULAR, ErrorCode.INVALID, ErrorCode.ALREADY_EXISTS);
        }
    }

    static void assertRefused(
            String path, org.assertj.core.api.ThrowableAssert.ThrowingCallable action) {
        CaissonException refusal = catchThrowableOfType(CaissonException.class, action);
        assertThat(refusal).as("refusal of %s", path).isNotNull();
        assertThat(refusal.code())
                .as(path + ": " + refusal.message())
                .isIn(
                        ErrorCode.NOT_REGULAR,
                        ErrorCode.NOT_FOUND,
                        ErrorCode.INVALID,
                        ErrorCode.PERMISSION_DENIED);
    }
}
