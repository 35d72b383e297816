package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.FileType;
import dev.caisson.api.ResultFile;
import dev.caisson.api.Sandbox;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserDefinedFileAttributeView;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What a sandbox leaves beside plain files: pipes, sockets, set-id bits, attributes, files without
 * end.
 */
class ResultKindsTest {
    @TempDir Path host;

    @Test
    @DisplayName("F10 F11 pipes, sockets and devices are named and never opened")
    void pipesSocketsAndDevicesAreNamedAndNeverOpened() throws IOException, InterruptedException {
        Path out = host.resolve("out");
        try (Sandbox sandbox = Lab.sandbox()) {
            Lab.python(
                    sandbox,
                    """
                    import os, socket
                    os.mkfifo('pipe')
                    socket.socket(socket.AF_UNIX).bind('socket')
                    for kind in 0o020000, 0o060000:
                        try:
                            os.mknod('device', kind | 0o666, os.makedev(1, 5))
                        except OSError:
                            pass
                    open('plain', 'w').write('plain')
                    """);

            Results results = Results.collect(sandbox, out, ByteSize.ofMib(1));

            assertThat(results.paths())
                    .as("no device was made")
                    .containsExactlyInAnyOrder("pipe", "socket", "plain");
            assertThat(results.get("pipe").type()).isEqualTo(FileType.FIFO);
            assertThat(results.get("socket").type()).isEqualTo(FileType.SOCKET);
            assertThat(results.get("pipe").note()).isNotEmpty();
            ResultLinksTest.assertRefused("pipe", () -> sandbox.files().read("pipe"));
            ResultLinksTest.assertRefused("socket", () -> sandbox.files().read("socket"));
            assertThat(HostView.entries(out)).containsExactly(out.resolve("plain"));
        }
        Lab.outside("mkfifo", host.resolve("pipe").toString());
        Lab.Outside control = Lab.outside("timeout", "0.3", "cat", host.resolve("pipe").toString());
        assertThat(control.status()).as("control: opening it waits").isEqualTo(124);
    }

    @Test
    @DisplayName("F13 set-id and sticky bits and foreign owners do not come to the host, nor go in")
    void setIdBitsAndForeignOwnersDoNotCross() throws IOException, InterruptedException {
        Path out = host.resolve("out");
        try (Sandbox sandbox = Lab.sandbox()) {
            Lab.sh(
                    sandbox,
                    "echo x > program; chmod 6755 program; mkdir folder; chmod 3777 folder");

            Results results = Results.collect(sandbox, out, ByteSize.ofMib(1));

            assertThat(results.get("program").mode()).as("control: told as it is").isEqualTo(06755);
            assertThat(Files.getAttribute(out.resolve("program"), "unix:mode")).isEqualTo(0100755);
            assertThat((int) Files.getAttribute(out.resolve("folder"), "unix:mode") & 07000)
                    .isZero();
            assertThat(HostView.owner(out.resolve("program")))
                    .isEqualTo(HostView.owner(Path.of("/proc/self")));

            Path program = Files.writeString(host.resolve("in"), "x");
            Lab.outside("chmod", "6755", program.toString());
            sandbox.files().put(program, "in");
            sandbox.files().write("written", new java.io.ByteArrayInputStream(new byte[1]), 07755);
            assertThat(Lab.sh(sandbox, "stat -c '%a %u' in written").stdout().text())
                    .isEqualTo("755 1000\n755 1000\n");
            assertThat((int) Files.getAttribute(program, "unix:mode") & 07000)
                    .as("control")
                    .isEqualTo(06000);
        }
    }

    @Test
    @DisplayName("F13 a result that nobody may read arrives readable by its owner only")
    void aResultWithoutPermissionsArrives() throws IOException {
        Path out = host.resolve("out");
        try (Sandbox sandbox = Lab.sandbox()) {
            Lab.sh(sandbox, "mkdir closed; echo x > closed/file; chmod 0 closed/file closed");

            Results results = Results.collect(sandbox, out, ByteSize.ofMib(1));

            assertThat(results.get("closed/file").collected()).isTrue();
            assertThat(
                            PosixFilePermissions.toString(
                                    Files.getPosixFilePermissions(out.resolve("closed/file"))))
                    .isEqualTo("rw-------");
        }
    }

