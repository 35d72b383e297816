package dev.caisson.cli;

import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The standard streams of this process, unbuffered: what is written is seen at once.
 *
 * @param errIsTerminal whether a person looks at {@code err}
 * @param outIsTerminal whether a person looks at {@code out}
 */
record Streams(
        InputStream in,
        OutputStream out,
        OutputStream err,
        boolean errIsTerminal,
        boolean outIsTerminal) {

    static Streams standard() {
        return new Streams(
                new FileInputStream(FileDescriptor.in),
                new FileOutputStream(FileDescriptor.out),
                new FileOutputStream(FileDescriptor.err),
                isTerminal(2),
                isTerminal(1));
    }

    /** Says a line about Caisson's own doing. */
    void say(String line) {
        try {
            err.write(("caisson: " + line + "\n").getBytes(StandardCharsets.UTF_8));
        } catch (IOException ignored) {
            // Nobody is left to be told.
        }
    }

    /**
     * Prints to standard output.
     *
     * @throws ReaderGone when nobody reads it
     */
    void print(String text) {
        try {
            out.write(text.getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new ReaderGone(e);
        }
    }

    /** For what prints whole pages. */
    PrintWriter printer() {
        return new PrintWriter(out, true, StandardCharsets.UTF_8);
    }

    static boolean isTerminal(int fd) {
        try {
            String target = Files.readSymbolicLink(Path.of("/proc/self/fd/" + fd)).toString();
            return target.startsWith("/dev/pts/")
                    || target.startsWith("/dev/tty")
                    || target.equals("/dev/console");
        } catch (IOException e) {
            return false;
        }
    }
}
