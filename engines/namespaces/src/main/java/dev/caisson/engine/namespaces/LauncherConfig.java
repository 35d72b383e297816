package dev.caisson.engine.namespaces;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.CodeSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Where the launcher is, and the egress gateway that a private one starts.
 *
 * @param socket of an installed launcher
 * @param nativeFolder holds {@code caisson-launcher} and {@code caisson-agent}; empty when it was
 *     not found
 * @param runFolder beneath which a private launcher's socket is made
 * @param stateFolder of a private launcher
 * @param gatewayJars folder of the egress gateway's jars; empty when it was not found: then no
 *     sandbox gets a way out
 * @param gatewayOptions more options of a private launcher for its gateway
 */
public record LauncherConfig(
        Path socket,
        Optional<Path> nativeFolder,
        Path runFolder,
        Path stateFolder,
        Optional<Path> gatewayJars,
        List<String> gatewayOptions) {
    private static final Path RUN = Path.of("/run/caisson");
    private static final Path STATE = Path.of("/var/lib/caisson");
    private static final String LAUNCHER = "caisson-launcher";

    /** Copies the list. */
    public LauncherConfig {
        gatewayOptions = List.copyOf(gatewayOptions);
    }

    /**
     * What this host and the settings say: {@code caisson.launcher.socket} or
     * CAISSON_LAUNCHER_SOCKET, {@code caisson.native.dir} or CAISSON_NATIVE_DIR, else the usual
     * places.
     *
     * <p>For tests and operators: {@code caisson.gateway.args} holds options of the gateway of a
     * private launcher, {@code caisson.gateway.files} files that it may read, {@code NAME=/PATH};
     * it finds them as {@code /mnt/NAME}. Both are lists that are separated by spaces.
     */
    public static LauncherConfig ofHost() {
        Path socket =
                setting("caisson.launcher.socket", "CAISSON_LAUNCHER_SOCKET")
                        .orElse(RUN.resolve("launcher.sock"));
        Path state = setting("caisson.state.dir", "CAISSON_STATE_DIR").orElse(STATE);
        Optional<Path> named = setting("caisson.native.dir", "CAISSON_NATIVE_DIR");
        Optional<Path> jars = setting("caisson.gateway.jars", "CAISSON_GATEWAY_JARS");
        return new LauncherConfig(
                socket,
                named.or(LauncherConfig::besideJar),
                RUN,
                state,
                jars.or(LauncherConfig::jars).filter(LauncherConfig::holdsGateway),
                gatewayOptionsOfHost());
    }

    private static List<String> gatewayOptionsOfHost() {
        List<String> options = new ArrayList<>();
        for (String word : words("caisson.gateway.args")) {
            options.addAll(List.of("--gateway-arg", word));
        }
        for (String file : words("caisson.gateway.files")) {
            options.addAll(List.of("--gateway-file", file));
        }
        return options;
    }

    private static List<String> words(String property) {
        return Pattern.compile(" +")
                .splitAsStream(System.getProperty(property, ""))
                .filter(word -> !word.isEmpty())
                .toList();
    }

    private static Optional<Path> setting(String property, String variable) {
        return Optional.ofNullable(System.getProperty(property))
                .or(() -> Optional.ofNullable(System.getenv(variable)))
                .filter(value -> !value.isEmpty())
                .map(Path::of);
    }

    /** The folder that holds this jar. */
    private static Optional<Path> jars() {
        CodeSource source = LauncherConfig.class.getProtectionDomain().getCodeSource();
        if (source == null || source.getLocation() == null) {
            return Optional.empty();
        }
        try {
            return Optional.ofNullable(Path.of(source.getLocation().toURI()).getParent());
        } catch (URISyntaxException e) {
            return Optional.empty();
        }
    }

    private static boolean holdsGateway(Path folder) {
        try (DirectoryStream<Path> found =
                Files.newDirectoryStream(folder, "caisson-egress-*.jar")) {
            return found.iterator().hasNext();
        } catch (IOException e) {
            return false;
        }
    }

    /** Options of a private launcher that let it start the gateway with this Java. */
    List<String> gateway() {
        if (gatewayJars.isEmpty()) {
            return List.of();
        }
        List<String> options =
                new ArrayList<>(
                        List.of(
                                "--gateway-java",
                                System.getProperty("java.home"),
                                "--gateway-jars",
                                gatewayJars.get().toAbsolutePath().toString()));
        options.addAll(gatewayOptions);
        return options;
    }

    /** {@code ../native} of the folder that holds this jar. */
    private static Optional<Path> besideJar() {
        return jars().map(Path::getParent)
                .map(folder -> folder.resolve("native"))
                .filter(folder -> Files.isExecutable(folder.resolve(LAUNCHER)));
    }

    /** Whether an installed launcher's socket is there. */
    boolean installed() {
        return Files.exists(socket);
    }

    Path launcher() {
        return program(LAUNCHER);
    }

    Path agent() {
        return program("caisson-agent");
    }

    private Path program(String name) {
        Path folder =
                nativeFolder.orElseThrow(() ->
                        CaissonException.of(
                                        ErrorCode.LAUNCHER_UNAVAILABLE,
                                        "The native programs of Caisson were not found.")
                                .withRemedy(
                                        "Set CAISSON_NATIVE_DIR to the folder that holds"
                                                + " caisson-launcher and caisson-agent."));
        Path program = folder.resolve(name);
        if (!Files.isExecutable(program)) {
            throw CaissonException.of(
                            ErrorCode.LAUNCHER_UNAVAILABLE,
                            program + " is not there or not executable.")
                    .withRemedy(
                            "Build the native programs, or set CAISSON_NATIVE_DIR to where they"
                                    + " are.");
        }
        return program;
    }

    /** Whether this process is root of the host or of its container. */
    static boolean root() {
        try {
            return Files.getAttribute(Path.of("/proc/self"), "unix:uid") instanceof Integer uid
                    && uid == 0;
        } catch (IOException e) {
            return false;
        }
    }
}
