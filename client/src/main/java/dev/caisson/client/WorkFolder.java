package dev.caisson.client;

import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.FileInfo;
import dev.caisson.api.FileType;
import dev.caisson.api.ResultFile;
import dev.caisson.api.SandboxFiles;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import java.security.DigestOutputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What is new in /work, told by comparing listings; a program inside that sets times and sizes can
 * hide a change. Thread-safe.
 */
final class WorkFolder {
    private static final String WORK = "/work";

    /** What tells a changed file. */
    private record Stamp(FileType type, long size, Instant modified) {
        static Stamp of(FileInfo file) {
            return new Stamp(
                    file.type(),
                    file.type() == FileType.DIRECTORY ? 0 : file.size(),
                    file.type() == FileType.DIRECTORY ? Instant.EPOCH : file.modified());
        }
    }

    private final SandboxFiles files;
    private volatile Map<String, Stamp> before = Map.of();

    WorkFolder(SandboxFiles files) {
        this.files = files;
    }

    void mark() {
        Map<String, Stamp> stamps = new HashMap<>();
        files.listTree(WORK).forEach(file -> stamps.put(file.path(), Stamp.of(file)));
        before = Map.copyOf(stamps);
    }

    /** New and changed ones, parents before children. */
    List<FileInfo> changes() {
        Map<String, Stamp> known = before;
        return files.listTree(WORK).stream()
                .filter(file -> !Stamp.of(file).equals(known.get(file.path())))
                .sorted(Comparator.comparing(FileInfo::path))
                .toList();
    }

    List<ResultFile> collect(FilesClient client, String sandbox, Path target, ByteSize limit) {
        try (HostFolder host = HostFolder.open(target)) {
            Collecting collecting = new Collecting(client, sandbox, host, limit.bytes());
            List<ResultFile> results = new ArrayList<>();
            for (FileInfo file : changes()) {
                results.add(collecting.one(file));
            }
            return results;
        }
    }

    /** Why that kind is never brought to the host; empty for files and folders. */
    static String note(FileType type) {
        return switch (type) {
            case REGULAR, DIRECTORY -> "";
            case SYMLINK -> "a symbolic link; not followed";
            case FIFO, SOCKET, DEVICE, UNKNOWN ->
                    "not a regular file or folder; only those are collected";
        };
    }

    /** One that stays where it is, for its kind. */
    static ResultFile leftOut(FileInfo file) {
        return result(file, false, note(file.type()));
    }

    static ResultFile result(FileInfo file, boolean collected, String note) {
        return result(file, file.size(), Optional.empty(), collected, note);
    }

    private static ResultFile result(
            FileInfo file, long size, Optional<String> sha256, boolean collected, String note) {
        return new ResultFile(
                file.path(),
                file.type(),
                size,
                sha256,
                file.mode() & 07777,
                collected,
                Optional.empty(),
                note);
    }

    /** Brings files one by one. */
    private static final class Collecting {
        private final FilesClient client;
        private final String sandbox;
        private final HostFolder host;
        private long room;

        Collecting(FilesClient client, String sandbox, HostFolder host, long room) {
            this.client = client;
            this.sandbox = sandbox;
            this.host = host;
            this.room = room;
        }

        ResultFile one(FileInfo file) {
            Optional<List<String>> names = Landing.names(file.path());
            if (names.isEmpty() || names.get().isEmpty()) {
                return result(file, false, "its name leads out of the folder or is malformed");
            }
            try {
                return switch (file.type()) {
                    case DIRECTORY -> {
                        host.directory(names.get(), file.mode() & 0777);
                        yield result(file, true, "");
                    }
                    case REGULAR -> regular(file, names.get());
                    case SYMLINK, FIFO, SOCKET, DEVICE, UNKNOWN -> leftOut(file);
                };
            } catch (HostFolder.Refused e) {
                return result(file, false, String.valueOf(e.getMessage()));
            } catch (IOException | java.io.UncheckedIOException e) {
                throw CaissonException.of(
                        ErrorCode.INVALID,
                        "The result '" + file.path() + "' cannot be written on the host: " + e,
                        e);
            }
        }

        private ResultFile regular(FileInfo file, List<String> names) throws IOException {
            if (file.size() > room) {
                return result(file, false, "larger than what is left of the limit of bytes");
            }
            MessageDigest digest = sha256();
            long[] size = new long[1];
            try {
                host.file(
                        names,
                        file.mode() & 0777,
                        stream -> size[0] = copy(file, new DigestOutputStream(stream, digest)));
            } catch (CaissonException e) {
                if (e.code() == ErrorCode.NOT_FOUND
                        || e.code() == ErrorCode.NOT_REGULAR
                        || e.code() == ErrorCode.TOO_LARGE) {
                    return result(file, false, e.message());
                }
                throw e;
            }
            room -= size[0];
            return result(
                    file,
                    size[0],
                    Optional.of(HexFormat.of().formatHex(digest.digest())),
                    true,
                    "");
        }

        private long copy(FileInfo file, OutputStream target) {
            return client.read(
                    sandbox,
                    WORK + "/" + file.path(),
                    target,
                    copied -> {
                        if (copied > room) {
                            throw CaissonException.of(
                                    ErrorCode.TOO_LARGE, "grew beyond the limit of bytes");
                        }
                    });
        }
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("Every Java has SHA-256.", e);
        }
    }
}
