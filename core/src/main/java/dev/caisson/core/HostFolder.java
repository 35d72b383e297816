package dev.caisson.core;

import com.google.protobuf.ByteString;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SecureDirectoryStream;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributeView;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * A folder of the host that receives what a sandbox made. Everything is done beneath directory handles and without following
 * links, so that neither names from inside nor links that are there already lead out of it. One thread.
 *
 * <p>Java has no mkdirat: a new folder is made under a temporary name directly in the target, which is the caller's own, and
 * then moved beneath its parent's handle. Files are written under a temporary name beside their place and renamed.
 */
final class HostFolder implements AutoCloseable {
    private static final int MAX_HOST_NAME = 255;
    private static final Set<PosixFilePermission> PRIVATE = PosixFilePermissions.fromString("rwx------");

    private final Path target;
    private final SecureDirectoryStream<Path> root;
    private final Deque<Level> open = new ArrayDeque<>(); // the folders of the last path, outermost first

    private record Level(String name, SecureDirectoryStream<Path> folder) {}

    private HostFolder(Path target, SecureDirectoryStream<Path> root) {
        this.target = target;
        this.root = root;
    }

    /** Why one entry cannot be brought to the host; the others can. */
    static final class Refused extends IOException {
        private static final long serialVersionUID = 1;

        Refused(String why) {
            super(why);
        }
    }

    /** Opens a folder, making it and those above it when missing. */
    static HostFolder open(Path target) {
        try {
            if (!Files.isDirectory(target)) {
                Files.createDirectories(target);
            }
            DirectoryStream<Path> stream = Files.newDirectoryStream(target);
            if (stream instanceof SecureDirectoryStream<Path> secure) {
                return new HostFolder(target, secure);
            }
            stream.close();
            throw CaissonException.of(
                    ErrorCode.UNSUPPORTED, "The file system of " + target + " has no directory handles in Java.");
        } catch (FileAlreadyExistsException e) {
            throw CaissonException.of(ErrorCode.INVALID, "The target " + target + " is not a folder.", e);
        } catch (IOException e) {
            throw CaissonException.of(ErrorCode.INVALID, "The target folder " + target + " cannot be used: " + e, e);
        }
    }

    /** Makes a folder, or takes the one that is there. */
    void directory(ByteString path, int mode) throws IOException {
        List<String> names = names(path);
        SecureDirectoryStream<Path> parent = enter(names.subList(0, names.size() - 1));
        make(parent, names.getLast(), permissions(mode | 0700));
    }

    /** Somewhere to write a file. */
    @FunctionalInterface
    interface Content {
        void writeTo(SeekableByteChannel channel) throws IOException;
    }

    /** Writes a file whole, replacing a file or link of its name. */
    void file(ByteString path, int mode, Content content) throws IOException {
        List<String> names = names(path);
        file(enter(names.subList(0, names.size() - 1)), names.getLast(), mode, content);
    }

    /** The same right in this folder, under a name of the host. */
    void file(String name, int mode, Content content) throws IOException {
        file(root, name, mode, content);
    }

