package dev.caisson.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import dev.caisson.api.EventSink;
import dev.caisson.api.ResultFile;
import dev.caisson.api.Sandbox;
import dev.caisson.testkit.FakeFiles;
import dev.caisson.wire.agent.FileType;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Results of a hostile tree reach the host as plain files and folders below the target, or not at
 * all.
 */
class CollectTest {
    private static final byte[] NOTHING = {};

    private final FakeEngine engine = new FakeEngine();
    private final EngineCaisson caisson =
            new EngineCaisson(List.of(engine), List.of(), EventSink.NONE);
    private final Sandbox sandbox = caisson.create();
    private final FakeFiles inside = engine.agent.files();

    @TempDir Path folder;

    @AfterEach
    void close() {
        caisson.close();
    }

    private Path out() {
        return folder.resolve("out");
    }

    private Map<String, ResultFile> collect() {
        return collect(ByteSize.ofMib(100));
    }

    private Map<String, ResultFile> collect(ByteSize limit) {
        return sandbox.files().collect(out(), limit).stream()
                .collect(Collectors.toMap(ResultFile::path, Function.identity()));
    }

    private static ResultFile file(Map<String, ResultFile> files, String path) {
        return Objects.requireNonNull(files.get(path), path);
    }

    private static void add(FakeFiles files, String path, FileType type, String content, int mode) {
        files.add(
                ByteString.copyFromUtf8(path),
                type,
                content.getBytes(StandardCharsets.UTF_8),
                mode);
    }

    private List<String> onHost() throws IOException {
        try (Stream<Path> all = Files.walk(out())) {
            return all.filter(path -> !path.equals(out()))
                    .map(path -> out().relativize(path).toString())
                    .sorted()
                    .toList();
        }
    }

    @Test
    void bringsNewAndChangedFilesOnly() throws IOException {
        inside.add("/work/old.txt", "old");
        inside.add("/work/changed.txt", "before");
        sandbox.files().mark();
        inside.add("/work/changed.txt", "after!");
        inside.add("/work/sub/new.txt", "new");
        Map<String, ResultFile> files = collect();
        assertThat(files).containsOnlyKeys("changed.txt", "sub/new.txt");
        assertThat(onHost()).containsExactly("changed.txt", "sub", "sub/new.txt");
        assertThat(out().resolve("changed.txt")).hasContent("after!");
        assertThat(file(files, "sub/new.txt").sha256())
                .contains("11507a0e2f5e69d5dfa40a62a1bd7b6ee57e6bcd85c67c9b8431b36fff21c437");
    }

    @Test
    void listsLinksAndSpecialFilesWithoutMakingThem() throws IOException {
        add(inside, "/work/link", FileType.FILE_TYPE_SYMLINK, "/etc/passwd", 0777);
        add(inside, "/work/fifo", FileType.FILE_TYPE_FIFO, "", 0644);
        add(inside, "/work/dev", FileType.FILE_TYPE_DEVICE, "", 0644);
        add(inside, "/work/sock", FileType.FILE_TYPE_SOCKET, "", 0644);
        Map<String, ResultFile> files = collect();
        assertThat(onHost()).isEmpty();
        assertThat(files)
                .hasSize(4)
                .allSatisfy((path, file) -> {
                    assertThat(file.collected()).isFalse();
                    assertThat(file.note()).isNotEmpty();
                });
    }

    @Test
    void aFileBelowALinkOfTheSandboxGoesIntoAFolder() throws IOException {
        Files.createDirectories(folder.resolve("victim"));
        add(
                inside,
                "/work/a",
                FileType.FILE_TYPE_SYMLINK,
                folder.resolve("victim").toString(),
                0777);
        inside.add("/work/a/evil", "x");
        collect();
        assertThat(folder.resolve("victim")).isEmptyDirectory();
        assertThat(out().resolve("a/evil")).hasContent("x");
    }

    @Test
    void neverFollowsLinksThatAreInTheTarget() throws IOException {
        Path victim = Files.createDirectories(folder.resolve("victim"));
        Files.writeString(victim.resolve("file"), "mine");
        Files.createDirectories(out());
        Files.createSymbolicLink(out().resolve("sub"), victim);
        Files.createSymbolicLink(out().resolve("file"), victim.resolve("file"));
        inside.add("/work/sub/file", "evil");
        inside.add("/work/file", "new");
        Map<String, ResultFile> files = collect();
        assertThat(victim.resolve("file")).hasContent("mine");
        assertThat(file(files, "sub/file").collected()).isFalse();
        assertThat(file(files, "file").collected()).isTrue();
        assertThat(Files.isSymbolicLink(out().resolve("file"))).isFalse();
        assertThat(out().resolve("file")).hasContent("new");
    }

