package dev.caisson.cli;

import dev.caisson.api.CaissonException;
import dev.caisson.api.HostFile;
import java.nio.file.Files;
import java.nio.file.Path;

/** Reads {@code --file HOST[:INSIDE]}. */
final class FileOption {
    private FileOption() {}

    /** A file whose own name holds a colon is meant when it is there as written. */
    static HostFile parse(String text) {
        Path whole = Path.of(text);
        int colon = text.lastIndexOf(':');
        if (colon < 0 || Files.exists(whole)) {
            return new HostFile(present(whole), nameOf(whole));
        }
        Path host = Path.of(text.substring(0, colon));
        String inside = text.substring(colon + 1);
        return new HostFile(present(host), inside.isEmpty() ? nameOf(host) : inside);
    }

    private static Path present(Path host) {
        if (host.toString().isEmpty() || !Files.exists(host)) {
            throw CaissonException.invalid(
                            "--file", "--file: there is no file or folder '" + host + "' here.")
                    .withRemedy("Write HOST or HOST:INSIDE, for example data.csv:/work/data.csv.");
        }
        return host;
    }

    private static String nameOf(Path host) {
        Path name = host.toAbsolutePath().normalize().getFileName();
        if (name == null) {
            throw CaissonException.invalid(
                    "--file", "--file: name the place inside for " + host + ": HOST:INSIDE.");
        }
        return name.toString();
    }
}
