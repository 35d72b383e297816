package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.core.Engine;
import dev.caisson.core.Ids;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What a server that starts does with the disks that an earlier one left: those that a row knows
 * count in their tenants' quotas, half-made and unknown ones go. Touches only rows of its own node
 * and folders of its own data.
 */
final class DiskRecovery {
    private static final Logger LOG = LoggerFactory.getLogger(DiskRecovery.class);
    private static final int AT_ONCE = 500;

    private final Parts parts;

    DiskRecovery(Parts parts) {
        this.parts = parts;
    }

    /** Once the sandboxes are known, and before runs go on. */
    void start() {
        dropHalfMade();
        forgetHalfMade();
        count();
        dropResults();
    }

    private void dropHalfMade() {
        Set<String> wanted = pausedHere();
        for (Engine engine : parts.engines().engines()) {
            try {
                engine.snapshots().forEach(disk -> snapshot(engine, disk.id(), wanted));
                engine.volumes().forEach(disk -> volume(engine, disk.id()));
            } catch (CaissonException e) {
                LOG.atWarn().addKeyValue("cause", e.message()).log("disks could not be listed");
            }
        }
    }

    /** Saved disks of sandboxes that are paused. */
    private Set<String> pausedHere() {
        return parts.boxes().all().stream()
                .flatMap(box -> Optional.ofNullable(box.doc().pauseSnapshot).stream())
                .collect(Collectors.toSet());
    }

    /** Whether a paused sandbox of another server may need it. */
    private boolean pausedElsewhere(String id) {
        return parts
                .ledger()
                .read(tx -> tx.list(Kind.SANDBOX, Query.ALL.withStates(SandboxDoc.ALIVE)))
                .stream()
                .filter(row -> !parts.node().equals(row.node()))
                .anyMatch(row -> id.equals(SandboxDoc.of(row).pauseSnapshot));
    }

    private void snapshot(Engine engine, String id, Set<String> wanted) {
        Optional<Row> row = parts.ledger().read(tx -> tx.find(Kind.SNAPSHOT, id));
        boolean half =
                row.filter(found -> found.state().equals(SnapshotDoc.CREATING)).isPresent()
                        && parts.node().equals(row.get().node());
        if (wanted.contains(id) || (row.isPresent() && !half) || pausedElsewhere(id)) {
            return;
        }
        engine.dropSnapshot(id);
        parts.ledger().write(tx -> tx.delete(Kind.SNAPSHOT, id));
    }

    private void volume(Engine engine, String id) {
        Optional<Row> row = parts.ledger().read(tx -> tx.find(Kind.VOLUME, id));
        boolean keep =
                row.filter(found ->
                                found.state().equals(VolumeDoc.READY)
                                        || !parts.node().equals(found.node()))
                        .isPresent();
        if (!keep && row.isPresent()) {
            engine.dropVolume(id);
            parts.ledger().write(tx -> tx.delete(Kind.VOLUME, id));
        }
    }

    /** Rows whose disks never came to be, or are gone already. */
    private void forgetHalfMade() {
        Query snapshots = Query.ALL.withNode(parts.node()).withStates(SnapshotDoc.CREATING);
        Query volumes =
                Query.ALL.withNode(parts.node()).withStates(VolumeDoc.CREATING, VolumeDoc.DELETING);
        parts.ledger()
                .act(tx -> {
                    tx.deleteAll(Kind.SNAPSHOT, snapshots);
                    tx.deleteAll(Kind.VOLUME, volumes);
                });
    }

    /** Whatever the quotas are now: it is there. */
    private void count() {
        Query mine = Query.ALL.withNode(parts.node());
        parts.ledger()
                .read(tx -> tx.list(Kind.SNAPSHOT, mine))
                .forEach(row ->
                        parts.disks().adopt(row.id(), row.tenant(), SnapshotDoc.of(row).bytes));
        parts.ledger()
                .read(tx -> tx.list(Kind.VOLUME, mine))
                .forEach(row ->
                        parts.disks().adopt(row.id(), row.tenant(), VolumeDoc.of(row).diskBytes));
        results(mine.withStates(RunDoc.ENDED, RunDoc.FAILED, RunDoc.LOST));
    }

    /** Files of runs, which may be many: a page of rows at a time. */
    private void results(Query over) {
        Query.Place after = null;
        List<Row> page;
        do {
            Query next = over.withPage(after, AT_ONCE);
            page = parts.ledger().read(tx -> tx.list(Kind.RUN, next));
            for (Row row : page) {
                long bytes = RunDoc.of(row).keptBytes;
                if (bytes > 0) {
                    parts.disks().adopt(row.id(), row.tenant(), bytes);
                }
                after = new Query.Place(row.created(), row.id());
            }
        } while (page.size() == AT_ONCE);
    }

    /** Collected files whose run was deleted, or came with a server that died before its row. */
    private void dropResults() {
        Path folder = parts.config().data().resolve(RunWork.FOLDER);
        if (!Files.isDirectory(folder)) {
            return;
        }
        try (Stream<Path> all = Files.list(folder)) {
            all.filter(this::isUnknownRun).forEach(Trees::delete);
        } catch (IOException e) {
            throw new UncheckedIOException("The folder " + folder + " cannot be read.", e);
        }
    }

    private boolean isUnknownRun(Path path) {
        String id = String.valueOf(path.getFileName());
        return Ids.matches(Ids.Kind.RUN, id)
                && parts.ledger().read(tx -> tx.find(Kind.RUN, id)).isEmpty();
    }

    /**
     * Drops saved disks that nobody knows: what an engine had begun when it went away. Every disk
     * that is wanted was written down before it was asked for, so the disks are listed first.
     */
    void orphans() {
        for (Engine engine : parts.engines().engines()) {
            List<String> there = engine.snapshots().stream().map(Engine.SavedDisk::id).toList();
            Set<String> wanted = pausedHere();
            for (String id : there) {
                boolean known =
                        wanted.contains(id)
                                || parts.ledger().read(tx -> tx.find(Kind.SNAPSHOT, id)).isPresent()
                                || pausedElsewhere(id);
                if (!known) {
                    engine.dropSnapshot(id);
                }
            }
        }
    }
}
