package dev.caisson.core;

import com.google.protobuf.ByteString;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.wire.agent.FileChange;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.util.ArrayDeque;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongConsumer;

/** Copies files and folders of the host into a sandbox; small files follow one another without waiting. One thread. */
final class HostTree {
    private static final int AHEAD = 64;
    private static final int BUFFER = 512 << 10;

    private final Transfers transfers;
    private final LongConsumer progress;
    private final ArrayDeque<CompletableFuture<Long>> pending = new ArrayDeque<>();
    private ByteBuffer buffer = ByteBuffer.allocateDirect(0);
    private long copied;

    HostTree(Transfers transfers, LongConsumer progress) {
        this.transfers = transfers;
        this.progress = progress;
    }

    /** Bytes of a file or folder, as far as they would be copied. */
    static long size(Path host) {
        long[] bytes = new long[1];
        try {
            Files.walkFileTree(host.toRealPath(), new SimpleFileVisitor<>() {
                @Override
                public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                    bytes[0] += attributes.isRegularFile() ? attributes.size() : 0;
                    return FileVisitResult.CONTINUE;
                }
            });
            return bytes[0];
        } catch (IOException e) {
            throw unreadable(host, e);
        }
    }

    /** Copies; returns how many bytes. */
    long copy(Path host, String inside) {
        String target = inside.endsWith("/") ? inside + dev.caisson.api.SandboxFiles.escape(name(host)) : inside;
        try {
            Path real = host.toRealPath();
            BasicFileAttributes attributes = Files.readAttributes(real, BasicFileAttributes.class);
            if (attributes.isRegularFile()) {
                file(real, Names.inside(target));
            } else if (attributes.isDirectory()) {
                tree(real, Names.inside(target));
            } else {
                throw CaissonException.invalid("host", host + " is neither a regular file nor a folder.");
            }
            while (!pending.isEmpty()) {
                Transfers.join(pending.removeFirst());
            }
            return copied;
        } catch (IOException e) {
            throw unreadable(host, e);
        }
    }

    private static String name(Path host) {
        Path name = host.toAbsolutePath().normalize().getFileName();
        if (name == null) {
            throw CaissonException.invalid("host", "The root of the host is not copied into a sandbox.");
        }
        return name.toString();
    }

    private static CaissonException unreadable(Path host, IOException e) {
        return CaissonException.of(ErrorCode.INVALID, host + " cannot be read: " + e, e)
                .withRemedy("Check the path and its permissions.");
    }

    private void tree(Path root, ByteString target) throws IOException {
        Files.walkFileTree(root, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(Path folder, BasicFileAttributes attributes) throws IOException {
                ByteString path = below(target, root.relativize(folder));
                later(transfers.change(
                        FileChange.newBuilder()
                                .setMakeDirectory(LiveFiles.makeDirectory(path, mode(folder) | 0700))
                                .build(),
                        "Making the folder " + Names.escape(path)));
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                if (attributes.isRegularFile()) {
                    file(file, below(target, root.relativize(file)));
                }
                return FileVisitResult.CONTINUE;
            }
        });
    }

    private static ByteString below(ByteString target, Path relative) {
        String path = relative.toString();
        return path.isEmpty() ? target : target.concat(ByteString.copyFromUtf8("/" + path));
    }

    private void file(Path host, ByteString target) throws IOException {
        Set<OpenOption> options = Set.of(StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS);
        try (FileChannel channel = FileChannel.open(host, options);
                Transfers.Put put =
                        transfers.put(LiveFiles.filePut(target, mode(host)), "Writing " + Names.escape(target))) {
            reserve(channel.size());
            while (channel.read(buffer.clear()) >= 0) {
                buffer.flip();
                copied += buffer.remaining();
                put.write(buffer);
                progress.accept(copied);
            }
            later(put.finish());
        }
    }

    private void reserve(long size) {
        int needed = (int) Math.min(BUFFER, Math.max(8 << 10, size + 1));
        if (buffer.capacity() < needed) {
            buffer = ByteBuffer.allocateDirect(needed);
        }
    }

    private void later(CompletableFuture<Long> done) {
        pending.add(done);
        if (pending.size() >= AHEAD) {
            Transfers.join(pending.removeFirst());
        }
    }

    private static int mode(Path file) throws IOException {
        int mode = 0;
        PosixFilePermission[] all = PosixFilePermission.values();
        Set<PosixFilePermission> set = Files.getPosixFilePermissions(file, LinkOption.NOFOLLOW_LINKS);
        for (PosixFilePermission permission : all) {
            mode = mode << 1 | (set.contains(permission) ? 1 : 0);
        }
        return mode;
    }
}
