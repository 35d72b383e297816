package dev.caisson.client;

import dev.caisson.api.UserInfo;
import dev.caisson.v1.ExtendRequest;
import dev.caisson.v1.ForkRequest;
import dev.caisson.v1.MetricsJson;
import dev.caisson.v1.Page;
import dev.caisson.v1.PauseRequest;
import dev.caisson.v1.SandboxJson;
import dev.caisson.v1.SandboxPatch;
import dev.caisson.v1.SandboxRequest;
import dev.caisson.v1.StreamItem;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** Sandboxes and their lives; each is named by its id or the name of a living one. */
public final class SandboxesClient {
    private final Http http;

    SandboxesClient(Http http) {
        this.http = http;
    }

    /** Creates one, or finds the one of that name where {@code ifExists} says so. */
    public SandboxJson create(SandboxRequest request) {
        return http.read(Call.create("v1", "sandboxes").json(request), SandboxJson.class);
    }

    /** Newest first; filters {@code state, name, label.k}. */
    public Page<SandboxJson> list(Query query) {
        return http.page(query.on(Call.get("v1", "sandboxes")), SandboxJson.class);
    }

    /** One. */
    public SandboxJson find(String id) {
        return http.read(Call.get("v1", "sandboxes", id), SandboxJson.class);
    }

    /**
     * Changes labels, limits and times.
     *
     * @param version only if it is still that; empty: whatever it is
     */
    public SandboxJson patch(String id, SandboxPatch patch, OptionalLong version) {
        Call call = Call.patch("v1", "sandboxes", id).json(patch);
        if (version.isPresent()) {
            // The second time the version would be another one, by our own doing.
            call.header("If-Match", "\"" + version.getAsLong() + "\"")
                    .again(Call.Again.WHEN_REFUSED);
        }
        return http.read(call, SandboxJson.class);
    }

    /** Ends it; all its processes are dead when this returns. */
    public SandboxJson delete(String id) {
        return http.read(Call.delete("v1", "sandboxes", id), SandboxJson.class);
    }

    /** Moves its end to that long from now. */
    public SandboxJson extend(String id, long timeoutMillis) {
        return http.read(
                Call.post("v1", "sandboxes", id, "extend")
                        .again(Call.Again.ALWAYS)
                        .json(new ExtendRequest(timeoutMillis)),
                SandboxJson.class);
    }

    /** Freezes it. */
    public SandboxJson pause(String id, PauseRequest request) {
        return http.read(
                Call.post("v1", "sandboxes", id, "pause").json(request), SandboxJson.class);
    }

    /** Brings a paused one back. */
    public SandboxJson resume(String id) {
        return http.read(
                Call.post("v1", "sandboxes", id, "resume").json(Map.of()), SandboxJson.class);
    }

    /** Copies of it. */
    public List<SandboxJson> fork(String id, ForkRequest request) {
        return http.items(
                Call.create("v1", "sandboxes", id, "fork").json(request), SandboxJson.class);
    }

    /** Makes a Linux user inside. */
    public UserInfo addUser(String id, String name) {
        User made =
                http.read(
                        Call.post("v1", "sandboxes", id, "users")
                                .again(Call.Again.ALWAYS)
                                .json(Map.of("name", name)),
                        User.class);
        return new UserInfo(
                made.name(),
                made.uid(),
                made.gid(),
                made.home(),
                Objects.requireNonNullElse(made.shell(), "/bin/sh"));
    }

    /** A Linux user as the server tells it. */
    record User(String name, int uid, int gid, String home, @Nullable String shell) {}

    /** What it uses now. */
    public MetricsJson metrics(String id) {
        return http.read(Call.get("v1", "sandboxes", id, "metrics"), MetricsJson.class);
    }

    /**
     * Output that is kept of all its commands, and what comes, once, over broken connections;
     * blocks.
     *
     * @param follow until the sandbox ends, whose item is an {@code exit} of no exec
     */
    public void logs(String id, boolean follow, ItemListener listener) {
        new Follow<>(
                        http,
                        after ->
                                Call.get("v1", "sandboxes", id, "logs")
                                        .query("follow", follow)
                                        .query("after", after),
                        StreamItem.class,
                        StreamItem::id,
                        follow ? Follow.End.LAST_ITEM : Follow.End.ANYHOW)
                .run(
                        item -> {
                            listener.item(item);
                            return follow && item.type().equals("exit") && item.exec() == null;
                        },
                        () -> {});
    }
}
