package dev.caisson.store;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.sqlite.SQLiteConfig.SynchronousMode;

/** A program that writes numbered rows and prints each number once it is acknowledged. */
final class Child implements AutoCloseable {
    private static final int THREADS = 4;

    private final Process process;
    private final Collection<Integer> acknowledged = new ConcurrentLinkedQueue<>();
    private final Thread reader;

    private Child(Process process) {
        this.process = process;
        reader = Thread.ofVirtual().start(this::read);
    }

    /** The child itself: URL, first number, synchronous mode, password. */
    public static void main(String[] arguments) {
        StoreConfig plain = StoreConfig.of(arguments[0], "n1");
        StoreConfig config = arguments.length > 3 ? plain.withPassword(arguments[3]) : plain;
        int first = Integer.parseInt(arguments[1]);
        Store store = new Store(config, SynchronousMode.valueOf(arguments[2]));
        for (int i = 0; i < THREADS; i++) {
            int begin = first + i;
            Thread.ofPlatform().start(() -> store.fill(begin));
        }
    }

    /** What the child writes to. */
    private record Store(dev.caisson.control.Store store) {
        Store(StoreConfig config, SynchronousMode synchronous) {
            this(Stores.open(config, synchronous));
        }

        void fill(int begin) {
            for (int number = begin; ; number += THREADS) {
                Ledger.write(store, number);
                byte[] line = (number + "\n").getBytes(java.nio.charset.StandardCharsets.US_ASCII);
                synchronized (System.out) {
                    System.out.write(line, 0, line.length);
                    System.out.flush();
                }
            }
        }
    }

    static Child start(Path file, int first, SynchronousMode synchronous) throws IOException {
        return start(StoreConfig.of("sqlite:" + file, "n1"), first, synchronous);
    }

    static Child start(StoreConfig config, int first, SynchronousMode synchronous)
            throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.add("-XX:TieredStopAtLevel=1");
        command.add("-XX:+UseSerialGC");
        command.add("--enable-native-access=ALL-UNNAMED");
        command.add("-cp");
        command.add(
                String.join(
                        System.getProperty("path.separator"),
                        System.getProperty("jdk.module.path", ""),
                        System.getProperty("java.class.path", ""),
                        Path.of("target", "test-classes").toAbsolutePath().toString()));
        command.add(Child.class.getName());
        command.add(config.url());
        command.add(Integer.toString(first));
        command.add(synchronous.name());
        if (config.password() != null) {
            command.add(config.password());
        }
        return new Child(
                new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start());
    }

    private void read() {
        try (BufferedReader lines = process.inputReader()) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                acknowledged.add(Integer.valueOf(line));
            }
        } catch (NumberFormatException e) {
            // the last line, cut off by the kill
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Numbers that were acknowledged up to now. */
    Collection<Integer> acknowledged() {
        return List.copyOf(acknowledged);
    }

    long pid() {
        return process.pid();
    }

    /** Waits until so many are acknowledged. */
    void await(int count) throws InterruptedException {
        for (int tries = 0; acknowledged.size() < count; tries++) {
            if (!process.isAlive() || tries > 3000) {
                throw new IllegalStateException("the child stands at " + acknowledged.size());
            }
            Thread.sleep(10);
        }
    }

    /** SIGKILL; everything it said has been read afterwards. */
    @Override
    public void close() {
        process.destroyForcibly();
        try {
            process.waitFor(20, TimeUnit.SECONDS);
            reader.join();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
