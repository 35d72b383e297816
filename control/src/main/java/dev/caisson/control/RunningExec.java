package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.EndReason;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.EventType;
import dev.caisson.api.ExecReason;
import dev.caisson.api.ExecResult;
import dev.caisson.api.Limit;
import dev.caisson.api.OutputFd;
import dev.caisson.api.Usage;
import dev.caisson.core.ExecSink;
import dev.caisson.core.HostedExec;
import dev.caisson.v1.ResultJson;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An exec of this server from its start to its durable end. Takes what the exec tells, keeps it,
 * and writes the end before anybody hears of it. The lock guards the document.
 */
final class RunningExec implements ExecSink {
    private static final Logger LOG = LoggerFactory.getLogger(RunningExec.class);
    private static final long RETRY_MILLIS = 500;
    private static final long REST_NANOS = 100_000_000;

    final String id;
    final OutputLog log;

    private final Parts parts;
    private final Box box;
    private final AutoCloseable place;
    private final CompletableFuture<ExecDoc> end = new CompletableFuture<>();
    private final ExecStart start;

    private final ReentrantLock lock = new ReentrantLock();
    private ExecDoc doc; // guarded by lock; replaced, never changed
    private CompletableFuture<Boolean> cut = new CompletableFuture<>(); // guarded by lock
    private boolean ending; // guarded by lock: its last document is on its way
    private boolean killed; // guarded by lock: before it began
    private @Nullable HostedExec hosted; // guarded by lock

    private final ReentrantLock input = new ReentrantLock();
    private final AtomicBoolean closed = new AtomicBoolean();
    private volatile boolean outputDenied;
    private volatile boolean hurries;
    private volatile Turns.@Nullable Turn turn;

    /**
     * An exec whose row is written or on its way.
     *
     * @param place in the tenant's quota, closed at its end
     */
    RunningExec(Parts parts, Box box, ExecDoc doc, OutputLog log, AutoCloseable place) {
        this.parts = parts;
        this.box = box;
        this.doc = doc;
        this.id = doc.id;
        this.log = log;
        this.place = place;
        this.start = new ExecStart(parts, id, end);
    }

    /** What it holds until it has begun. */
    void turn(Turns.Turn given) {
        turn = given;
    }

    private void begun() {
        Turns.Turn held = turn;
        if (held != null) {
            held.done();
            turn = null;
        }
    }

    /** Its way to the store. */
    ExecStart start() {
        return start;
    }

    /** It has begun; killed at once when that was asked for meanwhile. */
    void hosted(HostedExec newHosted) {
        boolean kill;
        lock.lock();
        try {
            hosted = newHosted;
            if (cut.isDone()) {
                cut = new CompletableFuture<>();
            }
            kill = killed;
        } finally {
            lock.unlock();
        }
        if (kill) {
            newHosted.kill();
        }
    }

    @Nullable HostedExec hosted() {
        lock.lock();
        try {
            return hosted;
        } finally {
            lock.unlock();
        }
    }

    /** Held by the one who writes to its standard input. */
    ReentrantLock input() {
        return input;
    }

    /** Kills it, also before it has begun. */
    void kill() {
        HostedExec begun;
        boolean waiting;
        lock.lock();
        try {
            begun = hosted;
            killed = true;
            waiting = doc.state.equals(ExecDoc.WAITING);
        } finally {
            lock.unlock();
        }
        if (begun != null) {
            begun.kill();
        } else if (waiting) {
            failed(
                    CaissonException.of(
                            ErrorCode.CANCELLED, "It was killed before it was approved."));
        }
    }

    /**
     * Whether it may begin now that it was approved; false: it was killed, or its sandbox is over.
     */
    boolean approved() {
        lock.lock();
        try {
            if (ending || killed || !doc.state.equals(ExecDoc.WAITING)) {
                return false;
            }
            ExecDoc next = doc.copy();
            next.state = ExecDoc.STARTING;
            doc = next;
            return true;
        } finally {
            lock.unlock();
        }
    }

    Box box() {
        return box;
    }

    /**
     * Completed with the last document when the end is durable; fails with a {@link
     * CaissonException} when another server took over before.
     */
    CompletableFuture<ExecDoc> end() {
        return end;
    }