    @Test
    void stripsSetIdBitsAndKeepsTheOthers() throws IOException {
        add(inside, "/work/su", FileType.FILE_TYPE_REGULAR, "x", 06755);
        add(inside, "/work/dir", FileType.FILE_TYPE_DIRECTORY, "", 03777);
        Map<String, ResultFile> files = collect();
        assertThat(file(files, "su").mode()).isEqualTo(06755);
        int mode =
                (int)
                        Files.getAttribute(
                                out().resolve("su"), "unix:mode", LinkOption.NOFOLLOW_LINKS);
        assertThat(mode & 07777).isEqualTo(0755);
        assertThat((int) Files.getAttribute(out().resolve("dir"), "unix:mode") & 07777)
                .isEqualTo(0777);
        assertThat(
                        PosixFilePermissions.toString(
                                Files.getPosixFilePermissions(out().resolve("su"))))
                .isEqualTo("rwxr-xr-x");
    }

    @Test
    void escapesOddNamesAndGivesThemBack() throws IOException {
        ByteString odd =
                ByteString.copyFrom(
                        new byte[] {'/', 'w', 'o', 'r', 'k', '/', 'a', (byte) 0xFF, '\n', '%'});
        inside.add(odd, FileType.FILE_TYPE_REGULAR, "odd".getBytes(StandardCharsets.UTF_8), 0644);
        Map<String, ResultFile> files = collect();
        assertThat(files).containsOnlyKeys("a%FF%0A%25");
        assertThat(out().resolve("a%FF%0A%25")).hasContent("odd");
        assertThat(sandbox.files().readText("a%FF%0A%25")).isEqualTo("odd");
    }

    @Test
    void doesNotBringNamesThatAreTooLongForTheHost() {
        byte[] name = new byte[6 + 200];
        System.arraycopy("/work/".getBytes(StandardCharsets.UTF_8), 0, name, 0, 6);
        for (int i = 6; i < name.length; i++) {
            name[i] = (byte) 0xFE;
        }
        inside.add(ByteString.copyFrom(name), FileType.FILE_TYPE_REGULAR, NOTHING, 0644);
        assertThat(collect().values())
                .singleElement()
                .satisfies(file -> {
                    assertThat(file.collected()).isFalse();
                    assertThat(file.note()).contains("too long");
                });
    }

    @Test
    void countsBytesAsTheyComeAndBelievesNoSize() throws IOException {
        inside.addLying("/work/liar", new byte[500_000], 10);
        inside.addLying("/work/sparse", new byte[1], 1L << 60);
        inside.addLying("/work/negative", new byte[1], -5);
        inside.add("/work/z", "fits");
        Map<String, ResultFile> files = collect(ByteSize.of(1000));
        assertThat(file(files, "liar").note()).contains("limit");
        assertThat(file(files, "sparse").note()).contains("limit");
        assertThat(file(files, "negative").note()).contains("limit");
        assertThat(file(files, "z").collected()).isTrue();
        assertThat(onHost()).containsExactly("z");
    }

    @Test
    void tellsWhatIsInTheWayOnTheHost() throws IOException {
        Files.createDirectories(out().resolve("name"));
        inside.add("/work/name", "a file");
        assertThat(file(collect(), "name").note()).contains("in the way");
        assertThat(onHost()).containsExactly("name");
    }

    @Test
    void bringsDeepTreesAndManyFiles() throws IOException {
        String deep = "d/".repeat(200);
        inside.add("/work/" + deep + "leaf", "deep");
        for (int i = 0; i < 500; i++) {
            inside.add("/work/many/" + i, "file " + i);
        }
        collect();
        assertThat(out().resolve(deep + "leaf")).hasContent("deep");
        assertThat(out().resolve("many/499")).hasContent("file 499");
    }

    @Test
    void refusesATargetThatIsNoFolder() throws IOException {
        Files.writeString(out(), "a file");
        assertThatThrownBy(this::collect).isInstanceOf(CaissonException.class);
    }
}
