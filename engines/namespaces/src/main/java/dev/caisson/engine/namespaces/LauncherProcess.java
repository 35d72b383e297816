package dev.caisson.engine.namespaces;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A private launcher, which ends with its standard input: with this object, or with this JVM
 * however it dies. Its pipes are read on platform threads, since virtual threads that block in them
 * hold their carriers.
 */
final class LauncherProcess implements AutoCloseable {
    private static final int START_SECONDS = 30;
    private static final int END_SECONDS = 10;
    private static final int MAX_ERROR = 8 << 10;

    private final Process process;
    private final Path socket;

    private LauncherProcess(Process process, Path socket) {
        this.process = process;
        this.socket = socket;
    }

    Path socket() {
        return socket;
    }

    /** Starts one and waits until it listens. */
    static LauncherProcess start(LauncherConfig config) {
        if (!LauncherConfig.root()) {
            throw CaissonException.of(
                            ErrorCode.LAUNCHER_UNAVAILABLE,
                            "Sandboxes need the launcher: this process is not root, and no launcher"
                                    + " is installed at "
                                    + config.socket()
                                    + ".")
                    .withRemedy(
                            "Run it with sudo, or install the launcher as a service (deploy/) and"
                                    + " join its group.");
        }
        Path socket =
                config.runFolder()
                        .resolve(dev.caisson.core.Ids.next(dev.caisson.core.Ids.Kind.SESSION))
                        .resolve("launcher.sock");
        List<String> command =
                new ArrayList<>(
                        List.of(
                                config.launcher().toString(),
                                "--socket",
                                socket.toString(),
                                "--agent",
                                config.agent().toString(),
                                "--state",
                                config.stateFolder().toString(),
                                "--exit-with-stdin"));
        command.addAll(config.gateway());
        try {
            LauncherProcess launcher =
                    new LauncherProcess(new ProcessBuilder(command).start(), socket);
            launcher.awaitReady();
            return launcher;
        } catch (IOException e) {
            throw CaissonException.of(
                    ErrorCode.LAUNCHER_UNAVAILABLE, "The launcher does not start: " + e, e);
        }
    }

    private void awaitReady() {
        CompletableFuture<String> error = new CompletableFuture<>();
        CompletableFuture<Boolean> ready = new CompletableFuture<>();
        Thread.ofPlatform()
                .daemon()
                .name("caisson-launcher-err")
                .start(() -> error.complete(drain()));
        Thread.ofPlatform().daemon().name("caisson-launcher-out").start(() -> readReady(ready));
        try {
            if (ready.get(START_SECONDS, TimeUnit.SECONDS)) {
                return;
            }
            throw refused(error.get(END_SECONDS, TimeUnit.SECONDS));
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
            throw CaissonException.of(
                    ErrorCode.CANCELLED, "Interrupted while the launcher starts.", e);
        } catch (TimeoutException | ExecutionException e) {
            process.destroyForcibly();
            throw CaissonException.of(
                    ErrorCode.LAUNCHER_UNAVAILABLE,
                    "The launcher did not start within " + START_SECONDS + " s.",
                    e);
        }
    }

    private void readReady(CompletableFuture<Boolean> ready) {
        try (BufferedReader out = process.inputReader(StandardCharsets.UTF_8)) {
            ready.complete("ready".equals(out.readLine()));
            out.transferTo(Writer.nullWriter());
        } catch (IOException e) {
            ready.complete(false);
        }
    }

    private String drain() {
        StringBuilder text = new StringBuilder();
        try (InputStreamReader err =
                new InputStreamReader(process.getErrorStream(), StandardCharsets.UTF_8)) {
            char[] buffer = new char[1024];
            for (int read = err.read(buffer); read >= 0; read = err.read(buffer)) {
                text.append(buffer, 0, Math.min(read, Math.max(0, MAX_ERROR - text.length())));
            }
        } catch (IOException e) {
            // The pipe ends with the process.
        }
        return text.toString();
    }

    /** The launcher's last line is {@code {"error":{"code","message","remedy"}}}. */
    static CaissonException refused(String stderr) {
        String code = JsonStrings.find(stderr, "code").orElse("");
        String message = JsonStrings.find(stderr, "message").orElse(stderr.strip());
        ErrorCode known = ErrorCode.of(code.toLowerCase(Locale.ROOT));
        return CaissonException.of(
                        known == ErrorCode.UNKNOWN ? ErrorCode.LAUNCHER_UNAVAILABLE : known,
                        message.isEmpty()
                                ? "The launcher ended without a word."
                                : "The launcher cannot run: " + message)
                .withRemedy(JsonStrings.find(stderr, "remedy").orElse(""));
    }

    @Override
    public void close() {
        try {
            process.getOutputStream().close();
            if (!process.waitFor(END_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (IOException e) {
            process.destroyForcibly();
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }
}
