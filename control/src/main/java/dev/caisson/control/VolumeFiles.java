package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.EndReason;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.EventType;
import dev.caisson.api.ExecResult;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.SandboxFiles;
import dev.caisson.core.Ids;
import dev.caisson.v1.EgressJson;
import dev.caisson.v1.FileJson;
import dev.caisson.v1.LimitsJson;
import dev.caisson.v1.MoveRequest;
import dev.caisson.v1.SandboxRequest;
import dev.caisson.v1.VolumeMountJson;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What is in volumes. Nobody but a sandbox reads a file system that a tenant's programs have
 * written, so each call makes one of the caller's tenant, which has the volume and ends with the
 * call: it counts in quotas and usage, is told in events, and is listed with the label {@code
 * caisson/volume}. What was written is on the disk before it is answered. Thread-safe.
 */
final class VolumeFiles implements ContentService {
    static final String LABEL = "caisson/volume";

    private static final Logger LOG = LoggerFactory.getLogger(VolumeFiles.class);

    /** Where the volume is inside. */
    private static final String ROOT = "/volume";

    /** In a volume that nobody has written to yet; the first writer's mount takes it away. */
    private static final String MADE_BY_MKFS = "/lost+found";

    private static final int MKFS_MODE = 0700;

    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final Duration LONGEST = Duration.ofHours(1);
    private static final Duration SYNC = Duration.ofMinutes(2);
    private static final long MEMORY = 64 << 20;
    private static final long DISK = 16 << 20;
    private static final long PIDS = 32;
    private static final String HOST = "host";

    private final Parts parts;
    private final Lives lives;
    private final Orders orders;
    private final Volumes volumes;
    private final VolumeTurns turns = new VolumeTurns(PATIENCE);

    VolumeFiles(Parts parts, Lives lives, Orders orders, Volumes volumes) {
        this.parts = parts;
        this.lives = lives;
        this.orders = orders;
        this.volumes = volumes;
    }

    private interface Action<T> {
        T run(SandboxFiles files, String path) throws IOException;
    }

    // ---- reading

    @Override
    public FileJson stat(Caller caller, String volume, String path) {
        return own(quietly(() -> reading(caller, volume, path, FileParts::stat)));
    }

    @Override
    public List<FileJson> list(Caller caller, String volume, String path, boolean recursive) {
        return quietly(() ->
                        reading(
                                caller,
                                volume,
                                path,
                                (files, at) -> FileParts.list(files, at, recursive)))
                .stream()
                .map(VolumeFiles::own)
                .filter(file -> !MADE_BY_MKFS.equals(file.path()) || file.mode() != MKFS_MODE)
                .toList();
    }

    @Override
    public void read(
            Caller caller,
            String volume,
            String path,
            long offset,
            long length,
            OutputStream target)
            throws IOException {
        reading(caller, volume, path, (files, at) -> files.read(at, offset, length, target));
    }

    @Override
    public void archive(Caller caller, String volume, String path, OutputStream target)
            throws IOException {
        reading(
                caller,
                volume,
                path,
                (files, at) -> {
                    Archives.write(files, at, target, true);
                    return at;
                });
    }

    private <T> T reading(Caller caller, String volume, String path, Action<T> action)
            throws IOException {
        Access.require(caller, "volumes:read");
        String inside = Paths.within(ROOT, path);
        VolumeDoc doc = volumes.here(caller, volume);
        return within(caller, doc, false, box -> action.run(box.hosted().files(), inside));
    }

    // ---- writing

    @Override
    public FileJson write(
            Caller caller, String volume, String path, InputStream content, @Nullable Integer mode)
            throws IOException {
        return own(
                writing(
                        caller,
                        volume,
                        path,
                        "written",
                        (files, at) -> FileParts.write(files, at, content, mode)));
    }

