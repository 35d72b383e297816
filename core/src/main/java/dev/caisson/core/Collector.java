package dev.caisson.core;

import com.google.protobuf.ByteString;
import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import dev.caisson.api.CapturedOutput;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.FileType;
import dev.caisson.api.ResultFile;
import dev.caisson.wire.agent.FileEntry;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SeekableByteChannel;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Turns changed entries of a hostile tree into results, and brings files to a folder of the host
 * where one is given. Sizes are counted as they come, not believed. One thread.
 */
final class Collector {
    static final long INLINE_LIMIT = 64 << 10;

    private static final int AHEAD = 16;
    private static final long SMALL = 256 << 10;
    private static final long WINDOW = 4 << 20;

    /** Progress in bytes and their expected total. */
    @FunctionalInterface
    interface Progress {
        void copied(long bytes, long total);
    }

    /**
     * What is asked for.
     *
     * @param limit bytes of all files together
     * @param inline whether small files come with their content
     */
    record Asked(ByteSize limit, boolean inline, Progress progress, RedactionEvents redactions) {}

    private final Transfers transfers;
    private final ByteString folder;
    private final @Nullable HostFolder host;
    private final boolean inline;
    private final Progress progress;
    private final RedactionEvents redactions;
    private final Map<Integer, Transfers.Get> ahead = new HashMap<>();
    private long room;
    private long copied;
    private long total;

    /**
     * A collector for one listing.
     *
     * @param folder that the paths are relative to
     * @param host where files go; null: nowhere
     */
    Collector(Transfers transfers, ByteString folder, @Nullable HostFolder host, Asked asked) {
        this.transfers = transfers;
        this.folder = folder;
        this.host = host;
        this.room = asked.limit().bytes();
        this.inline = asked.inline();
        this.progress = asked.progress();
        this.redactions = asked.redactions();
    }

    List<ResultFile> collect(List<FileEntry> entries) {
        for (FileEntry entry : entries) {
            if (wanted(entry)) {
                total = Math.min(room, total + Math.min(room, Wire.positive(entry.getSize())));
            }
        }
        List<ResultFile> results = new ArrayList<>(entries.size());
        try {
            for (int i = 0; i < entries.size(); i++) {
                prefetch(entries, i);
                results.add(one(entries.get(i), i));
            }
        } finally {
            ahead.values().forEach(Transfers.Get::close);
        }
        return results;
    }

    private boolean wanted(FileEntry entry) {
        return Wire.type(entry.getType()) == FileType.REGULAR
                && (host != null || (inline && Wire.positive(entry.getSize()) <= INLINE_LIMIT));
    }

    private void prefetch(List<FileEntry> entries, int from) {
        for (int i = from; i < Math.min(entries.size(), from + AHEAD); i++) {
            FileEntry entry = entries.get(i);
            if (wanted(entry)
                    && Wire.positive(entry.getSize()) <= Math.min(SMALL, room)
                    && !ahead.containsKey(i)) {
                ahead.put(i, get(entry, SMALL));
            }
        }
    }

    private Transfers.Get get(FileEntry entry, long window) {
        return transfers.get(
                folder.concat(ByteString.copyFromUtf8("/")).concat(entry.getPath()),
                Names.escape(entry.getPath()),
                room + 1,
                window);
    }

    private ResultFile one(FileEntry entry, int index) {
        FileType type = Wire.type(entry.getType());
        return switch (type) {
            case DIRECTORY -> directory(entry);
            case REGULAR -> regular(entry, index);
            case SYMLINK ->
                    result(
                            entry,
                            type,
                            false,
                            "a symbolic link to '"
                                    + Names.escape(entry.getTarget())
                                    + "'; not followed");
            case FIFO, SOCKET, DEVICE, UNKNOWN ->
                    result(
                            entry,
                            type,
                            false,
                            "not a regular file or folder; only those are collected");
        };
    }

