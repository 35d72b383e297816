package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.EndReason;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.PtySize;
import dev.caisson.api.Tier;
import dev.caisson.core.Engine;
import dev.caisson.core.HostedSandbox;
import dev.caisson.core.KnownExec;
import dev.caisson.core.Position;
import dev.caisson.v1.Json;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.core.type.TypeReference;

/**
 * What a server that starts does with what an earlier one left, and what a running one does when
 * its engine went away and came back: each sandbox is adopted or ended, each exec goes on where its
 * kept output stops, and nothing is said that was not seen. Touches only rows and sandboxes of its
 * own node. Disks are {@link DiskRecovery}'s.
 */
final class Recovery {
    private static final Logger LOG = LoggerFactory.getLogger(Recovery.class);

    private final Parts parts;
    private final Lives lives;
    private final Execs execs;
    private final Runs runs;
    private final DiskRecovery disks;
    private final String bootId;

    Recovery(Parts parts, Lives lives, Execs execs, Runs runs, DiskRecovery disks, String bootId) {
        this.parts = parts;
        this.lives = lives;
        this.execs = execs;
        this.runs = runs;
        this.disks = disks;
        this.bootId = bootId;
    }

    /** Before the first request. */
    void start() {
        Map<String, There> living = living();
        List<Row> rows =
                parts.ledger()
                        .read(tx ->
                                tx.list(
                                        Kind.SANDBOX,
                                        Query.ALL
                                                .withNode(parts.node())
                                                .withStates(SandboxDoc.ALIVE)));
        for (Row row : rows) {
            recover(row, Optional.ofNullable(living.remove(row.id())));
        }
        living.forEach(this::reap);
        abandoned();
        disks.start();
        runs();
    }

    /** A session that sandboxes were to end with was one of the server before. */
    private void abandoned() {
        for (Box box : parts.boxes().all()) {
            if (box.doc().owned && !box.doc().over()) {
                try {
                    lives.end(box, EndReason.OWNER_GONE, null);
                } catch (CaissonException e) {
                    LOG.atWarn()
                            .addKeyValue("sandbox", box.id)
                            .addKeyValue("cause", e.message())
                            .log("an abandoned sandbox could not be ended; its timeout will");
                }
            }
        }
    }

    /** A sandbox as an engine has it. */
    private record There(Engine engine, boolean frozen) {}

    private Map<String, There> living() {
        Map<String, There> living = new HashMap<>();
        for (Engine engine : parts.engines().engines()) {
            engine.list().stream()
                    .filter(Engine.Living::leased)
                    .forEach(one -> living.put(one.sandbox(), new There(engine, one.frozen())));
        }
        return living;
    }

    /** A sandbox that no row knows as living is nobody's; one of another server is left alone. */
    private void reap(String sandbox, There there) {
        Optional<Row> row = parts.ledger().read(tx -> tx.find(Kind.SANDBOX, sandbox));
        if (row.isPresent() && !parts.node().equals(row.get().node())) {
            return;
        }
        LOG.atInfo().addKeyValue("sandbox", sandbox).log("ending a sandbox that nobody knows");
        try {
            there.engine().attach(sandbox).destroy();
        } catch (CaissonException e) {
            LOG.atWarn()
                    .addKeyValue("sandbox", sandbox)
                    .addKeyValue("cause", e.message())
                    .log("it could not be ended; its lease will");
        }
    }

    // ---- sandboxes

    private void recover(Row row, Optional<There> there) {
        SandboxDoc doc = SandboxDoc.of(row);
        Box box = new Box(doc, row.version(), parts.ledger().now());
        box.seat(parts.quotas().adopt(doc.tenant, Orders.limits(doc.limits)));
        parts.boxes().add(box);
        parts.secrets().adopt(box.id, doc.secrets);
        box.lock.lock();
        try {
            switch (doc.state) {
                case SandboxDoc.CREATING ->
                        discard(
                                box,
                                there,
                                EndReason.ENGINE_FAILED,
                                "the server was restarted while it was made");
                case SandboxDoc.POOLED ->
                        discard(box, there, EndReason.DELETED, "warm, and never given out");
                case SandboxDoc.ENDING ->
                        discard(box, there, EndReason.of(String.valueOf(doc.reason)), "");
                case SandboxDoc.PAUSED, SandboxDoc.PAUSING, SandboxDoc.RESUMING ->
                        paused(box, there);
                default -> running(box, there);
            }
        } catch (CaissonException e) {
            LOG.atWarn()
                    .addKeyValue("sandbox", box.id)
                    .addKeyValue("cause", e.message())
                    .log("a sandbox could not be taken up");
            discard(box, there, EndReason.LOST, e.message());
        } finally {
            box.lock.unlock();
        }
    }