    @Override
    public FileJson makeDirectory(Caller caller, String volume, String path) {
        return own(
                quietly(() ->
                        writing(
                                caller,
                                volume,
                                path,
                                "made",
                                (files, at) -> {
                                    files.makeDirectory(at);
                                    return FileParts.stat(files, at);
                                })));
    }

    @Override
    public void delete(Caller caller, String volume, String path, boolean recursive) {
        if (Paths.within(ROOT, path).equals(ROOT)) {
            throw CaissonException.invalid("path", "The root of a volume cannot be removed.")
                    .withRemedy("Delete the volume, or what is in it.");
        }
        quietly(() ->
                writing(
                        caller,
                        volume,
                        path,
                        "removed",
                        (files, at) -> {
                            if (recursive) {
                                files.removeTree(at);
                            } else {
                                files.remove(at);
                            }
                            return at;
                        }));
    }

    @Override
    public FileJson move(Caller caller, String volume, MoveRequest request) {
        String to = Paths.within(ROOT, request.to());
        return own(
                quietly(() ->
                        writing(
                                caller,
                                volume,
                                request.from(),
                                "moved",
                                (files, at) -> {
                                    files.move(at, to);
                                    return FileParts.stat(files, to);
                                })));
    }

    @Override
    public long unpack(Caller caller, String volume, String path, InputStream archive)
            throws IOException {
        Access.require(caller, "volumes:write");
        long cap = volumes.here(caller, volume).diskBytes;
        return FileParts.aside(
                parts,
                caller,
                aside ->
                        writing(
                                caller,
                                volume,
                                path,
                                "unpacked",
                                (files, at) -> Archives.unpack(files, at, archive, cap, aside)));
    }

    private <T> T writing(Caller caller, String volume, String path, String how, Action<T> action)
            throws IOException {
        Access.require(caller, "volumes:write");
        String inside = Paths.within(ROOT, path);
        VolumeDoc doc = volumes.here(caller, volume);
        return within(
                caller,
                doc,
                true,
                box -> {
                    T result = action.run(box.hosted().files(), inside);
                    sync(box, doc.id);
                    parts.ledger()
                            .act(tx ->
                                    parts.ledger()
                                            .event(
                                                    tx,
                                                    caller,
                                                    EventType.VOLUME_WRITTEN,
                                                    box.doc().subject(),
                                                    how,
                                                    Map.of("volume", doc.id, "path", path)));
                    return result;
                });
    }

