package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.FileInfo;
import dev.caisson.api.FileType;
import dev.caisson.api.SandboxFiles;
import java.io.BufferedInputStream;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.zip.GZIPInputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;
import org.jspecify.annotations.Nullable;

/**
 * Tar archives of folders in sandboxes. Both directions are hostile: out of a sandbox go regular
 * files and folders only; into it nothing that leaves the folder, and nothing at all when one entry
 * is bad.
 */
final class Archives {
    private static final int MAX_ENTRIES = 100_000;
    private static final int MAX_NAME = 4096;
    private static final int MAX_HEAD = 256 << 10;
    private static final int BUFFER = 64 << 10;

    private Archives() {}

    // ---- out

    static void write(SandboxFiles files, String folder, OutputStream target) throws IOException {
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
                tar.putArchiveEntry(entry(entry, entry.path() + "/"));
                tar.closeArchiveEntry();
            } else if (entry.type() == FileType.REGULAR) {
                file(files, folder, entry, tar);
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
            SandboxFiles files, String folder, FileInfo info, TarArchiveOutputStream tar)
            throws IOException {
        TarArchiveEntry entry = entry(info, info.path());
        entry.setSize(info.size());
        tar.putArchiveEntry(entry);
        Exactly exact = new Exactly(tar, info.size());
        if (info.size() > 0) {
            files.read(Paths.below(folder, info.path()), 0, info.size(), exact);
        }
        exact.fill();
        tar.closeArchiveEntry();
    }

    /** Takes at most so many bytes, and zeros for what is missing. */
    private static final class Exactly extends OutputStream {
        private final OutputStream target;
        private long left;

        Exactly(OutputStream target, long left) {
            this.target = target;
            this.left = left;
        }

        @Override
        public void write(int one) throws IOException {
            write(new byte[] {(byte) one}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
            int taken = (int) Math.min(length, left);
            target.write(bytes, offset, taken);
            left -= taken;
        }

        void fill() throws IOException {
            byte[] zeros = new byte[BUFFER];
            while (left > 0) {
                write(zeros, 0, (int) Math.min(zeros.length, left));
            }
        }
    }

    // ---- in

    /** Keeps the archive aside, looks at every entry, then writes. */
    static long unpack(
            SandboxFiles files, String folder, InputStream archive, long cap, Path temporary)
            throws IOException {
        Files.createDirectories(temporary);
        Path aside = Files.createTempFile(temporary, "archive", ".tar");
        try {
            keep(archive, aside, cap);
            long entries = check(aside, cap);
            apply(files, folder, aside);
            return entries;
        } finally {
            Files.deleteIfExists(aside);
        }
    }

    private static void keep(InputStream archive, Path aside, long cap) throws IOException {
        byte[] buffer = new byte[BUFFER];
        long bytes = 0;
        try (OutputStream out = Files.newOutputStream(aside)) {
            for (int read = archive.read(buffer); read >= 0; read = archive.read(buffer)) {
                bytes += read;
                if (bytes > cap) {
                    throw tooLarge(cap);
                }
                out.write(buffer, 0, read);
            }
        }
    }

    private static CaissonException tooLarge(long cap) {
        return CaissonException.of(
                        ErrorCode.TOO_LARGE,
                        "The archive holds more than the sandbox's disk of " + cap + " bytes.")
                .withDetail("limit", "disk")
                .withDetail("allowed", Long.toString(cap));
    }

    private static TarArchiveInputStream open(Heads heads) {
        return new TarArchiveInputStream(heads, StandardCharsets.UTF_8.name());
    }

    private static Heads plain(Path aside) throws IOException {
        BufferedInputStream raw = new BufferedInputStream(Files.newInputStream(aside), BUFFER);
        raw.mark(2);
        boolean gzip = raw.read() == 0x1f && raw.read() == 0x8b;
        raw.reset();
        return new Heads(gzip ? new GZIPInputStream(raw, BUFFER) : raw);
    }

