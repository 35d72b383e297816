package dev.caisson.bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A command that a small C program runs and times, so that nothing of this JVM is in its numbers.
 */
final class Peer implements AutoCloseable {
    /** The interval of those that all start at once; their times are from the first start on. */
    static final Duration AT_ONCE = Duration.ofNanos(-1000);

    private final String name;
    private final Process process;
    private final Writer orders;
    private final BufferedReader answers;

    private Peer(String name, Process process) {
        this.name = name;
        this.process = process;
        this.orders = process.outputWriter(StandardCharsets.US_ASCII);
        this.answers = process.inputReader(StandardCharsets.US_ASCII);
    }

    /**
     * Starts the timing program; the command runs only when it is asked for.
     *
     * @param pace the compiled {@code peers/pace.c}
     * @param command its first word is an absolute path
     */
    static Peer start(String name, Path pace, List<String> command) {
        List<String> line = new ArrayList<>();
        line.add(pace.toString());
        line.addAll(command);
        try {
            Process process =
                    new ProcessBuilder(line).redirectError(ProcessBuilder.Redirect.INHERIT).start();
            return new Peer(name, process);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    String name() {
        return name;
    }

    /** Runs the command {@code count} times; nanoseconds of each. */
    List<Long> run(int count, Duration interval) {
        List<Long> took = new ArrayList<>(count);
        try {
            orders.write(count + " " + interval.toNanos() / 1000 + "\n");
            orders.flush();
            String line = answers.readLine();
            while (line != null && !line.isEmpty()) {
                took.add(Long.parseLong(line));
                line = answers.readLine();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        if (took.size() != count) {
            throw new IllegalStateException(
                    "The peer " + name + " failed after " + took.size() + " runs.");
        }
        return took;
    }

    @Override
    public void close() {
        try {
            orders.close();
            if (!process.waitFor(10, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
            answers.close();
        } catch (IOException e) {
            process.destroyForcibly();
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }
}
