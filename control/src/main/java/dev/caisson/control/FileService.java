package dev.caisson.control;

import dev.caisson.v1.WatchJson;
import java.io.IOException;

/** Files in sandboxes. Paths are absolute or below /work. */
public interface FileService extends ContentService {
    /** Tells what happens in a folder until the sink throws, or the sandbox ends; blocks. */
    void watch(Caller caller, String sandbox, String path, boolean recursive, WatchSink sink)
            throws IOException;

    /** Takes what happened; also called now and then with a keepalive. */
    @FunctionalInterface
    interface WatchSink {
        /** One event. */
        void accept(WatchJson event) throws IOException;
    }
}
