package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.ByteSize;
import dev.caisson.api.ExecReason;
import dev.caisson.api.ExecResult;
import dev.caisson.api.Limit;
import dev.caisson.api.ResultFile;
import dev.caisson.api.Sandbox;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** Disk, inodes and deep trees. */
@Isolated("takes the host's disk")
class DiskBombTest {
    private static final long MIB = 1 << 20;
    private static final String FILL =
            "dd if=/dev/zero of=/work/x bs=1M count=150 oflag=direct; stat -c %s /work/x";
    private static final String MANY =
            """
            import os
            made, why = 0, 0
            os.mkdir('/work/many')
            for i in range(8000):
                try: os.close(os.open('/work/many/%d' % i, os.O_CREAT | os.O_WRONLY)); made += 1
                except OSError as e: why = e.errno; break
            print(made, why)
            """;

    @TempDir private Path folder;

    private static long free(Path path) throws IOException {
        return Files.getFileStore(path).getUnallocatedSpace();
    }

    @Test
    @DisplayName(
            "R07 a full disk is ENOSPC and the limit disk, and takes no more from the host than the"
                    + " limit")
    void fullDiskIsEnospc() {
        try (Sandbox sandbox =
                Lab.sandbox(limits ->
                        limits.withDisk(ByteSize.ofMib(64)).withMemory(ByteSize.ofMib(48)))) {
            long before = DiskImages.written();
            ExecResult result = Lab.sh(sandbox, FILL);

            assertThat(result.stderr().text()).contains("No space left on device");
            assertThat(Long.parseLong(result.stdout().text().strip()))
                    .isBetween(30 * MIB, 64 * MIB);
            assertThat(result.reason()).isEqualTo(ExecReason.EXITED);
            assertThat(result.limitsHit()).contains(Limit.DISK).doesNotContain(Limit.MEMORY);
            assertThat(DiskImages.written() - before).isGreaterThan(30 * MIB);
            assertThat(DiskImages.ofSize(64 * MIB)).isTrue();
            assertThat(Lab.sh(sandbox, "rm /work/x && echo more >/work/y").succeeded()).isTrue();
        }
    }

    @Test
    @DisplayName("R07 control: a larger disk takes all of it")
    void largerDiskTakesIt() {
        try (Sandbox sandbox = Lab.sandbox(limits -> limits.withDisk(ByteSize.ofMib(400)))) {
            long before = DiskImages.written();
            ExecResult result = Lab.sh(sandbox, FILL);

            assertThat(result.stdout().text().strip()).isEqualTo(Long.toString(150 * MIB));
            assertThat(result.limitsHit()).doesNotContain(Limit.DISK);
            assertThat(DiskImages.written() - before).isGreaterThan(140 * MIB);
        }
    }

    @Test
    @DisplayName(
            "R08 files without end are ENOSPC and the limit inodes; with more inodes all are made")
    void fullInodesAreEnospc() {
        try (Sandbox tight = Lab.sandbox(limits -> limits.withInodes(1024));
                Sandbox loose = Lab.sandbox(limits -> limits.withInodes(16_384))) {
            ExecResult stopped = Lab.python(tight, MANY);

            assertThat(stopped.stdout().text()).endsWith(" 28\n");
            assertThat(Integer.parseInt(stopped.stdout().text().split(" ", 2)[0]))
                    .isBetween(100, 1024);
            assertThat(stopped.limitsHit()).contains(Limit.INODES);
            assertThat(Lab.python(loose, MANY).stdout().text()).isEqualTo("8000 0\n");
        }
    }

    @Test
    @DisplayName("R10 fallocate reserves no more than the disk limit; a little of it is granted")
    void fallocateIsBounded() throws Exception {
        Lab.needs("fallocate");
        try (Sandbox sandbox = Lab.sandbox(limits -> limits.withDisk(ByteSize.ofMib(64)))) {
            long before = free(Path.of("/var/lib"));
            ExecResult result = Lab.sh(sandbox, "fallocate -l 40G /work/x; stat -c %s /work/x");

            assertThat(result.stderr().text()).contains("No space left on device");
            assertThat(before - free(Path.of("/var/lib"))).isLessThan(10_000 * MIB);
            assertThat(Lab.sh(sandbox, "rm -f /work/x; fallocate -l 8M /work/y").succeeded())
                    .isTrue();
        }
    }

    @Test
    @DisplayName(
            "R30 a tree of 4,000 levels is bounded in listings and results, and the sandbox ends")
    void deepTreeIsSurvived() {
        String dig =
                """
                import os
                os.chdir('/work')
                for i in range(%d):
                  os.mkdir('d'); os.chdir('d')
                open('leaf', 'w').write('x')
                """;
        try (Sandbox sandbox = Lab.sandbox()) {
            assertThat(Lab.python(sandbox, dig.formatted(4000)).succeeded()).isTrue();

            assertThat(sandbox.files().listTree("/work").size()).isBetween(1, 257);
            List<ResultFile> found =
                    sandbox.files().collect(folder.resolve("out"), ByteSize.ofMib(1));
            assertThat(found.size()).isLessThan(5000);
            assertThat(folder.resolve("out")).isDirectory();
            sandbox.files().removeTree("/work/d");
            assertThat(sandbox.files().stat("/work/d")).isEmpty();
            // Control: a tree within the bounds comes out whole.
            assertThat(Lab.python(sandbox, dig.formatted(20)).succeeded()).isTrue();
            sandbox.files().collect(folder.resolve("flat"), ByteSize.ofMib(1));
            assertThat(folder.resolve("flat/" + "d/".repeat(20) + "leaf")).hasContent("x");
        }
    }
}
