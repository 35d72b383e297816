package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.EventType;
import dev.caisson.v1.EventJson;
import dev.caisson.v1.Json;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Delivers events to webhooks: in order, at least once, one server at a time. A server takes a
 * webhook by writing the row with a due time until which no other takes it; the row's version lets
 * only one win. One virtual thread for each delivery, a bounded number of them, at most half for
 * one tenant. Thread-safe.
 */
final class Deliveries implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Deliveries.class);
    private static final int BATCH = 50;
    private static final Duration LEASE = Duration.ofMinutes(1);
    private static final long POLL_MILLIS = 1000;
    private static final long COALESCE_MILLIS = 100;

    private final Ledger ledger;
    private final Vault vault;
    private final WebhookConfig config;
    private final Courier courier;
    private final Semaphore slots;
    private final Semaphore wake = new Semaphore(0);

    /** Tenants by the webhooks that are delivered to now. */
    private final Map<String, String> busy = new ConcurrentHashMap<>();

    private volatile @Nullable Thread loop;

    Deliveries(Ledger ledger, Vault vault, WebhookConfig config, Courier courier) {
        this.ledger = ledger;
        this.vault = vault;
        this.config = config;
        this.courier = courier;
        this.slots = new Semaphore(config.parallel());
        ledger.watch(this::wake);
    }

    private void wake() {
        if (wake.availablePermits() == 0) {
            wake.release();
        }
    }

    /** Delivers in the background until closed. */
    void start() {
        loop = Thread.ofVirtual().name("webhooks").start(this::run);
    }

    private void run() {
        while (!Thread.currentThread().isInterrupted()) {
            try {
                if (wake.tryAcquire(POLL_MILLIS, TimeUnit.MILLISECONDS)) {
                    wake.drainPermits();
                }
                round();
                Thread.sleep(COALESCE_MILLIS);
            } catch (InterruptedException e) {
                return;
            } catch (RuntimeException e) {
                // The semaphore's wait keeps this from turning without rest.
                LOG.warn("Webhooks could not be looked at", e);
            }
        }
    }

    /** Begins to deliver what is due. */
    private void round() {
        for (Row row : ledger.read(this::due)) {
            boolean fair =
                    busy.values().stream().filter(row.tenant()::equals).count()
                            < Math.max(1, config.parallel() / 2);
            if (fair && busy.putIfAbsent(row.id(), row.tenant()) == null) {
                Thread.ofVirtual().name("webhook-" + row.id()).start(() -> attempt(row.id()));
            }
        }
    }

    private void attempt(String id) {
        try {
            slots.acquire();
            try {
                deliver(id);
            } finally {
                slots.release();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (RuntimeException e) {
            LOG.atWarn().addKeyValue("webhook", id).setCause(e).log("Delivery failed inside");
        } finally {
            busy.remove(id);
            wake();
        }
    }

    private List<Row> due(Store.Tx tx) {
        Instant now = ledger.now();
        Map<String, Long> last = new LinkedHashMap<>();
        return tx
                .list(Kind.WEBHOOK, Query.ALL.withStates(Webhooks.ACTIVE, Webhooks.FAILING))
                .stream()
                .filter(row -> row.due() == null || !now.isBefore(row.due()))
                .filter(row ->
                        Webhooks.doc(row).cursor()
                                < last.computeIfAbsent(row.tenant(), tx::lastSeq))
                .toList();
    }

    /** Delivers what one webhook has waiting, if it is due and no other server does. */
    void deliver(String id) {
        Row row = claim(id);
        if (row == null) {
            return;
        }
        WebhookDoc doc = Webhooks.doc(row);
        Instant until = ledger.now().plus(LEASE).minus(config.timeout());
        List<EventJson> events =
                ledger.read(tx -> tx.events(row.tenant(), doc.cursor(), BATCH, null, null));
        Progress progress = new Progress(row, doc);
        for (EventJson event : events) {
            if (!ledger.now().isBefore(until) || !progress.step(event)) {
                break;
            }
        }
        progress.write();
    }

    private @Nullable Row claim(String id) {
        try {
            return ledger.write(tx -> claim(tx, id)).orElse(null);
        } catch (CaissonException e) {
            return lostRace(e);
        }
    }

    private static @Nullable Row lostRace(CaissonException e) {
        if (e.code() == ErrorCode.PRECONDITION_FAILED || e.code() == ErrorCode.NOT_FOUND) {
            return null;
        }
        throw e;
    }

    private Optional<Row> claim(Store.Tx tx, String id) {
        Instant now = ledger.now();
        return tx.find(Kind.WEBHOOK, id)
                .filter(row -> !row.state().equals(Webhooks.DISABLED))
                .filter(row -> row.due() == null || !now.isBefore(row.due()))
                .map(row -> Rows.with(row, row.state(), now.plus(LEASE), Webhooks.doc(row)))
                .map(row -> tx.update(Kind.WEBHOOK, row));
    }

    /** How far one webhook got; of one thread. */
    private final class Progress {
        private final Row row;
        private final String secret;
        private WebhookDoc doc;
        private String state;
        private @Nullable Instant due;
        private @Nullable String failure;

        Progress(Row row, WebhookDoc doc) {
            this.row = row;
            this.doc = doc;
            this.state = row.state();
            this.secret = vault.open(Webhooks.purpose(row.id()), doc.sealed());
        }

        /** Whether to go on with the next one. */
        boolean step(EventJson event) {
            // What tells of a failed delivery is not delivered: it could fail for ever.
            if (!doc.wants(event.type()) || event.type().equals(EventType.WEBHOOK_FAILED.value())) {
                doc = doc.passed(event.seq());
                return true;
            }
            String error = send(event);
            if (error == null) {
                doc = doc.delivered(event.seq());
                state = Webhooks.ACTIVE;
                return true;
            }
            failed(event, error);
            return false;
        }

        private void failed(EventJson event, String error) {
            Instant now = ledger.now();
            state = Webhooks.FAILING;
            doc = doc.failed(error, now);
            Instant since = doc.failingSince();
            if (doc.attempts() > config.backoff().size()) {
                doc = doc.gaveUp(event.seq());
                failure = "dead_letter";
            } else {
                due = now.plus(config.backoff().get(doc.attempts() - 1));
            }
            if (since != null && !now.isBefore(since.plus(config.disableAfter()))) {
                state = Webhooks.DISABLED;
                due = null;
                failure = "disabled";
            }
        }

        /** Null when it was taken. */
        private @Nullable String send(EventJson event) {
            byte[] body = Json.bytes(event);
            Map<String, String> headers = new LinkedHashMap<>();
            headers.put("Content-Type", "application/json");
            headers.put("User-Agent", "caisson-webhooks/1");
            headers.put("Caisson-Webhook", row.id());
            headers.put("Caisson-Event", event.id());
            headers.put(Signatures.HEADER, Signatures.of(secret, ledger.now(), body));
            try {
                int status = courier.post(URI.create(doc.url()), headers, body);
                return status < 300 ? null : "status " + status;
            } catch (IOException e) {
                return reason(e);
            }
        }

        /** Without what an answer could have put into a message. */
        private String reason(IOException e) {
            return Asking.shown(
                    e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage());
        }

        /** At least once: what cannot be written is delivered again. */
        void write() {
            try {
                ledger.write(this::write);
                if ("dead_letter".equals(failure)) {
                    ledger.counts().deadLetter();
                }
            } catch (CaissonException e) {
                lostRace(e);
            }
        }

        private Row write(Store.Tx tx) {
            Row after = tx.update(Kind.WEBHOOK, Rows.with(row, state, due, doc));
            if (failure != null) {
                Map<String, Object> data =
                        Map.of("webhook", row.id(), "error", String.valueOf(doc.lastError()));
                Ledger.Subject about = Ledger.Subject.tenant(row.tenant());
                ledger.event(tx, EventType.WEBHOOK_FAILED, about, failure, data);
            }
            return after;
        }
    }

    @Override
    public void close() {
        Thread running = loop;
        if (running != null) {
            running.interrupt();
        }
    }
}
