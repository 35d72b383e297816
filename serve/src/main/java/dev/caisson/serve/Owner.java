package dev.caisson.serve;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.UserPrincipalLookupService;
import java.nio.file.attribute.UserPrincipalNotFoundException;
import java.util.Map;
import java.util.stream.Stream;

/** Gives files that root makes in the data folder to the user that the server runs as. */
final class Owner {
    private Owner() {}

    /** Everything in a folder belongs to whom the folder belongs; does nothing without root. */
    static void share(Path folder) {
        try {
            if (!root()) {
                return;
            }
            PosixFileAttributes wanted = attributes(folder);
            try (Stream<Path> all = Files.walk(folder)) {
                for (Path path : (Iterable<Path>) all::iterator) {
                    PosixFileAttributeView view = view(path);
                    view.setGroup(wanted.group());
                    view.setOwner(wanted.owner());
                }
            }
        } catch (IOException e) {
            throw CaissonException.of(
                    ErrorCode.INTERNAL,
                    "The files in " + folder + " cannot be given to its owner: " + e,
                    e);
        }
    }

    /**
     * Makes a folder as the server's start would: by root for the user {@code caisson}, or the one
     * that {@code CAISSON_USER} names.
     */
    static void makeFolder(Path folder, Map<String, String> environment) throws IOException {
        if (Files.isDirectory(folder)) {
            return;
        }
        Files.createDirectories(folder);
        if (root()) {
            String user = environment.getOrDefault("CAISSON_USER", "caisson");
            UserPrincipalLookupService users =
                    folder.getFileSystem().getUserPrincipalLookupService();
            try {
                view(folder).setGroup(users.lookupPrincipalByGroupName(user));
                view(folder).setOwner(users.lookupPrincipalByName(user));
            } catch (UserPrincipalNotFoundException e) {
                if (environment.containsKey("CAISSON_USER")) {
                    throw new IOException("There is no user and group " + user + ".", e);
                }
                // No server was ever started here as root, which makes that user: it stays root's.
            }
        }
    }

    private static boolean root() throws IOException {
        return Integer.valueOf(0).equals(Files.getAttribute(Path.of("/proc/self"), "unix:uid"));
    }

    private static PosixFileAttributes attributes(Path path) throws IOException {
        return Files.readAttributes(path, PosixFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
    }

    private static PosixFileAttributeView view(Path path) {
        return Files.getFileAttributeView(
                path, PosixFileAttributeView.class, LinkOption.NOFOLLOW_LINKS);
    }
}
