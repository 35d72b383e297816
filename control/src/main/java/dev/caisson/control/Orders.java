package dev.caisson.control;

import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Limits;
import dev.caisson.api.Tier;
import dev.caisson.core.Engine;
import dev.caisson.core.VolumeMount;
import dev.caisson.v1.EgressJson;
import dev.caisson.v1.LimitsJson;
import dev.caisson.v1.SandboxRequest;
import dev.caisson.v1.VolumeMountJson;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Checks what is asked against the policy and makes an order of it. Thread-safe. */
final class Orders {
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_][A-Za-z0-9._-]{0,62}");
    private static final int MAX_LABELS = 64;
    private static final int MAX_LABEL = 256;
    private static final int MAX_ENV_BYTES = 128 << 10;

    /** What the product takes where no policy says less. */
    static final Duration LONGEST_TIMEOUT = Duration.ofDays(30);

    private static final Duration LONGEST_LIFE = Duration.ofDays(365);

    private final Parts parts;
    private final Snapshots snapshots;
    private final Volumes volumes;

    Orders(Parts parts, Snapshots snapshots, Volumes volumes) {
        this.parts = parts;
        this.snapshots = snapshots;
        this.volumes = volumes;
    }

    /** The order for a request. */
    Order order(Caller caller, SandboxRequest request) {
        EffectivePolicy policy = parts.policies().effective(caller, request.policy());
        SandboxDoc doc = new SandboxDoc();
        doc.tenant = caller.tenant();
        doc.keyId = caller.keyId();
        doc.name = name(request.name());
        doc.labels = labels(request.labels());
        doc.policy = request.policy();
        doc.policyVersion = policy.version();
        doc.root = root(request.root(), policy);
        List<VolumeMount> mounts = volumes.mounts(caller, request.volumes());
        doc.volumes =
                mounts.stream()
                        .map(mount ->
                                new VolumeMountJson(mount.volume(), mount.path(), mount.readOnly()))
                        .toList();
        doc.autoResume = Boolean.TRUE.equals(request.autoResume());
        doc.owned = Boolean.TRUE.equals(request.owned());
        doc.allowDegraded = allowDegraded(request, policy);
        times(doc, request, policy);
        Optional<SnapshotDoc> snapshot =
                Optional.ofNullable(request.snapshot()).map(id -> snapshots.ready(caller, id));
        Limits limits = policy.limits(limits(request.limits(), snapshot));
        Engine engine = parts.engines().choose(tier(request.tier(), snapshot), policy);
        doc.tier = engine.tier().value();
        doc.engine = engine.name();
        doc.snapshot = snapshot.map(saved -> saved.id).orElse(null);
        doc.template = template(request.template(), snapshot, policy, engine);
        if (limits.ioRate().isPresent() && !engine.capabilities().ioRate()) {
            throw parts.engines()
                    .unsupported(
                            engine.tier(),
                            "limit disk traffic",
                            "ioBytesPerSecond",
                            List.of(Tier.CONTAINER, Tier.MICROVM),
                            Engine.Capabilities::ioRate)
                    .withDetail("limit", "io");
        }
        List<EgressJson> egress = WayOut.asked(policy, request.egress());
        WayOut.require(engine, egress);
        doc.egress = request.egress();
        doc.keyPolicy = caller.policy();
        doc.wayOut = WayOut.open(egress);
        doc.secretNames = SecretUses.wanted(request);
        doc.secrets = parts.secrets().ofSandbox(caller, policy, request);
        return new Order(
                doc,
                engine,
                limits,
                env(request.env()),
                snapshot.map(saved -> saved.id),
                mounts,
                egress,
                policy);
    }

    private static @Nullable String name(@Nullable String name) {
        if (name != null && !NAME.matcher(name).matches()) {
            throw CaissonException.invalid(
                    "name", "The name is not [A-Za-z0-9_][A-Za-z0-9._-]{0,62}.");
        }
        if (name != null && name.matches("sb[a-z0-9]{20}")) {
            throw CaissonException.invalid("name", "A name must not look like an id.");
        }
        return name;
    }

    static Map<String, String> labels(Map<String, String> labels) {
        if (labels.size() > MAX_LABELS) {
            throw CaissonException.invalid("labels", "More than " + MAX_LABELS + " labels.");
        }
        labels.forEach((key, value) -> {
            if (!key.matches("[A-Za-z0-9_][A-Za-z0-9._/-]{0,62}")
                    || value.length() > MAX_LABEL
                    || value.chars().anyMatch(Character::isISOControl)) {
                throw CaissonException.invalid(
                        "labels",
                        "A label's key is [A-Za-z0-9_][A-Za-z0-9._/-]{0,62}, its value at most "
                                + MAX_LABEL
                                + " characters without control characters.");
            }
        });
        return labels;
    }

    private static Map<String, String> env(Map<String, String> env) {
        ExecSpecs.checkEnv(env, MAX_ENV_BYTES);
        return dev.caisson.api.ExecSpec.of("true").withEnv(env).env();
    }

    private static boolean root(@Nullable String asked, EffectivePolicy policy) {
        if (asked == null || asked.equals("denied")) {
            return false;
        }
        if (!asked.equals("allowed")) {
            throw CaissonException.invalid("root", "root is denied or allowed.");
        }
        if (!policy.root()) {
            throw EffectivePolicy.denied("root", "allowed", "denied");
        }
        return true;
    }

    private static boolean allowDegraded(SandboxRequest request, EffectivePolicy policy) {
        boolean asked = Boolean.TRUE.equals(request.allowDegraded());
        if (asked && !policy.allowDegraded()) {
            throw EffectivePolicy.denied("allowDegraded", "true", "false");
        }
        return asked;
    }

    private void times(SandboxDoc doc, SandboxRequest request, EffectivePolicy policy) {
        Duration longest = policy.maxTimeout().orElse(LONGEST_TIMEOUT);
        long timeout =
                request.timeoutMillis() == null
                        ? Math.min(parts.config().defaultTimeout().toMillis(), longest.toMillis())
                        : request.timeoutMillis();
        doc.timeoutMillis = within("timeoutMillis", timeout, policy.maxTimeout(), LONGEST_TIMEOUT);
        doc.idleTimeoutMillis =
                request.idleTimeoutMillis() == null
                        ? null
                        : within("idleTimeoutMillis", request.idleTimeoutMillis(), LONGEST_TIMEOUT);
        Long life = request.maxLifeMillis();
        if (life != null) {
            doc.maxLifeMillis = within("maxLifeMillis", life, policy.maxLife(), LONGEST_LIFE);
        } else {
            doc.maxLifeMillis = policy.maxLife().map(Duration::toMillis).orElse(null);
        }
        String onTimeout = request.onTimeout();
        if (onTimeout != null && !onTimeout.equals("delete") && !onTimeout.equals("pause")) {
            throw CaissonException.invalid("onTimeout", "onTimeout is delete or pause.");
        }
        doc.pauseOnTimeout = "pause".equals(onTimeout);
    }

    /** A time within the ceiling of the policy where it has one, else within the product's own. */
    static long within(String field, long millis, Optional<Duration> ceiling, Duration longest) {
        if (ceiling.isEmpty() || millis < 1) {
            return within(field, millis, longest);
        }
        long allowed = ceiling.get().toMillis();
        if (millis > allowed) {
            throw EffectivePolicy.denied(field, Long.toString(millis), "at most " + allowed)
                    .withDetail("limit", field);
        }
        return millis;
    }

    /** A time within what the product takes, whatever policies say. */
    static long within(String field, long millis, Duration longest) {
        if (millis < 1 || millis > longest.toMillis()) {
            throw CaissonException.invalid(field, field + " is 1 to " + longest.toMillis() + ".")
                    .withDetail("limit", field)
                    .withDetail("requested", Long.toString(millis))
                    .withDetail("allowed", "1 to " + longest.toMillis());
        }
        return millis;
    }

    private static @Nullable LimitsJson limits(
            @Nullable LimitsJson asked, Optional<SnapshotDoc> snapshot) {
        if (snapshot.isEmpty()) {
            return asked;
        }
        LimitsJson saved = snapshot.get().limits;
        LimitsJson base = asked == null ? LimitsJson.NONE : asked;
        return new LimitsJson(
                base.cpuMillis(),
                base.memoryBytes(),
                base.pids(),
                base.diskBytes() == null ? saved.diskBytes() : base.diskBytes(),
                base.inodes() == null ? saved.inodes() : base.inodes(),
                base.openFiles(),
                base.timeoutMillis(),
                base.outputBytes(),
                base.onOutputLimit(),
                base.ioBytesPerSecond());
    }

    private static @Nullable String tier(@Nullable String asked, Optional<SnapshotDoc> snapshot) {
        if (snapshot.isEmpty()) {
            return asked;
        }
        String saved = snapshot.get().tier;
        if (asked != null && !asked.equals("auto") && !asked.equals(saved)) {
            throw CaissonException.invalid(
                            "tier", "The snapshot was taken on the tier " + saved + ".")
                    .withDetail("allowed", saved);
        }
        return saved;
    }

    private static String template(
            @Nullable String asked,
            Optional<SnapshotDoc> snapshot,
            EffectivePolicy policy,
            Engine engine) {
        String template = asked == null ? snapshot.map(s -> s.template).orElse("host") : asked;
        if (snapshot.isPresent() && !snapshot.get().template.equals(template)) {
            throw CaissonException.invalid(
                            "template",
                            "The snapshot needs the template " + snapshot.get().template + ".")
                    .withDetail("allowed", snapshot.get().template);
        }
        if (!policy.templates().contains(template)) {
            throw EffectivePolicy.denied(
                    "template", Boxes.shown(template), String.join(", ", policy.templates()));
        }
        if (!engine.host().templates().contains(template)) {
            throw CaissonException.of(
                            ErrorCode.NOT_FOUND,
                            "There is no template '" + Boxes.shown(template) + "'.")
                    .withDetail("allowed", String.join(", ", engine.host().templates()));
        }
        return template;
    }

    /** The engine that has a sandbox. */
    Engine engineOf(SandboxDoc doc) {
        return parts.engines()
                .of(Tier.of(doc.tier))
                .orElseThrow(() ->
                        CaissonException.of(
                                ErrorCode.LAUNCHER_UNAVAILABLE,
                                "The engine of the tier " + doc.tier + " is away."));
    }

    /** The mounts of a sandbox that is made again. */
    List<VolumeMount> mounts(SandboxDoc doc) {
        return doc.volumes.stream().map(Orders::mount).toList();
    }

    static VolumeMount mount(VolumeMountJson form) {
        return new VolumeMount(form.volume(), form.path(), form.readOnly());
    }

    /** Limits that were in force already. */
    static Limits limits(LimitsJson form) {
        Limits base = Limits.defaults();
        Limits limits =
                new Limits(
                        or(form.cpuMillis(), Math.round(base.cpus() * 1000)) / 1000.0,
                        ByteSize.of(or(form.memoryBytes(), base.memory().bytes())),
                        (int) or(form.pids(), base.pids()),
                        ByteSize.of(or(form.diskBytes(), base.disk().bytes())),
                        or(form.inodes(), base.inodes()),
                        (int) or(form.openFiles(), base.openFiles()),
                        Duration.ofMillis(or(form.timeoutMillis(), base.timeout().toMillis())),
                        ByteSize.of(or(form.outputBytes(), base.outputLimit().bytes())),
                        form.onOutputLimit() == null
                                ? base.onOutputLimit()
                                : EffectivePolicy.onOutputLimit(form.onOutputLimit()),
                        Optional.empty());
        return form.ioBytesPerSecond() == null
                ? limits
                : limits.withIoRate(ByteSize.of(form.ioBytesPerSecond()));
    }

    private static long or(@Nullable Long value, long other) {
        return value == null ? other : value;
    }
}
