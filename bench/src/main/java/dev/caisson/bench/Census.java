package dev.caisson.bench;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * What a leak would show in: processes, cgroups, mounts, loop devices, namespaces, descriptors of
 * this program and its children, files. Things are counted by names without ids and numbers, so
 * that two parked children of different sandboxes are the same thing twice.
 *
 * @param counts by kind and name
 */
record Census(Map<String, Integer> counts) {
    private static final Path PROC = Path.of("/proc");
    private static final int KERNEL_THREADS = 2;

    /** Copies the map. */
    Census {
        counts = Map.copyOf(counts);
    }

    /**
     * Counts now.
     *
     * @param folders whose files are counted
     */
    static Census take(List<Path> folders) {
        Counter counter = new Counter();
        counter.processes();
        Cgroup.roots().forEach(root -> counter.folders("cgroup", root));
        counter.loops();
        folders.forEach(folder -> counter.folders("file", folder));
        return new Census(counter.counts);
    }

    /** Everything that is not there as often as in the other, {@code kind name: before -> now}. */
    List<String> changesSince(Census before) {
        Set<String> names = new HashSet<>(before.counts.keySet());
        names.addAll(counts.keySet());
        List<String> changes = new ArrayList<>();
        for (String name : names) {
            int was = before.counts.getOrDefault(name, 0);
            int is = counts.getOrDefault(name, 0);
            if (was != is) {
                changes.add(name + ": " + was + " -> " + is);
            }
        }
        changes.sort(null);
        return changes;
    }

    /** Number of all things of one kind. */
    int total(String kind) {
        return counts.entrySet().stream()
                .filter(entry -> entry.getKey().startsWith(kind + " "))
                .mapToInt(Map.Entry::getValue)
                .sum();
    }

    /** A name without what differs between two things of one sort. */
    static String withoutIds(String name) {
        return name.replaceAll("\\b[a-z]{2}[a-z0-9]{20}\\b", "ID").replaceAll("[0-9]+", "N");
    }

    /** Goes through /proc and /sys; what ends meanwhile is left out. */
    private static final class Counter {
        private final Map<String, Integer> counts = new TreeMap<>();
        private final Set<String> namespaces = new HashSet<>();
        private final Set<Long> ours = new HashSet<>();

        Counter() {
            ours.add(ProcessHandle.current().pid());
            ProcessHandle.current().descendants().forEach(child -> ours.add(child.pid()));
        }

        void add(String kind, String name) {
            counts.merge(kind + " " + withoutIds(name), 1, Integer::sum);
        }

        void processes() {
            for (Path folder : children(PROC)) {
                String name = String.valueOf(folder.getFileName());
                if (name.chars().allMatch(Character::isDigit)) {
                    process(folder, Long.parseLong(name));
                }
            }
        }

        private void process(Path folder, long pid) {
            try {
                // pid (comm) state ppid …; comm may hold anything.
                String stat = Files.readString(folder.resolve("stat"));
                int end = stat.lastIndexOf(')');
                int parent = Integer.parseInt(stat.substring(end + 2).split(" ", -1)[1]);
                if (pid == KERNEL_THREADS || parent == KERNEL_THREADS) {
                    return;
                }
                String name = stat.substring(stat.indexOf('(') + 1, end);
                add("process", name);
                for (Path namespace : children(folder.resolve("ns"))) {
                    namespace(folder, namespace);
                }
                if (ours.contains(pid)) {
                    for (Path descriptor : children(folder.resolve("fd"))) {
                        add("descriptor", name + " " + Files.readSymbolicLink(descriptor));
                    }
                }
            } catch (IOException e) {
                // It ended.
            }
        }

        private void namespace(Path process, Path link) throws IOException {
            String namespace = Files.readSymbolicLink(link).toString();
            if (!namespaces.add(namespace)) {
                return;
            }
            add("namespace", namespace);
            if (namespace.startsWith("mnt:")) {
                for (String mount : Files.readAllLines(process.resolve("mountinfo"))) {
                    // id parent major:minor root target options … - type source options
                    String[] words = mount.split(" ", -1);
                    add(
                            "mount",
                            words[4] + " " + mount.replaceFirst(".* - ", "").split(" ", -1)[0]);
                }
            }
        }

        void loops() {
            for (Path device : children(Path.of("/sys/block"))) {
                if (Files.exists(device.resolve("loop/backing_file"))) {
                    add("loop", "device");
                }
            }
        }

        void folders(String kind, Path folder) {
            for (Path child : children(folder)) {
                boolean below = Files.isDirectory(child, LinkOption.NOFOLLOW_LINKS);
                if (below || kind.equals("file")) {
                    add(kind, child.toString());
                }
                if (below) {
                    folders(kind, child);
                }
            }
        }

        private static List<Path> children(Path folder) {
            List<Path> found = new ArrayList<>();
            try (DirectoryStream<Path> entries = Files.newDirectoryStream(folder)) {
                entries.forEach(found::add);
            } catch (IOException | java.nio.file.DirectoryIteratorException e) {
                // It is gone.
            }
            return found;
        }
    }
}
