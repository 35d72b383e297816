package dev.caisson.mcp;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.v1.ApprovalJson;
import dev.caisson.v1.ExecRequest;
import dev.caisson.v1.FileJson;
import dev.caisson.v1.LimitsJson;
import dev.caisson.v1.Page;
import dev.caisson.v1.RunRequest;
import dev.caisson.v1.SandboxJson;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** A backend in memory that remembers what was asked of it. */
final class FakeBackend implements Backend {
    final Map<String, SandboxJson> sandboxes = new ConcurrentHashMap<>();
    final Map<String, Map<String, byte[]>> files = new ConcurrentHashMap<>();
    final Map<String, FakeWork> works = new ConcurrentHashMap<>();
    final List<String> deleted = new CopyOnWriteArrayList<>();
    final List<String> decisions = new CopyOnWriteArrayList<>();
    final List<RunRequest> runs = new CopyOnWriteArrayList<>();
    final List<ExecRequest> execs = new CopyOnWriteArrayList<>();
    final List<Duration> timeouts = new CopyOnWriteArrayList<>();
    private final AtomicInteger ids = new AtomicInteger();
    volatile String subject = "rm -rf /work/build";
    volatile Map<String, String> details = Map.of();
    volatile boolean decides;
    volatile boolean closed;

    private String id(String prefix) {
        return prefix + String.format("%020d", ids.incrementAndGet());
    }

    @Override
    public SandboxJson create(
            @Nullable String name, Map<String, String> labels, @Nullable Duration asked) {
        Duration timeout = asked == null ? Duration.ofHours(1) : asked;
        timeouts.add(timeout);
        Instant now = Instant.parse("2026-01-01T00:00:00Z");
        SandboxJson made =
                new SandboxJson(
                        id("sb"),
                        name,
                        "local",
                        "ss1",
                        "running",
                        "container",
                        "fake",
                        "host",
                        null,
                        null,
                        labels,
                        LimitsJson.NONE,
                        "denied",
                        List.of(),
                        now,
                        now,
                        now.plus(timeout),
                        "timeout",
                        null,
                        null,
                        "delete",
                        false,
                        null,
                        null,
                        null,
                        null,
                        null,
                        List.of(),
                        "here",
                        1,
                        null);
        sandboxes.put(made.id(), made);
        files.put(made.id(), new ConcurrentHashMap<>());
        return made;
    }

    @Override
    public Page<SandboxJson> list(Map<String, String> labels, int limit, @Nullable String cursor) {
        return new Page<>(new ArrayList<>(sandboxes.values()), null);
    }

    @Override
    public void delete(String sandbox) {
        find(sandbox);
        sandboxes.remove(sandbox);
        deleted.add(sandbox);
    }

    private Map<String, byte[]> find(String sandbox) {
        Map<String, byte[]> found = files.get(sandbox);
        if (found == null || !sandboxes.containsKey(sandbox)) {
            throw CaissonException.of(ErrorCode.NOT_FOUND, "There is no sandbox '" + sandbox + "'.")
                    .withRemedy("Make one with create_sandbox.");
        }
        return found;
    }

    @Override
    public Work run(RunRequest request) {
        runs.add(request);
        String code = request.code();
        String script = code == null ? words(request.argv(), request.command()) : code;
        FakeWork work = new FakeWork(id("rn"), id("sb"), script, request.input());
        works.put(work.id(), work);
        return work;
    }

    private static String words(List<String> argv, @Nullable String command) {
        return command == null ? String.join(" ", argv) : command;
    }

    @Override
    public Work start(String sandbox, ExecRequest request) {
        Map<String, byte[]> inside = find(sandbox);
        execs.add(request);
        String script = words(request.argv(), request.command());
        byte[] code = inside.get(request.argv().isEmpty() ? "" : request.argv().getLast());
        if (code != null) {
            script = new String(code, StandardCharsets.UTF_8);
        }
        if (script.startsWith("image")) {
            inside.put("/work/plot.png", FakeWork.PNG);
            script = "echo drawn";
        }
        FakeWork work = new FakeWork(id("ex"), sandbox, script, request.input());
        works.put(work.id(), work);
        return work;
    }

    @Override
    public Work work(String id) {
        FakeWork work = works.get(id);
        if (work == null) {
            throw CaissonException.of(ErrorCode.NOT_FOUND, "There is no command '" + id + "'.");
        }
        return work;
    }

    @Override
    public FileJson stat(String sandbox, String path) {
        byte[] content = find(sandbox).get(absolute(path));
        if (content == null) {
            throw CaissonException.of(ErrorCode.NOT_FOUND, "There is no file '" + path + "'.");
        }
        return form(absolute(path), content);
    }

    private static String absolute(String path) {
        return path.startsWith("/") ? path : "/work/" + path;
    }

    private static FileJson form(String path, byte[] content) {
        Instant time = Instant.ofEpochSecond(Arrays.hashCode(content) & 0xFFFF);
        String name = path.substring(path.lastIndexOf('/') + 1);
        return new FileJson(path, name, "regular", content.length, 0644, time, null);
    }

    @Override
    public List<FileJson> list(String sandbox, String path, boolean recursive) {
        List<FileJson> all = new ArrayList<>();
        new TreeMap<>(find(sandbox)).forEach((name, content) -> all.add(form(name, content)));
        return all;
    }

    @Override
    public byte[] read(String sandbox, String path, long offset, int length) {
        stat(sandbox, path);
        byte[] all = find(sandbox).getOrDefault(absolute(path), new byte[0]);
        int from = (int) Math.min(offset, all.length);
        int to = (int) Math.min((long) from + length, all.length);
        return Arrays.copyOfRange(all, from, to);
    }

    @Override
    public FileJson write(String sandbox, String path, byte[] content, int mode) {
        find(sandbox).put(absolute(path), content);
        return form(absolute(path), content);
    }

    @Override
    public void remove(String sandbox, String path, boolean recursive) {
        stat(sandbox, path);
        find(sandbox).remove(absolute(path));
    }

    @Override
    public byte[] runFile(String run, String path, int limit) {
        work(run);
        return FakeWork.PNG;
    }

    @Override
    public Optional<ApprovalJson> approval(String id) {
        Instant now = Instant.parse("2026-01-01T00:00:00Z");
        return Optional.of(
                new ApprovalJson(
                        id,
                        "local",
                        "exec",
                        "waiting",
                        null,
                        null,
                        subject,
                        details,
                        "key1",
                        now,
                        now.plusSeconds(300),
                        null,
                        null,
                        null));
    }

    @Override
    public boolean decides() {
        return decides;
    }

    @Override
    public void decide(String approval, boolean approve) {
        decisions.add(approval + " " + approve);
        works.values().stream()
                .filter(work -> approval.equals(work.status().approval()))
                .forEach(work -> work.decided(approve));
    }

    @Override
    public void close() {
        closed = true;
    }
}
