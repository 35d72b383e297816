package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.EndReason;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.EventType;
import dev.caisson.api.Limits;
import dev.caisson.api.UserInfo;
import dev.caisson.core.EngineSandbox;
import dev.caisson.core.HostedSandbox;
import dev.caisson.v1.ExtendRequest;
import dev.caisson.v1.ForkRequest;
import dev.caisson.v1.LimitsJson;
import dev.caisson.v1.MetricsJson;
import dev.caisson.v1.Page;
import dev.caisson.v1.PauseRequest;
import dev.caisson.v1.SandboxJson;
import dev.caisson.v1.SandboxPatch;
import dev.caisson.v1.SandboxRequest;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The life of sandboxes, for callers. Thread-safe. */
final class Sandboxes implements SandboxService {
    private static final int MAX_FORKS = 100;

    private final Parts parts;
    private final Lives lives;
    private final Orders orders;
    private final Pauses pauses;
    private final Pools pools;
    private final Snapshots snapshots;
    private final Uses uses;

    Sandboxes(
            Parts parts,
            Lives lives,
            Orders orders,
            Pauses pauses,
            Pools pools,
            Snapshots snapshots,
            Uses uses) {
        this.parts = parts;
        this.lives = lives;
        this.orders = orders;
        this.pauses = pauses;
        this.pools = pools;
        this.snapshots = snapshots;
        this.uses = uses;
    }

    // ---- making

    @Override
    public Made create(Caller caller, SandboxRequest request) {
        Access.require(caller, "sandboxes:write");
        requireDisks(caller, request);
        Optional<SandboxJson> there = existing(caller, request);
        if (there.isPresent()) {
            return new Made(there.get(), true);
        }
        try {
            return new Made(form(make(caller, request, null)), false);
        } catch (CaissonException e) {
            // Somebody else made it between the look and the making.
            if (e.code() == ErrorCode.ALREADY_EXISTS) {
                Optional<SandboxJson> other = existing(caller, request);
                if (other.isPresent()) {
                    return new Made(other.get(), true);
                }
            }
            throw e;
        }
    }

    /**
     * Whoever starts from a snapshot reads it; a volume is read, and written unless it says not.
     */
    private static void requireDisks(Caller caller, SandboxRequest request) {
        if (request.snapshot() != null) {
            Access.require(caller, "snapshots:read");
        }
        request.volumes()
                .forEach(mount ->
                        Access.require(
                                caller, mount.readOnly() ? "volumes:read" : "volumes:write"));
    }

    /** Makes one, from a warm pool where one fits. */
    Box make(Caller caller, SandboxRequest request, @Nullable String run) {
        long begin = System.nanoTime();
        Counts counts = parts.ledger().counts();
        try {
            Order order = orders.order(caller, request);
            order.doc().run = run;
            Optional<Box> warm = pools.claim(caller, request, order);
            Box box = warm.orElseGet(() -> lives.create(caller, order, SandboxDoc.RUNNING));
            counts.made(warm.isPresent(), System.nanoTime() - begin);
            return box;
        } catch (CaissonException e) {
            counts.notMade(e.code());
            throw e;
        }
    }

    private Optional<SandboxJson> existing(Caller caller, SandboxRequest request) {
        String policy = request.ifExists();
        if (policy != null && !policy.equals("fail") && !policy.equals("return")) {
            throw CaissonException.invalid("ifExists", "ifExists is fail or return.");
        }
        String name = request.name();
        if (!"return".equals(policy)) {
            return Optional.empty();
        }
        if (name == null) {
            throw CaissonException.invalid("ifExists", "ifExists needs a name.");
        }
        return parts.ledger()
                .read(tx -> tx.named(Kind.SANDBOX, caller.tenant(), name))
                .map(row -> same(caller, row, request))
                .map(this::form);
    }