    /** A volume is as durable as its file system: what a program has written out is. */
    private static void sync(Box box, String volume) {
        ExecSpec spec = ExecSpec.of("sync", "-f", ROOT).withCapture(false).withTimeout(SYNC);
        try {
            ExecResult result =
                    box.hosted()
                            .start(Ids.next(Ids.Kind.EXEC), spec, Deaf.SINK)
                            .onExit()
                            .toCompletableFuture()
                            .get(2 * SYNC.toMillis(), TimeUnit.MILLISECONDS);
            if (result.exitCode().orElse(-1) != 0) {
                throw notSynced(volume, "sync ended by " + result.reason().value(), null);
            }
        } catch (ExecutionException e) {
            throw notSynced(volume, String.valueOf(e.getCause()), e);
        } catch (TimeoutException e) {
            throw notSynced(volume, "sync takes too long", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw notSynced(volume, "interrupted", e);
        }
    }

    private static CaissonException notSynced(
            String volume, String why, @Nullable Exception cause) {
        String message = "What was written to the volume " + volume + " may not last: " + why + ".";
        CaissonException refusal =
                cause == null
                        ? CaissonException.of(ErrorCode.ENGINE_FAILED, message)
                        : CaissonException.of(ErrorCode.ENGINE_FAILED, message, cause);
        return refusal.withRemedy("Do it again; the folder's owner must be able to read it.");
    }

    // ---- the sandbox of a call

    private interface Work<T> {
        T run(Box box) throws IOException;
    }

    private <T> T within(Caller caller, VolumeDoc volume, boolean writes, Work<T> work)
            throws IOException {
        try (VolumeTurns.Turn _ = turns.take(volume.id, writes)) {
            mustBeFree(volume, writes);
            Box box =
                    lives.create(
                            caller,
                            orders.order(caller, request(caller, volume, writes)),
                            SandboxDoc.RUNNING);
            try {
                return work.run(box);
            } finally {
                end(caller, box);
            }
        }
    }

    /** The engine says so as well, but after it has been asked for a sandbox. */
    private void mustBeFree(VolumeDoc volume, boolean writes) {
        for (Box box : parts.boxes().all()) {
            for (VolumeMountJson mount : box.doc().volumes) {
                boolean meets = mount.volume().equals(volume.id) && (writes || !mount.readOnly());
                if (meets && box.hostedOrNull() != null) {
                    throw CaissonException.of(
                                    ErrorCode.INVALID_STATE,
                                    "The sandbox "
                                            + box.id
                                            + (mount.readOnly() ? " reads" : " writes to")
                                            + " the volume "
                                            + volume.name
                                            + ".")
                            .withRemedy(
                                    "Use its files there, or end it: a volume has one writer or"
                                            + " many readers.")
                            .withDetail("sandbox", box.id)
                            .withDetail("volume", volume.id);
                }
            }
        }
    }

    private SandboxRequest request(Caller caller, VolumeDoc volume, boolean writes) {
        EffectivePolicy policy = parts.policies().effective(caller, null);
        LimitsJson most = policy.maxLimits();
        LimitsJson limits =
                new LimitsJson(
                        null,
                        least(MEMORY, most.memoryBytes()),
                        least(PIDS, most.pids()),
                        least(DISK, most.diskBytes()),
                        null,
                        null,
                        null,
                        null,
                        null,
                        null);
        return new SandboxRequest(
                null,
                null,
                Map.of(LABEL, volume.id),
                volume.tier,
                policy.templates().contains(HOST)
                        ? HOST
                        : policy.templates().stream().min(String::compareTo).orElse(HOST),
                null,
                null,
                limits,
                Map.of(),
                least(policy.maxTimeout()),
                null,
                least(policy.maxLife()),
                "delete",
                false,
                "denied",
                List.of(new VolumeMountJson(volume.id, ROOT, !writes)),
                // Should this server die meanwhile, the next one ends it at once.
                true,
                policy.allowDegraded() ? true : null,
                "none",
                EgressJson.closed(),
                List.of());
    }

    private static long least(long wanted, @Nullable Long most) {
        return most == null ? wanted : Math.min(wanted, most);
    }

    private static long least(Optional<Duration> most) {
        return Math.min(LONGEST.toMillis(), most.orElse(LONGEST).toMillis());
    }

    /** What cannot be ended now has its longest life, and is ended by an alarm. */
    private void end(Caller caller, Box box) {
        try {
            lives.end(box, EndReason.DELETED, caller);
        } catch (CaissonException e) {
            LOG.atWarn()
                    .addKeyValue("sandbox", box.id)
                    .addKeyValue("cause", e.message())
                    .log("the sandbox of a volume's content could not be ended yet");
        }
    }

    // ---- forms

    /** With the path that it has in the volume. */
    private static FileJson own(FileJson file) {
        String path = file.path().substring(ROOT.length());
        return new FileJson(
                path.isEmpty() ? "/" : path,
                path.isEmpty() ? "" : file.name(),
                file.type(),
                file.size(),
                file.mode(),
                file.modifiedAt(),
                file.target());
    }

    private interface Quiet<T> {
        T run() throws IOException;
    }

    private static <T> T quietly(Quiet<T> work) {
        try {
            return work.run();
        } catch (IOException e) {
            throw CaissonException.of(ErrorCode.INTERNAL, "Nothing is written here.", e);
        }
    }
}
