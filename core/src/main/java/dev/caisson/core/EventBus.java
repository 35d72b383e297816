package dev.caisson.core;

import dev.caisson.api.Actor;
import dev.caisson.api.Event;
import dev.caisson.api.EventSink;
import dev.caisson.api.EventType;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;

/** Numbers events and hands them to the sink, one at a time. Costs nothing without a sink. */
final class EventBus {
    private static final String TENANT = "local";

    /** Held while the sink is told, so that the order of calls is that of the numbers. */
    private final ReentrantLock lock = new ReentrantLock();

    private long seq; // guarded by lock

    private final EventSink sink;
    private final Actor actor;
    private final AtomicLong failures = new AtomicLong();

    EventBus(EventSink sink) {
        this.sink = sink;
        this.actor =
                new Actor(Optional.empty(), System.getProperty("user.name", "unknown"), Map.of());
    }

    /** What an event is about; the parts that are not known are empty. */
    record Subject(
            Optional<String> sandbox,
            Optional<String> session,
            Optional<String> exec,
            Optional<String> run) {
        static Subject run(String run) {
            return new Subject(
                    Optional.empty(), Optional.empty(), Optional.empty(), Optional.of(run));
        }

        static Subject sandbox(String sandbox, String session) {
            return new Subject(
                    Optional.of(sandbox), Optional.of(session), Optional.empty(), Optional.empty());
        }

        Subject withExec(String id) {
            return new Subject(sandbox, session, Optional.of(id), run);
        }

        Subject withRun(String id) {
            return new Subject(sandbox, session, exec, Optional.of(id));
        }
    }

    /** What tells of one subject. */
    Reporter about(Subject subject) {
        return (type, reason, data) -> {
            if (active()) {
                emit(type, subject, reason, data.get());
            }
        };
    }

    /** Whether anybody listens; ask before building large data. */
    boolean active() {
        return !sink.equals(EventSink.NONE);
    }

    void emit(EventType type, Subject subject, String reason, Map<String, Object> data) {
        if (!active()) {
            return;
        }
        String id = Ids.next(Ids.Kind.EVENT);
        lock.lock();
        try {
            sink.accept(
                    new Event(
                            id,
                            ++seq,
                            Instant.now(),
                            type,
                            TENANT,
                            subject.sandbox(),
                            subject.session(),
                            subject.exec(),
                            subject.run(),
                            actor,
                            Optional.empty(),
                            Optional.empty(),
                            reason,
                            data));
        } catch (RuntimeException e) {
            failures.incrementAndGet();
        } finally {
            lock.unlock();
        }
    }

    /** How often the sink threw. */
    long failures() {
        return failures.get();
    }
}
