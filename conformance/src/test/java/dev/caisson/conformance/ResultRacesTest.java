package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import dev.caisson.api.Exec;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.FileInfo;
import dev.caisson.api.FileType;
import dev.caisson.api.ResultFile;
import dev.caisson.api.Sandbox;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Folders and links are exchanged while the host lists, reads, writes and collects. */
class ResultRacesTest {
    private static final Duration LONG_ENOUGH = Duration.ofSeconds(3);

    /**
     * Exchanges the folder swap and a link to the folder that is named, some 100,000 times a
     * second.
     */
    private static final String SWAP =
            """
            #define _GNU_SOURCE
            #include <fcntl.h>
            #include <stdio.h>
            #include <sys/stat.h>
            #include <unistd.h>
            int main(int argc, char **argv) {
                mkdir("swap", 0755);
                FILE *file = fopen("swap/passwd", "w");
                fputs("inside\\n", file);
                fclose(file);
                symlink(argv[1], "link");
                puts("ready");
                fflush(stdout);
                for (;;) renameat2(AT_FDCWD, "swap", AT_FDCWD, "link", RENAME_EXCHANGE);
            }
            """;

    @TempDir Path host;

    /** A sandbox in which the race to that folder is on. */
    private static Exec race(Sandbox sandbox, String aim) {
        Lab.needs("gcc");
        sandbox.files().write("/home/sandbox/swap.c", SWAP);
        assertThat(Lab.sh(sandbox, "gcc -w -O1 -o ~/swap ~/swap.c").succeeded()).isTrue();
        Exec exec = sandbox.start(ExecSpec.of("/home/sandbox/swap", aim));
        org.awaitility.Awaitility.await().until(() -> sandbox.files().stat("link").isPresent());
        return exec;
    }

    private static boolean goesOn(long since) {
        return System.nanoTime() - since < LONG_ENOUGH.toNanos();
    }

    @Test
    @DisplayName("F07 readers never come through a link that takes a folder's place in a race")
    void readersNeverComeThroughALink() throws IOException {
        Path canary = Files.writeString(host.resolve("passwd"), "canary of the host");
        Path out = host.resolve("out");
        int read = 0;
        int refused = 0;
        try (Sandbox sandbox = Lab.sandbox(limits -> limits.withCpus(2))) {
            race(sandbox, "/etc");
            for (long start = System.nanoTime(); goesOn(start); ) {
                try {
                    assertThat(sandbox.files().readText("swap/passwd")).isEqualTo("inside\n");
                    read++;
                } catch (CaissonException e) {
                    refused++;
                }
                try {
                    assertThat(sandbox.files().list("swap"))
                            .extracting(FileInfo::path)
                            .containsExactly("passwd");
                    assertThat(sandbox.files().listTree("/work")).hasSizeLessThanOrEqualTo(5);
                } catch (CaissonException e) {
                    refused++;
                }
                for (ResultFile result : sandbox.files().collect(out, ByteSize.ofMib(1))) {
                    if (result.type() == FileType.REGULAR && result.collected()) {
                        assertThat(Files.readString(out.resolve(result.path())))
                                .isEqualTo("inside\n");
                    }
                }
            }
            assertThat(read).as("reads that met the folder").isPositive();
            assertThat(refused).as("control: reads that met the link").isPositive();
            String naive =
                    "for i in $(seq 300); do head -1 swap/passwd; done 2>/dev/null | sort -u";
            assertThat(Lab.sh(sandbox, naive).stdout().text()).as("control").contains("root:");
        }
        try (Stream<Path> tree = Files.walk(out)) {
            assertThat(tree.filter(Files::isRegularFile)).allMatch(file -> file.endsWith("passwd"));
        }
        assertThat(canary).hasContent("canary of the host");
    }

    @Test
    @DisplayName("F09 writers never come through a link that takes a folder's place in a race")
    void writersNeverComeThroughALink() throws IOException {
        Path folder = Files.createDirectories(host.resolve("put/deep"));
        Files.writeString(folder.resolve("file"), "new");
        int written = 0;
        int refused = 0;
        try (Sandbox sandbox = Lab.sandbox(limits -> limits.withCpus(2))) {
            Lab.sh(sandbox, "mkdir /tmp/aim; echo old > /tmp/aim/passwd");
            race(sandbox, "/tmp/aim");
            List<Runnable> ways =
                    List.of(
                            () -> sandbox.files().write("swap/new", "new"),
                            () -> sandbox.files().makeDirectory("swap/made/below"),
                            () -> sandbox.files().put(host.resolve("put"), "swap/put"),
                            () -> sandbox.files().move("swap/new", "swap/moved"),
                            () -> sandbox.files().removeTree("swap/made"),
                            () -> sandbox.files().remove("swap/moved"));
            for (long start = System.nanoTime(); goesOn(start); ) {
                for (Runnable way : ways) {
                    try {
                        way.run();
                        written++;
                    } catch (CaissonException e) {
                        refused++;
                    }
                }
            }
            assertThat(Lab.sh(sandbox, "ls -AR /tmp/aim; cat /tmp/aim/passwd").stdout().text())
                    .isEqualTo("/tmp/aim:\npasswd\nold\n");
            assertThat(written).as("writes that met the folder").isPositive();
            assertThat(refused).as("control: writes that met the link").isPositive();
            // Until one met the link: who writes by the name alone is led astray.
            Lab.sh(
                    sandbox,
                    "for i in $(seq 20000); do echo x > swap/control; [ -e /tmp/aim/control ] &&"
                            + " break; done 2>/dev/null");
            assertThat(Lab.sh(sandbox, "ls /tmp/aim").stdout().text())
                    .as("control")
                    .contains("control");
        }
    }
}
