package dev.caisson.server;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.control.Caller;
import dev.caisson.control.ExecService;
import dev.caisson.control.Follower;
import dev.caisson.control.Listing;
import dev.caisson.v1.ExecJson;
import dev.caisson.v1.ExecRequest;
import dev.caisson.v1.Page;
import dev.caisson.v1.PtyJson;
import dev.caisson.v1.ResultJson;
import dev.caisson.v1.StreamItem;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** Commands whose program is a word: echo, cat, wait, flood. */
final class FakeExecs implements ExecService {
    final AtomicInteger followers = new AtomicInteger();
    final AtomicInteger started = new AtomicInteger();
    final List<String> control = new ArrayList<>();

    /** Whose start is durable. */
    final List<String> settled = new CopyOnWriteArrayList<>();

    /** No start can be made durable. */
    volatile boolean unsettled;

    private final Map<String, Live> lives = new ConcurrentHashMap<>();
    private final AtomicInteger next = new AtomicInteger();

    /** A command; guarded by itself. */
    private static final class Live {
        final String id;
        final String sandbox;
        final List<String> argv;
        final List<StreamItem> items = new ArrayList<>();
        boolean ended;

        Live(String id, String sandbox, List<String> argv) {
            this.id = id;
            this.sandbox = sandbox;
            this.argv = argv;
        }

        synchronized void add(StreamItem item) {
            items.add(item);
            ended = item.type().equals("exit");
            notifyAll();
        }

        synchronized int size() {
            return items.size();
        }
    }

    static StreamItem item(String id, String type) {
        return text(id, type, null);
    }

    static StreamItem text(String id, String type, @Nullable String text) {
        return new StreamItem(
                id,
                Instant.EPOCH,
                type,
                text,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null);
    }

    private Live live(String id) {
        Live live = lives.get(id);
        if (live == null) {
            throw CaissonException.of(ErrorCode.NOT_FOUND, "There is no exec " + id + ".");
        }
        return live;
    }

    private static ExecJson json(Live live) {
        synchronized (live) {
            return new ExecJson(
                    live.id,
                    live.sandbox,
                    "ss" + "0".repeat(20),
                    live.ended ? "ended" : "running",
                    live.argv,
                    "/work",
                    "sandbox",
                    false,
                    1L,
                    Instant.EPOCH,
                    null,
                    live.ended ? (ResultJson) Samples.of(ResultJson.class) : null,
                    null,
                    null);
        }
    }

    @Override
    public void settle(Caller caller, String id) {
        if (unsettled) {
            end(id);
            throw CaissonException.of(ErrorCode.HOST_DISK_FULL, "It cannot be written.");
        }
        settled.add(id);
    }

    @Override
    public ExecJson start(Caller caller, String sandbox, ExecRequest request) {
        String id = "ex%020d".formatted(next.incrementAndGet());
        started.incrementAndGet();
        Live live = new Live(id, sandbox, request.argv());
        lives.put(id, live);
        live.add(item("1", "started"));
        switch (request.argv().isEmpty() ? "echo" : request.argv().getFirst()) {
            case "wait", "cat", "flood" -> {
                // It ends when it is told to.
            }
            case "missing" ->
                    throw CaissonException.of(ErrorCode.COMMAND_NOT_FOUND, "There is no missing.");
            default -> {
                live.add(text("2", "stdout", String.join(" ", request.argv())));
                live.add(item("3", "exit"));
            }
        }
        return json(live);
    }

    void end(String id) {
        Live live = live(id);
        live.add(item(Integer.toString(live.size() + 1), "exit"));
    }

    @Override
    public ExecJson find(Caller caller, String id) {
        return json(live(id));
    }

    @Override
    public Page<ExecJson> list(Caller caller, String sandbox, Listing listing) {
        return new Page<>(lives.values().stream().map(FakeExecs::json).toList(), null);
    }

    @Override
    public Optional<ExecJson> await(Caller caller, String id, Duration longest) {
        Live live = live(id);
        long end = System.nanoTime() + longest.toNanos();
        synchronized (live) {
            while (!live.ended) {
                long millis = (end - System.nanoTime()) / 1_000_000;
                if (millis <= 0) {
                    return Optional.empty();
                }
                try {
                    live.wait(millis);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    return Optional.empty();
                }
            }
        }
        return Optional.of(json(live));
    }

    @Override
    public void follow(Caller caller, String id, @Nullable String after, Follower follower)
            throws IOException {
        Live live = live(id);
        followers.incrementAndGet();
        try {
            if (!live.argv.isEmpty() && live.argv.getFirst().equals("flood")) {
                for (int i = 2; ; i++) {
                    follower.accept(text(Integer.toString(i), "stdout", "x".repeat(64 << 10)));
                }
            }
            int at = after == null ? 0 : Integer.parseInt(after);
            while (true) {
                StreamItem item = next(live, at++);
                follower.accept(item);
                if (item.type().equals("exit")) {
                    return;
                }
            }
        } finally {
            followers.decrementAndGet();
        }
    }

    private static StreamItem next(Live live, int at) throws InterruptedIOException {
        synchronized (live) {
            while (live.items.size() <= at) {
                try {
                    live.wait();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    throw new InterruptedIOException("interrupted");
                }
            }
            return live.items.get(at);
        }
    }

    @Override
    public void input(Caller caller, String id, InputStream data, boolean eof) throws IOException {
        Live live = live(id);
        byte[] bytes = data.readAllBytes();
        if (bytes.length > 0) {
            live.add(
                    text(
                            Integer.toString(live.size() + 1),
                            "pty",
                            new String(bytes, StandardCharsets.UTF_8)));
        }
        if (eof) {
            end(id);
        }
    }

    @Override
    public void signal(Caller caller, String id, int signal, boolean whole) {
        live(id);
        synchronized (control) {
            control.add("signal " + signal + " " + whole);
        }
    }

    @Override
    public ExecJson kill(Caller caller, String id) {
        end(id);
        return json(live(id));
    }

    @Override
    public void resize(Caller caller, String id, PtyJson size) {
        live(id);
        synchronized (control) {
            control.add("resize " + size.rows() + " " + size.cols());
        }
    }

    List<String> controlled() {
        synchronized (control) {
            return List.copyOf(control);
        }
    }
}
