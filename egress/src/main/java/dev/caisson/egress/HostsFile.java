package dev.caisson.egress;

import dev.caisson.policy.HostName;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The names that the host's own file of names has; the C library does not find them with a dot. */
final class HostsFile {
    private static final Path FILE = Path.of("/etc", "hosts");

    private HostsFile() {}

    static boolean names(HostName name) {
        try {
            return Files.readAllLines(FILE).stream().anyMatch(line -> has(line, name.value()));
        } catch (IOException e) {
            return false;
        }
    }

    private static boolean has(String line, String name) {
        int comment = line.indexOf('#');
        String text = comment < 0 ? line : line.substring(0, comment);
        List<String> words = List.of(text.trim().split("\\s+"));
        return words.subList(1, words.size()).stream().anyMatch(name::equalsIgnoreCase);
    }
}