    /** Waits for the last document. */
    ExecDoc last() {
        try {
            return end.join();
        } catch (CompletionException e) {
            throw e.getCause() instanceof CaissonException cause ? cause : e;
        }
    }

    ExecDoc doc() {
        lock.lock();
        try {
            return doc;
        } finally {
            lock.unlock();
        }
    }

    /** Changes the document. */
    void change(java.util.function.Consumer<ExecDoc> change) {
        lock.lock();
        try {
            ExecDoc next = doc.copy();
            change.accept(next);
            doc = next;
        } finally {
            lock.unlock();
        }
    }

    // ---- what it tells

    private long now() {
        return parts.ledger().now().toEpochMilli();
    }

    @Override
    public void started(long seq, long pid) {
        begun();
        change(exec -> {
            exec.pid = pid;
            exec.state = ExecDoc.RUNNING;
        });
        keep(new OutputRecord(OutputRecord.Kind.STARTED, seq, 0, now(), OutputRecord.number(pid)));
    }

    @Override
    public void output(long seq, OutputFd fd, long offset, ByteBuffer data) {
        int size = data.remaining();
        keep(new OutputRecord(OutputRecord.Kind.outputOf(index(fd)), seq, offset, now(), data));
        if (!parts.quotas().output(box.tenant, size) && !outputDenied) {
            HostedExec running = hosted();
            if (running != null) {
                outputDenied = true;
                running.kill();
            }
        }
        rest(parts.pace().wrote(box.tenant, size));
    }

    /** Its sandbox ends: what it has written is taken at once, and its own end with it. */
    void hurry() {
        hurries = true;
    }

