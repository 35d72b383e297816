package dev.caisson.policy;

import dev.caisson.api.CaissonException;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;

/**
 * Addresses of registries: those that an operator named, or else what the host's own pip, npm,
 * Maven and apt report. A tool is asked when its address is first needed, and never again. Safe for
 * use by several threads.
 */
public final class HostRegistries implements Function<String, Optional<String>> {
    private static final int MAX_OUTPUT = 64 << 10;
    private static final int MAX_FILE = 1 << 20;
    private static final Pattern COMMENT = Pattern.compile("<!--.*?-->", Pattern.DOTALL);
    private static final Pattern MIRROR = Pattern.compile("<mirror>(.*?)</mirror>", Pattern.DOTALL);
    private static final Pattern MIRROR_OF =
            Pattern.compile("<mirrorOf>\\s*(?:central|\\*|external:\\*)\\s*</mirrorOf>");
    private static final Pattern CENTRAL =
            Pattern.compile(
                    "<repository>(?:(?!</repository>).)*?<id>\\s*central\\s*</id>(.*?)</repository>",
                    Pattern.DOTALL);
    private static final Pattern URL = Pattern.compile("<url>\\s*([^<\\s]+)\\s*</url>");
    // Its own default, which no setting shows.
    private static final String PIP =
            "from pip._internal.models.index import PyPI; print(PyPI.simple_url)";

    private final Map<String, String> env;
    private final long seconds;
    private final Map<String, Optional<String>> known = new ConcurrentHashMap<>();

    /**
     * The addresses of this host.
     *
     * @param named by ecosystem; the host's tool is not asked then
     * @throws CaissonException for what is no address
     */
    public HostRegistries(Map<String, String> named) {
        this(named, System.getenv(), 10);
    }

    HostRegistries(Map<String, String> named, Map<String, String> env, long seconds) {
        this.env = Map.copyOf(env);
        this.seconds = seconds;
        named.forEach((ecosystem, url) -> {
            Registry.of(ecosystem, url);
            known.put(ecosystem, Optional.of(url));
        });
    }

    /** The address of an ecosystem's registry; empty: no tool is there, or it reports none. */
    @Override
    public Optional<String> apply(String ecosystem) {
        return known.computeIfAbsent(
                ecosystem, asked -> ask(asked).filter(url -> fits(asked, url)));
    }

    private static boolean fits(String ecosystem, String url) {
        try {
            Registry.of(ecosystem, url);
            return true;
        } catch (CaissonException e) {
            return false; // such as one with a password in it
        }
    }

    private Optional<String> ask(String ecosystem) {
        return switch (ecosystem) {
            case "pypi" -> pip();
            case "npm" -> run("npm", "config", "get", "registry");
            case "maven" -> maven();
            case "debian" ->
                    run("apt-get", "indextargets", "--format", "$(SITE)").map(HostRegistries::root);
            default -> Optional.empty();
        };
    }

    private Optional<String> pip() {
        return Optional.ofNullable(env.get("PIP_INDEX_URL"))
                .or(() -> run("pip", "config", "get", "global.index-url"))
                .or(() -> run("pip3", "config", "get", "global.index-url"))
                .or(() -> run("python3", "-c", PIP));
    }

    // Suites of one archive, such as those for security, are beside each other on its host.
    private static String root(String site) {
        int slash = site.indexOf('/', site.indexOf("://") + 3);
        return slash < 0 ? site : site.substring(0, slash);
    }

    // Maven itself takes seconds to tell; its files say the same.
    private Optional<String> maven() {
        Optional<Path> home = program("mvn").flatMap(HostRegistries::twoUp);
        return Optional.ofNullable(env.get("HOME"))
                .flatMap(user -> mirror(Path.of(user, ".m2", "settings.xml")))
                .or(() -> home.flatMap(at -> mirror(at.resolve("conf/settings.xml"))))
                .or(() -> home.flatMap(HostRegistries::central));
    }

