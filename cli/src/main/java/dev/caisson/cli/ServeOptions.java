package dev.caisson.cli;

import dev.caisson.api.CaissonException;
import dev.caisson.serve.Setting;
import dev.caisson.serve.Settings;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** How a server is configured: flags over environment over a file. */
final class ServeOptions {
    private static final Path USUAL = Path.of("/etc/caisson/caisson.yaml");

    @Option(
            names = "--config",
            paramLabel = "FILE",
            description = "configuration; default /etc/caisson/caisson.yaml when it is there")
    private @Nullable Path config;

    @Option(
            names = "--listen",
            paramLabel = "HOST:PORT",
            description = "address of the API; default 127.0.0.1:3900")
    private @Nullable String listen;

    @Option(names = "--data", paramLabel = "DIR", description = "folder of what is kept")
    private @Nullable String data;

    @Option(
            names = "--store",
            paramLabel = "URL",
            description = "sqlite:PATH or postgresql://USER@HOST/DATABASE")
    private @Nullable String store;

    @Option(names = "--launcher", paramLabel = "SOCKET", description = "socket of the launcher")
    private @Nullable String launcher;

    @Option(
            names = "--ports-listen",
            paramLabel = "HOST:PORT",
            description = "address on which ports of sandboxes are served")
    private @Nullable String ports;

    @Option(
            names = "--set",
            paramLabel = "SETTING=VALUE",
            description = "any other setting; 'caisson config show' lists them")
    private Map<String, String> others = new LinkedHashMap<>();

    /**
     * Reads a command line {@code serve --NAME VALUE …} without the library that reads others: its
     * classes are too old for a class cache, and were a third of a server's start.
     *
     * @param args of the whole command line
     * @return empty where the library must look: help, what is wrong, and other ways to write it
     */
    static Optional<ServeOptions> plain(List<String> args) {
        ServeOptions options = new ServeOptions();
        Set<String> seen = new HashSet<>();
        for (int at = 1; at < args.size(); at += 2) {
            String name = args.get(at);
            boolean once = name.equals("--set") || seen.add(name);
            if (!once || at + 1 == args.size() || !options.plain(name, args.get(at + 1))) {
                return Optional.empty();
            }
        }
        return Optional.of(options);
    }

    private boolean plain(String name, String value) {
        if (value.isEmpty() || value.startsWith("-")) {
            return false;
        }
        switch (name) {
            case "--config" -> config = Path.of(value);
            case "--listen" -> listen = value;
            case "--data" -> data = value;
            case "--store" -> store = value;
            case "--launcher" -> launcher = value;
            case "--ports-listen" -> ports = value;
            case "--set" -> {
                int end = value.indexOf('=');
                if (end <= 0 || end == value.length() - 1) {
                    return false;
                }
                others.put(value.substring(0, end), value.substring(end + 1));
            }
            default -> {
                return false;
            }
        }
        return true;
    }

    Settings settings() {
        Map<Setting, String> flags = new EnumMap<>(Setting.class);
        others.forEach((key, value) ->
                flags.put(
                        Setting.of(key)
                                .orElseThrow(() ->
                                        CaissonException.invalid(
                                                        key, "There is no setting '" + key + "'.")
                                                .withRemedy("'caisson config show' lists them.")),
                        value));
        put(flags, Setting.LISTEN, listen);
        put(flags, Setting.DATA, data);
        put(flags, Setting.STORE_URL, store);
        put(flags, Setting.LAUNCHER_SOCKET, launcher);
        put(flags, Setting.PORTS_LISTEN, ports);
        Optional<Path> file =
                Optional.ofNullable(config).or(() -> Optional.of(USUAL).filter(Files::exists));
        return Settings.read(file, System.getenv(), flags);
    }

    private static void put(Map<Setting, String> flags, Setting setting, @Nullable String value) {
        if (value != null) {
            flags.put(setting, value);
        }
    }
}
