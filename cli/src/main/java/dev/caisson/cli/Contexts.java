package dev.caisson.cli;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.v1.Json;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;

/**
 * The servers that {@code caisson login} remembered, with their keys, in a file that only its owner
 * can read.
 *
 * @param current name of the one in use
 * @param contexts by name
 */
record Contexts(@Nullable String current, Map<String, Context> contexts) {
    private static final Set<PosixFilePermission> PRIVATE =
            PosixFilePermissions.fromString("rw-------");

    /**
     * A server.
     *
     * @param url of it
     * @param key of it
     * @param tenant that an operator acts for
     * @param caFile that is trusted
     */
    record Context(String url, String key, @Nullable String tenant, @Nullable String caFile) {
        /** Without the key. */
        @Override
        public String toString() {
            return "Context[" + url + "]";
        }
    }

    /** Copies the map; an absent one is empty. */
    Contexts {
        contexts = contexts == null ? Map.of() : Map.copyOf(contexts);
    }

    static Path file(Map<String, String> env) {
        String config = env.getOrDefault("XDG_CONFIG_HOME", "");
        String home = env.getOrDefault("HOME", System.getProperty("user.home"));
        return (config.isEmpty() ? Path.of(home, ".config") : Path.of(config))
                .resolve("caisson")
                .resolve("contexts.json");
    }

    static Contexts load(Path file) {
        try {
            Set<PosixFilePermission> permissions =
                    Files.getPosixFilePermissions(file, LinkOption.NOFOLLOW_LINKS);
            if (!PRIVATE.containsAll(permissions)) {
                throw CaissonException.of(
                                ErrorCode.INVALID,
                                "Others can read the keys in " + file + ", or it is no file.")
                        .withRemedy("Run: chmod 600 " + file);
            }
            return Json.request(Files.readAllBytes(file), Contexts.class);
        } catch (NoSuchFileException e) {
            return new Contexts(null, Map.of());
        } catch (IOException | JacksonException e) {
            throw CaissonException.of(ErrorCode.INVALID, file + " cannot be read: " + e, e);
        }
    }

    void save(Path file) {
        try {
            Path folder = Objects.requireNonNull(file.getParent());
            Files.createDirectories(
                    folder,
                    PosixFilePermissions.asFileAttribute(
                            PosixFilePermissions.fromString("rwx------")));
            Path fresh =
                    Files.createTempFile(
                            folder,
                            ".contexts",
                            ".new",
                            PosixFilePermissions.asFileAttribute(PRIVATE));
            try {
                Files.write(fresh, Json.bytes(this));
                Files.move(
                        fresh,
                        file,
                        StandardCopyOption.ATOMIC_MOVE,
                        StandardCopyOption.REPLACE_EXISTING);
            } finally {
                Files.deleteIfExists(fresh);
            }
        } catch (IOException e) {
            throw CaissonException.of(ErrorCode.INVALID, file + " cannot be written: " + e, e);
        }
    }

    Context find(String name) {
        Context context = contexts.get(name);
        if (context == null) {
            throw CaissonException.of(ErrorCode.NOT_FOUND, "There is no context '" + name + "'.")
                    .withDetail("allowed", String.join(", ", contexts.keySet()))
                    .withRemedy("See: caisson context ls");
        }
        return context;
    }

    Contexts with(String name, Context context) {
        Map<String, Context> more = new LinkedHashMap<>(contexts);
        more.put(name, context);
        return new Contexts(name, more);
    }

    Contexts using(String name) {
        find(name);
        return new Contexts(name, contexts);
    }

    Contexts without(String name) {
        find(name);
        Map<String, Context> fewer = new LinkedHashMap<>(contexts);
        fewer.remove(name);
        return new Contexts(name.equals(current) ? null : current, fewer);
    }
}