    private void discard(Box box, Optional<There> there, EndReason reason, String detail) {
        there.ifPresent(living -> {
            try {
                living.engine().attach(box.id).destroy();
            } catch (CaissonException e) {
                LOG.atDebug().addKeyValue("sandbox", box.id).log("it was gone already");
            }
        });
        lostExecs(box);
        lives.lost(box, reason, detail);
    }

    private void running(Box box, Optional<There> there) {
        if (there.isEmpty()) {
            gone(box);
            return;
        }
        attach(box, there.get().engine());
        agree(box, there.get().frozen());
    }

    /**
     * What the engine has and what the row says become one, under the lock: the word of a freeze or
     * a thaw may have been lost with its connection, and what was halfway is taken back.
     */
    private void agree(Box box, boolean frozen) {
        switch (box.doc().state) {
            case SandboxDoc.PAUSED -> {
                if (frozen || freezes(box)) {
                    lives.schedule(box);
                } else {
                    back(box, SandboxDoc.RUNNING, null);
                }
            }
            case SandboxDoc.PAUSING, SandboxDoc.RESUMING, SandboxDoc.SNAPSHOTTING -> {
                box.hosted().engine().thaw(); // a freeze may still be under way
                back(box, SandboxDoc.RUNNING, null);
            }
            case SandboxDoc.CREATING, SandboxDoc.ENDING -> {}
            default -> {
                if (frozen) {
                    box.hosted().engine().thaw();
                }
                lives.schedule(box);
            }
        }
    }

    /** Whether what is said to be paused could be stopped again. */
    private static boolean freezes(Box box) {
        try {
            box.hosted().engine().freeze();
            return true;
        } catch (CaissonException e) {
            if (EngineRack.brokeOff(e)) {
                throw e; // tried again
            }
            LOG.atWarn()
                    .addKeyValue("sandbox", box.id)
                    .addKeyValue("cause", e.message())
                    .log("a paused sandbox was found running and goes on");
            return false;
        }
    }

    /** It is not there any more: why, as far as that is known. */
    private void gone(Box box) {
        lostExecs(box);
        SandboxDoc doc = box.doc();
        SandboxDoc.End end = doc.end(null);
        Instant now = parts.ledger().now();
        if (!doc.bootId.equals(bootId)) {
            lives.lost(box, EndReason.HOST_RESTARTED, "the host was started anew");
        } else if (end.at() != null && end.at().isBefore(now)) {
            lives.lost(box, EndReason.of(String.valueOf(end.why())), "");
        } else {
            lives.lost(box, EndReason.LOST, "its engine does not know it any more");
        }
    }

    private void paused(Box box, Optional<There> there) {
        SandboxDoc doc = box.doc();
        boolean saved = doc.pauseSnapshot != null && saved(doc, doc.pauseSnapshot);
        if (saved && !doc.state.equals(SandboxDoc.PAUSING)) {
            // A session that was being made of it was told to nobody.
            there.ifPresent(living -> living.engine().attach(box.id).destroy());
            lostExecs(box);
            back(box, SandboxDoc.PAUSED, "disk");
        } else if (there.isPresent()) {
            running(box, there);
        } else if (saved) {
            lostExecs(box);
            back(box, SandboxDoc.PAUSED, "disk");
        } else {
            gone(box);
        }
    }

    private boolean saved(SandboxDoc doc, String snapshot) {
        return parts.engines()
                .of(Tier.of(doc.tier))
                .map(engine ->
                        engine.snapshots().stream().anyMatch(disk -> disk.id().equals(snapshot)))
                .orElse(false);
    }

