package dev.caisson.control;

import dev.caisson.v1.Json;
import dev.caisson.v1.SecretJson;
import dev.caisson.v1.SecretSpec;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * The body of a secret's row.
 *
 * @param spec where it goes
 * @param source {@code value, file, env, command}
 * @param from path, variable or name of the command; null for a value
 * @param refreshMillis how often the source is read again; null for a value
 * @param sealed the last value that was read, encrypted
 * @param generation counts values, from 1
 * @param rotatedAt when the present value came, if it is not the first
 * @param readAt when the source was asked at last, whatever it gave
 * @param expiresAt its end
 * @param usage what became of it
 * @param problem why the source could not be read at last
 */
record SecretDoc(
        SecretSpec spec,
        String source,
        @Nullable String from,
        @Nullable Long refreshMillis,
        String sealed,
        long generation,
        @Nullable Instant rotatedAt,
        Instant readAt,
        @Nullable Instant expiresAt,
        Usage usage,
        @Nullable String problem) {

    static final String ACTIVE = "active";
    static final String FAILING = "failing";
    static final String EXPIRED = "expired";
    static final String SPENT = "spent";

    /** What was used. */
    record Usage(@Nullable Instant lastAt, long requests, long bytes) {
        static final Usage NONE = new Usage(null, 0, 0);

        Usage plus(long moreRequests, long moreBytes, Instant at) {
            Instant last = lastAt != null && lastAt.isAfter(at) ? lastAt : at;
            return new Usage(last, added(requests, moreRequests), added(bytes, moreBytes));
        }

        private static long added(long before, long more) {
            long sum = before + Math.max(0, more);
            return sum < 0 ? Long.MAX_VALUE : sum;
        }
    }

    static SecretDoc of(Row row) {
        return Json.read(row.body(), SecretDoc.class);
    }

    /** The same value, read again. */
    SecretDoc readAgain(Instant now) {
        return read(now, null);
    }

    /** The source gave nothing. */
    SecretDoc failed(String why, Instant now) {
        return read(now, why);
    }

    private SecretDoc read(Instant now, @Nullable String newProblem) {
        Draft draft = new Draft(this);
        draft.readAt = now;
        draft.problem = newProblem;
        return draft.doc();
    }

    /** Another value of the same source. */
    SecretDoc refreshed(String newSealed, Instant now) {
        Draft draft = new Draft(read(now, null));
        draft.sealed = newSealed;
        draft.generation = generation + 1;
        draft.rotatedAt = now;
        return draft.doc();
    }

    SecretDoc used(Usage now) {
        Draft draft = new Draft(this);
        draft.usage = now;
        return draft.doc();
    }

    SecretDoc until(@Nullable Instant end) {
        Draft draft = new Draft(this);
        draft.expiresAt = end;
        return draft.doc();
    }

    String state(Instant now) {
        if (expiresAt != null && !now.isBefore(expiresAt)) {
            return EXPIRED;
        }
        if (spent(spec.requests(), usage.requests()) || spent(spec.bytes(), usage.bytes())) {
            return SPENT;
        }
        return problem == null ? ACTIVE : FAILING;
    }

    private static boolean spent(@Nullable Long most, long used) {
        return most != null && used >= most;
    }

    /** Whether requests may get it. */
    boolean usable(Instant now) {
        String state = state(now);
        return state.equals(ACTIVE) || state.equals(FAILING);
    }

    /** Whether its source is to be read again. */
    boolean stale(Instant now) {
        return refreshMillis != null && !now.isBefore(readAt.plusMillis(refreshMillis));
    }

    /** The spec with what is left of its limits. */
    SecretSpec left() {
        return new SecretSpec(
                spec.bindings(),
                spec.env(),
                spec.requestsPerMinute(),
                left(spec.requests(), usage.requests()),
                left(spec.bytes(), usage.bytes()));
    }

    private static @Nullable Long left(@Nullable Long most, long used) {
        return most == null ? null : Long.valueOf(Math.max(0, most - used));
    }

    SecretJson form(Row row, Instant now) {
        return new SecretJson(
                row.id(),
                String.valueOf(row.name()),
                row.tenant(),
                state(now),
                spec,
                source,
                from,
                refreshMillis,
                generation,
                row.created(),
                rotatedAt,
                expiresAt,
                usage.lastAt(),
                usage.requests(),
                usage.bytes(),
                problem);
    }

    /** A copy of which some fields are set. */
    private static final class Draft {
        private final SecretDoc doc;
        private String sealed;
        private long generation;
        private @Nullable Instant rotatedAt;
        private Instant readAt;
        private @Nullable Instant expiresAt;
        private Usage usage;
        private @Nullable String problem;

        Draft(SecretDoc doc) {
            this.doc = doc;
            sealed = doc.sealed;
            generation = doc.generation;
            rotatedAt = doc.rotatedAt;
            readAt = doc.readAt;
            expiresAt = doc.expiresAt;
            usage = doc.usage;
            problem = doc.problem;
        }

        SecretDoc doc() {
            return new SecretDoc(
                    doc.spec,
                    doc.source,
                    doc.from,
                    doc.refreshMillis,
                    sealed,
                    generation,
                    rotatedAt,
                    readAt,
                    expiresAt,
                    usage,
                    problem);
        }
    }
}
