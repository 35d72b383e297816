package dev.caisson.egress;

import java.util.List;
import java.util.Locale;
import java.util.Set;

/** Reads the paths of registries, below their address; linear in their length. */
final class PackagePaths {
    private static final Asked NOTHING = new Asked.Nothing();
    private static final int MAX_SEGMENTS = 64;
    private static final Set<String> NPM_COMMON = Set.of("-/ping", "-/npm/v1/keys");
    private static final List<String> DEBIAN_LISTS =
            List.of("InRelease", "Release", "Packages", "Sources");
    private static final List<String> CHECKS =
            List.of(".sha1", ".sha256", ".sha512", ".md5", ".asc");

    private PackagePaths() {}

    /**
     * What a request asks for.
     *
     * @param rest path behind the registry's own, without a slash at its beginning, in the one form
     *     of paths
     */
    static Asked read(String ecosystem, String rest) {
        return switch (ecosystem) {
            case "pypi" -> pypi(rest);
            case "npm" -> npm(rest);
            case "maven" -> maven(rest);
            case "debian" -> debian(rest);
            default -> NOTHING;
        };
    }

    private static Asked pypi(String rest) {
        String name = rest.endsWith("/") ? rest.substring(0, rest.length() - 1) : rest;
        String normal = PackageNames.normal("pypi", name);
        return PackageNames.isPypi(normal) ? new Asked.Index(normal) : NOTHING;
    }

    private static Asked npm(String rest) {
        if (NPM_COMMON.contains(rest)) {
            return new Asked.Common();
        }
        int file = rest.indexOf("/-/");
        String name = file < 0 ? rest : rest.substring(0, file);
        if (!PackageNames.isNpm(name)) {
            return NOTHING;
        }
        if (file < 0) {
            return new Asked.Index(name);
        }
        String tail = rest.substring(rest.lastIndexOf('/') + 1);
        String start = name.substring(name.indexOf('/') + 1) + "-";
        return tail.startsWith(start) && tail.endsWith(".tgz") && tail.length() > start.length() + 4
                ? new Asked.File(name, tail.substring(start.length(), tail.length() - 4), true)
                : NOTHING;
    }

    private static Asked maven(String rest) {
        String[] parts = rest.split("/", MAX_SEGMENTS);
        int last = parts.length - 1;
        String file = parts[last];
        if (file.startsWith("maven-metadata.xml")) {
            return new Asked.Common();
        }
        if (last < 3 || last == MAX_SEGMENTS - 1) {
            return NOTHING;
        }
        String artifact = parts[last - 2];
        String version = parts[last - 1];
        // A snapshot's file has a time in the place of the word.
        String base =
                version.endsWith("-SNAPSHOT")
                        ? version.substring(0, version.length() - "SNAPSHOT".length())
                        : version;
        if (artifact.isEmpty() || base.isEmpty() || !file.startsWith(artifact + "-" + base)) {
            return NOTHING;
        }
        String group = String.join(".", List.of(parts).subList(0, last - 2));
        boolean check = CHECKS.stream().anyMatch(file::endsWith);
        return new Asked.File(group + ":" + artifact, version, !check);
    }

    private static Asked debian(String rest) {
        String file = rest.substring(rest.lastIndexOf('/') + 1);
        String lower = file.toLowerCase(Locale.ROOT);
        if (lower.endsWith(".deb") || lower.endsWith(".udeb")) {
            String[] parts = file.split("_", 4);
            return parts.length == 3 && !parts[0].isEmpty() && !parts[1].isEmpty()
                    ? new Asked.File(parts[0], parts[1], true)
                    : NOTHING;
        }
        boolean list = DEBIAN_LISTS.stream().anyMatch(file::startsWith);
        return rest.contains("/pool/") || rest.startsWith("pool/") || !(list || inDists(rest))
                ? NOTHING
                : new Asked.Common();
    }

    private static boolean inDists(String path) {
        return path.startsWith("dists/") || path.contains("/dists/");
    }
}
