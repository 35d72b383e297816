package dev.caisson.conformance;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;

/** What the host shows of sandboxes: cgroup files, /proc, host-wide counters. Reads only. */
final class HostView {
    private static final Path CGROUPS = Path.of("/sys/fs/cgroup");

    private HostView() {}

    /** A process of the host. */
    record Seen(long pid, long parent, String name, char state) {}

    /**
     * A file's text; empty when it is not there or its process ended. Read in large pieces: many
     * files of /proc/sys end after the first, and {@link Files#readString} takes one byte to begin
     * with.
     */
    static Optional<String> text(Path file) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (InputStream in = Files.newInputStream(file)) {
            byte[] piece = new byte[1 << 16];
            for (int n = in.read(piece); n > 0; n = in.read(piece)) {
                bytes.write(piece, 0, n);
            }
            return Optional.of(bytes.toString(StandardCharsets.UTF_8));
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /** A file's first number; empty when there is none. */
    static Optional<Long> number(Path file) {
        return text(file)
                .map(text -> text.strip().split("\\s+", 2)[0])
                .filter(word -> word.matches("\\d+"))
                .map(Long::parseLong);
    }

    /** The number behind that key in a file of lines {@code key number}. */
    static long field(Path file, String key) {
        return text(file).stream()
                .flatMap(String::lines)
                .filter(line -> line.startsWith(key + " "))
                .mapToLong(line -> Long.parseLong(line.substring(key.length()).strip()))
                .findFirst()
                .orElseThrow(() -> new AssertionError("no " + key + " in " + file));
    }

    /** The folders of a sandbox in all hierarchies that are mounted, by their mount's name. */
    static Map<String, Path> cgroups(String sandbox) {
        Map<String, Path> found = new TreeMap<>();
        for (Path hierarchy : hierarchies()) {
            for (Path group : entries(hierarchy.resolve("caisson"))) {
                Path folder = group.resolve(sandbox);
                if (Files.isDirectory(folder)) {
                    found.put(hierarchy.getFileName().toString(), folder);
                }
            }
        }
        return found;
    }

    private static List<Path> hierarchies() {
        List<Path> all = new ArrayList<>(entries(CGROUPS));
        all.add(CGROUPS);
        all.removeIf(path -> !Files.isDirectory(path.resolve("caisson")));
        return all;
    }

    /** Whether this host limits with cgroup v2. */
    static boolean limitsInV2() {
        return text(CGROUPS.resolve("cgroup.controllers")).orElse("").contains("memory");
    }

    /** The folder that holds a controller's files for a sandbox. */
    static Path cgroup(String sandbox, String controller) {
        Map<String, Path> all = cgroups(sandbox);
        Path folder = all.get(limitsInV2() ? CGROUPS.getFileName().toString() : controller);
        if (folder == null) {
            throw new AssertionError("no " + controller + " cgroup of " + sandbox + " in " + all);
        }
        return folder;
    }

    /** A number of a controller, by its file's name in v1 and in v2. */
    static long number(String sandbox, String controller, String v1, String v2) {
        Path file = cgroup(sandbox, controller).resolve(limitsInV2() ? v2 : v1);
        return number(file).orElseThrow(() -> new AssertionError("no number in " + file));
    }

    /** Memory in use, as the host counts it. */
    static long memory(String sandbox) {
        return number(sandbox, "memory", "memory.usage_in_bytes", "memory.current");
    }

    /** Processes and threads, as the host counts them; the spawner is one of them. */
    static long pids(String sandbox) {
        return number(sandbox, "pids", "pids.current", "pids.current");
    }

    /** The host's pids of everything that runs in a sandbox, except for its agent. */
    static Set<Long> processes(String sandbox) {
        Set<Long> found = new TreeSet<>();
        for (Path folder : cgroups(sandbox).values()) {
            try (Stream<Path> tree = Files.walk(folder)) {
                tree.filter(path -> path.endsWith("cgroup.procs"))
                        .forEach(file ->
                                text(file).stream()
                                        .flatMap(String::lines)
                                        .map(Long::valueOf)
                                        .forEach(found::add));
            } catch (IOException | UncheckedIOException e) {
                // An exec's group was removed meanwhile.
            }
        }
        return found;
    }

    /** Every process of the host. */
    static Map<Long, Seen> all() {
        Map<Long, Seen> found = new HashMap<>();
        for (Path folder : entries(Path.of("/proc"))) {
            if (Character.isDigit(folder.getFileName().toString().charAt(0))) {
                text(folder.resolve("stat"))
                        .map(HostView::parse)
                        .ifPresent(s -> found.put(s.pid(), s));
            }
        }
        return found;
    }

    private static Seen parse(String stat) {
        int open = stat.indexOf('(');
        int close = stat.lastIndexOf(')');
        String[] rest = stat.substring(close + 2).split(" ", 3);
        return new Seen(
                Long.parseLong(stat.substring(0, open).strip()),
                Long.parseLong(rest[1]),
                stat.substring(open + 1, close),
                rest[0].charAt(0));
    }

    /** A process and all beneath it that live. */
    static Set<Long> tree(long root) {
        Map<Long, Seen> all = all();
        Set<Long> found = new TreeSet<>();
        all.keySet()
                .forEach(pid -> {
                    if (descends(all, pid, root)) {
                        found.add(pid);
                    }
                });
        return found;
    }

    private static boolean descends(Map<Long, Seen> all, long pid, long root) {
        for (Seen at = all.get(pid); at != null; at = all.get(at.parent())) {
            if (at.pid() == root) {
                return true;
            }
        }
        return false;
    }

    /** Processes whose arguments hold that text. */
    static Set<Long> withArgument(String text) {
        Set<Long> found = new TreeSet<>();
        for (Path folder : entries(Path.of("/proc"))) {
            if (Character.isDigit(folder.getFileName().toString().charAt(0))
                    && text(folder.resolve("cmdline")).orElse("").contains(text)) {
                found.add(Long.valueOf(folder.getFileName().toString()));
            }
        }
        return found;
    }

    /** Counters that all of the host shares, by name. */
    static Map<String, Long> counters() {
        Map<String, Long> now = new TreeMap<>();
        Path sys = Path.of("/proc/sys");
        now.put("aio-nr", number(sys.resolve("fs/aio-nr")).orElse(0L));
        now.put("pty", number(sys.resolve("kernel/pty/nr")).orElse(0L));
        now.put("file-nr", number(sys.resolve("fs/file-nr")).orElse(0L));
        now.put("keys", text(Path.of("/proc/keys")).orElse("").lines().count());
        now.put("inotify", inotifyInstancesOfRoot());
        now.put("pids", (long) all().size());
        return now;
    }

    private static long inotifyInstancesOfRoot() {
        long found = 0;
        for (Path folder : entries(Path.of("/proc"))) {
            if (Character.isDigit(folder.getFileName().toString().charAt(0))
                    && owner(folder) == 0) {
                found += entries(folder.resolve("fd")).stream().filter(HostView::isInotify).count();
            }
        }
        return found;
    }

    static boolean isInotify(Path descriptor) {
        try {
            return Files.readSymbolicLink(descriptor).toString().contains("inotify");
        } catch (IOException e) {
            return false;
        }
    }

    /** The host's uid of a file or process folder; -1 when it is gone. */
    static int owner(Path path) {
        try {
            return Files.getAttribute(path, "unix:uid") instanceof Integer uid ? uid : -1;
        } catch (IOException e) {
            return -1;
        }
    }

    /** What is in a folder; nothing when it is gone. */
    static List<Path> entries(Path folder) {
        List<Path> found = new ArrayList<>();
        try (DirectoryStream<Path> stream = Files.newDirectoryStream(folder)) {
            stream.forEach(found::add);
        } catch (IOException | java.nio.file.DirectoryIteratorException e) {
            // Gone, or gone meanwhile.
        }
        return found;
    }
}