    private void back(Box box, String state, @Nullable String mode) {
        SandboxDoc doc = box.draft();
        doc.state = state;
        doc.pauseMode = mode;
        if (mode == null) {
            doc.pauseSnapshot = null;
            doc.pausedAt = null;
            if (doc.timeoutMillis != null && doc.timeoutAt == null) {
                doc.timeoutAt = parts.ledger().now().plusMillis(doc.timeoutMillis);
            }
        } else if (doc.pausedAt == null) {
            doc.pausedAt = parts.ledger().now();
        }
        lives.save(box, doc, tx -> {});
        lives.schedule(box);
        Quotas.Seat seat = box.seat();
        if ("disk".equals(mode) && seat != null) {
            seat.rest();
        }
    }

    private void attach(Box box, Engine engine) {
        SandboxDoc doc = box.doc();
        String sealed = doc.env;
        if (sealed != null) {
            box.env(
                    Json.LENIENT.readValue(
                            parts.vault().open("env " + box.id, sealed),
                            new TypeReference<Map<String, String>>() {}));
        }
        HostedSandbox hosted = lives.attach(box, engine);
        Map<String, KnownExec> known = new HashMap<>();
        hosted.knownExecs().forEach(exec -> known.put(exec.exec(), exec));
        for (ExecDoc exec : unfinished(box)) {
            takeUp(box, hosted, exec, Optional.ofNullable(known.remove(exec.id)));
        }
        for (KnownExec there : known.values()) {
            Optional<Row> row = parts.ledger().read(tx -> tx.find(Kind.EXEC, there.exec()));
            if (row.isPresent()) {
                forget(hosted, there, ExecDoc.of(row.get()));
            } else {
                unknown(box, hosted, there);
            }
        }
        lives.renew(box, doc);
    }

    private List<ExecDoc> unfinished(Box box) {
        Query query =
                Query.of(box.tenant)
                        .withParent(box.id)
                        .withStates(ExecDoc.WAITING, ExecDoc.STARTING, ExecDoc.RUNNING);
        return parts.ledger().read(tx -> tx.list(Kind.EXEC, query)).stream()
                .map(ExecDoc::of)
                .toList();
    }

    // ---- execs

    private RunningExec running(Box box, ExecDoc doc) {
        RunningExec exec =
                new RunningExec(
                        parts,
                        box,
                        doc,
                        execs.recovered(doc),
                        parts.quotas().adoptExec(box.tenant));
        execs.adopt(exec);
        return exec;
    }

    private void takeUp(Box box, HostedSandbox hosted, ExecDoc doc, Optional<KnownExec> known) {
        RunningExec exec = running(box, doc);
        if (known.isEmpty()) {
            if (doc.state.equals(ExecDoc.WAITING)) {
                exec.failed(
                        CaissonException.of(
                                ErrorCode.CANCELLED,
                                "The server was restarted while it waited for an approval."));
            } else {
                exec.sandboxOver(EndReason.LOST, 0);
            }
            return;
        }
        if (doc.state.equals(ExecDoc.STARTING)) {
            exec.change(begun -> begun.state = ExecDoc.RUNNING);
        }
        follow(hosted, exec, known.get());
    }

    private static void follow(HostedSandbox hosted, RunningExec exec, KnownExec known) {
        Position kept = exec.log.position(known.stdinReceived());
        Position from =
                kept.seq() >= known.firstSeq() - 1
                        ? kept
                        : new Position(
                                known.firstSeq() - 1,
                                kept.stdoutOffset(),
                                kept.stderrOffset(),
                                kept.ptyOffset(),
                                known.stdinReceived());
        exec.hosted(hosted.adopt(known, from, spec(exec.doc()), exec));
    }

    private static ExecSpec spec(ExecDoc doc) {
        ExecSpec spec =
                ExecSpec.of(doc.argv.isEmpty() ? List.of("unknown") : doc.argv)
                        .withCapture(false)
                        .withStdin(doc.stdin);
        return doc.pty ? spec.withPty(new PtySize(24, 80)) : spec;
    }

    /** Its end is written already; only the agent was not told. */
    private static void forget(HostedSandbox hosted, KnownExec known, ExecDoc doc) {
        hosted.adopt(
                known,
                new Position(known.lastSeq(), 0, 0, 0, known.stdinReceived()),
                spec(doc),
                Deaf.SINK);
    }

