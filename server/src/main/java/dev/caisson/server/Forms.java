package dev.caisson.server;

import dev.caisson.v1.ErrorJson;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Small forms of single routes, which {@code v1} does not have. */
final class Forms {
    private Forms() {}

    /** What every error answer is. */
    public record ErrorBody(ErrorJson error) {}

    /** A name for a Linux user. */
    public record UserRequest(String name) {}

    /** A Linux user inside. */
    public record UserJson(String name, int uid, int gid, String home) {}

    /** A signal's number; {@code whole}: to all processes of the exec. */
    public record SignalRequest(int signal, @Nullable Boolean whole) {}

    /** What a link is for: {@code GET} or {@code PUT}. */
    public record LinkRequest(
            String path, @Nullable String method, @Nullable Long expiresInMillis) {}

    /** The size that a pool is to have. */
    public record PoolPatch(int size) {}

    /** The last event that needs no delivery any more. */
    public record ReplayRequest(long afterSeq) {}

    /** A root file system. */
    public record TemplateJson(String name) {}

    /** How many entries an archive had. */
    public record UnpackJson(long entries) {}

    /** A list that has no pages. */
    public record Items<T>(List<T> items) {
        /** Copies the list. */
        public Items {
            items = List.copyOf(items);
        }
    }

    /** The object that keeps a stream of other forms alive. */
    public record KeepaliveJson(String id, Instant time, String type) {}

    /** The object that ends a stream of other forms early. */
    public record StreamErrorJson(String id, Instant time, String type, ErrorJson error) {}
}
