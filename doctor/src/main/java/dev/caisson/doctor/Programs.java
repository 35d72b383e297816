package dev.caisson.doctor;

import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Programs of the host: those that are needed, and runtimes against their minimum versions. */
final class Programs {
    private static final Pattern RELEASE = Pattern.compile("release-([0-9]{8})");
    private static final Duration OLD = Duration.ofDays(180);

    /**
     * The first versions with the known fixes, by branch; written in November 2026, to be looked at
     * again before a release.
     */
    private static final List<Minimum> MINIMUMS =
            List.of(
                    new Minimum("runc", "1.3.6", "1.4.3", "1.5.0"),
                    new Minimum("crun", "1.28"),
                    new Minimum("containerd", "1.7.33", "2.0.10", "2.1.9", "2.2.5", "2.3.2"),
                    new Minimum("docker", "29.4.3"),
                    new Minimum("buildkitd", "0.31.2"),
                    new Minimum("firecracker", "1.14.4", "1.15.1"));

    private final Host host;
    private final Instant now;

    /** The good versions of a program. */
    private record Minimum(String program, List<Version> fixed) {
        Minimum(String program, String... fixed) {
            this(program, Version.list(fixed));
        }
    }

    Programs(Host host, Instant now) {
        this.host = host;
        this.now = now;
    }

    List<Finding> look() {
        List<Finding> findings = new ArrayList<>();
        findings.add(needed("mke2fs"));
        findings.add(forSnapshots("e2fsck"));
        findings.add(forSnapshots("resize2fs"));
        MINIMUMS.forEach(minimum -> findings.add(runtime(minimum)));
        findings.add(runsc());
        findings.add(qemu());
        return findings;
    }

    private Finding needed(String program) {
        return host.program(program)
                .map(path -> Finding.ok("program." + program, path.toString()))
                .orElseGet(() ->
                        Finding.missing(
                                "program." + program,
                                "not installed: disks of sandboxes cannot be made",
                                "install e2fsprogs"));
    }

    private Finding forSnapshots(String program) {
        return host.program(program)
                .map(path -> Finding.ok("program." + program, path.toString()))
                .orElseGet(() ->
                        Finding.warn(
                                "program." + program,
                                "not installed: no snapshots, no volumes",
                                "install e2fsprogs"));
    }

    /** Nothing here uses them in this version, but they share the kernel. */
    private Finding runtime(Minimum minimum) {
        String name = "version." + minimum.program();
        if (host.program(minimum.program()).isEmpty()) {
            return Finding.ok(name, "not installed, not needed");
        }
        Optional<Version> version = host.run(minimum.program(), "--version").flatMap(Version::find);
        if (version.isEmpty()) {
            return Finding.warn(name, "does not tell its version", "see whether it works");
        }
        String found = version.get().toString();
        return version.get().has(minimum.fixed())
                ? Finding.ok(name, found)
                : Finding.warn(
                        name,
                        found,
                        "upgrade to "
                                + String.join(
                                        " or ",
                                        minimum.fixed().stream().map(Version::toString).toList())
                                + ", or see in the package's changelog that its fixes are there");
    }

    private Finding runsc() {
        String name = "version.runsc";
        if (host.program("runsc").isEmpty()) {
            return Finding.ok(name, "not installed, not needed");
        }
        String text = host.run("runsc", "--version").orElse("");
        Matcher release = RELEASE.matcher(text);
        if (!release.find()) {
            return Finding.warn(
                    name, "not a release: " + first(text), "install a release of gvisor.dev");
        }
        Instant made =
                LocalDate.parse(release.group(1), DateTimeFormatter.BASIC_ISO_DATE)
                        .atStartOfDay()
                        .toInstant(ZoneOffset.UTC);
        return Duration.between(made, now).compareTo(OLD) < 0
                ? Finding.ok(name, release.group())
                : Finding.warn(
                        name, release.group() + ", older than half a year", "upgrade gVisor");
    }

    /** No number is known from which on it is good: distributions bring fixes to old ones. */
    private Finding qemu() {
        String name = "version.qemu";
        if (host.program("qemu-system-x86_64").isEmpty()) {
            return Finding.ok(name, "not installed, not needed");
        }
        return Finding.ok(name, first(host.run("qemu-system-x86_64", "--version").orElse("?")));
    }

    private static String first(String text) {
        return text.lines().findFirst().orElse("");
    }
}
