package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.EndReason;
import dev.caisson.core.Engine;
import dev.caisson.core.EngineSandbox;
import dev.caisson.core.Ids;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What is done again and again: leases, metering, and forgetting what is no longer kept. */
final class Housekeeping {
    private static final Logger LOG = LoggerFactory.getLogger(Housekeeping.class);
    private static final int AT_ONCE = 500;
    private static final long MINUTE = 60;

    /** Less between two looks is no work of anybody. */
    private static final long IDLE_CPU_MILLIS = 10;

    private final Parts parts;
    private final Runs runs;
    private final BiConsumer<Box, EndReason> ender;

    /** CPU time of each sandbox at the last look; of the thread that meters. */
    private final Map<String, Long> cpuMillis = new HashMap<>();

    Housekeeping(Parts parts, Runs runs, BiConsumer<Box, EndReason> ender) {
        this.parts = parts;
        this.runs = runs;
        this.ender = ender;
    }

    void start() {
        every(Math.max(1, parts.config().lease().toSeconds() / 3), "leases", this::renew);
        every(Meter.INTERVAL.toSeconds(), "meter", this::meter);
        every(MINUTE, "forget", this::forget);
        every(MINUTE, "pace", parts.pace()::sweep);
    }

    /** On a virtual thread, never twice at once, and never ended by a failure. */
    void every(long seconds, String name, Runnable task) {
        everyMillis(TimeUnit.SECONDS.toMillis(seconds), name, task);
    }

    @SuppressWarnings("FutureReturnValueIgnored") // it goes on until the timers end
    void everyMillis(long millis, String name, Runnable task) {
        var busy = new java.util.concurrent.atomic.AtomicBoolean();
        parts.timers()
                .scheduleAtFixedRate(
                        () -> {
                            if (busy.compareAndSet(false, true)) {
                                Thread.ofVirtual()
                                        .name("caisson-" + name)
                                        .start(() -> {
                                            try {
                                                task.run();
                                            } catch (CaissonException
                                                    | java.io.UncheckedIOException e) {
                                                LOG.atWarn()
                                                        .addKeyValue("task", name)
                                                        .addKeyValue("cause", e.getMessage())
                                                        .log("housekeeping failed, trying again");
                                            } finally {
                                                busy.set(false);
                                            }
                                        });
                            }
                        },
                        millis,
                        millis,
                        TimeUnit.MILLISECONDS);
    }

    void renew() {
        for (Engine engine : parts.engines().engines()) {
            List<String> ids = new ArrayList<>();
            parts.boxes()
                    .all()
                    .forEach(box -> {
                        if (box.hostedOrNull() != null
                                && box.doc().tier.equals(engine.tier().value())) {
                            ids.add(box.id);
                        }
                    });
            if (!ids.isEmpty()) {
                engine.renewAll(ids, parts.config().lease());
            }
        }
    }

    void meter() {
        List<Box> busy = new ArrayList<>();
        for (Engine engine : parts.engines().engines()) {
            Map<String, EngineSandbox.Observation> seen = engine.observeAll();
            seen.forEach((id, observation) ->
                    parts.boxes()
                            .of(id)
                            .ifPresent(box -> {
                                Meter.Tracker tracker = box.tracker();
                                if (tracker != null) {
                                    tracker.observed(observation);
                                }
                                long cpu = observation.usage().cpu().toMillis();
                                Long before = cpuMillis.put(id, cpu);
                                if (before != null && cpu - before > IDLE_CPU_MILLIS) {
                                    busy.add(box);
                                }
                            }));
        }
        cpuMillis.keySet().removeIf(id -> parts.boxes().of(id).isEmpty());
        parts.meter().flush();
        stopSpenders(busy);
    }

    /** Ends what goes on using CPU time of which its tenant has none left in this hour. */
    private void stopSpenders(List<Box> busy) {
        Map<String, Boolean> spent = new HashMap<>();
        for (Box box : busy) {
            if (spent.computeIfAbsent(box.tenant, parts.quotas()::cpuSpent)) {
                try {
                    ender.accept(box, EndReason.QUOTA);
                } catch (CaissonException e) {
                    LOG.atWarn()
                            .addKeyValue("sandbox", box.id)
                            .addKeyValue("cause", e.message())
                            .log("a sandbox over its quota could not be ended, trying again");
                }
            }
        }
    }

    void forget() {
        Instant now = parts.ledger().now();
        sandboxes(now);
        // Only those that have ended are due, and then of no server.
        Query execs = Query.ALL.withDueBefore(now).withPage(null, AT_ONCE);
        parts.ledger().write(tx -> tx.deleteAll(Kind.EXEC, execs));
        Query expired = Query.ALL.withNode(parts.node()).withDueBefore(now).withPage(null, AT_ONCE);
        parts.ledger()
                .read(tx -> tx.list(Kind.RUN, expired))
                .forEach(row -> runs.expire(RunDoc.of(row)));
    }

    private void sandboxes(Instant now) {
        output(now.minus(parts.config().logKept()));
        Query forgotten =
                Query.ALL
                        .withNode(parts.node())
                        .withStates(SandboxDoc.ENDED, SandboxDoc.LOST)
                        .withPage(null, AT_ONCE)
                        .withDueBefore(now.minus(parts.config().endedKept()));
        parts.ledger().write(tx -> tx.deleteAll(Kind.SANDBOX, forgotten));
    }

    /** By its folders, not by rows: those are many, and kept longer. */
    private void output(Instant endedBefore) {
        Path folder = parts.config().data().resolve("output");
        if (!Files.isDirectory(folder)) {
            return;
        }
        try (Stream<Path> all = Files.list(folder)) {
            all.filter(path -> old(path, endedBefore)).forEach(Trees::delete);
        } catch (IOException e) {
            throw new UncheckedIOException("The folder " + folder + " cannot be read.", e);
        }
    }

    private boolean old(Path path, Instant endedBefore) {
        String id = String.valueOf(path.getFileName());
        if (!Ids.matches(Ids.Kind.SANDBOX, id) || parts.boxes().of(id).isPresent()) {
            return false;
        }
        return parts.ledger()
                .read(tx -> tx.find(Kind.SANDBOX, id))
                .map(SandboxDoc::of)
                .map(doc -> doc.over() && doc.endedAt != null && doc.endedAt.isBefore(endedBefore))
                .orElse(true);
    }
}
