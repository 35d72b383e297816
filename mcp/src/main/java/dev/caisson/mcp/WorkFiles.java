package dev.caisson.mcp;

import dev.caisson.api.CaissonException;
import dev.caisson.v1.FileJson;
import dev.caisson.v1.ResultFileJson;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * New and changed files of /work around a command in a sandbox that lives on. Best effort: a large
 * tree, or one that cannot be listed, is not compared.
 */
final class WorkFiles {
    static final int INLINE_BYTES = 64 << 10;
    private static final int MAX_ENTRIES = 5000;
    private static final int MAX_CHANGES = 200;
    private static final int MAX_IMAGES = 4;
    private static final String WORK = "/work/";

    private WorkFiles() {}

    static Optional<Map<String, FileJson>> look(Backend backend, String sandbox) {
        try {
            List<FileJson> files = backend.list(sandbox, "/work", true);
            if (files.size() > MAX_ENTRIES) {
                return Optional.empty();
            }
            Map<String, FileJson> byPath = new HashMap<>();
            files.forEach(file -> byPath.put(file.path(), file));
            return Optional.of(byPath);
        } catch (CaissonException e) {
            return Optional.empty();
        }
    }

    static List<ResultFileJson> changes(
            Backend backend, String sandbox, Map<String, FileJson> before, String except) {
        List<FileJson> changed =
                look(backend, sandbox).orElse(Map.of()).values().stream()
                        .filter(file ->
                                file.type().equals("regular") && !file.path().equals(except))
                        .filter(file -> !same(before.get(file.path()), file))
                        .sorted(java.util.Comparator.comparing(FileJson::path))
                        .limit(MAX_CHANGES)
                        .toList();
        List<ResultFileJson> files = new ArrayList<>();
        int images = 0;
        for (FileJson file : changed) {
            Optional<String> data =
                    images < MAX_IMAGES ? image(backend, sandbox, file) : Optional.empty();
            images += data.isPresent() ? 1 : 0;
            files.add(
                    new ResultFileJson(
                            relative(file.path()),
                            "regular",
                            file.size(),
                            null,
                            file.mode(),
                            data.orElse(null),
                            null));
        }
        return files;
    }

    private static boolean same(@org.jspecify.annotations.Nullable FileJson old, FileJson now) {
        return old != null
                && old.size() == now.size()
                && old.modifiedAt().equals(now.modifiedAt())
                && old.type().equals(now.type());
    }

    private static Optional<String> image(Backend backend, String sandbox, FileJson file) {
        if (file.size() > INLINE_BYTES || !file.path().matches("(?is).*\\.(png|jpe?g|gif|webp)")) {
            return Optional.empty();
        }
        try {
            byte[] content = backend.read(sandbox, file.path(), 0, INLINE_BYTES);
            return Optional.of(Base64.getEncoder().encodeToString(content));
        } catch (CaissonException e) {
            return Optional.empty();
        }
    }

    private static String relative(String path) {
        return path.startsWith(WORK) ? path.substring(WORK.length()) : path;
    }
}