    private Row same(Caller caller, Row row, SandboxRequest request) {
        SandboxDoc doc = SandboxDoc.of(row);
        boolean template = request.template() == null || request.template().equals(doc.template);
        boolean policy = policy(caller, request.policy()).equals(policy(caller, doc.policy));
        boolean egress = request.egress() == null || request.egress().equals(doc.egress);
        boolean secrets = doc.secretNames.containsAll(SecretUses.wanted(request));
        if (!template || !policy || !egress || !secrets) {
            throw CaissonException.of(
                            ErrorCode.ALREADY_EXISTS,
                            "A sandbox named '"
                                    + doc.name
                                    + "' is there with another template, policy, way out or"
                                    + " secrets.")
                    .withRemedy("Ask for the same, or use another name.")
                    .withDetail("current", doc.template);
        }
        return row;
    }

    /** The id of a policy by id or name; none is the tenant's own. One that is gone is its text. */
    private String policy(Caller caller, @Nullable String idOrName) {
        String asked = idOrName == null ? Policies.OWN : idOrName;
        return parts.ledger()
                .read(tx -> Rows.find(tx, Kind.POLICY, caller.tenant(), asked))
                .map(Row::id)
                .orElse(asked);
    }

    private SandboxJson form(Box box) {
        return box.form(parts.node());
    }

    private SandboxJson form(Row row) {
        return parts.boxes()
                .of(row.id())
                .map(box -> box.form(parts.node()))
                .orElseGet(() -> SandboxDoc.of(row).form(null, row.node(), row.version()));
    }

    // ---- asking

    @Override
    public Page<SandboxJson> list(Caller caller, Listing listing) {
        Access.require(caller, "sandboxes:read");
        Set<String> shown = Set.of(SandboxDoc.SHOWN);
        if (!shown.containsAll(listing.states())) {
            throw CaissonException.invalid("state", "There is no such state of a sandbox.")
                    .withDetail("allowed", String.join(", ", SandboxDoc.SHOWN));
        }
        Query query = Query.of(caller.tenant()).withStates(SandboxDoc.SHOWN);
        Query page = parts.cursors().page(query, listing, "sandboxes");
        return parts.cursors()
                .answer(
                        parts.ledger().read(tx -> tx.list(Kind.SANDBOX, page)),
                        query,
                        listing,
                        "sandboxes",
                        this::form);
    }

    @Override
    public SandboxJson find(Caller caller, String id) {
        Access.require(caller, "sandboxes:read");
        return form(parts.boxes().row(caller, id));
    }

    @Override
    public MetricsJson metrics(Caller caller, String id) {
        Access.require(caller, "sandboxes:read");
        Box box = parts.boxes().living(caller, id);
        HostedSandbox hosted = box.hosted();
        EngineSandbox.Observation seen = hosted.engine().observe();
        LimitsJson limits = box.doc().limits;
        return new MetricsJson(
                box.id,
                parts.ledger().now(),
                seen.usage().cpu().toMillis(),
                seen.usage().cpuThrottled().toMillis(),
                seen.memory().bytes(),
                seen.usage().peakMemory().bytes(),
                or(limits.memoryBytes()),
                seen.pids(),
                or(limits.pids()),
                seen.disk().bytes(),
                or(limits.diskBytes()),
                seen.inodes(),
                seen.ioBytes(),
                or(limits.cpuMillis()),
                seen.frozen());
    }

    private static long or(@Nullable Long value) {
        return value == null ? 0 : value;
    }

    // ---- changing

    @Override
    public SandboxJson patch(Caller caller, String id, SandboxPatch patch, @Nullable Long version) {
        Access.require(caller, "sandboxes:write");
        Box box = parts.boxes().living(caller, id);
        box.lock.lock();
        try {
            box.mustLive();
            if (version != null && version != box.version()) {
                throw CaissonException.of(
                                ErrorCode.PRECONDITION_FAILED,
                                "The sandbox " + box.id + " has changed.")
                        .withRemedy("Read it again, and change that.")
                        .withDetail("current", Long.toString(box.version()));
            }
            SandboxDoc doc = box.draft();
            apply(doc, patch);
            LimitsJson limits = patch.limits();
            if (limits != null) {
                limits(caller, box, doc, limits);
            }
            changed(caller, box, doc);
            lives.schedule(box);
            return box.form(parts.node());
        } finally {
            box.lock.unlock();
        }
    }

