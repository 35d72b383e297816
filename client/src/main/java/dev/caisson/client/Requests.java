package dev.caisson.client;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.Limits;
import dev.caisson.api.OnOutputLimit;
import dev.caisson.api.SandboxSpec;
import dev.caisson.api.Tier;
import dev.caisson.v1.EgressJson;
import dev.caisson.v1.ExecRequest;
import dev.caisson.v1.Json;
import dev.caisson.v1.LimitsJson;
import dev.caisson.v1.PtyJson;
import dev.caisson.v1.SandboxRequest;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Turns what the API says into what is asked of a server. */
final class Requests {
    private Requests() {}

    static SandboxRequest sandbox(SandboxSpec spec, Duration lease) {
        return new SandboxRequest(
                spec.name().orElse(null),
                null,
                spec.labels(),
                tier(spec),
                template(spec),
                null,
                null,
                limits(spec.limits()),
                spec.env(),
                lease.toMillis(),
                null,
                spec.maxLife().map(Duration::toMillis).orElse(null),
                null,
                null,
                root(spec),
                List.of(),
                null,
                spec.allowDegraded() ? true : null,
                null,
                egress(spec),
                List.of());
    }

    static @Nullable EgressJson egress(SandboxSpec spec) {
        if (!spec.secrets().isEmpty()) {
            throw CaissonException.of(
                            ErrorCode.UNSUPPORTED,
                            "A server takes no secrets along with a sandbox: it keeps them.")
                    .withRemedy(
                            "Create the secret there (caisson secrets create) and name it in the"
                                    + " way out's document.");
        }
        return spec.egress()
                .map(json -> Json.request(json.getBytes(StandardCharsets.UTF_8), EgressJson.class))
                .orElse(null);
    }

    static @Nullable String tier(SandboxSpec spec) {
        return spec.tier() == Tier.AUTO ? null : spec.tier().value();
    }

    static @Nullable String template(SandboxSpec spec) {
        return spec.template().equals(SandboxSpec.defaults().template()) ? null : spec.template();
    }

    static @Nullable String root(SandboxSpec spec) {
        return spec.root() ? "allowed" : null;
    }

    /** Only what differs from the API's defaults: the rest is for policy and template to say. */
    static @Nullable LimitsJson limits(Limits limits) {
        Limits normal = Limits.defaults();
        if (limits.equals(normal)) {
            return null;
        }
        return new LimitsJson(
                differing(limits, normal, given -> Math.round(given.cpus() * 1000)),
                differing(limits, normal, given -> given.memory().bytes()),
                differing(limits, normal, given -> (long) given.pids()),
                differing(limits, normal, given -> given.disk().bytes()),
                differing(limits, normal, Limits::inodes),
                differing(limits, normal, given -> (long) given.openFiles()),
                differing(limits, normal, given -> given.timeout().toMillis()),
                differing(limits, normal, given -> given.outputLimit().bytes()),
                differing(limits, normal, given -> given.onOutputLimit().value()),
                limits.ioRate().map(rate -> rate.bytes()).orElse(null));
    }

    private static <T> @Nullable T differing(
            Limits limits, Limits normal, Function<Limits, T> field) {
        T value = field.apply(limits);
        return value.equals(field.apply(normal)) ? null : value;
    }

    static ExecRequest exec(ExecSpec spec) {
        Optional<PtyJson> pty = spec.pty().map(size -> new PtyJson(size.rows(), size.cols()));
        ExecSpec normal = ExecSpec.of("true");
        return new ExecRequest(
                spec.argv(),
                null,
                spec.env(),
                spec.cwd(),
                spec.user().equals(normal.user()) ? null : spec.user().label(),
                spec.timeout().map(Duration::toMillis).orElse(null),
                spec.grace().equals(normal.grace()) ? null : spec.grace().toMillis(),
                (spec.stdin() && pty.isEmpty()) ? Boolean.TRUE : null,
                null,
                spec.linger() ? true : null,
                pty.orElse(null),
                spec.outputLimit().map(size -> size.bytes()).orElse(null),
                spec.onOutputLimit().map(OnOutputLimit::value).orElse(null),
                spec.secrets());
    }
}
