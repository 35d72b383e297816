package dev.caisson.core;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.SecureDirectoryStream;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributeView;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Reads values of secrets where they are kept. What goes wrong is told without a byte of them, and
 * without what a command writes to its standard error.
 */
public final class SecretReader {
    /** The longest value. */
    public static final int MAX_BYTES = 64 << 10;

    /** How long a command may take. */
    public static final Duration PATIENCE = Duration.ofSeconds(10);

    private static final Map<String, String> ENVIRONMENT =
            Map.of("PATH", "/usr/local/bin:/usr/bin:/bin", "LANG", "C.UTF-8", "HOME", "/");

    private SecretReader() {}

    /**
     * A regular file of at most {@link #MAX_BYTES} beneath one of these folders, without one
     * newline at its end. Links may lead from place to place in a folder but not out of it: the
     * path is resolved first, then opened name by name beneath a handle of the folder, following
     * nothing.
     *
     * @throws CaissonException {@link ErrorCode#POLICY_DENIED} outside of the folders; {@link
     *     ErrorCode#INVALID} when it cannot be read
     */
    public static byte[] file(List<Path> folders, String path) {
        try {
            Path given = Path.of(path);
            if (!given.isAbsolute()) {
                throw denied(path);
            }
            // Before anything is looked up: what is outside is not even told apart.
            if (folders.stream().noneMatch(given.normalize()::startsWith)) {
                throw denied(path);
            }
            Path real = given.toRealPath();
            for (Path folder : folders) {
                Path root = folder.toRealPath();
                if (real.startsWith(root) && !real.equals(root)) {
                    return trimmed(beneath(root, root.relativize(real), path));
                }
            }
            throw denied(path);
        } catch (IOException | InvalidPathException e) {
            throw unreadable("The file " + shown(path) + " cannot be read.");
        }
    }

    /**
     * A file that its own user names, links followed; otherwise the same.
     *
     * @throws CaissonException {@link ErrorCode#INVALID} when it cannot be read
     */
    public static byte[] file(Path path) {
        try {
            Path real = path.toRealPath();
            Path folder = real.getParent();
            Path name = real.getFileName();
            if (folder == null || name == null) {
                throw unreadable(path + " is no regular file.");
            }
            return trimmed(beneath(folder, name, path.toString()));
        } catch (IOException e) {
            throw unreadable("The file " + shown(path.toString()) + " cannot be read.");
        }
    }

    private static byte[] beneath(Path root, Path relative, String shown) throws IOException {
        try (DirectoryStream<Path> top = Files.newDirectoryStream(root)) {
            return beneath(secure(top), relative, shown);
        }
    }

    private static byte[] beneath(SecureDirectoryStream<Path> folder, Path relative, String shown)
            throws IOException {
        if (relative.getNameCount() == 1) {
            return regular(folder, relative, shown);
        }
        Path first = relative.getName(0);
        Path rest = relative.subpath(1, relative.getNameCount());
        try (SecureDirectoryStream<Path> next =
                folder.newDirectoryStream(first, LinkOption.NOFOLLOW_LINKS)) {
            return beneath(next, rest, shown);
        }
    }

    /** The same stream, which its opener closes. */
    private static SecureDirectoryStream<Path> secure(DirectoryStream<Path> stream)
            throws IOException {
        if (stream instanceof SecureDirectoryStream<Path> secure) {
            return secure;
        }
        throw new IOException("This system has no handles of folders.");
    }

    private static byte[] regular(SecureDirectoryStream<Path> folder, Path name, String shown)
            throws IOException {
        var attributes =
                folder.getFileAttributeView(
                                name, BasicFileAttributeView.class, LinkOption.NOFOLLOW_LINKS)
                        .readAttributes();
        // A pipe would be waited for when it is opened.
        if (!attributes.isRegularFile()) {
            throw unreadable(shown(shown) + " is no regular file.");
        }
        try (SeekableByteChannel file =
                folder.newByteChannel(
                        name, Set.of(StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS))) {
            ByteBuffer buffer = ByteBuffer.allocate(MAX_BYTES + 2);
            while (buffer.hasRemaining() && file.read(buffer) >= 0) {
                // On.
            }
            return taken(buffer.array(), buffer.position());
        }
    }

