package dev.caisson.client;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.Channels;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.function.LongConsumer;
import java.util.stream.Stream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;
import org.apache.commons.compress.archivers.tar.TarConstants;
import org.jspecify.annotations.Nullable;

/**
 * A folder of the host as a tar archive, made while it is read: regular files and folders only. One
 * thread.
 */
final class TarSource extends InputStream {
    private static final int CHUNK = 64 << 10;

    private final Path root;
    private final Iterator<Path> entries;
    private final LongConsumer progress;
    private final Made made = new Made();
    private final TarArchiveOutputStream tar = new TarArchiveOutputStream(made, 512, "UTF-8");
    private final byte[] chunk = new byte[CHUNK];
    private @Nullable InputStream file;
    private long left;
    private long copied;
    private boolean finished;

    /** What was made and not read yet. */
    private static final class Made extends ByteArrayOutputStream {
        private int taken;

        int available() {
            return count - taken;
        }

        int take(byte[] target, int offset, int length) {
            int taking = Math.min(length, available());
            System.arraycopy(buf, taken, target, offset, taking);
            taken += taking;
            if (taken == count) {
                reset();
                taken = 0;
            }
            return taking;
        }
    }

    private TarSource(Path root, List<Path> entries, LongConsumer progress) {
        this.root = root;
        this.entries = entries.iterator();
        this.progress = progress;
        tar.setLongFileMode(TarArchiveOutputStream.LONGFILE_POSIX);
        tar.setBigNumberMode(TarArchiveOutputStream.BIGNUMBER_POSIX);
        tar.setAddPaxHeadersForNonAsciiNames(true);
    }

    static TarSource of(Path folder, LongConsumer progress) {
        try {
            Path root = folder.toRealPath();
            List<Path> entries = new ArrayList<>();
            try (Stream<Path> walk = Files.walk(root)) {
                walk.filter(path -> !path.equals(root)).forEach(entries::add);
            }
            return new TarSource(root, entries, progress);
        } catch (IOException | java.io.UncheckedIOException e) {
            throw unreadable(folder, e);
        }
    }

    /** Bytes of the files so far. */
    long bytes() {
        return copied;
    }

    static CaissonException unreadable(Path host, Exception e) {
        return CaissonException.of(ErrorCode.INVALID, host + " cannot be read: " + e, e)
                .withRemedy("Check the path and its permissions.");
    }

    @Override
    public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
    }

    @Override
    public int read(byte[] target, int offset, int length) throws IOException {
        while (made.available() == 0) {
            if (finished) {
                return -1;
            }
            step();
        }
        return made.take(target, offset, length);
    }

    private void step() throws IOException {
        if (file != null) {
            content(file);
        } else if (entries.hasNext()) {
            entry(entries.next());
        } else {
            tar.finish();
            tar.flush();
            finished = true;
        }
    }

    private void entry(Path path) throws IOException {
        PosixFileAttributes attributes =
                Files.readAttributes(path, PosixFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
        String name = root.relativize(path).toString();
        if (attributes.isDirectory()) {
            put(new TarArchiveEntry(name + "/", TarConstants.LF_DIR), attributes);
            tar.closeArchiveEntry();
        } else if (attributes.isRegularFile()) {
            InputStream opened =
                    Channels.newInputStream(
                            Files.newByteChannel(
                                    path,
                                    Set.of(StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS)));
            TarArchiveEntry entry = new TarArchiveEntry(name, TarConstants.LF_NORMAL);
            entry.setSize(attributes.size());
            put(entry, attributes);
            file = opened;
            left = attributes.size();
        }
    }

    private void put(TarArchiveEntry entry, PosixFileAttributes attributes) throws IOException {
        entry.setMode(mode(attributes.permissions()));
        entry.setModTime(attributes.lastModifiedTime());
        entry.setIds(0, 0);
        entry.setNames("", "");
        tar.putArchiveEntry(entry);
    }

    /** Exactly as many bytes as were announced, whatever happens to the file meanwhile. */
    private void content(InputStream from) throws IOException {
        int count = left == 0 ? 0 : from.read(chunk, 0, (int) Math.min(CHUNK, left));
        if (count < 0) {
            throw new IOException("A file became shorter while it was read.");
        }
        tar.write(chunk, 0, count);
        left -= count;
        copied += count;
        progress.accept(copied);
        if (left == 0) {
            from.close();
            file = null;
            tar.closeArchiveEntry();
        }
        tar.flush();
    }

    static int mode(Set<PosixFilePermission> permissions) {
        int mode = 0;
        // They are declared from the owner's read bit down.
        for (PosixFilePermission permission : PosixFilePermission.values()) {
            mode = mode << 1 | (permissions.contains(permission) ? 1 : 0);
        }
        return mode;
    }

    @Override
    public void close() {
        try {
            if (file != null) {
                file.close();
            }
        } catch (IOException e) {
            // It was only read.
        }
    }
}
