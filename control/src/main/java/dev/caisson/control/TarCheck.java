package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.io.BufferedInputStream;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import java.util.zip.GZIPInputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.apache.commons.compress.archivers.tar.TarConstants;

/**
 * Looks at every entry of an archive that somebody sent, before anything of it is written: only
 * regular files and folders that fit into each other, below one folder, within its size.
 */
final class TarCheck {
    private static final int MAX_ENTRIES = 100_000;
    private static final int MAX_NAME = 4096;
    private static final int MAX_PART = 255;
    private static final long MAX_NAMES = 16 << 20;
    private static final int BUFFER = 64 << 10;
    private static final int BLOCK = 512;

    /** What one entry's headers may take, long names and PAX records included. */
    private static final long MAX_HEADER = 1 << 20;

    private TarCheck() {}

    static CaissonException tooLarge(long cap) {
        return CaissonException.of(
                        ErrorCode.TOO_LARGE,
                        "The archive holds more than the sandbox's disk of " + cap + " bytes.")
                .withDetail("limit", "disk")
                .withDetail("allowed", Long.toString(cap));
    }

    /** An archive, gzip or not. */
    static TarArchiveInputStream open(Path aside, long cap) throws IOException {
        return tar(plain(aside, cap));
    }

    private static TarArchiveInputStream tar(InputStream plain) {
        return new TarArchiveInputStream(plain, StandardCharsets.UTF_8.name());
    }

    private static Bounded plain(Path aside, long cap) throws IOException {
        BufferedInputStream raw = new BufferedInputStream(Files.newInputStream(aside), BUFFER);
        raw.mark(2);
        boolean gzip = raw.read() == 0x1f && raw.read() == 0x8b;
        raw.reset();
        return new Bounded(gzip ? new GZIPInputStream(raw, BUFFER) : raw, cap);
    }

    /**
     * Ends a stream that goes on and on: headers are held in memory, and gzip makes much of little.
     */
    private static final class Bounded extends FilterInputStream {
        private final long cap;
        private long header = Long.MAX_VALUE; // left of it
        private long whole;

        Bounded(InputStream in, long cap) {
            super(in);
            this.cap = cap;
        }

        void header(boolean begins) {
            header = begins ? MAX_HEADER : Long.MAX_VALUE;
        }

        /** Reads the rest: an archive is whole blocks to its end. */
        void drain() throws IOException {
            byte[] buffer = new byte[BUFFER];
            int read = 0;
            while (read >= 0) {
                read = read(buffer, 0, buffer.length);
            }
            if (whole % BLOCK != 0) {
                throw new IOException("it is cut off");
            }
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
        }

        @Override
        public int read(byte[] bytes, int offset, int length) throws IOException {
            return counted(super.read(bytes, offset, length));
        }

        @Override
        public long skip(long bytes) throws IOException {
            return counted(super.skip(bytes));
        }

        private <N extends Number> N counted(N read) throws IOException {
            long bytes = Math.max(0, read.longValue());
            header -= bytes;
            whole += bytes;
            if (header < 0) {
                throw new IOException("the headers of an entry are larger than 1 MiB");
            }
            if (whole - (long) MAX_ENTRIES * BUFFER > cap) {
                throw new IOException("it does not end");
            }
            return read;
        }
    }

    /**
     * How many entries there are, all of them good.
     *
     * @throws CaissonException {@link ErrorCode#INVALID}, {@link ErrorCode#TOO_LARGE}
     */
    static long check(Path aside, long cap) throws IOException {
        Names names = new Names();
        try (Bounded plain = plain(aside, cap);
                TarArchiveInputStream tar = tar(plain)) {
            long bytes = 0;
            for (TarArchiveEntry entry = next(plain, tar);
                    entry != null;
                    entry = next(plain, tar)) {
                names.add(entry);
                bytes = size(tar, bytes, cap);
            }
            plain.drain();
        } catch (CaissonException e) {
            throw e;
        } catch (IOException | IllegalArgumentException e) {
            throw invalid("", "is damaged: " + e.getMessage());
        }
        if (names.entries == 0) {
            throw invalid("", "is no tar archive, or an empty one");
        }
        return names.entries;
    }

    private static TarArchiveEntry next(Bounded plain, TarArchiveInputStream tar)
            throws IOException {
        plain.header(true);
        TarArchiveEntry entry = tar.getNextEntry();
        plain.header(false);
        return entry;
    }

    private static long size(TarArchiveInputStream tar, long before, long cap) throws IOException {
        byte[] buffer = new byte[BUFFER];
        long bytes = before;
        for (int read = tar.read(buffer); read >= 0; read = tar.read(buffer)) {
            bytes += read;
            if (bytes > cap) {
                throw tooLarge(cap);
            }
        }
        return bytes;
    }

    /** The names of all entries, which must not be in each other's way. */
    private static final class Names {
        private final Set<String> files = new HashSet<>();
        private final Set<String> folders = new HashSet<>();
        private long entries;
        private long length;

        void add(TarArchiveEntry entry) {
            String name = name(entry);
            length += name.length();
            if (++entries > MAX_ENTRIES || length > MAX_NAMES) {
                throw invalid("", "has more than " + MAX_ENTRIES + " entries, or longer names");
            }
            if (entry.isDirectory()) {
                folder(name);
                return;
            }
            if (name.isEmpty() || folders.contains(name)) {
                throw invalid(name, "is a file and a folder");
            }
            files.add(name);
            folder(name.substring(0, Math.max(0, name.lastIndexOf('/'))));
        }

        private void folder(String name) {
            String at = name;
            while (!at.isEmpty() && !folders.contains(at)) {
                if (files.contains(at)) {
                    throw invalid(at, "is a file and a folder");
                }
                folders.add(at);
                at = at.substring(0, Math.max(0, at.lastIndexOf('/')));
            }
        }
    }

    private static CaissonException invalid(String name, String why) {
        return CaissonException.invalid(
                        "archive",
                        (name.isEmpty() ? "The archive " : "The entry '" + Boxes.shown(name) + "' ")
                                + why
                                + "; nothing was written.")
                .withRemedy("Send a tar archive of regular files and folders, gzip or not.");
    }

    private static boolean plain(TarArchiveEntry entry) {
        // Not isFile: that is true of devices.
        return switch (entry.getLinkFlag()) {
            case TarConstants.LF_OLDNORM, TarConstants.LF_NORMAL, TarConstants.LF_DIR ->
                    !entry.isSparse();
            default -> false;
        };
    }

    /** The relative name of an entry, which must be a regular file or a folder. */
    static String name(TarArchiveEntry entry) {
        String name = entry.getName();
        if (!plain(entry)) {
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
            if (part.getBytes(StandardCharsets.UTF_8).length > MAX_PART) {
                throw invalid(name, "has a part that is longer than 255 bytes");
            }
            if (!part.isEmpty() && !part.equals(".")) {
                clean.append(clean.isEmpty() ? "" : "/").append(part);
            }
        }
        return clean.toString();
    }
}