    private static Optional<Path> twoUp(Path program) {
        try {
            Path folder = program.toRealPath().getParent();
            return Optional.ofNullable(folder).map(Path::getParent);
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    private static Optional<String> mirror(Path settings) {
        try {
            if (!Files.isRegularFile(settings) || Files.size(settings) > MAX_FILE) {
                return Optional.empty();
            }
            Matcher mirrors = MIRROR.matcher(plain(Files.readString(settings)));
            while (mirrors.find()) {
                if (MIRROR_OF.matcher(mirrors.group(1)).find()) {
                    return url(mirrors.group(1));
                }
            }
            return Optional.empty();
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    private static Optional<String> central(Path home) {
        try (var jars = Files.list(home.resolve("lib"))) {
            Optional<Path> jar =
                    jars.filter(file -> name(file).startsWith("maven-model-builder"))
                            .filter(file -> name(file).endsWith(".jar"))
                            .findFirst();
            return jar.isEmpty() ? Optional.empty() : superPom(jar.get());
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    private static String name(Path file) {
        return String.valueOf(file.getFileName());
    }

    private static Optional<String> superPom(Path jar) throws IOException {
        try (ZipFile zip = new ZipFile(jar.toFile())) {
            ZipEntry entry = zip.getEntry("org/apache/maven/model/pom-4.0.0.xml");
            if (entry == null) {
                return Optional.empty();
            }
            try (var in = zip.getInputStream(entry)) {
                String pom = new String(in.readNBytes(MAX_FILE), StandardCharsets.UTF_8);
                Matcher central = CENTRAL.matcher(plain(pom));
                return central.find() ? url(central.group(1)) : Optional.empty();
            }
        }
    }

    private static String plain(String xml) {
        return COMMENT.matcher(xml).replaceAll("");
    }

    private static Optional<String> url(String xml) {
        Matcher url = URL.matcher(xml);
        return url.find() ? Optional.of(url.group(1)) : Optional.empty();
    }

    private Optional<Path> program(String name) {
        for (String folder : env.getOrDefault("PATH", "").split(File.pathSeparator, -1)) {
            Path file = Path.of(folder, name);
            if (folder.startsWith("/") && Files.isExecutable(file) && !Files.isDirectory(file)) {
                return Optional.of(file);
            }
        }
        return Optional.empty();
    }

    /** The first line of what a tool prints; empty when it is not there, fails or takes long. */
    private Optional<String> run(String name, String... arguments) {
        Optional<Path> program = program(name);
        if (program.isEmpty()) {
            return Optional.empty();
        }
        List<String> argv = new ArrayList<>(List.of(program.get().toString()));
        argv.addAll(List.of(arguments));
        Process process;
        try {
            ProcessBuilder builder =
                    new ProcessBuilder(argv)
                            .directory(new File("/"))
                            .redirectInput(new File("/dev/null"))
                            .redirectError(ProcessBuilder.Redirect.DISCARD);
            builder.environment().clear();
            builder.environment().putAll(env);
            process = builder.start();
        } catch (IOException e) {
            return Optional.empty();
        }
        try {
            return output(process);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Optional.empty();
        } finally {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
        }
    }

    private Optional<String> output(Process process) throws InterruptedException {
        AtomicReference<String> text = new AtomicReference<>("");
        Thread reader =
                Thread.ofVirtual()
                        .name("caisson-registry")
                        .start(() -> {
                            try {
                                byte[] all = process.getInputStream().readNBytes(MAX_OUTPUT);
                                text.set(new String(all, StandardCharsets.UTF_8));
                            } catch (IOException e) {
                                // It was killed.
                            }
                        });
        boolean ended = process.waitFor(seconds, TimeUnit.SECONDS);
        reader.join(TimeUnit.SECONDS.toMillis(1));
        return ended && process.exitValue() == 0
                ? text.get().lines().map(String::strip).filter(l -> !l.isEmpty()).findFirst()
                : Optional.empty();
    }
}
