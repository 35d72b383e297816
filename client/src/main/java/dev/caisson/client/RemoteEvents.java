package dev.caisson.client;

import dev.caisson.api.Actor;
import dev.caisson.api.CaissonException;
import dev.caisson.api.Event;
import dev.caisson.api.EventSink;
import dev.caisson.api.EventType;
import dev.caisson.v1.ActorJson;
import dev.caisson.v1.EventJson;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** Tells a sink what the server tells about sandboxes, each followed by a thread of its own. */
final class RemoteEvents {
    private final ServiceClient client;
    private final EventSink sink;
    private final ReentrantLock telling = new ReentrantLock();
    private final Set<Thread> threads = ConcurrentHashMap.newKeySet();
    private volatile @Nullable CaissonException failure;

    RemoteEvents(ServiceClient client, EventSink sink) {
        this.client = client;
        this.sink = sink;
    }

    /**
     * Follows a sandbox to its end.
     *
     * @throws CaissonException what the server said to an earlier one
     */
    void follow(String sandbox) {
        CaissonException before = failure;
        if (before != null) {
            throw before;
        }
        threads.add(client.http().start("caisson-events-" + sandbox, () -> run(sandbox)));
    }

    private void run(String sandbox) {
        try {
            client.events().follow(0, sandbox, null, this::tell);
        } catch (CaissonException e) {
            if (e.code() != dev.caisson.api.ErrorCode.CANCELLED) {
                failure = e;
            }
        } finally {
            threads.remove(Thread.currentThread());
        }
    }

    /** Whether that was the last event of the sandbox. */
    private boolean tell(EventJson event) {
        telling.lock();
        try {
            sink.accept(form(event));
        } catch (RuntimeException e) {
            // A sink never changes what a sandbox does.
        } finally {
            telling.unlock();
        }
        return event.type().equals(EventType.SANDBOX_ENDED.value());
    }

    private static Event form(EventJson event) {
        @Nullable ActorJson actor = event.actor();
        return new Event(
                event.id(),
                event.seq(),
                event.time(),
                EventType.of(event.type()),
                event.tenant(),
                Optional.ofNullable(event.sandbox()),
                Optional.ofNullable(event.session()),
                Optional.ofNullable(event.exec()),
                Optional.ofNullable(event.run()),
                actor == null
                        ? new Actor(Optional.empty(), "", Map.of())
                        : new Actor(
                                Optional.ofNullable(actor.keyId()),
                                Objects.requireNonNullElse(actor.subject(), ""),
                                actor.claimed()),
                Optional.ofNullable(event.policyVersion()),
                Optional.ofNullable(event.traceId()),
                Objects.requireNonNullElse(event.reason(), ""),
                event.data());
    }

    void close() {
        threads.forEach(Thread::interrupt);
    }
}
