package dev.caisson.client;

import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.FileType;
import dev.caisson.api.ResultFile;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.LongConsumer;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;

/**
 * Unpacks a hostile tar archive into a folder of the host. Sizes are counted as they come, names
 * are checked part by part, and what is neither file nor folder is listed only. One thread.
 */
final class Landing {
    private static final int MAX_ENTRIES = 100_000;
    private static final int MAX_DEPTH = 256;
    private static final int MAX_NAME = 255;
    private static final int MAX_NOTED = 1024;

    private final HostFolder host;
    private final LongConsumer progress;
    private final List<ResultFile> results = new ArrayList<>();
    private long room;
    private long copied;

    private Landing(HostFolder host, ByteSize limit, LongConsumer progress) {
        this.host = host;
        this.room = limit.bytes();
        this.progress = progress;
    }

    static List<ResultFile> unpack(
            Http http, Call call, Path folder, ByteSize limit, LongConsumer progress) {
        try (Answer answer = Downloads.open(http, call);
                HostFolder host = HostFolder.open(folder)) {
            Landing landing = new Landing(host, limit, progress);
            landing.all(answer.stream());
            return landing.results;
        } catch (IOException | IllegalArgumentException e) {
            throw CaissonException.of(
                            ErrorCode.ENGINE_FAILED, "The archive could not be unpacked: " + e, e)
                    .withRemedy("What came before is in " + folder + "; try again.");
        }
    }

    private void all(InputStream stream) throws IOException {
        TarArchiveInputStream tar = new TarArchiveInputStream(stream, "UTF-8");
        for (TarArchiveEntry entry = tar.getNextEntry();
                entry != null;
                entry = tar.getNextEntry()) {
            if (results.size() >= MAX_ENTRIES) {
                throw new IOException("it has more than " + MAX_ENTRIES + " entries");
            }
            one(tar, entry);
        }
        // The end of the body, not only of the archive: a break shows here.
        byte[] rest = new byte[4096];
        for (int n = stream.read(rest); n >= 0; n = stream.read(rest)) {
            progress.accept(copied);
        }
    }

    private void one(TarArchiveInputStream tar, TarArchiveEntry entry) throws IOException {
        Optional<List<String>> names = names(entry.getName());
        if (names.isEmpty()) {
            note(entry, FileType.UNKNOWN, "its name leads out of the folder or is malformed");
        } else if (names.get().isEmpty()) {
            return;
        } else if (entry.isSymbolicLink() || entry.isLink()) {
            note(entry, FileType.SYMLINK, "a link; not followed");
        } else if (entry.isDirectory()) {
            directory(entry, names.get());
        } else if (isRegular(entry)) {
            regular(tar, entry, names.get());
        } else {
            note(entry, FileType.UNKNOWN, "not a regular file or folder; only those are collected");
        }
    }

    /** The library takes everything for a file that is neither folder nor link. */
    private static boolean isRegular(TarArchiveEntry entry) {
        return entry.isFile()
                && !entry.isSparse()
                && !entry.isFIFO()
                && !entry.isCharacterDevice()
                && !entry.isBlockDevice();
    }

    private void directory(TarArchiveEntry entry, List<String> names) throws IOException {
        try {
            host.directory(names, entry.getMode() & 0777);
            add(entry, FileType.DIRECTORY, 0, "");
        } catch (HostFolder.Refused e) {
            note(entry, FileType.DIRECTORY, String.valueOf(e.getMessage()));
        }
    }

    private void regular(TarArchiveInputStream tar, TarArchiveEntry entry, List<String> names)
            throws IOException {
        if (entry.getSize() > room) {
            note(entry, FileType.REGULAR, "larger than what is left of the limit of bytes");
            return;
        }
        long before = copied;
        try {
            host.file(names, entry.getMode() & 0777, target -> copy(tar, target));
            add(entry, FileType.REGULAR, copied - before, "");
        } catch (HostFolder.Refused e) {
            note(entry, FileType.REGULAR, String.valueOf(e.getMessage()));
        }
    }

    private void copy(TarArchiveInputStream tar, OutputStream target) throws IOException {
        byte[] chunk = new byte[64 << 10];
        for (int n = tar.read(chunk); n >= 0; n = tar.read(chunk)) {
            room -= n;
            if (room < 0) {
                throw new HostFolder.Refused("grew beyond the limit of bytes");
            }
            target.write(chunk, 0, n);
            copied += n;
            progress.accept(copied);
        }
    }

    /** The parts of a path that stays beneath; empty when it does not. */
    static Optional<List<String>> names(String path) {
        List<String> names = new ArrayList<>();
        if (path.startsWith("/") || path.indexOf('\0') >= 0 || path.indexOf('\uFFFD') >= 0) {
            return Optional.empty();
        }
        for (String name : path.split("/", -1)) {
            if (name.isEmpty() || name.equals(".")) {
                continue;
            }
            if (name.equals("..") || name.getBytes(StandardCharsets.UTF_8).length > MAX_NAME) {
                return Optional.empty();
            }
            names.add(name);
        }
        return names.size() > MAX_DEPTH ? Optional.empty() : Optional.of(names);
    }

    private void note(TarArchiveEntry entry, FileType type, String why) {
        add(entry, type, Math.max(0, entry.getSize()), why);
    }

    private void add(TarArchiveEntry entry, FileType type, long size, String note) {
        results.add(
                new ResultFile(
                        Escaped.name(entry.getName(), MAX_NOTED),
                        type,
                        size,
                        Optional.empty(),
                        entry.getMode() & 07777,
                        note.isEmpty(),
                        Optional.empty(),
                        note));
    }
}
