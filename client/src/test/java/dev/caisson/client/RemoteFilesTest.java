package dev.caisson.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.FileInfo;
import dev.caisson.api.FileType;
import dev.caisson.api.ResultFile;
import dev.caisson.api.SandboxFiles;
import dev.caisson.api.Watch;
import dev.caisson.api.WatchEvent;
import dev.caisson.api.WatchListener;
import dev.caisson.testkit.StubServer;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;
import org.apache.commons.compress.archivers.tar.TarConstants;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RemoteFilesTest {
    private static final String FILES = " /v1/sandboxes/" + Forms.SB + "/files";
    private static final String FILE =
            "{\"path\":\"/work/a\",\"name\":\"a\",\"type\":\"file\",\"size\":3,\"mode\":420,"
                    + "\"modifiedAt\":\"2026-11-30T12:00:00Z\"}";

    @TempDir private Path folder;
    private StubServer server;
    private RemoteCaisson caisson;
    private SandboxFiles files;

    @BeforeEach
    void open() throws IOException {
        server = StubServer.open();
        server.on("GET /v1/sandboxes/" + Forms.SB, Forms.sandbox("running"));
        caisson = RemoteCaisson.open(Forms.config(server));
        files = caisson.sandbox(Forms.SB).files();
    }

    @AfterEach
    void close() throws IOException {
        caisson.close();
        server.close();
    }

    private static CaissonException failure(Runnable call) {
        CaissonException failure = catchThrowableOfType(CaissonException.class, call::run);
        assertThat(failure).isNotNull();
        return failure;
    }

    @Test
    void writesWithPathAndModeAsTheyAre() {
        server.on("PUT" + FILES, FILE);

        files.write("a%0Ab ü", "x");
        long bytes = files.write("/work/b", new ByteArrayInputStream(new byte[100_000]), 0755);

        List<StubServer.Request> puts = server.requests("PUT" + FILES);
        assertThat(puts.get(0).query("path")).isEqualTo("a%0Ab ü");
        assertThat(puts.get(0).query("mode")).isEqualTo("420");
        assertThat(puts.get(1).query("mode")).isEqualTo("493");
        assertThat(puts.get(1).text()).hasSize(100_000);
        assertThat(bytes).isEqualTo(100_000);
    }

    @Test
    void getsFilesWholeOrNotAtAll() throws IOException {
        Path target = folder.resolve("out");
        Path elsewhere = Files.writeString(folder.resolve("elsewhere"), "mine");
        Files.createSymbolicLink(target, elsewhere);
        server.on("GET" + FILES, (request, reply) -> reply.bytes(new byte[] {1, 2, 3}));

        assertThat(files.get("a", target)).isEqualTo(3);
        assertThat(target).isRegularFile().hasBinaryContent(new byte[] {1, 2, 3});
        assertThat(elsewhere).hasContent("mine");

        server.on(
                "GET" + FILES,
                (request, reply) -> {
                    reply.head(200, "Content-Length: 1000");
                    reply.raw("half");
                    reply.cut();
                });
        assertThat(failure(() -> files.get("a", target)).code()).isEqualTo(ErrorCode.ENGINE_FAILED);
        assertThat(target).hasBinaryContent(new byte[] {1, 2, 3});
        assertThat(folder.toFile().list()).containsExactlyInAnyOrder("out", "elsewhere");
    }

    @Test
    void refusesBodiesWhoseEndCannotBeTold() {
        server.on(
                "GET" + FILES,
                (request, reply) -> {
                    reply.head(200, "Connection: close");
                    reply.raw("half");
                    reply.cut();
                });

        assertThat(failure(() -> files.read("a")).code()).isEqualTo(ErrorCode.ENGINE_FAILED);
    }

    @Test
    void readsNoMoreThanItMay() {
        server.on(
                "GET" + FILES,
                (request, reply) -> {
                    reply.stream();
                    byte[] chunk = new byte[1 << 20];
                    for (int i = 0; i < 200; i++) {
                        reply.chunk(chunk);
                    }
                });

        assertThat(failure(() -> files.read("a")).code()).isEqualTo(ErrorCode.TOO_LARGE);
    }

    @Test
    void listsRelativeToTheFolder() {
        server.on("GET" + FILES + "/list", "{\"items\":[" + FILE + "]}");

        assertThat(files.list("/work")).extracting(FileInfo::path).containsExactly("a");
        assertThat(files.list("/work").getFirst().type()).isEqualTo(FileType.REGULAR);
        assertThat(files.stat("nothing")).isEmpty();
    }

    private interface Tar {
        void write(TarArchiveOutputStream tar) throws IOException;
    }

    private void archive(Tar content) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (TarArchiveOutputStream tar = new TarArchiveOutputStream(bytes)) {
            tar.setLongFileMode(TarArchiveOutputStream.LONGFILE_POSIX);
            content.write(tar);
        }
        server.on("GET" + FILES + "/archive", (request, reply) -> reply.bytes(bytes.toByteArray()));
        listed("");
    }

    private void listed(String items) {
        server.on("GET" + FILES + "/list", "{\"items\":[" + items + "]}");
    }

    private static String file(String path, String type) {
        return "{\"path\":\"/work/"
                + path
                + "\",\"name\":\"x\",\"type\":\""
                + type
                + "\",\"size\":3,\"mode\":511,\"modifiedAt\":\"2026-11-30T12:00:00Z\"}";
    }

    private static void add(TarArchiveOutputStream tar, String name, byte type, String content)
            throws IOException {
        TarArchiveEntry entry = new TarArchiveEntry(name, type, true);
        byte[] bytes = content.getBytes(StandardCharsets.UTF_8);
        boolean link = type == TarConstants.LF_SYMLINK || type == TarConstants.LF_LINK;
        if (link) {
            entry.setLinkName(content);
        } else {
            entry.setSize(bytes.length);
        }
        entry.setMode(type == TarConstants.LF_DIR ? 0755 : 06755);
        tar.putArchiveEntry(entry);
        if (!link) {
            tar.write(bytes);
        }
        tar.closeArchiveEntry();
    }

    private List<ResultFile> get(ByteSize limit) {
        return caisson.service()
                .files()
                .get(Forms.SB, "/work", folder.resolve("in"), limit, bytes -> {});
    }

    @Test
    void nothingInAnArchiveLeadsOutOfTheFolder() throws IOException {
        Path outside = Files.createDirectory(folder.resolve("outside"));
        archive(tar -> {
            add(tar, "../escaped", TarConstants.LF_NORMAL, "x");
            add(tar, "a/../../escaped", TarConstants.LF_NORMAL, "x");
            add(tar, outside + "/absolute", TarConstants.LF_NORMAL, "x");
            add(tar, "link", TarConstants.LF_SYMLINK, outside.toString());
            add(tar, "link/through", TarConstants.LF_NORMAL, "x");
            add(tar, "hard", TarConstants.LF_LINK, "/etc/passwd");
            add(tar, "device", TarConstants.LF_CHR, "");
            add(tar, "pipe", TarConstants.LF_FIFO, "");
            add(tar, "dir/", TarConstants.LF_DIR, "");
            add(tar, "dir/good", TarConstants.LF_NORMAL, "good");
        });

        List<ResultFile> got = get(ByteSize.ofMib(1));

        assertThat(outside.toFile().list()).isEmpty();
        assertThat(folder.toFile().list()).containsExactlyInAnyOrder("outside", "in");
        assertThat(folder.resolve("in/dir/good")).hasContent("good");
        assertThat(
                        PosixFilePermissions.toString(
                                Files.getPosixFilePermissions(folder.resolve("in/dir/good"))))
                .isEqualTo("rwxr-xr-x");
        assertThat(folder.resolve("in").toFile().list()).containsExactlyInAnyOrder("dir", "link");
        assertThat(folder.resolve("in/link")).isDirectory();
        assertThat(Files.isSymbolicLink(folder.resolve("in/link"))).isFalse();
        assertThat(got.stream().filter(file -> !file.note().isEmpty())).hasSize(7);
    }

    @Test
    void linksThatAreThereAlreadyAreNotFollowed() throws IOException {
        Path outside = Files.createDirectory(folder.resolve("outside"));
        Files.createDirectory(folder.resolve("in"));
        Files.createSymbolicLink(folder.resolve("in/dir"), outside);
        archive(tar -> add(tar, "dir/file", TarConstants.LF_NORMAL, "x"));

        List<ResultFile> got = get(ByteSize.ofMib(1));

        assertThat(outside.toFile().list()).isEmpty();
        assertThat(got).singleElement().extracting(ResultFile::note).asString().contains("way");
    }

    @Test
    void stopsAtTheLimitOfBytes() throws IOException {
        archive(tar -> {
            add(tar, "small", TarConstants.LF_NORMAL, "x".repeat(100));
            add(tar, "large", TarConstants.LF_NORMAL, "x".repeat(5000));
        });

        List<ResultFile> got = get(ByteSize.of(1000));

        assertThat(got).extracting(ResultFile::collected).containsExactly(true, false);
        assertThat(folder.resolve("in").toFile().list()).containsExactly("small");
    }

    @Test
    void whatArchivesLeaveOutIsToldFromAListing() throws IOException {
        archive(tar -> add(tar, "d/f", TarConstants.LF_NORMAL, "x"));
        listed(
                file("d", "directory")
                        + ","
                        + file("d/f", "regular")
                        + ","
                        + file("d/l", "symlink")
                        + ","
                        + file("p", "fifo"));

        List<ResultFile> got = get(ByteSize.ofMib(1));

        assertThat(got.stream().filter(file -> !file.collected()))
                .extracting(ResultFile::path)
                .containsExactly("d/l", "p");
        assertThat(got.stream().filter(ResultFile::collected))
                .extracting(ResultFile::path)
                .containsExactly("d/f");
    }

    @Test
    void brokenAndSenselessArchivesFail() {
        listed("");
        server.on(
                "GET" + FILES + "/archive",
                (request, reply) ->
                        reply.bytes("x".repeat(2000).getBytes(StandardCharsets.US_ASCII)));
        assertThat(failure(() -> get(ByteSize.ofMib(1))).code()).isEqualTo(ErrorCode.ENGINE_FAILED);

        server.on(
                "GET" + FILES + "/archive",
                (request, reply) -> {
                    reply.stream().chunk(new byte[512]);
                    reply.cut();
                });
        assertThat(failure(() -> get(ByteSize.ofMib(1))).code()).isEqualTo(ErrorCode.ENGINE_FAILED);
    }

    @Test
    void putsFoldersWithoutLinks() throws IOException {
        Path tree = folder.resolve("tree");
        Files.createDirectories(tree.resolve("below"));
        Files.writeString(tree.resolve("below/ä"), "content");
        Files.writeString(tree.resolve("n".repeat(150)), "long");
        Files.createSymbolicLink(tree.resolve("link"), Path.of("/etc/passwd"));
        server.on("POST" + FILES + "/mkdir", FILE);
        server.on("POST" + FILES + "/archive", "{\"entries\":3}");

        assertThat(files.put(tree, "/work/")).isEqualTo(11);

        StubServer.Request sent = server.requests("POST" + FILES + "/archive").getFirst();
        assertThat(sent.query("path")).isEqualTo("/work/tree");
        TarArchiveInputStream tar =
                new TarArchiveInputStream(
                        new ByteArrayInputStream(sent.text().getBytes(StandardCharsets.ISO_8859_1)),
                        "UTF-8");
        List<String> names = new java.util.ArrayList<>();
        for (TarArchiveEntry e = tar.getNextEntry(); e != null; e = tar.getNextEntry()) {
            names.add(e.getName());
        }
        assertThat(names).containsExactlyInAnyOrder("below/", "below/ä", "n".repeat(150));
    }

    @Test
    void watchesUntilItIsClosed() throws InterruptedException {
        BlockingQueue<String> told = new LinkedBlockingQueue<>();
        server.on(
                "GET" + FILES + "/watch",
                (request, reply) -> {
                    reply.stream().item(Forms.item(1, "ready", ""));
                    reply.item(Forms.item(2, "created", "\"path\":\"a\",\"fileType\":\"file\""));
                    reply.cut();
                });

        try (Watch watch =
                files.watch(
                        "/work",
                        true,
                        new WatchListener() {
                            @Override
                            public void event(WatchEvent event) {
                                told.add(event.kind().value() + " " + event.path());
                            }

                            @Override
                            public void overflow() {
                                told.add("overflow");
                            }
                        })) {
            assertThat(watch).isNotNull();
            assertThat(told.poll(5, TimeUnit.SECONDS)).isEqualTo("created a");
            assertThat(told.poll(5, TimeUnit.SECONDS)).isEqualTo("overflow");
        }
    }
}