    /**
     * What a program writes to its standard output, at most {@link #MAX_BYTES} within {@link
     * #PATIENCE}, without one newline at its end. It has no input and a minimal environment; it and
     * its children are dead when this returns.
     *
     * @param argv absolute path of the program, and arguments
     * @throws CaissonException {@link ErrorCode#INVALID} when it gives nothing
     */
    public static byte[] command(List<String> argv) {
        return command(argv, ENVIRONMENT, PATIENCE);
    }

    /** The same with the environment of the user whose command it is. */
    public static byte[] command(List<String> argv, Map<String, String> environment) {
        return command(argv, environment, PATIENCE);
    }

    static byte[] command(List<String> argv, Map<String, String> environment, Duration patience) {
        ProcessBuilder builder = new ProcessBuilder(argv);
        builder.environment().clear();
        builder.environment().putAll(environment);
        builder.directory(new File("/"));
        builder.redirectInput(new File("/dev/null"));
        builder.redirectError(ProcessBuilder.Redirect.DISCARD);
        long until = System.nanoTime() + patience.toNanos();
        Process process;
        try {
            process = builder.start();
        } catch (IOException e) {
            throw failed("The command " + argv.getFirst() + " cannot be started.");
        }
        try {
            return trimmed(output(process, argv.getFirst(), until));
        } finally {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
        }
    }

    private static byte[] output(Process process, String program, long until) {
        CompletableFuture<byte[]> read = new CompletableFuture<>();
        Thread.ofVirtual()
                .name("caisson-secret-command")
                .start(() -> {
                    try (InputStream output = process.getInputStream()) {
                        byte[] buffer = new byte[MAX_BYTES + 2];
                        int length = output.readNBytes(buffer, 0, buffer.length);
                        read.complete(taken(buffer, length));
                    } catch (IOException | CaissonException e) {
                        read.completeExceptionally(e);
                    }
                });
        try {
            byte[] value = read.get(until - System.nanoTime(), TimeUnit.NANOSECONDS);
            if (!process.waitFor(until - System.nanoTime(), TimeUnit.NANOSECONDS)) {
                throw new TimeoutException();
            }
            if (process.exitValue() != 0) {
                Arrays.fill(value, (byte) 0);
                throw failed("The command " + program + " ended with " + process.exitValue() + ".");
            }
            return value;
        } catch (TimeoutException e) {
            throw failed("The command " + program + " took too long.");
        } catch (ExecutionException e) {
            throw e.getCause() instanceof CaissonException known
                    ? known
                    : failed("The output of " + program + " cannot be read.");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw CaissonException.of(ErrorCode.CANCELLED, "Interrupted while waiting.", e);
        }
    }

    /** The beginning of a buffer, which is cleared. */
    private static byte[] taken(byte[] buffer, int length) {
        try {
            // One more for the newline that goes.
            if (length > MAX_BYTES + 1 || (length > MAX_BYTES && buffer[length - 1] != '\n')) {
                throw CaissonException.of(
                        ErrorCode.TOO_LARGE, "A secret has at most " + MAX_BYTES + " bytes.");
            }
            return Arrays.copyOf(buffer, length);
        } finally {
            Arrays.fill(buffer, (byte) 0);
        }
    }

    /** Without one newline at the end; what was given is cleared where it is another array. */
    private static byte[] trimmed(byte[] value) {
        int length = value.length;
        if (length > 0 && value[length - 1] == '\n') {
            length -= length > 1 && value[length - 2] == '\r' ? 2 : 1;
        }
        if (length == value.length) {
            return value;
        }
        byte[] rest = Arrays.copyOf(value, length);
        Arrays.fill(value, (byte) 0);
        return rest;
    }

    private static CaissonException denied(String path) {
        return CaissonException.of(
                        ErrorCode.POLICY_DENIED,
                        "The file " + shown(path) + " is not below a folder for secrets.")
                .withRemedy(
                        "Whoever runs the service names such folders in the setting"
                                + " secrets.folders.");
    }

    private static CaissonException failed(String why) {
        return CaissonException.invalid("source", why)
                .withRemedy("Run it by hand to see why: what it says there is not shown here.");
    }

    private static CaissonException unreadable(String why) {
        return CaissonException.invalid("source", why)
                .withRemedy("See whether it is there and may be read here.");
    }

    private static String shown(String path) {
        String text = path.length() > 200 ? path.substring(0, 200) + "…" : path;
        return text.replaceAll("\\p{Cntrl}", "?");
    }
}
