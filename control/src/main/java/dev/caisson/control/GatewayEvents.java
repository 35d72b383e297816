package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.EventType;
import dev.caisson.core.EgressListener.Event;
import dev.caisson.v1.Json;
import dev.caisson.v1.UsageRow;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.core.JacksonException;
import tools.jackson.core.type.TypeReference;

/**
 * What a gateway tells, written down: events of the sandbox, usage, uses of secrets. How far that
 * is stands in the same transaction, so nothing is lost or counted twice, whoever is killed in
 * between: the gateway keeps what it was not told to be taken. Thread-safe.
 */
final class GatewayEvents {
    private static final Logger LOG = LoggerFactory.getLogger(GatewayEvents.class);

    /** Events in one transaction. */
    private static final int MOST = 200;

    /** Events that wait here; the rest waits at the gateway. */
    private static final int WAITING = 10_000;

    private static final long RETRY_MILLIS = 500;

    private final Ledger ledger;
    private final Boxes boxes;
    private final BlockingQueue<Item> queue = new LinkedBlockingQueue<>(WAITING);

    private long seen = -1; // of the thread that writes: the last number; -1: none yet

    /**
     * What was told.
     *
     * @param event null: the numbers begin anew
     */
    private record Item(@Nullable Event event, Runnable taken) {}

    GatewayEvents(Ledger ledger, Boxes boxes) {
        this.ledger = ledger;
        this.boxes = boxes;
        Thread.ofVirtual().name("caisson-gateway-events").start(this::run);
    }

    private String meta() {
        return "egress.taken." + ledger.store().node();
    }

    /** Number of the last event that was written down. */
    long last() {
        return ledger.read(tx -> tx.meta(meta())).map(Long::parseLong).orElse(0L);
    }

    /** An event; waits while there are too many. */
    void take(Event event, Runnable taken) {
        put(new Item(event, taken));
    }

    /** The numbers of what is told from now on begin anew. */
    void renumbered() {
        put(new Item(null, () -> {}));
    }

    private void put(Item item) {
        try {
            queue.put(item);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void run() {
        List<Item> some = new ArrayList<>();
        while (true) {
            try {
                some.add(queue.take());
                queue.drainTo(some, MOST - 1);
                some.forEach(this::count);
                write(some);
                some.getLast().taken().run();
                some.clear();
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    /** A hole in the numbers is what the gateway could not keep. */
    private void count(Item item) {
        Event event = item.event();
        if (event != null && seen >= 0 && event.number() > seen + 1) {
            LOG.atError()
                    .addKeyValue("count", event.number() - seen - 1)
                    .addKeyValue("before", event.number())
                    .log("events of the egress gateway are lost");
        }
        seen = event == null ? 0 : Math.max(seen, event.number());
    }

    /** One that can never be written must not keep all that come behind it from being. */
    private void write(List<Item> some) throws InterruptedException {
        try {
            writeAll(some);
        } catch (RuntimeException e) {
            if (some.size() > 1) {
                for (Item one : some) {
                    write(List.of(one));
                }
            } else {
                LOG.atError().setCause(e).log("an event of the egress gateway is lost");
            }
        }
    }

    private void writeAll(List<Item> some) throws InterruptedException {
        while (true) {
            try {
                ledger.write(tx -> {
                    long last = tx.meta(meta()).map(Long::parseLong).orElse(0L);
                    for (Item item : some) {
                        Event event = item.event();
                        if (event == null) {
                            last = 0;
                        } else if (event.number() > last) {
                            note(tx, event);
                            last = event.number();
                        }
                    }
                    tx.meta(meta(), Long.toString(last));
                    return true;
                });
                return;
            } catch (CaissonException e) {
                LOG.atWarn()
                        .addKeyValue("cause", e.message())
                        .log("what the gateway told could not be written, trying again");
                TimeUnit.MILLISECONDS.sleep(RETRY_MILLIS);
            }
        }
    }

    private void note(Store.Tx tx, Event event) {
        EventType type = EventType.of(event.type());
        Optional<SandboxDoc> doc =
                boxes.of(event.sandbox())
                        .map(Box::doc)
                        .or(() -> tx.find(Kind.SANDBOX, event.sandbox()).map(SandboxDoc::of));
        if (type == EventType.UNKNOWN || doc.isEmpty()) {
            return; // of a newer gateway, or of a sandbox that was erased
        }
        Ledger.Subject about =
                Ledger.Subject.sandbox(doc.get().tenant, event.sandbox(), doc.get().session);
        Map<String, Object> data = data(event);
        ledger.event(tx, event.time(), type, about, event.reason(), data);
        switch (type) {
            case EGRESS_ALLOWED -> usage(tx, event, about, data);
            case SECRET_USED -> secret(tx, event, about.tenant(), data);
            default -> {}
        }
    }

    private static Map<String, Object> data(Event event) {
        try {
            return Json.LENIENT.readValue(
                    event.data(), new TypeReference<Map<String, Object>>() {});
        } catch (JacksonException e) {
            return Map.of();
        }
    }

    private static long number(Map<String, Object> data, String name) {
        return data.get(name) instanceof Number number ? Math.max(0, number.longValue()) : 0;
    }

    private static void usage(
            Store.Tx tx, Event event, Ledger.Subject about, Map<String, Object> data) {
        long bytes = number(data, "bytesIn") + number(data, "bytesOut");
        if (bytes > 0) {
            tx.addUsage(
                    new UsageRow(
                            event.time().truncatedTo(ChronoUnit.HOURS),
                            about.tenant(),
                            about.sandbox(),
                            about.session(),
                            null,
                            0,
                            0,
                            0,
                            bytes,
                            0,
                            0,
                            0));
        }
    }

    private static void secret(Store.Tx tx, Event event, String tenant, Map<String, Object> data) {
        if (data.get("secret") instanceof String name) {
            long requests = Math.max(1, number(data, "requests"));
            tx.named(Kind.SECRET, tenant, name)
                    .ifPresent(row ->
                            SecretUses.used(
                                    tx,
                                    tenant,
                                    row.id(),
                                    requests,
                                    number(data, "bytes"),
                                    event.time()));
        }
    }
}