    private void changed(Caller caller, Box box, SandboxDoc doc) {
        LimitsJson before = box.doc().limits;
        try {
            lives.save(
                    box,
                    doc,
                    tx ->
                            parts.ledger()
                                    .event(
                                            tx,
                                            caller,
                                            EventType.SANDBOX_CHANGED,
                                            doc.subject(),
                                            "",
                                            Map.of("labels", doc.labels, "limits", doc.limits)));
        } catch (CaissonException e) {
            if (!before.equals(doc.limits)) {
                // What was not written is not in force.
                set(box, Orders.limits(before));
            }
            throw e;
        }
    }

    private static void apply(SandboxDoc doc, SandboxPatch patch) {
        Map<String, @Nullable String> changed = patch.labels();
        if (changed != null) {
            doc.labels = Orders.labels(Forms.merged(doc.labels, changed));
        }
        if (patch.idleTimeoutMillis() != null) {
            doc.idleTimeoutMillis =
                    patch.idleTimeoutMillis() == 0
                            ? null
                            : Orders.within(
                                    "idleTimeoutMillis",
                                    patch.idleTimeoutMillis(),
                                    Orders.LONGEST_TIMEOUT);
        }
        if (patch.onTimeout() != null) {
            if (!Set.of("delete", "pause").contains(patch.onTimeout())) {
                throw CaissonException.invalid("onTimeout", "onTimeout is delete or pause.");
            }
            doc.pauseOnTimeout = patch.onTimeout().equals("pause");
        }
        if (patch.autoResume() != null) {
            doc.autoResume = patch.autoResume();
        }
    }

    private void limits(Caller caller, Box box, SandboxDoc doc, LimitsJson asked) {
        LimitsJson now = doc.limits;
        LimitsJson wanted = merged(asked, now);
        Limits limits = parts.policies().effective(caller, doc.policy).limits(wanted);
        set(box, limits);
        doc.limits = EffectivePolicy.form(limits);
    }

    /** In the tenant's quota and in the engine, or in neither. */
    private static void set(Box box, Limits limits) {
        EngineSandbox engine = box.hosted().engine();
        Quotas.Seat seat = box.seat();
        if (seat != null) {
            seat.change(limits);
        }
        try {
            engine.setLimits(limits);
        } catch (CaissonException e) {
            if (seat != null) {
                seat.change(Orders.limits(box.doc().limits));
            }
            throw e;
        }
    }

    static LimitsJson merged(LimitsJson asked, LimitsJson now) {
        return new LimitsJson(
                first(asked.cpuMillis(), now.cpuMillis()),
                first(asked.memoryBytes(), now.memoryBytes()),
                first(asked.pids(), now.pids()),
                first(asked.diskBytes(), now.diskBytes()),
                first(asked.inodes(), now.inodes()),
                first(asked.openFiles(), now.openFiles()),
                first(asked.timeoutMillis(), now.timeoutMillis()),
                first(asked.outputBytes(), now.outputBytes()),
                asked.onOutputLimit() == null ? now.onOutputLimit() : asked.onOutputLimit(),
                first(asked.ioBytesPerSecond(), now.ioBytesPerSecond()));
    }

    private static @Nullable Long first(@Nullable Long one, @Nullable Long other) {
        return one == null ? other : one;
    }

    @Override
    public SandboxJson extend(Caller caller, String id, ExtendRequest request) {
        Access.require(caller, "sandboxes:write");
        Box box = parts.boxes().living(caller, id);
        EffectivePolicy policy = parts.policies().effective(caller, box.doc().policy);
        long millis =
                Orders.within(
                        "timeoutMillis",
                        request.timeoutMillis(),
                        policy.maxTimeout(),
                        Orders.LONGEST_TIMEOUT);
        box.lock.lock();
        try {
            box.mustLive();
            SandboxDoc doc = box.draft();
            doc.timeoutMillis = millis;
            if (!doc.state.equals(SandboxDoc.PAUSED)) {
                Instant at = parts.ledger().now().plusMillis(millis);
                Instant max = doc.maxLifeAt();
                doc.timeoutAt = max != null && max.isBefore(at) ? max : at;
            }
            lives.renew(box, doc);
            Map<String, Object> data = Map.of("timeoutMillis", millis);
            lives.save(
                    box,
                    doc,
                    tx ->
                            parts.ledger()
                                    .event(
                                            tx,
                                            caller,
                                            EventType.SANDBOX_CHANGED,
                                            doc.subject(),
                                            "extended",
                                            data));
            lives.schedule(box);
            return box.form(parts.node());
        } finally {
            box.lock.unlock();
        }
    }

