package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.FileInfo;
import dev.caisson.api.Sandbox;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.SequenceInputStream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/**
 * What the host writes into a sandbox is counted as what the sandbox writes, and appears whole or
 * not at all.
 */
class FilesQuotaTest {
    private static final int MIB = 1 << 20;

    @Test
    @DisplayName(
            "F28 a write of the host at the edge of the disk limit is refused, and leaves nothing")
    void aWriteAtTheEdgeOfTheDiskIsRefused() {
        byte[] large = new byte[4 * MIB];
        try (Sandbox sandbox = Lab.sandbox(limits -> limits.withDisk(ByteSize.ofMib(16)))) {
            sandbox.files().write("first", large);
            Lab.sh(sandbox, "head -c 20M /dev/zero > fill");

            CaissonException full =
                    catchThrowableOfType(
                            CaissonException.class, () -> sandbox.files().write("second", large));

            assertThat(full.code()).isEqualTo(ErrorCode.LIMIT_REACHED);
            assertThat(sandbox.files().list("/work"))
                    .extracting(FileInfo::path)
                    .containsExactlyInAnyOrder("first", "fill");
            assertThat(Lab.sh(sandbox, "ls -A /work").stdout().text())
                    .as("nothing temporary")
                    .isEqualTo("fill\nfirst\n");
            assertThat(sandbox.files().read("first"))
                    .as("what was there is whole")
                    .hasSize(4 * MIB);
            sandbox.files().remove("fill");
            sandbox.files().write("second", large);
            assertThat(sandbox.files().read("second")).as("control").hasSize(4 * MIB);
        }
    }

    @Test
    @DisplayName("F28 files of the host count against the inode limit")
    void filesOfTheHostCountAgainstTheInodeLimit() {
        try (Sandbox sandbox = Lab.sandbox(limits -> limits.withInodes(256))) {
            CaissonException full =
                    catchThrowableOfType(
                            CaissonException.class,
                            () -> {
                                for (int i = 0; i < 1000; i++) {
                                    sandbox.files().write("f" + i, "");
                                }
                            });
            assertThat(full.code()).isEqualTo(ErrorCode.LIMIT_REACHED);
            assertThat(sandbox.files().list("/work")).as("control").hasSizeBetween(100, 256);
            assertThat(Lab.sh(sandbox, "touch /var/tmp/x").succeeded())
                    .as("the same inside")
                    .isFalse();
        }
    }

    @Test
    @DisplayName("F28 files of the host in /tmp count as the sandbox's memory")
    void filesOfTheHostInTmpAreBounded() {
        try (Sandbox sandbox = Lab.sandbox(limits -> limits.withMemory(ByteSize.ofMib(64)))) {
            CaissonException full =
                    catchThrowableOfType(
                            CaissonException.class,
                            () -> sandbox.files().write("/tmp/large", new byte[60 * MIB]));
            assertThat(full.code()).isEqualTo(ErrorCode.LIMIT_REACHED);
            sandbox.files().write("/tmp/small", new byte[MIB]);
            assertThat(sandbox.files().list("/tmp")).as("control").hasSize(1);
            assertThat(Lab.sh(sandbox, "echo alive").stdout().text()).isEqualTo("alive\n");
        }
    }

    @Test
    @DisplayName("F26 an upload that breaks off leaves the old file, and nothing half")
    void anUploadThatBreaksOffLeavesTheOldFile() {
        try (Sandbox sandbox = Lab.sandbox()) {
            sandbox.files().write("file", "old");
            InputStream broken =
                    new SequenceInputStream(
                            new ByteArrayInputStream(new byte[MIB]),
                            new InputStream() {
                                @Override
                                public int read() throws IOException {
                                    throw new IOException("broken off");
                                }

                                @Override
                                public int read(byte[] into, int at, int most) throws IOException {
                                    throw new IOException("broken off");
                                }
                            });

            assertThatThrownBy(() -> sandbox.files().write("file", broken, 0644))
                    .isInstanceOf(CaissonException.class);

            org.awaitility.Awaitility.await()
                    .untilAsserted(() ->
                            assertThat(Lab.sh(sandbox, "ls -A").stdout().text())
                                    .isEqualTo("file\n"));
            assertThat(sandbox.files().readText("file")).isEqualTo("old");
            sandbox.files().write("file", new ByteArrayInputStream(new byte[MIB]), 0644);
            assertThat(sandbox.files().read("file")).as("control").hasSize(MIB);
        }
    }
}
