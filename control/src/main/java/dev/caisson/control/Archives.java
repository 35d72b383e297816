package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.FileInfo;
import dev.caisson.api.FileType;
import dev.caisson.api.SandboxFiles;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.function.LongConsumer;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;

/**
 * Tar archives of folders in sandboxes. Both directions are hostile: out of a sandbox go regular
 * files and folders only; into it nothing that leaves the folder, and nothing at all when one entry
 * is bad.
 */
final class Archives {
    private static final int BUFFER = 64 << 10;

    private Archives() {}

    // ---- out

    /**
     * Writes a folder as tar.
     *
     * @param sized whether files are as long as the listing says; else each is read once more
     *     before, to be measured
     */
    static void write(SandboxFiles files, String folder, OutputStream target, boolean sized)
            throws IOException {
        List<FileInfo> entries =
                files.listTree(folder).stream()
                        .sorted(Comparator.comparing(FileInfo::path))
                        .toList();
        TarArchiveOutputStream tar =
                new TarArchiveOutputStream(target, StandardCharsets.UTF_8.name());
        tar.setLongFileMode(TarArchiveOutputStream.LONGFILE_POSIX);
        tar.setBigNumberMode(TarArchiveOutputStream.BIGNUMBER_POSIX);
        for (FileInfo entry : entries) {
            if (entry.type() == FileType.DIRECTORY) {
                tar.putArchiveEntry(entry(entry, Paths.literal(entry.path()) + "/"));
                tar.closeArchiveEntry();
            } else if (entry.type() == FileType.REGULAR) {
                file(files, folder, entry, tar, sized);
            }
        }
        tar.finish();
    }

    private static TarArchiveEntry entry(FileInfo info, String name) {
        TarArchiveEntry entry = new TarArchiveEntry(name);
        entry.setMode(info.mode() & 0777);
        entry.setModTime(info.modified().toEpochMilli());
        return entry;
    }

    /** The size may change while it is read: exactly what the header says is written. */
    private static void file(
            SandboxFiles files,
            String folder,
            FileInfo info,
            TarArchiveOutputStream tar,
            boolean sized)
            throws IOException {
        TarArchiveEntry entry = entry(info, Paths.literal(info.path()));
        entry.setSize(info.size());
        Exactly exact = new Exactly(tar, entry);
        if (info.size() > 0) {
            String path = Paths.below(folder, info.path());
            try {
                if (!sized) {
                    exact.expect(files.read(path, 0, -1, OutputStream.nullOutputStream()));
                }
                if (exact.left > 0) {
                    files.read(path, 0, exact.left, exact);
                }
            } catch (CaissonException e) {
                boolean replaced =
                        e.code() == ErrorCode.NOT_FOUND || e.code() == ErrorCode.NOT_REGULAR;
                if (replaced && !exact.begun) {
                    return; // it went away since it was listed
                }
                throw e;
            }
        }
        exact.fill();
    }

    /**
     * Writes an entry with its first byte: takes at most as many bytes as its header says, and
     * zeros for what is missing.
     */
    private static final class Exactly extends OutputStream {
        private final TarArchiveOutputStream target;
        private final TarArchiveEntry entry;
        private long left;
        private boolean begun;

        Exactly(TarArchiveOutputStream target, TarArchiveEntry entry) {
            this.target = target;
            this.entry = entry;
            this.left = entry.getSize();
        }

        void expect(long size) {
            entry.setSize(size);
            left = size;
        }

        private void begin() throws IOException {
            if (!begun) {
                begun = true;
                target.putArchiveEntry(entry);
            }
        }

        @Override
        public void write(int one) throws IOException {
            write(new byte[] {(byte) one}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
            begin();
            int taken = (int) Math.min(length, left);
            target.write(bytes, offset, taken);
            left -= taken;
        }

        void fill() throws IOException {
            begin();
            byte[] zeros = new byte[BUFFER];
            while (left > 0) {
                write(zeros, 0, (int) Math.min(zeros.length, left));
            }
            target.closeArchiveEntry();
        }
    }

    // ---- in

    /**
     * Where an archive is kept aside until it is unpacked.
     *
     * @param folder of the server
     * @param counted told how much there will be, before it is written; refuses what is too much
     */
    record Aside(Path folder, LongConsumer counted) {}

    /** Keeps the archive aside, looks at every entry, then writes. */
    static long unpack(
            SandboxFiles files, String folder, InputStream archive, long cap, Aside place)
            throws IOException {
        Files.createDirectories(place.folder());
        Path aside = Files.createTempFile(place.folder(), "archive", ".tar");
        try {
            keep(archive, aside, cap, place.counted());
            long entries = TarCheck.check(aside, cap);
            apply(files, folder, aside, cap);
            return entries;
        } finally {
            Files.deleteIfExists(aside);
        }
    }

    private static void keep(InputStream archive, Path aside, long cap, LongConsumer counted)
            throws IOException {
        byte[] buffer = new byte[BUFFER];
        long bytes = 0;
        try (OutputStream out = Files.newOutputStream(aside)) {
            for (int read = archive.read(buffer); read >= 0; read = archive.read(buffer)) {
                bytes += read;
                if (bytes > cap) {
                    throw TarCheck.tooLarge(cap);
                }
                counted.accept(bytes);
                out.write(buffer, 0, read);
            }
        }
    }

    private static void apply(SandboxFiles files, String folder, Path aside, long cap)
            throws IOException {
        try (TarArchiveInputStream tar = TarCheck.open(aside, cap)) {
            for (TarArchiveEntry entry = tar.getNextEntry();
                    entry != null;
                    entry = tar.getNextEntry()) {
                String name = TarCheck.name(entry);
                String inside = Paths.below(folder, SandboxFiles.escape(name));
                if (name.isEmpty()) {
                    files.makeDirectory(folder);
                } else if (entry.isDirectory()) {
                    files.makeDirectory(inside);
                } else {
                    files.write(inside, tar, entry.getMode() & 0777);
                }
            }
        }
    }
}