    @Override
    public SandboxJson delete(Caller caller, String id) {
        Access.require(caller, "sandboxes:write");
        Row row = parts.boxes().row(caller, id);
        Optional<Box> box = parts.boxes().of(row.id());
        if (box.isPresent()) {
            end(box.get(), EndReason.DELETED, caller);
            return form(parts.boxes().row(caller, row.id()));
        }
        if (SandboxDoc.of(row).over()) {
            return form(row);
        }
        parts.boxes().living(caller, row.id()); // says where it is
        throw Boxes.unknown(id);
    }

    /** Ends one with what belongs to it. */
    void end(Box box, EndReason reason, @Nullable Caller caller) {
        lives.end(box, reason, caller);
    }

    @Override
    public SandboxJson pause(Caller caller, String id, PauseRequest request) {
        Access.require(caller, "sandboxes:write");
        Box box = parts.boxes().living(caller, id);
        pauses.pause(box, !Boolean.FALSE.equals(request.memory()), "asked", caller);
        return form(box);
    }

    @Override
    public SandboxJson resume(Caller caller, String id) {
        Access.require(caller, "sandboxes:write");
        Box box = parts.boxes().living(caller, id);
        pauses.resume(box, caller);
        return form(box);
    }

    @Override
    public List<SandboxJson> fork(Caller caller, String id, ForkRequest request) {
        Access.require(caller, "sandboxes:write");
        int count = request.count() == null ? 1 : request.count();
        if (count < 1 || count > MAX_FORKS) {
            throw CaissonException.invalid("count", "A fork makes 1 to " + MAX_FORKS + " copies.");
        }
        Box box = parts.boxes().living(caller, id);
        box.doc().volumes.stream()
                .filter(mount -> !mount.readOnly())
                .findFirst()
                .ifPresent(mount -> {
                    throw writing(box, mount.volume());
                });
        if (!box.doc().volumes.isEmpty()) {
            Access.require(caller, "volumes:read");
        }
        SnapshotDoc saved = snapshots.save(caller, box, null, Map.of());
        List<Box> forks = new ArrayList<>();
        try {
            for (int i = 0; i < count; i++) {
                SandboxRequest copy = forked(box, saved, request);
                forks.add(Answers.unnoted(() -> make(caller, copy, null)));
            }
            return forks.stream().map(this::form).toList();
        } catch (CaissonException e) {
            forks.forEach(fork -> end(fork, EndReason.DELETED, caller));
            throw e;
        } finally {
            snapshots.delete(caller, saved);
        }
    }

    private static CaissonException writing(Box box, String volume) {
        return CaissonException.of(
                        ErrorCode.INVALID_STATE,
                        "The sandbox " + box.id + " writes to the volume " + volume + ".")
                .withRemedy("A volume has one writer: fork sandboxes that only read theirs.")
                .withDetail("volume", volume);
    }

    /** The same again: its environment and what it reads go with it. */
    private static SandboxRequest forked(Box box, SnapshotDoc saved, ForkRequest request) {
        SandboxDoc doc = box.doc();
        Map<String, String> labels = new LinkedHashMap<>(doc.labels);
        labels.putAll(request.labels());
        return new SandboxRequest(
                null,
                null,
                labels,
                doc.tier,
                null,
                saved.id,
                doc.policy,
                doc.limits,
                box.env(),
                doc.timeoutMillis,
                doc.idleTimeoutMillis,
                doc.maxLifeMillis,
                doc.pauseOnTimeout ? "pause" : "delete",
                doc.autoResume,
                doc.root ? "allowed" : "denied",
                doc.volumes,
                doc.owned,
                doc.allowDegraded,
                "none",
                doc.egress,
                doc.secretNames);
    }

    @Override
    public UserInfo addUser(Caller caller, String id, String name) {
        Access.require(caller, "sandboxes:write");
        try (Uses.Use use = uses.of(caller, id)) {
            return use.box().hosted().addUser(name);
        }
    }
}
