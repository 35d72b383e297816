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

/** Requests out of a second process, {@code peers/load.c}; see there for what is timed. */
final class Load implements AutoCloseable {
    /** Most connections at once. */
    static final int CONNECTIONS = 4000;

    private static final int BROKEN = 0;

    private final Process process;
    private final Writer orders;
    private final BufferedReader answers;

    private Load(Process process) {
        this.process = process;
        this.orders = process.outputWriter(StandardCharsets.UTF_8);
        this.answers = process.inputReader(StandardCharsets.US_ASCII);
    }

    /**
     * A request of a chain.
     *
     * @param expect what its answer must hold; empty: anything
     * @param mark what is waited for as its first byte; empty: the body's first
     */
    record Step(String method, String path, String body, String expect, String mark) {
        static Step of(String method, String path, String body) {
            return new Step(method, path, body, "", "");
        }

        /** A command in a sandbox, with the answer when it has ended with status 0. */
        static Step exec(String sandbox, String... argv) {
            return new Step(
                    "POST",
                    "/v1/sandboxes/" + sandbox + "/execs?mode=wait",
                    argv(argv),
                    "\"exitCode\":0",
                    "");
        }

        /** A new sandbox out of a pool; {@code none}: a fresh one. */
        static Step create(String pool) {
            return of("POST", "/v1/sandboxes", "{\"pool\":\"" + pool + "\"}");
        }

        static Step delete(String sandbox) {
            return of("DELETE", "/v1/sandboxes/" + sandbox, "");
        }

        static String argv(String... argv) {
            return "{\"argv\":[\"" + String.join("\",\"", argv) + "\"]}";
        }
    }

    /**
     * How one step went.
     *
     * @param status of HTTP; 0: no answer; 599: not the answer that was expected
     * @param first nanoseconds to its first byte
     * @param total nanoseconds to its end
     */
    record Took(int status, long first, long total) {
        boolean good() {
            return status >= 200 && status < 300;
        }
    }

    /**
     * How one chain went.
     *
     * @param offset nanoseconds from the begin to when it was to start
     * @param id what its first answer made; {@code -}: nothing
     */
    record Chain(long offset, String id, List<Took> steps) {
        Took step(int index) {
            return index < steps.size() ? steps.get(index) : new Took(BROKEN, 0, 0);
        }

        /** When its last step ended, from the begin. */
        long end() {
            return offset + steps.stream().mapToLong(Took::total).sum();
        }

        boolean good(int count) {
            return steps.size() == count && steps.stream().allMatch(Took::good);
        }
    }

    static Load start(Path program, int port) {
        try {
            return new Load(
                    new ProcessBuilder(program.toString(), Integer.toString(port))
                            .redirectError(ProcessBuilder.Redirect.INHERIT)
                            .start());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** What every chain does from now on. */
    void plan(String key, List<String> targets, List<Step> steps) {
        StringBuilder text = new StringBuilder("reset\nkey " + key + "\n");
        targets.forEach(target -> text.append("target ").append(target).append('\n'));
        for (Step step : steps) {
            text.append("step ").append(step.method()).append(' ').append(step.path());
            text.append(step.body().isEmpty() ? "" : " " + step.body()).append('\n');
            text.append(step.expect().isEmpty() ? "" : "expect " + step.expect() + "\n");
            text.append(step.mark().isEmpty() ? "" : "mark " + step.mark() + "\n");
        }
        write(text.toString());
    }

    /** One after the other on one connection. */
    List<Chain> oneByOne(int count) {
        return go(count, -1, 1, Duration.ofMinutes(10));
    }

    /** All at once. */
    List<Chain> atOnce(int count, int connections) {
        return go(count, 0, connections, Duration.ofMinutes(5));
    }

    /**
     * At a fixed rate.
     *
     * @param patience how long after the last was to start they are waited for
     */
    List<Chain> every(int count, Duration interval, Duration patience) {
        return go(count, interval.toNanos(), CONNECTIONS, patience);
    }

    private List<Chain> go(int count, long interval, int connections, Duration patience) {
        write(
                "go "
                        + count
                        + " "
                        + interval
                        + " "
                        + connections
                        + " "
                        + patience.toSeconds()
                        + "\n");
        List<Chain> chains = new ArrayList<>(count);
        try {
            String line = answers.readLine();
            while (line != null && !line.isEmpty()) {
                chains.add(chain(line.split(" ", -1)));
                line = answers.readLine();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        if (chains.size() != count) {
            throw new IllegalStateException("The load generator failed.");
        }
        return chains;
    }

    private static Chain chain(String[] words) {
        List<Took> steps = new ArrayList<>(1);
        for (int i = 2; i + 2 < words.length; i += 3) {
            steps.add(
                    new Took(
                            Integer.parseInt(words[i]),
                            Long.parseLong(words[i + 1]),
                            Long.parseLong(words[i + 2])));
        }
        return new Chain(Long.parseLong(words[0]), words[1], List.copyOf(steps));
    }

    private void write(String text) {
        try {
            orders.write(text);
            orders.flush();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
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
