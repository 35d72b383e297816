package dev.caisson.egress;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.caisson.wire.egress.PutSandbox;
import dev.caisson.wire.egress.PutSecret;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What a gateway keeps, so that a restarted one goes on without the clients: policies, names and
 * counters of sandboxes, and where secrets belong; never a secret. Files replace one another whole.
 * Nothing is forced to the disk: sandboxes do not survive the host either.
 */
final class StateFolder {
    private static final Duration STALE = Duration.ofDays(30);
    private static final long MAX_FILE = 4 << 20;
    private static final String OUTBOX = "outbox-";
    private static final String PUT = ".put";
    private static final String NAMES = ".names";
    private static final String USED = ".used";
    private static final String SECRET = ".secret";
    private static final Logger LOG = LoggerFactory.getLogger(StateFolder.class);

    private final Path folder;

    private StateFolder(Path folder) {
        this.folder = folder;
    }

    /** Opens it, and removes what nobody touched for a month. */
    static StateFolder open(Path folder) throws IOException {
        Files.createDirectories(
                folder,
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        StateFolder state = new StateFolder(folder);
        state.sweep(Instant.now().minus(STALE));
        return state;
    }

    Path path() {
        return folder;
    }

    private void sweep(Instant before) throws IOException {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(folder)) {
            for (Path file : files) {
                String name = String.valueOf(file.getFileName());
                boolean torn = name.endsWith(".new");
                // An outbox is bounded, and its last file has the numbers.
                if (Files.isRegularFile(file)
                        && !name.startsWith(OUTBOX)
                        && (torn || Files.getLastModifiedTime(file).toInstant().isBefore(before))) {
                    Files.deleteIfExists(file);
                }
            }
        }
    }

    /** The policies that are kept. */
    Map<SandboxKey, PutSandbox> sandboxes() throws IOException {
        Map<SandboxKey, PutSandbox> found = new HashMap<>();
        for (Map.Entry<String, byte[]> file : files(PUT).entrySet()) {
            try {
                SandboxKey key = SandboxKey.parse(file.getKey());
                found.put(key, PutSandbox.parseFrom(file.getValue()));
            } catch (InvalidProtocolBufferException | IllegalArgumentException e) {
                LOG.warn("no policy in a file of the state folder name={}", file.getKey());
            }
        }
        return found;
    }

    /** The secrets that were there, without their values. */
    Map<SandboxKey, PutSecret> secrets() throws IOException {
        Map<SandboxKey, PutSecret> found = new HashMap<>();
        for (Map.Entry<String, byte[]> file : files(SECRET).entrySet()) {
            try {
                found.put(SandboxKey.parse(file.getKey()), PutSecret.parseFrom(file.getValue()));
            } catch (InvalidProtocolBufferException | IllegalArgumentException e) {
                LOG.warn("no secret in a file of the state folder name={}", file.getKey());
            }
        }
        return found;
    }

    private Map<String, byte[]> files(String ending) throws IOException {
        Map<String, byte[]> found = new HashMap<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(folder, "*" + ending)) {
            for (Path file : files) {
                String name = String.valueOf(file.getFileName());
                if (Files.size(file) <= MAX_FILE) {
                    found.put(
                            name.substring(0, name.length() - ending.length()),
                            Files.readAllBytes(file));
                }
            }
        }
        return found;
    }

    void keep(SandboxKey key, PutSandbox put) throws IOException {
        replace(key + PUT, put.toByteArray());
    }

    /** Keeps where a secret belongs; the key's id is the secret's. */
    void keepSecret(SandboxKey key, PutSecret secret) throws IOException {
        replace(key + SECRET, secret.toBuilder().clearValue().build().toByteArray());
    }

    void dropSecret(SandboxKey key) throws IOException {
        Files.deleteIfExists(folder.resolve(key + SECRET));
    }

    /** Removes all of a sandbox. */
    void drop(SandboxKey key) throws IOException {
        Files.deleteIfExists(folder.resolve(key + PUT));
        Files.deleteIfExists(folder.resolve(key + NAMES));
        Files.deleteIfExists(folder.resolve(key + USED));
    }

    /** The table of names of a sandbox. */
    NameTable names(SandboxKey key, SyntheticRanges ranges) throws IOException {
        Path file = folder.resolve(key + NAMES);
        List<String> lines = Files.exists(file) ? Files.readAllLines(file) : List.of();
        return new NameTable(key, ranges, lines, line -> append(file, line));
    }

    private static void append(Path file, String line) throws IOException {
        Files.writeString(
                file,
                line,
                StandardCharsets.UTF_8,
                StandardOpenOption.CREATE,
                StandardOpenOption.APPEND);
    }

    /** Bytes that a sandbox had taken. */
    long used(SandboxKey key) throws IOException {
        Path file = folder.resolve(key + USED);
        byte[] bytes = Files.exists(file) ? Files.readAllBytes(file) : new byte[0];
        return bytes.length == Long.BYTES ? ByteBuffer.wrap(bytes).getLong() : 0;
    }

    void keepUsed(SandboxKey key, long used) throws IOException {
        replace(key + USED, ByteBuffer.allocate(Long.BYTES).putLong(used).array());
    }

    /** Says that a sandbox still lives, so that its files are not swept away. */
    void touch(SandboxKey key) throws IOException {
        FileTime now = FileTime.from(Instant.now());
        for (String ending : List.of(PUT, NAMES, USED)) {
            Path file = folder.resolve(key + ending);
            if (Files.exists(file)) {
                Files.setLastModifiedTime(file, now);
            }
        }
    }

    private void replace(String name, byte[] content) throws IOException {
        Path early = Files.createTempFile(folder, name, ".new"); // mode 0600
        try {
            Files.write(early, content);
            Files.move(
                    early,
                    folder.resolve(name),
                    StandardCopyOption.ATOMIC_MOVE,
                    StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException e) {
            Files.deleteIfExists(early); // on a full disk it is tried each second
            throw e;
        }
    }
}
