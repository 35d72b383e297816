package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.core.Ids;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Where a reader of a sandbox's log is: the newest exec that it has begun to read, and how far it
 * is in those that it has not read to their end. Written {@code MILLIS-EXEC}, then {@code
 * _EXEC-PLACE} for each of those. Used by one thread at a time.
 */
final class LogPlace {
    /** Of an id, which comes back in the head of a request. */
    private static final int MAX_LENGTH = 12 << 10;

    private static final int MAX_OPEN = 200;

    private long newest;
    private String newestId = "";
    private final Map<String, String> open = new TreeMap<>();

    /** The start when null. */
    static LogPlace of(@Nullable String id) {
        LogPlace place = new LogPlace();
        if (id == null || id.isEmpty() || id.equals("0")) {
            return place;
        }
        try {
            place.read(id);
            return place;
        } catch (IllegalArgumentException e) {
            throw CaissonException.invalid("after", "This is not the id of an item of a log.")
                    .withRemedy("Give the id of the last item that you have, or none.");
        }
    }

    private void read(String id) {
        if (id.length() > MAX_LENGTH) {
            throw new IllegalArgumentException("too long");
        }
        Map<String, String> pairs = new LinkedHashMap<>();
        String[] parts = id.split("_", -1);
        for (String part : parts) {
            int dash = part.indexOf('-');
            pairs.put(part.substring(0, Math.max(dash, 0)), part.substring(dash + 1));
        }
        Map.Entry<String, String> first = pairs.entrySet().iterator().next();
        newest = Long.parseLong(first.getKey());
        newestId = checked(first.getValue());
        pairs.remove(first.getKey());
        pairs.forEach((exec, at) -> open.put(checked(exec), Place.of(at).toString()));
    }

    private static String checked(String exec) {
        if (!Ids.matches(Ids.Kind.EXEC, exec)) {
            throw new IllegalArgumentException("no exec");
        }
        return exec;
    }

    /** Whether all of an exec was read. */
    boolean past(long created, String exec) {
        boolean begun = created < newest || (created == newest && exec.compareTo(newestId) <= 0);
        return begun && !open.containsKey(exec);
    }

    /** What was read of an exec last; null: nothing. */
    @Nullable String after(String exec) {
        return open.get(exec);
    }

    /** An exec is being read from here on. */
    void begin(long created, String exec) {
        open.putIfAbsent(exec, Place.of(null).toString());
        if (created > newest || (created == newest && exec.compareTo(newestId) > 0)) {
            newest = created;
            newestId = exec;
        }
    }

    /** An item of an exec is told. */
    void see(String exec, String item) {
        open.put(exec, item);
    }

    /** Nothing more comes of an exec. */
    void end(String exec) {
        open.remove(exec);
    }

    /** Of more than can be named a client begins anew. */
    @Override
    public String toString() {
        if (newestId.isEmpty() || open.size() > MAX_OPEN) {
            return "0";
        }
        StringBuilder text = new StringBuilder().append(newest).append('-').append(newestId);
        open.forEach((exec, at) -> text.append('_').append(exec).append('-').append(at));
        return text.toString();
    }
}