    private static void file(SecureDirectoryStream<Path> parent, String name, int mode, Content content)
            throws IOException {
        Path temporary = Path.of(temporaryName());
        boolean moved = false;
        try (SeekableByteChannel channel = parent.newByteChannel(
                temporary,
                Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")))) {
            content.writeTo(channel);
            parent.getFileAttributeView(temporary, PosixFileAttributeView.class, LinkOption.NOFOLLOW_LINKS)
                    .setPermissions(permissions(mode | 0600));
            replace(parent, temporary, name);
            moved = true;
        } finally {
            if (!moved) {
                deleteQuietly(parent, temporary);
            }
        }
    }

    private static void replace(SecureDirectoryStream<Path> parent, Path temporary, String name) throws IOException {
        try {
            parent.move(temporary, parent, Path.of(name));
        } catch (IOException e) {
            throw isDirectory(parent, name) ? new Refused("a folder of that name is in the way on the host") : e;
        }
    }

    private static void deleteQuietly(SecureDirectoryStream<Path> parent, Path name) {
        try {
            parent.deleteFile(name);
        } catch (IOException e) {
            // The failure that led here is the one to tell.
        }
    }

    private SecureDirectoryStream<Path> enter(List<String> names) throws IOException {
        int same = 0;
        for (Level level : open) {
            if (same < names.size() && level.name().equals(names.get(same))) {
                same++;
            } else {
                break;
            }
        }
        while (open.size() > same) {
            open.removeLast().folder().close();
        }
        for (String name : names.subList(same, names.size())) {
            SecureDirectoryStream<Path> parent =
                    open.isEmpty() ? root : open.getLast().folder();
            make(parent, name, PosixFilePermissions.fromString("rwxr-xr-x"));
            open.addLast(new Level(
                    name, parent.newDirectoryStream(Path.of(name), LinkOption.NOFOLLOW_LINKS)));
        }
        return open.isEmpty() ? root : open.getLast().folder();
    }

    private void make(SecureDirectoryStream<Path> parent, String name, Set<PosixFilePermission> permissions)
            throws IOException {
        if (isDirectory(parent, name)) {
            return;
        }
        Path temporary = Path.of(temporaryName());
        Files.createDirectory(target.resolve(temporary), PosixFilePermissions.asFileAttribute(PRIVATE));
        boolean moved = false;
        try {
            root.getFileAttributeView(temporary, PosixFileAttributeView.class, LinkOption.NOFOLLOW_LINKS)
                    .setPermissions(permissions);
            root.move(temporary, parent, Path.of(name));
            moved = true;
        } catch (IOException e) {
            throw exists(parent, name) ? new Refused("something else of that name is in the way on the host") : e;
        } finally {
            if (!moved) {
                root.deleteDirectory(temporary);
            }
        }
    }

    private static boolean isDirectory(SecureDirectoryStream<Path> parent, String name) throws IOException {
        try {
            return parent.getFileAttributeView(
                            Path.of(name), BasicFileAttributeView.class, LinkOption.NOFOLLOW_LINKS)
                    .readAttributes()
                    .isDirectory();
        } catch (NoSuchFileException e) {
            return false;
        }
    }

    private static boolean exists(SecureDirectoryStream<Path> parent, String name) throws IOException {
        try {
            parent.getFileAttributeView(Path.of(name), BasicFileAttributeView.class, LinkOption.NOFOLLOW_LINKS)
                    .readAttributes();
            return true;
        } catch (NoSuchFileException e) {
            return false;
        }
    }

    private static List<String> names(ByteString path) throws IOException {
        Changes.check(path);
        List<String> names = new ArrayList<>();
        byte[] bytes = path.toByteArray();
        int start = 0;
        for (int i = 0; i <= bytes.length; i++) {
            if (i == bytes.length || bytes[i] == '/') {
                names.add(hostName(java.util.Arrays.copyOfRange(bytes, start, i)));
                start = i + 1;
            }
        }
        return names;
    }

    /** The name on the host: escaped, in ASCII where the JVM's file names are. */
    private static String hostName(byte[] bytes) throws Refused {
        String name = Names.escape(bytes);
        try {
            Path ignored = Path.of(name);
        } catch (InvalidPathException e) {
            name = Names.escapeToAscii(bytes);
        }
        if (name.getBytes(java.nio.charset.StandardCharsets.UTF_8).length > MAX_HOST_NAME) {
            throw new Refused("its escaped name is too long for the host");
        }
        return name;
    }

    /** Permission bits without setuid, setgid and sticky. */
    private static Set<PosixFilePermission> permissions(int mode) {
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
        return ".caisson-" + Ids.next(Ids.Kind.RUN);
    }

    @Override
    public void close() {
        try {
            while (!open.isEmpty()) {
                open.removeLast().folder().close();
            }
            root.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
