package dev.caisson.conformance;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * A terminal of this host (pty(7)), with a program on it as a person would have it: what it writes
 * is heard, keys are typed, the window changes its size. It outlives its program, so that the modes
 * can be seen that the program left behind.
 */
final class HostTerminal implements AutoCloseable {
    private static final int READ_WRITE = 2;
    private static final int NO_CONTROLLING = 0400;
    private static final int LONGEST_NAME = 64;
    private static final int PIECE = 8192;
    private static final Linker LINKER = Linker.nativeLinker();

    private final Transcript transcript = new Transcript();
    private final int keyboard;
    private final int held;
    private final Path path;
    private final Thread listener;

    private HostTerminal(int keyboard, int held, Path path) {
        this.keyboard = keyboard;
        this.held = held;
        this.path = path;
        this.listener = Thread.ofPlatform().daemon().name("host-terminal").unstarted(this::listen);
    }

    /** A new one, or the test is skipped. */
    static HostTerminal open(int rows, int cols) {
        for (String program : List.of("setsid", "stty")) {
            assumeTrue(Files.exists(Path.of("/usr/bin", program)), program + " is not installed");
        }
        try (Arena arena = Arena.ofConfined()) {
            int keyboard = call("posix_openpt", READ_WRITE | NO_CONTROLLING);
            call("grantpt", keyboard);
            call("unlockpt", keyboard);
            MemorySegment name = arena.allocate(LONGEST_NAME);
            call("ptsname_r", keyboard, name, (long) LONGEST_NAME);
            int held = call("open", name, READ_WRITE | NO_CONTROLLING);
            HostTerminal made = new HostTerminal(keyboard, held, Path.of(name.getString(0)));
            made.resize(rows, cols);
            made.listener.start();
            return made;
        }
    }

    /** Calls a function of the C library that says with a negative number that it failed. */
    @SuppressWarnings("restricted") // the JVM of the tests is given native access
    private static int call(String function, Object... arguments) {
        List<ValueLayout> layouts = new ArrayList<>();
        for (Object argument : arguments) {
            layouts.add(
                    switch (argument) {
                        case Integer _ -> ValueLayout.JAVA_INT;
                        case Long _ -> ValueLayout.JAVA_LONG;
                        default -> ValueLayout.ADDRESS;
                    });
        }
        FunctionDescriptor descriptor =
                FunctionDescriptor.of(ValueLayout.JAVA_INT, layouts.toArray(ValueLayout[]::new));
        // open(2) has a third argument at times.
        Linker.Option[] options =
                function.equals("open")
                        ? new Linker.Option[] {Linker.Option.firstVariadicArg(2)}
                        : new Linker.Option[0];
        MethodHandle handle =
                LINKER.downcallHandle(
                        LINKER.defaultLookup().findOrThrow(function), descriptor, options);
        int result;
        try {
            result = (int) handle.invokeWithArguments(arguments);
        } catch (Throwable e) {
            throw new IllegalStateException(function, e);
        }
        if (result < 0) {
            throw new IllegalStateException(function + " failed");
        }
        return result;
    }

    private void listen() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment piece = arena.allocate(PIECE);
            while (true) {
                // Its result is a long; no piece is that large.
                int length = call("read", keyboard, piece, (long) PIECE);
                transcript.hear(piece.asSlice(0, length).toArray(ValueLayout.JAVA_BYTE), length);
            }
        } catch (IllegalStateException e) {
            // It was closed.
        }
    }

    /** Starts a program in a session of its own, whose terminal this is; the test ends it. */
    Process start(Map<String, String> env, List<String> command) {
        List<String> words =
                new ArrayList<>(
                        List.of(
                                "setsid",
                                "sh",
                                "-c",
                                "exec \"$@\" <>\"$0\" >&0 2>&0",
                                path.toString()));
        words.addAll(command);
        ProcessBuilder builder = new ProcessBuilder(words);
        builder.environment().putAll(env);
        try {
            return builder.start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    Transcript transcript() {
        return transcript;
    }

    /** Types; {@code \r} is the key Enter. */
    void type(String keys) {
        byte[] bytes = keys.getBytes(StandardCharsets.UTF_8);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment all = arena.allocateFrom(ValueLayout.JAVA_BYTE, bytes);
            call("write", keyboard, all, (long) bytes.length);
        }
    }

    /** Changes the size of the window, which the program on it is told by a signal. */
    void resize(int rows, int cols) {
        stty("rows", Integer.toString(rows), "cols", Integer.toString(cols));
    }

    /** Everything that {@code stty -a} tells but the size. */
    String modes() {
        return stty("-a").lines().skip(1).reduce("", (one, other) -> one + "\n" + other);
    }

    private String stty(String... words) {
        List<String> command = new ArrayList<>(List.of("stty", "-F", path.toString()));
        command.addAll(List.of(words));
        try {
            Lab.Outside said = Lab.outside(command.toArray(String[]::new));
            if (said.status() != 0) {
                throw new AssertionError(said.text());
            }
            return said.text();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Processes of a session that live. */
    static Set<Long> session(long id) {
        Set<Long> found = new TreeSet<>();
        for (long pid : HostView.all().keySet()) {
            String stat = HostView.text(Path.of("/proc/" + pid + "/stat")).orElse("");
            String[] fields = stat.substring(stat.lastIndexOf(')') + 1).strip().split(" ", 5);
            if (fields.length == 5 && fields[3].equals(Long.toString(id))) {
                found.add(pid);
            }
        }
        return found;
    }

    @Override
    public void close() {
        // Its last reader gone, what listens to the terminal ends; only then is its number free.
        call("close", held);
        try {
            if (listener.join(Duration.ofSeconds(10))) {
                call("close", keyboard);
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
