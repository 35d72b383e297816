package dev.caisson.control;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.ErrorCode;
import dev.caisson.redact.Redactor;
import dev.caisson.v1.SandboxJson;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.zip.GZIPOutputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;
import org.apache.commons.compress.archivers.tar.TarConstants;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class ArchivesTest {
    @TempDir private Path folder;
    private FakeHost host;
    private SandboxJson sandbox;

    @BeforeEach
    void open() {
        host = FakeHost.open(folder);
        sandbox = host.create();
    }

    @AfterEach
    void close() {
        host.close();
    }

    /** Writes one entry; its name is taken as it is. */
    private interface Entries {
        void write(TarArchiveOutputStream tar) throws IOException;
    }

    private static byte[] tar(Entries entries) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (TarArchiveOutputStream tar = new TarArchiveOutputStream(bytes, "UTF-8")) {
            tar.setLongFileMode(TarArchiveOutputStream.LONGFILE_POSIX);
            entries.write(tar);
        }
        return bytes.toByteArray();
    }

    private static void file(TarArchiveOutputStream tar, String name, String content)
            throws IOException {
        byte[] bytes = content.getBytes(StandardCharsets.UTF_8);
        TarArchiveEntry entry = new TarArchiveEntry(name, true);
        entry.setSize(bytes.length);
        tar.putArchiveEntry(entry);
        tar.write(bytes);
        tar.closeArchiveEntry();
    }

    private static void special(TarArchiveOutputStream tar, byte type) throws IOException {
        TarArchiveEntry entry = new TarArchiveEntry("special", type);
        if (type == TarConstants.LF_SYMLINK || type == TarConstants.LF_LINK) {
            entry.setLinkName("/etc/passwd");
        }
        tar.putArchiveEntry(entry);
        tar.closeArchiveEntry();
    }

    private long unpack(byte[] archive) throws IOException {
        return host.service
                .files()
                .unpack(host.admin, sandbox.id(), "/work/in", new ByteArrayInputStream(archive));
    }

    private void refused(byte[] archive) throws IOException {
        Fixture.refused(ErrorCode.INVALID, () -> unpack(archive));
        nothingThere();
    }

    private void nothingThere() throws IOException {
        Fixture.refused(
                ErrorCode.NOT_FOUND,
                () -> host.service.files().stat(host.admin, sandbox.id(), "/work/in/good"));
        try (var left = Files.list(host.data.resolve("tmp"))) {
            assertThat(left).isEmpty();
        }
    }

    private String read(String path) throws IOException {
        ByteArrayOutputStream content = new ByteArrayOutputStream();
        host.service.files().read(host.admin, sandbox.id(), path, 0, 1000, content);
        return content.toString(StandardCharsets.UTF_8);
    }

    @Test
    void takesFilesAndFolders() throws IOException {
        byte[] archive =
                tar(tar -> {
                    file(tar, "./a.txt", "one");
                    file(tar, "d/100%.txt", "two");
                });
        assertThat(unpack(archive)).isEqualTo(2);
        assertThat(read("/work/in/a.txt")).isEqualTo("one");
        assertThat(read("/work/in/d/100%25.txt")).isEqualTo("two");
        ByteArrayOutputStream zipped = new ByteArrayOutputStream();
        try (GZIPOutputStream gzip = new GZIPOutputStream(zipped)) {
            gzip.write(archive);
        }
        assertThat(unpack(zipped.toByteArray())).isEqualTo(2);
    }

    @ParameterizedTest
    @ValueSource(strings = {"../x", "a/../../x", "/etc/x", "..", "a/..", "a\\..\\b"})
    void refusesNamesThatLeadAway(String name) throws IOException {
        refused(
                tar(tar -> {
                    file(tar, "good", "x");
                    file(tar, name, "x");
                }));
    }

    @Test
    void refusesWhatIsNoFileAndNoFolder() throws IOException {
        for (byte type :
                List.of(
                        TarConstants.LF_SYMLINK,
                        TarConstants.LF_LINK,
                        TarConstants.LF_CHR,
                        TarConstants.LF_BLK,
                        TarConstants.LF_FIFO)) {
            refused(
                    tar(tar -> {
                        file(tar, "good", "x");
                        special(tar, type);
                    }));
        }
    }

    @Test
    void refusesNamesInEachOthersWay() throws IOException {
        refused(
                tar(tar -> {
                    file(tar, "good", "x");
                    file(tar, "a", "x");
                    file(tar, "a/b", "x");
                }));
        refused(
                tar(tar -> {
                    file(tar, "good", "x");
                    file(tar, "a/b", "x");
                    file(tar, "a", "x");
                }));
        refused(
                tar(tar -> {
                    file(tar, "good", "x");
                    file(tar, "n".repeat(300), "x");
                }));
    }

    @Test
    void refusesWhatIsDamaged() throws IOException {
        byte[] archive =
                tar(tar -> {
                    file(tar, "good", "x".repeat(2000));
                    file(tar, "other", "x".repeat(2000));
                });
        for (int cut : List.of(0, 1, 511, 700, 2600, 3500)) {
            byte[] part = java.util.Arrays.copyOf(archive, cut);
            Fixture.refused(ErrorCode.INVALID, () -> unpack(part));
            nothingThere();
        }
    }

    @Test
    void refusesABombOfData() throws IOException {
        ByteArrayOutputStream zipped = new ByteArrayOutputStream();
        try (TarArchiveOutputStream tar =
                new TarArchiveOutputStream(new GZIPOutputStream(zipped), "UTF-8")) {
            file(tar, "good", "x");
            tar.setBigNumberMode(TarArchiveOutputStream.BIGNUMBER_POSIX);
            TarArchiveEntry entry = new TarArchiveEntry("zeros");
            entry.setSize(64 << 20);
            tar.putArchiveEntry(entry);
            byte[] zeros = new byte[1 << 20];
            for (long left = entry.getSize(); left > 0; left -= zeros.length) {
                tar.write(zeros, 0, (int) Math.min(zeros.length, left));
            }
            tar.closeArchiveEntry();
        }
        Path aside = folder.resolve("tmp-archives");
        Fixture.refused(
                ErrorCode.TOO_LARGE,
                () ->
                        Archives.unpack(
                                host.service
                                        .parts()
                                        .boxes()
                                        .of(sandbox.id())
                                        .orElseThrow()
                                        .hosted()
                                        .files(),
                                "/work/in",
                                new ByteArrayInputStream(zipped.toByteArray()),
                                1 << 20,
                                new Archives.Aside(aside, bytes -> {})));
        try (var left = Files.list(aside)) {
            assertThat(left).isEmpty();
        }
    }

    @Test
    void refusesABombOfHeaders() throws IOException {
        ByteArrayOutputStream zipped = new ByteArrayOutputStream();
        try (TarArchiveOutputStream tar =
                new TarArchiveOutputStream(new GZIPOutputStream(zipped), "UTF-8")) {
            file(tar, "good", "x");
            TarArchiveEntry entry =
                    new TarArchiveEntry("././@LongLink", TarConstants.LF_GNUTYPE_LONGNAME);
            entry.setSize(32 << 20);
            tar.putArchiveEntry(entry);
            tar.write(new byte[32 << 20]);
            tar.closeArchiveEntry();
            file(tar, "last", "x");
        }
        refused(zipped.toByteArray());
    }

    @Test
    void givesOutWhatIsThere() throws IOException {
        files(files -> {
            files.write("/work/out/a%25b", "one");
            files.write("/work/out/d/c", "two");
        });
        ByteArrayOutputStream archive = new ByteArrayOutputStream();
        host.service.files().archive(host.admin, sandbox.id(), "/work/out", archive);
        List<String> names = new ArrayList<>();
        try (TarArchiveInputStream tar =
                new TarArchiveInputStream(new ByteArrayInputStream(archive.toByteArray()))) {
            for (TarArchiveEntry entry = tar.getNextEntry();
                    entry != null;
                    entry = tar.getNextEntry()) {
                names.add(entry.getName());
            }
        }
        assertThat(names).contains("a%b", "d/c");
    }

    @Test
    void anEntryIsAsLongAsWhatIsLeftOfAFile() throws IOException {
        files(files -> {
            files.write("/work/out/key", "key hunter2-secret, six-six");
            files.write("/work/out/plain", "nothing");
        });
        Redactor redactor =
                Redactor.of(
                        List.of(
                                "hunter2-secret".getBytes(StandardCharsets.UTF_8),
                                "six-six".getBytes(StandardCharsets.UTF_8)));
        host.service
                .parts()
                .boxes()
                .of(sandbox.id())
                .orElseThrow()
                .hosted()
                .redaction()
                .set(redactor);
        ByteArrayOutputStream archive = new ByteArrayOutputStream();
        host.service.files().archive(host.admin, sandbox.id(), "/work/out", archive);
        List<String> contents = new ArrayList<>();
        try (TarArchiveInputStream tar =
                new TarArchiveInputStream(new ByteArrayInputStream(archive.toByteArray()))) {
            while (tar.getNextEntry() != null) {
                contents.add(new String(tar.readAllBytes(), StandardCharsets.UTF_8));
            }
        }
        assertThat(contents).contains("key [redacted], [redacted]", "nothing");
        assertThat(host.types("secret.")).contains("secret.redacted");
    }

    private void files(Consumer<dev.caisson.api.SandboxFiles> action) {
        action.accept(host.service.parts().boxes().of(sandbox.id()).orElseThrow().hosted().files());
    }

    @Test
    void removesTreesWithoutFollowingLinks() throws IOException {
        Path outside = Files.writeString(folder.resolve("outside"), "x");
        Path tree = Files.createDirectories(folder.resolve("tree/a/b"));
        Files.createSymbolicLink(tree.resolve("link"), outside);
        Files.createSymbolicLink(tree.resolve("up"), folder);
        Trees.delete(folder.resolve("tree"));
        assertThat(folder.resolve("tree")).doesNotExist();
        assertThat(outside).exists();
        Trees.delete(folder.resolve("tree"));
    }

    @Test
    void opensOnlyRegularFilesBelowAFolder() throws IOException {
        Path tree = Files.createDirectories(folder.resolve("tree"));
        Files.writeString(folder.resolve("outside"), "x");
        Files.createSymbolicLink(tree.resolve("link"), folder.resolve("outside"));
        for (String path : List.of("../outside", "link", "nothing", "/etc/passwd", "")) {
            Fixture.refused(ErrorCode.NOT_FOUND, () -> Trees.open(tree, path));
        }
    }

    @Test
    void whatIsKeptAsideCountsInTheDiskQuota() throws IOException {
        long disk = dev.caisson.api.Limits.defaults().disk().bytes();
        Caller tight =
                host.tenant(
                        "tight",
                        new dev.caisson.v1.QuotaJson(
                                null,
                                null,
                                null,
                                null,
                                disk + 100_000,
                                null,
                                null,
                                null,
                                null,
                                null));
        String own = host.service.sandboxes().create(tight, FakeHost.request(null)).sandbox().id();
        byte[] small = tar(tar -> file(tar, "a.txt", "x".repeat(50_000)));
        byte[] large = tar(tar -> file(tar, "a.txt", "x".repeat(150_000)));
        var refusal = Fixture.refused(ErrorCode.QUOTA_EXCEEDED, () -> unpack(tight, own, large));
        assertThat(refusal.details()).containsEntry("limit", "diskBytes");
        try (var left = Files.list(host.data.resolve("tmp"))) {
            assertThat(left).isEmpty();
        }
        Quotas quotas = host.service.parts().quotas();
        assertThat(quotas.taken(tight.tenant(), Account.Sum.DISK)).isEqualTo(disk);
        assertThat(unpack(tight, own, small)).isEqualTo(1); // control
        assertThat(quotas.taken(tight.tenant(), Account.Sum.DISK)).isEqualTo(disk);
        Fixture.refused(ErrorCode.INVALID, () -> unpack(tight, own, new byte[20_000]));
        assertThat(quotas.taken(tight.tenant(), Account.Sum.DISK)).isEqualTo(disk);
    }

    private long unpack(Caller caller, String sandbox, byte[] archive) throws IOException {
        return host.service
                .files()
                .unpack(caller, sandbox, "/work/in", new ByteArrayInputStream(archive));
    }

    @Test
    void whatAKilledServerKeptAsideGoesAtTheNextStart() throws IOException {
        Path left =
                Files.writeString(
                        Files.createDirectories(host.data.resolve("tmp")).resolve("archive1.tar"),
                        "left");
        Path output = Files.createDirectories(host.data.resolve("output").resolve(sandbox.id()));
        host = host.restart();
        assertThat(left).doesNotExist();
        assertThat(output).exists(); // control
        assertThat(unpack(tar(tar -> file(tar, "a.txt", "one")))).isEqualTo(1);
    }
}