    /**
     * The unpacked archive. What comes before an entry, its head with long names and attributes, is
     * kept in memory by whoever reads it and is as long as the archive says: here it is bounded.
     */
    private static final class Heads extends FilterInputStream {
        private long left = Long.MAX_VALUE;

        Heads(InputStream plain) {
            super(plain);
        }

        /** The next entry, which must begin soon; the one before was read to its end. */
        @Nullable TarArchiveEntry next(TarArchiveInputStream tar) throws IOException {
            left = MAX_HEAD;
            TarArchiveEntry entry = tar.getNextEntry();
            left = Long.MAX_VALUE;
            return entry;
        }

        @Override
        public int read() throws IOException {
            int one = super.read();
            count(one < 0 ? 0 : 1);
            return one;
        }

        @Override
        public int read(byte[] bytes, int offset, int length) throws IOException {
            int read = super.read(bytes, offset, length);
            count(read);
            return read;
        }

        @Override
        public long skip(long bytes) throws IOException {
            long skipped = super.skip(bytes);
            count(skipped);
            return skipped;
        }

        private void count(long bytes) throws IOException {
            left -= Math.max(0, bytes);
            if (left < 0) {
                throw new IOException("the head of an entry is too long");
            }
        }
    }

    private static long check(Path aside, long cap) throws IOException {
        long entries = 0;
        long bytes = 0;
        try (Heads heads = plain(aside);
                TarArchiveInputStream tar = open(heads)) {
            byte[] buffer = new byte[BUFFER];
            for (TarArchiveEntry entry = heads.next(tar); entry != null; entry = heads.next(tar)) {
                if (++entries > MAX_ENTRIES) {
                    throw invalid("", "has more than " + MAX_ENTRIES + " entries");
                }
                name(entry);
                for (int read = tar.read(buffer); read >= 0; read = tar.read(buffer)) {
                    bytes += read;
                    if (bytes > cap) {
                        throw tooLarge(cap);
                    }
                }
            }
        } catch (CaissonException e) {
            throw e;
        } catch (IOException | IllegalArgumentException e) {
            throw invalid("", "is damaged: " + e.getMessage());
        }
        if (entries == 0) {
            throw invalid("", "is no tar archive, or an empty one");
        }
        return entries;
    }

    private static CaissonException invalid(String name, String why) {
        return CaissonException.invalid(
                        "archive",
                        (name.isEmpty() ? "The archive " : "The entry '" + Boxes.shown(name) + "' ")
                                + why
                                + "; nothing was written.")
                .withRemedy("Send a tar archive of regular files and folders, gzip or not.");
    }

    /** The relative name of an entry, which must be a regular file or a folder. */
    private static String name(TarArchiveEntry entry) {
        String name = entry.getName();
        if (!(entry.isDirectory() || entry.isFile())
                || entry.isSymbolicLink()
                || entry.isLink()
                || entry.isSparse()) {
            throw invalid(name, "is neither a regular file nor a folder");
        }
        if (name.isEmpty()
                || name.length() > MAX_NAME
                || name.startsWith("/")
                || name.indexOf('\0') >= 0
                || name.indexOf('\\') >= 0) {
            throw invalid(name, "has a name that is not relative");
        }
        StringBuilder clean = new StringBuilder();
        for (String part : name.split("/", -1)) {
            if (part.equals("..")) {
                throw invalid(name, "leads out of the folder");
            }
            if (!part.isEmpty() && !part.equals(".")) {
                clean.append(clean.isEmpty() ? "" : "/").append(part);
            }
        }
        return clean.toString();
    }

    private static void apply(SandboxFiles files, String folder, Path aside) throws IOException {
        // Its heads were looked at before.
        try (TarArchiveInputStream tar = open(plain(aside))) {
            for (TarArchiveEntry entry = tar.getNextEntry();
                    entry != null;
                    entry = tar.getNextEntry()) {
                String name = name(entry);
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
