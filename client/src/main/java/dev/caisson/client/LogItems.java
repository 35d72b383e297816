package dev.caisson.client;

import dev.caisson.v1.StreamItem;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * The items of a sandbox's logs, each told once: the stream has a position of each exec and none of
 * its own, so it is opened again from its start. One thread.
 */
final class LogItems {
    private final ItemListener listener;
    private final Map<String, Long> ends = new HashMap<>();
    private final Set<String> told = new HashSet<>();

    LogItems(ItemListener listener) {
        this.listener = listener;
    }

    /** Tells what is new of it; true when it is the end of the sandbox. */
    boolean take(StreamItem item) {
        String exec = item.exec();
        Long offset = item.offset();
        if (exec == null) {
            listener.item(item);
            return item.type().equals("exit");
        }
        if (offset == null) {
            if (told.add(exec + " " + item.type() + " " + item.id())) {
                listener.item(item);
            }
            return false;
        }
        output(exec, item, offset);
        return false;
    }

    private void output(String exec, StreamItem item, long offset) {
        String fd = item.fd() == null ? item.type() : item.fd();
        long known = ends.getOrDefault(exec + " " + fd, 0L);
        Long missing = item.bytes();
        byte[] bytes = bytes(item);
        long end = offset + (missing == null ? bytes.length : missing);
        if (end <= known) {
            return;
        }
        ends.put(exec + " " + fd, end);
        boolean whole = offset >= known || missing != null;
        listener.item(whole ? item : rest(item, bytes, known, (int) (known - offset)));
    }

    private static byte[] bytes(StreamItem item) {
        String text = item.text();
        String base64 = item.base64();
        if (text != null) {
            return text.getBytes(StandardCharsets.UTF_8);
        }
        return base64 == null ? new byte[0] : Base64.getDecoder().decode(base64);
    }

    /** What stands behind a position that may lie within a character. */
    private static StreamItem rest(StreamItem item, byte[] bytes, long offset, int from) {
        return new StreamItem(
                item.id(),
                item.time(),
                item.type(),
                null,
                Base64.getEncoder().encodeToString(Arrays.copyOfRange(bytes, from, bytes.length)),
                offset,
                null,
                item.fd(),
                item.exec(),
                item.sandbox(),
                item.run(),
                item.pid(),
                item.limit(),
                item.denied(),
                item.result(),
                item.error());
    }
}
