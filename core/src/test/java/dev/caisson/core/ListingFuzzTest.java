package dev.caisson.core;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import com.google.protobuf.ByteString;
import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.ResultFile;
import dev.caisson.wire.agent.FileEntries;
import dev.caisson.wire.agent.FileEntry;
import dev.caisson.wire.agent.FileType;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Listings of a hostile tree: refused, or brought beneath the folder of the host and only there.
 */
class ListingFuzzTest {
    private static final int MOST = 50;

    @TempDir Path folder;

    static Stream<Arguments> listings() {
        FileEntry directory = entry("a", FileType.FILE_TYPE_DIRECTORY);
        return Seeds.around(
                listing(directory, entry("a/b", FileType.FILE_TYPE_REGULAR)),
                listing(entry("..", FileType.FILE_TYPE_DIRECTORY)),
                listing(entry("a/../../x", FileType.FILE_TYPE_DIRECTORY)),
                listing(entry("link", FileType.FILE_TYPE_SYMLINK), directory),
                listing(
                        entry("a", FileType.FILE_TYPE_FIFO),
                        entry("a/b/c", FileType.FILE_TYPE_DIRECTORY)),
                listing(directory, directory));
    }

    private static FileEntry entry(String path, FileType type) {
        return FileEntry.newBuilder()
                .setPath(ByteString.copyFrom(path, StandardCharsets.UTF_8))
                .setType(type)
                .setSize(-1)
                .setMode(-1)
                .setTarget(ByteString.copyFromUtf8("/etc/passwd"))
                .build();
    }

    private static byte[] listing(FileEntry... entries) {
        return FileEntries.newBuilder().addAllEntries(List.of(entries)).build().toByteArray();
    }

    @MethodSource("listings")
    @FuzzTest
    void stayBeneathTheFolder(byte[] bytes) throws IOException {
        Path target = Files.createTempDirectory(folder, "out");
        long beside = count(folder);
        List<FileEntry> entries;
        try {
            entries =
                    Changes.NONE.since(
                            FrameReader.parse(ByteString.copyFrom(bytes), FileEntries.parser())
                                    .getEntriesList());
        } catch (ProtocolException e) {
            return;
        }
        entries = entries.subList(0, Math.min(MOST, entries.size()));
        try (HostFolder host = HostFolder.open(target)) {
            List<ResultFile> results = collect(entries, host);
            assertThat(results).hasSameSizeAs(entries);
        } catch (CaissonException e) {
            // A name that this host cannot have, or a file of an agent that is gone.
            assertThat(e.code()).isIn(ErrorCode.INVALID, ErrorCode.SANDBOX_ENDED);
        }
        assertThat(count(folder)).isEqualTo(beside);
    }

    /** Names right in a folder. */
    private static long count(Path folder) throws IOException {
        try (Stream<Path> names = Files.list(folder)) {
            return names.count();
        }
    }

    private static List<ResultFile> collect(List<FileEntry> entries, HostFolder host)
            throws IOException {
        AgentClient.Owner owner = epoch -> new DataLink(new ScriptedChannel(new byte[0], 0), null);
        AgentClient gone = AgentClient.open(owner, "fuzz-listing", 1, 0);
        gone.close();
        return new Collector(
                        new Transfers(gone, new Redaction()),
                        ByteString.copyFromUtf8("/work"),
                        host,
                        new Collector.Asked(
                                ByteSize.ofMib(1),
                                true,
                                (copied, total) -> {},
                                new RedactionEvents((type, reason, data) -> {})))
                .collect(entries);
    }
}
