package dev.caisson.egress;

import dev.caisson.api.CaissonException;
import dev.caisson.policy.HostName;
import dev.caisson.policy.IpAddress;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Which names of a sandbox stand behind which synthetic addresses. A name keeps its address as long
 * as the sandbox lives: the table is read from its file after a restart. Safe for use by several
 * threads.
 */
final class NameTable {
    /** Names of a sandbox. */
    static final int MAX = 10_000;

    private final SandboxKey sandbox;
    private final SyntheticRanges ranges;
    private final Appender file;
    // Guarded by this.
    private final Map<String, Integer> indexes = new HashMap<>();
    private final Map<Integer, HostName> names = new HashMap<>();
    private boolean closed;

    /** Keeps a line. */
    @FunctionalInterface
    interface Appender {
        void append(String line) throws IOException;
    }

    /**
     * A table.
     *
     * @param lines what an earlier one kept; those that are none, or beyond the range of today, are
     *     left out
     */
    NameTable(SandboxKey sandbox, SyntheticRanges ranges, List<String> lines, Appender file) {
        this.sandbox = sandbox;
        this.ranges = ranges;
        this.file = file;
        lines.forEach(this::restore);
    }

    private void restore(String line) {
        int space = line.indexOf(' ');
        try {
            int index = Integer.parseInt(line.substring(0, Math.max(0, space)));
            HostName name = HostName.of(line.substring(space + 1));
            if (index >= 1 && index <= ranges.last() && names.size() < MAX) {
                bind(name, index);
            }
        } catch (NumberFormatException | CaissonException e) {
            // The last line may be cut off; its name gets its address again when it is asked for.
        }
    }

    private void bind(HostName name, int index) {
        if (!indexes.containsKey(name.value()) && names.putIfAbsent(index, name) == null) {
            indexes.put(name.value(), index);
        }
    }

    /**
     * The index of a name, a new one when it has none.
     *
     * @return empty when there are too many names, or the sandbox is gone
     * @throws IOException when it cannot be kept
     */
    synchronized Optional<Integer> index(HostName name) throws IOException {
        Integer known = indexes.get(name.value());
        if (known != null) {
            return Optional.of(known);
        }
        if (closed || names.size() >= Math.min(MAX, ranges.last() / 2)) {
            return Optional.empty();
        }
        int index = start(name);
        while (names.containsKey(index)) {
            index = index == ranges.last() ? 1 : index + 1;
        }
        file.append(index + " " + name + "\n");
        bind(name, index);
        return Optional.of(index);
    }

    /** No name is added any more, and nothing written. */
    synchronized void close() {
        closed = true;
    }

    /** The same in each life of a sandbox, another one in another sandbox. */
    private int start(HostName name) {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            digest.update((sandbox.id() + "\0").getBytes(StandardCharsets.UTF_8));
            byte[] hash = digest.digest(name.value().getBytes(StandardCharsets.UTF_8));
            return (int) Long.remainderUnsigned(ByteBuffer.wrap(hash).getLong(), ranges.last()) + 1;
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("Every JDK has SHA-256", e);
        }
    }

    /** The name behind an address; empty when it is synthetic and nobody's, or not synthetic. */
    synchronized Optional<HostName> name(IpAddress address) {
        return Optional.ofNullable(names.get(ranges.index(address)));
    }
}