    /** Meanwhile nothing more is taken, and the program waits once the agent has no room. */
    private void rest(long nanos) {
        long end = System.nanoTime() + nanos;
        long left = nanos;
        try {
            while (left > 0 && !hurries && !box.over.isDone()) {
                TimeUnit.NANOSECONDS.sleep(Math.min(left, REST_NANOS));
                left = end - System.nanoTime();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** A full disk of the host must not lose output: the program waits until there is room. */
    private void keep(OutputRecord record) {
        while (true) {
            try {
                log.append(record);
                return;
            } catch (CaissonException e) {
                LOG.atWarn()
                        .addKeyValue("exec", id)
                        .addKeyValue("cause", e.message())
                        .log("output cannot be kept, waiting");
                if (!pause()) {
                    return;
                }
            }
        }
    }

    private boolean pause() {
        try {
            TimeUnit.MILLISECONDS.sleep(RETRY_MILLIS);
            return !box.over.isDone();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private static int index(OutputFd fd) {
        return switch (fd) {
            case STDOUT -> 0;
            case STDERR -> 1;
            case PTY, UNKNOWN -> 2;
        };
    }

    @Override
    public void gap(long seq, OutputFd fd, long offset, long bytes) {
        keep(
                new OutputRecord(
                        OutputRecord.Kind.gapOf(index(fd)),
                        seq,
                        offset,
                        now(),
                        OutputRecord.number(bytes)));
    }

    @Override
    public void limitHit(long seq, Limit limit) {
        keep(
                new OutputRecord(
                        OutputRecord.Kind.LIMIT,
                        seq,
                        0,
                        now(),
                        ByteBuffer.wrap(limit.value().getBytes(StandardCharsets.UTF_8))));
        Ledger.Subject about = doc().subject();
        start.write();
        parts.ledger()
                .actSoon(tx -> {
                    parts.ledger().event(tx, EventType.LIMIT_HIT, about, limit.value(), Map.of());
                });
    }

    @Override
    public void ended(long seq, ExecResult result) {
        if (seq == 0) {
            // Only the connection ended. The sandbox's fate decides: it is found again, or over.
            cut().complete(true);
            return;
        }
        finish(result);
    }

    private CompletableFuture<Boolean> cut() {
        lock.lock();
        try {
            return cut;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void failed(CaissonException cause) {
        write(
                last -> {
                    last.state = ExecDoc.FAILED;
                    last.error = Forms.error(cause, null);
                },
                EventType.EXEC_FAILED,
                cause.code().value(),
                null);
    }

    private void finish(ExecResult result) {
        long[] totals = log.totals();
        ResultJson form = Forms.result(result);
        byte[] small = finishedLog();
        write(
                last -> {
                    last.state = ExecDoc.ENDED;
                    last.result = form;
                    last.outputBytes = totals[0] + totals[1] + totals[2];
                    last.written = totals;
                    last.log = small == null ? null : Base64.getEncoder().encodeToString(small);
                    last.keeper = small == null ? parts.node() : null;
                },
                EventType.EXEC_ENDED,
                result.reason().value(),
                result);
    }

    private byte @Nullable [] finishedLog() {
        while (true) {
            try {
                return log.finish();
            } catch (CaissonException e) {
                if (!pause()) {
                    return null;
                }
            }
        }
    }

    /** The sandbox is over: so is this, if its own end did not come in time. */
    void sandboxOver(EndReason reason, long waitMillis) {
        try {
            CompletableFuture.anyOf(end, cut()).get(Math.max(0, waitMillis), TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (ExecutionException | TimeoutException e) {
            // It has not ended by itself.
        }
        if (!end.isDone()) {
            over(reason);
        }
    }

    private void over(EndReason reason) {
        boolean lost = reason == EndReason.LOST || reason == EndReason.HOST_RESTARTED;
        finish(
                new ExecResult(
                        OptionalInt.empty(),
                        OptionalInt.empty(),
                        lost ? ExecReason.LOST : ExecReason.SANDBOX_ENDED,
                        List.of(),
                        dev.caisson.api.CapturedOutput.EMPTY,
                        dev.caisson.api.CapturedOutput.EMPTY,
                        List.of(),
                        List.of(),
                        List.of(),
                        Usage.NONE,
                        List.of()));
    }

    /**
     * Writes the last document, before anybody sees it; goes on trying, since the agent keeps the
     * end until it is taken.
     */
    private void write(
            java.util.function.Consumer<ExecDoc> change,
            EventType type,
            String reason,
            @Nullable ExecResult result) {
        ExecDoc last;
        lock.lock();
        try {
            if (ending) {
                return;
            }
            ending = true;
            last = doc.copy();
        } finally {
            lock.unlock();
        }
        ExecStart.Written first = start.takeAlong();
        change.accept(last);
        last.endedAt = parts.ledger().now();
        try {
            parts.durably("exec", id, () -> commit(first, last, type, reason, result));
            if (result == null) {
                parts.ledger().counts().execFailed();
            } else {
                parts.ledger().counts().execEnded(result.reason());
            }
        } catch (CaissonException e) {
            close();
            end.completeExceptionally(e);
            return;
        }
        lock.lock();
        try {
            doc = last;
        } finally {
            lock.unlock();
        }
        close();
        end.complete(last);
    }

    private void commit(
            ExecStart.@Nullable Written first,
            ExecDoc last,
            EventType type,
            String reason,
            @Nullable ExecResult result) {
        Row row = last.row(1, null, parts.ledger().now().plus(parts.config().endedKept()));
        Map<String, Object> data = new HashMap<>();
        if (result != null) {
            data.putAll(Forms.data(result.usage()));
            result.exitCode().ifPresent(code -> data.put("exitCode", (long) code));
            result.signal().ifPresent(signal -> data.put("signal", (long) signal));
            data.put("outputBytes", last.outputBytes);
        }
        parts.ledger()
                .act(tx -> {
                    if (first != null) {
                        first.event().run(tx);
                    }
                    ExecRows.put(tx, row);
                    parts.ledger().event(tx, type, last.subject(), reason, data);
                    if (result != null) {
                        parts.meter().exec(tx, last.subject(), result.usage(), last.outputBytes);
                    }
                });
    }

    /** It never was: nobody knows it. */
    void abandon() {
        lock.lock();
        try {
            ending = true;
        } finally {
            lock.unlock();
        }
        start.forget();
        close();
        end.completeExceptionally(
                CaissonException.of(ErrorCode.CANCELLED, "The exec " + id + " was not started."));
    }

    private void close() {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        log.complete();
        box.execs.remove(id, this);
        box.touch(parts.ledger().now());
        try {
            place.close();
        } catch (Exception e) {
            throw new IllegalStateException("Giving back a place in a quota never fails.", e);
        }
    }
}