    /** It was started, and the server died before that was written. */
    private void unknown(Box box, HostedSandbox hosted, KnownExec known) {
        ExecDoc doc = new ExecDoc();
        doc.id = known.exec();
        doc.tenant = box.tenant;
        doc.sandbox = box.id;
        doc.session = box.doc().session;
        doc.state = ExecDoc.RUNNING;
        doc.createdAt = parts.ledger().now();
        doc.outputLimit = 1 << 20;
        Row row = doc.row(1, parts.node(), null);
        parts.ledger()
                .act(tx -> {
                    ExecRows.put(tx, row);
                });
        RunningExec exec = running(box, doc);
        follow(hosted, exec, known);
    }

    private void lostExecs(Box box) {
        unfinished(box).forEach(doc -> running(box, doc).sandboxOver(EndReason.LOST, 0));
    }

    // ---- runs

    private void runs() {
        parts.ledger()
                .read(tx ->
                        tx.list(
                                Kind.RUN,
                                Query.ALL.withNode(parts.node()).withStates(RunDoc.RUNNING)))
                .forEach(row -> {
                    RunDoc doc = RunDoc.of(row);
                    Optional<Box> box =
                            doc.sandbox == null ? byRun(doc.id) : parts.boxes().of(doc.sandbox);
                    runs.recover(doc, box, box.flatMap(there -> execOf(doc, there)));
                });
    }

    /** The exec that a run waits for; it may have been started and not yet written down there. */
    private static Optional<RunningExec> execOf(RunDoc run, Box box) {
        if (run.exec != null) {
            return Optional.ofNullable(box.execs.get(run.exec));
        }
        return box.execs.values().stream()
                .filter(exec -> run.id.equals(exec.doc().run))
                .findFirst();
    }

    private Optional<Box> byRun(String run) {
        return parts.boxes().all().stream().filter(box -> run.equals(box.doc().run)).findFirst();
    }

    // ---- an engine that went away

    /** Waits for the engine, then finds out whether the sandbox lives. */
    void detached(Box box, HostedSandbox lost) {
        Thread.ofVirtual().name("caisson-reattach-" + box.id).start(() -> reattached(box, lost));
    }

    private void lose(Box box, String why) {
        try {
            lives.lost(box, EndReason.LOST, why);
        } catch (CaissonException e) {
            // Another server took over, or this one closes: the next start finds out.
            LOG.atWarn()
                    .addKeyValue("sandbox", box.id)
                    .addKeyValue("cause", e.message())
                    .log("a sandbox that is lost cannot be said to be");
        }
    }

    /** Tries again while the engine breaks off, or is not yet known to have done so. */
    private void reattached(Box box, HostedSandbox lost) {
        long until = System.nanoTime() + EngineRack.PATIENCE.toNanos();
        while (true) {
            try {
                reattach(box, lost);
                return;
            } catch (CaissonException e) {
                if (!EngineRack.brokeOff(e) || System.nanoTime() > until) {
                    lose(box, e.message());
                    return;
                }
                parts.engines().pause();
            }
        }
    }

    private void reattach(Box box, HostedSandbox lost) {
        Optional<Engine> engine =
                parts.engines().await(Tier.of(box.doc().tier), EngineRack.PATIENCE);
        box.lock.lock();
        try {
            boolean another = !lost.equals(box.hostedOrNull());
            if (another || box.doc().over() || "disk".equals(box.doc().pauseMode)) {
                return;
            }
            Optional<Engine.Living> living =
                    engine.flatMap(there ->
                            there.list().stream()
                                    .filter(one -> one.sandbox().equals(box.id))
                                    .findFirst());
            if (living.isEmpty()) {
                lives.lost(box, EndReason.LOST, "its engine ended");
                return;
            }
            HostedSandbox hosted = lives.attach(box, engine.get());
            followAgain(box, hosted);
            lives.renew(box, box.doc());
            agree(box, living.get().frozen());
        } finally {
            box.lock.unlock();
        }
    }

    private static void followAgain(Box box, HostedSandbox hosted) {
        Map<String, KnownExec> known = new HashMap<>();
        hosted.knownExecs().forEach(exec -> known.put(exec.exec(), exec));
        for (RunningExec exec : box.execs.values()) {
            KnownExec there = known.get(exec.id);
            if (exec.doc().state.equals(ExecDoc.WAITING)) {
                continue; // the agent never heard of it
            }
            if (there == null) {
                exec.sandboxOver(EndReason.LOST, 0);
            } else {
                follow(hosted, exec, there);
            }
        }
    }
}
