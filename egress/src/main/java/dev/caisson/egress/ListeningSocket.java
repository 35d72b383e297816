package dev.caisson.egress;

import java.io.Closeable;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.Set;

/**
 * A Unix socket that listens. It is made in a folder of its own and moved to its place with mode
 * and group set, so that nobody can open it before.
 */
final class ListeningSocket implements Closeable {
    private static final int BACKLOG = 256;

    private final Path path;
    private final ServerSocketChannel server;

    private ListeningSocket(Path path, ServerSocketChannel server) {
        this.path = path;
        this.server = server;
    }

    static ListeningSocket open(Path path, String mode, OptionalInt gid) throws IOException {
        Set<PosixFilePermission> own = PosixFilePermissions.fromString("rwx------");
        Path folder =
                Files.createTempDirectory(
                        Objects.requireNonNull(path.toAbsolutePath().getParent()),
                        ".s",
                        PosixFilePermissions.asFileAttribute(own));
        Path early = folder.resolve("s");
        ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        try {
            server.bind(UnixDomainSocketAddress.of(early), BACKLOG);
            if (gid.isPresent()) {
                Files.setAttribute(early, "unix:gid", gid.getAsInt());
            }
            Files.setPosixFilePermissions(early, PosixFilePermissions.fromString(mode));
            Files.move(early, path, StandardCopyOption.ATOMIC_MOVE);
            return new ListeningSocket(path, server);
        } catch (IOException e) {
            server.close();
            Files.deleteIfExists(early);
            throw e;
        } finally {
            Files.deleteIfExists(folder);
        }
    }

    SocketChannel accept() throws IOException {
        return server.accept();
    }

    @Override
    public void close() throws IOException {
        server.close();
        Files.deleteIfExists(path);
    }
}
