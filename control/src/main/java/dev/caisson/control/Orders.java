package dev.caisson.control;

import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Limits;
import dev.caisson.api.Tier;
import dev.caisson.core.Engine;
import dev.caisson.core.VolumeMount;
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
        return new Order(
                doc,
                engine,
                limits,
                env(request.env()),
                snapshot.map(saved -> saved.id),
                mounts,
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
        long bytes =
                env.entrySet().stream()
                        .mapToLong(entry -> entry.getKey().length() + entry.getValue().length())
                        .sum();
        if (bytes > MAX_ENV_BYTES) {
            throw CaissonException.invalid("env", "The environment is larger than 128 KiB.");
        }
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
        Duration longest = policy.maxTimeout().orElse(Duration.ofDays(30));
        long timeout =
                request.timeoutMillis() == null
                        ? Math.min(parts.config().defaultTimeout().toMillis(), longest.toMillis())
                        : request.timeoutMillis();
        doc.timeoutMillis = within("timeoutMillis", timeout, longest);
        doc.idleTimeoutMillis =
                request.idleTimeoutMillis() == null
                        ? null
                        : within(
                                "idleTimeoutMillis",
                                request.idleTimeoutMillis(),
                                Duration.ofDays(30));
        Long life = request.maxLifeMillis();
        Duration ceiling = policy.maxLife().orElse(Duration.ofDays(365));
        if (life != null) {
            doc.maxLifeMillis = within("maxLifeMillis", life, ceiling);
        } else {
            doc.maxLifeMillis = policy.maxLife().map(Duration::toMillis).orElse(null);
        }
        String onTimeout = request.onTimeout();
        if (onTimeout != null && !onTimeout.equals("delete") && !onTimeout.equals("pause")) {
            throw CaissonException.invalid("onTimeout", "onTimeout is delete or pause.");
        }
        doc.pauseOnTimeout = "pause".equals(onTimeout);
    }

    static long within(String field, long millis, Duration longest) {
        if (millis < 1) {
            throw CaissonException.invalid(field, field + " is at least 1.");
        }
        if (millis > longest.toMillis()) {
            throw EffectivePolicy.denied(
                            field, Long.toString(millis), "at most " + longest.toMillis())
                    .withDetail("limit", field);
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