    @Test
    @DisplayName("F14 extended attributes and file capabilities do not come to the host")
    void extendedAttributesDoNotCome() throws IOException {
        Path out = host.resolve("out");
        try (Sandbox sandbox = Lab.sandbox()) {
            String told =
                    Lab.python(
                                    sandbox,
                                    """
                                    import os
                                    open('file', 'w').write('x')
                                    for name in 'user.x', 'security.capability', 'trusted.x', 'system.posix_acl_access':
                                        try:
                                            os.setxattr('file', name, bytes.fromhex('0100000202000000000000000000000000000000'))
                                        except OSError:
                                            pass
                                    print(os.listxattr('file'))
                                    """)
                            .stdout()
                            .text();
            assertThat(told).as("control").isEqualTo("['user.x']\n");

            Results.collect(sandbox, out, ByteSize.ofMib(1));

            assertThat(
                            Files.getFileAttributeView(
                                            out.resolve("file"), UserDefinedFileAttributeView.class)
                                    .list())
                    .isEmpty();
        }
    }

    @Test
    @DisplayName("F15 a sparse file of 1 TiB takes neither the host's disk nor its memory")
    void aSparseFileTakesNothing() throws IOException {
        Path out = host.resolve("out");
        try (Sandbox sandbox = Lab.sandbox()) {
            Lab.sh(sandbox, "truncate -s 1T sparse; truncate -s 3M zeros; echo x > plain");

            Results results = Results.collect(sandbox, out, ByteSize.ofMib(4));

            assertThat(results.get("sparse").size()).as("control").isEqualTo(1L << 40);
            assertThat(results.get("sparse").collected()).isFalse();
            assertThat(results.get("sparse").note()).contains("limit");
            assertThat(results.get("plain").collected() && results.get("zeros").collected())
                    .isTrue();
            assertThat(HostView.entries(out)).hasSize(2);
            CaissonException refusal =
                    catchThrowableOfType(
                            CaissonException.class, () -> sandbox.files().read("sparse"));
            assertThat(refusal.code()).isEqualTo(ErrorCode.TOO_LARGE);
        }
    }

    @Test
    @DisplayName("F15 many files together stay within the limit, and one that grows meanwhile too")
    void manyFilesStayWithinTheLimit() throws IOException {
        Path out = host.resolve("out");
        try (Sandbox sandbox = Lab.sandbox()) {
            Lab.sh(sandbox, "for i in 1 2 3 4 5 6; do head -c 1M /dev/zero > f$i; done");
            dev.caisson.api.Exec grower =
                    sandbox.start(
                            dev.caisson.api.ExecSpec.shell(
                                    "while :; do head -c 1M /dev/zero >> f1; sleep 0.01; done"));
            for (int round = 0; round < 5; round++) {
                Results.collect(sandbox, out, ByteSize.ofMib(3));
                long bytes = 0;
                for (Path file : HostView.entries(out)) {
                    bytes += Files.size(file);
                    Files.delete(file);
                }
                assertThat(bytes).isLessThanOrEqualTo(3L << 20);
            }
            grower.kill();
            grower.await();
            assertThat(Results.collect(sandbox, out, ByteSize.ofGib(1)).all())
                    .as("control")
                    .allMatch(ResultFile::collected);
        }
    }

    @Test
    @DisplayName(
            "F29 files that steer tools of the host are told by their names, as every other result")
    void filesThatSteerToolsAreTold() {
        List<String> steering =
                List.of(
                        ".git/config",
                        ".git/hooks/post-checkout",
                        ".envrc",
                        ".vscode/tasks.json",
                        ".mcp.json",
                        "Makefile",
                        ".npmrc",
                        ".bashrc");
        try (Sandbox sandbox = Lab.sandbox()) {
            sandbox.files().mark();
            for (String file : steering) {
                sandbox.files().write(file, "x");
            }
            assertThat(sandbox.files().changes())
                    .extracting(ResultFile::path)
                    .containsAll(steering);
            sandbox.files().mark();
            assertThat(sandbox.files().changes()).as("control").isEmpty();
        }
    }
}
