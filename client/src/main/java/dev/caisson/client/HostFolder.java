package dev.caisson.client;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.channels.Channels;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SecureDirectoryStream;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributeView;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;

/**
 * A folder of the host that receives what a server sends. Everything is done beneath directory
 * handles and without following links, so that neither names in an archive nor links that are there
 * lead out of it. One thread.
 *
 * <p>Java has no mkdirat: a new folder is made under a temporary name right in the target, which is
 * the caller's own, and moved beneath its parent's handle.
 */
final class HostFolder implements AutoCloseable {
    private final Path target;
    private final SecureDirectoryStream<Path> root;

    private HostFolder(Path target, SecureDirectoryStream<Path> root) {
        this.target = target;
        this.root = root;
    }

    /** Why one entry cannot be brought to the host; others can. */
    static final class Refused extends IOException {
        private static final long serialVersionUID = 1;

        Refused(String why) {
            super(why);
        }
    }

    /** Somewhere to write a file. */
    @FunctionalInterface
    interface Content {
        void writeTo(OutputStream stream) throws IOException;
    }

    /** Opens a folder, making it and those above it when missing. */
    @SuppressWarnings("StreamResourceLeak") // closed with this object
    static HostFolder open(Path target) {
        try {
            Files.createDirectories(target);
            DirectoryStream<Path> stream = Files.newDirectoryStream(target);
            if (stream instanceof SecureDirectoryStream<Path> secure) {
                return new HostFolder(target, secure);
            }
            stream.close();
            throw CaissonException.of(
                    ErrorCode.UNSUPPORTED,
                    "The file system of " + target + " has no directory handles in Java.");
        } catch (IOException e) {
            throw CaissonException.of(
                    ErrorCode.INVALID, "The target folder " + target + " cannot be used: " + e, e);
        }
    }

    /** Makes a folder, or takes the one that is there. */
    void directory(List<String> names, int mode) throws IOException {
        within(names, parent -> make(parent, names.getLast(), permissions(mode | 0700)));
    }

    /** Writes a file whole, replacing a file or link of its name. */
    void file(List<String> names, int mode, Content content) throws IOException {
        within(names, parent -> write(parent, names.getLast(), mode, content));
    }

    private interface Action {
        void run(SecureDirectoryStream<Path> parent) throws IOException;
    }

    /** Does something beneath the folder that holds the last of the names. */
    private void within(List<String> names, Action action) throws IOException {
        enter(root, names, 0, action);
    }

    private void enter(
            SecureDirectoryStream<Path> folder, List<String> names, int depth, Action action)
            throws IOException {
        if (depth == names.size() - 1) {
            action.run(folder);
            return;
        }
        make(folder, names.get(depth), permissions(0755));
        try (SecureDirectoryStream<Path> below =
                folder.newDirectoryStream(Path.of(names.get(depth)), LinkOption.NOFOLLOW_LINKS)) {
            enter(below, names, depth + 1, action);
        }
    }

    private static void write(
            SecureDirectoryStream<Path> parent, String name, int mode, Content content)
            throws IOException {
        Path temporary = Path.of(temporaryName());
        boolean moved = false;
        try (SeekableByteChannel channel =
                parent.newByteChannel(
                        temporary,
                        Set.of(
                                StandardOpenOption.CREATE_NEW,
                                StandardOpenOption.WRITE,
                                LinkOption.NOFOLLOW_LINKS),
                        PosixFilePermissions.asFileAttribute(
                                PosixFilePermissions.fromString("rw-------")))) {
            content.writeTo(Channels.newOutputStream(channel));
            parent.getFileAttributeView(
                            temporary, PosixFileAttributeView.class, LinkOption.NOFOLLOW_LINKS)
                    .setPermissions(permissions(mode | 0600));
            if (isDirectory(parent, name)) {
                throw new Refused("a folder of that name is in the way on the host");
            }
            parent.move(temporary, parent, Path.of(name));
            moved = true;
        } finally {
            if (!moved) {
                parent.deleteFile(temporary);
            }
        }
    }

    private void make(
            SecureDirectoryStream<Path> parent, String name, Set<PosixFilePermission> permissions)
            throws IOException {
        if (isDirectory(parent, name)) {
            return;
        }
        if (exists(parent, name)) {
            throw new Refused("something else of that name is in the way on the host");
        }
        Path temporary = Path.of(temporaryName());
        Files.createDirectory(
                target.resolve(temporary),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        boolean moved = false;
        try {
            root.getFileAttributeView(
                            temporary, PosixFileAttributeView.class, LinkOption.NOFOLLOW_LINKS)
                    .setPermissions(permissions);
            root.move(temporary, parent, Path.of(name));
            moved = true;
        } finally {
            if (!moved) {
                root.deleteDirectory(temporary);
            }
        }
    }

    private static boolean isDirectory(SecureDirectoryStream<Path> parent, String name)
            throws IOException {
        return exists(parent, name)
                && parent.getFileAttributeView(
                                Path.of(name),
                                BasicFileAttributeView.class,
                                LinkOption.NOFOLLOW_LINKS)
                        .readAttributes()
                        .isDirectory();
    }

    private static boolean exists(SecureDirectoryStream<Path> parent, String name)
            throws IOException {
        try {
            return parent.getFileAttributeView(
                                    Path.of(name),
                                    BasicFileAttributeView.class,
                                    LinkOption.NOFOLLOW_LINKS)
                            .readAttributes()
                    != null;
        } catch (NoSuchFileException e) {
            return false;
        }
    }

    /** Permission bits without setuid, setgid and sticky. */
    static Set<PosixFilePermission> permissions(int mode) {
        Set<PosixFilePermission> permissions = EnumSet.noneOf(PosixFilePermission.class);
        PosixFilePermission[] all = PosixFilePermission.values();
        for (int bit = 0; bit < all.length; bit++) {
            if ((mode >> (all.length - 1 - bit) & 1) == 1) {
                permissions.add(all[bit]);
            }
        }
        return permissions;
    }

    private static String temporaryName() {
        return ".caisson-" + UUID.randomUUID();
    }

    @Override
    public void close() {
        try {
            root.close();
        } catch (IOException e) {
            // Everything in it was closed and moved by then.
        }
    }
}