    private ResultFile directory(FileEntry entry) {
        if (host == null) {
            return result(entry, FileType.DIRECTORY, false, "");
        }
        try {
            host.directory(entry.getPath(), entry.getMode() & 0777);
            return result(entry, FileType.DIRECTORY, true, "");
        } catch (HostFolder.Refused e) {
            return result(entry, FileType.DIRECTORY, false, text(e));
        } catch (IOException e) {
            throw hostFailure(entry, e);
        }
    }

    private ResultFile regular(FileEntry entry, int index) {
        if (!wanted(entry)) {
            return result(entry, FileType.REGULAR, false, "");
        }
        if (Wire.positive(entry.getSize()) > room) {
            return result(
                    entry,
                    FileType.REGULAR,
                    false,
                    "larger than what is left of the limit of collected bytes");
        }
        Transfers.Get started = ahead.remove(index);
        try (Transfers.Get get = started == null ? get(entry, WINDOW) : started) {
            Copy copy = new Copy(get, inline && Wire.positive(entry.getSize()) <= INLINE_LIMIT);
            if (host == null) {
                copy.run(null);
            } else {
                host.file(entry.getPath(), entry.getMode() & 0777, copy::run);
            }
            room -= copy.bytes;
            redactions.inFile(Names.escape(entry.getPath()), get.redactions());
            return new ResultFile(
                    Names.escape(entry.getPath()),
                    FileType.REGULAR,
                    copy.bytes,
                    Optional.of(HexFormat.of().formatHex(copy.digest.digest())),
                    entry.getMode() & 07777,
                    host != null,
                    copy.content(),
                    "");
        } catch (HostFolder.Refused e) {
            return result(entry, FileType.REGULAR, false, text(e));
        } catch (CaissonException e) {
            if (e.code() == ErrorCode.SANDBOX_ENDED || e.code() == ErrorCode.CANCELLED) {
                throw e;
            }
            return result(entry, FileType.REGULAR, false, e.message());
        } catch (IOException e) {
            throw hostFailure(entry, e);
        }
    }

    private static String text(IOException e) {
        String message = e.getMessage();
        return message == null ? e.toString() : message;
    }

    private static CaissonException hostFailure(FileEntry entry, IOException e) {
        return CaissonException.of(
                ErrorCode.INVALID,
                "The result '"
                        + Names.escape(entry.getPath())
                        + "' cannot be written on the host: "
                        + e,
                e);
    }

    private static ResultFile result(
            FileEntry entry, FileType type, boolean collected, String note) {
        return new ResultFile(
                Names.escape(entry.getPath()),
                type,
                Wire.positive(entry.getSize()),
                Optional.empty(),
                entry.getMode() & 07777,
                collected,
                Optional.empty(),
                note);
    }

    /** One file on its way. */
    private final class Copy {
        private final Transfers.Get get;
        private final @Nullable ByteArrayOutputStream kept;
        private final MessageDigest digest = sha256();
        private long bytes;

        Copy(Transfers.Get get, boolean keep) {
            this.get = get;
            this.kept = keep ? new ByteArrayOutputStream() : null;
        }

        void run(@Nullable SeekableByteChannel to) throws IOException {
            for (ByteString data = get.next(); !data.isEmpty(); data = get.next()) {
                bytes += data.size();
                if (bytes > room) {
                    throw new HostFolder.Refused("grew beyond the limit of collected bytes");
                }
                ByteBuffer buffer = data.asReadOnlyByteBuffer();
                digest.update(buffer.duplicate());
                if (kept != null && bytes <= INLINE_LIMIT) {
                    data.writeTo(kept);
                }
                while (to != null && buffer.hasRemaining()) {
                    to.write(buffer);
                }
                copied += data.size();
                progress.copied(copied, Math.max(copied, total));
            }
        }

        Optional<CapturedOutput> content() {
            return kept == null || bytes > INLINE_LIMIT
                    ? Optional.empty()
                    : Optional.of(new CapturedOutput(kept.toByteArray(), bytes));
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
