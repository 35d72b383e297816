package dev.caisson.egress;

import java.util.List;
import java.util.Locale;

/** Reads the names of Python's files. */
final class PypiFiles {
    private static final List<String> SOURCES =
            List.of(".tar.gz", ".zip", ".tar.bz2", ".tar.xz", ".tgz", ".tar.z", ".tar");
    private static final int MAX = 512;

    private PypiFiles() {}

    /**
     * The version of a file.
     *
     * @param name of the package, in its one form
     * @return empty: the file is none of that package
     */
    static String version(String name, String file) {
        String lower = file.toLowerCase(Locale.ROOT);
        if (file.length() > MAX) {
            return "";
        }
        if (lower.endsWith(".whl")) {
            String[] parts = lower.substring(0, lower.length() - 4).split("-", -1);
            boolean fits = parts.length == 5 || parts.length == 6;
            return fits && PackageNames.normal("pypi", parts[0]).equals(name) ? parts[1] : "";
        }
        if (lower.endsWith(".egg")) {
            String[] parts = lower.substring(0, lower.length() - 4).split("-", -1);
            return parts.length > 1 && PackageNames.normal("pypi", parts[0]).equals(name)
                    ? parts[1]
                    : "";
        }
        return SOURCES.stream()
                .filter(lower::endsWith)
                .findFirst()
                .map(end -> source(name, lower.substring(0, lower.length() - end.length())))
                .orElse("");
    }

    // Old files have hyphens in the name, so the name says where the version begins.
    private static String source(String name, String stem) {
        int dashes = 0;
        for (int at = stem.indexOf('-'); at > 0 && dashes < 32; at = stem.indexOf('-', at + 1)) {
            dashes++;
            if (PackageNames.normal("pypi", stem.substring(0, at)).equals(name)) {
                return stem.substring(at + 1);
            }
        }
        return "";
    }
}
