package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.EventType;
import dev.caisson.core.Ids;
import dev.caisson.v1.Page;
import dev.caisson.v1.SecretJson;
import dev.caisson.v1.SecretRequest;
import dev.caisson.v1.SecretRotateRequest;
import dev.caisson.v1.SecretSource;
import dev.caisson.v1.SecretSpec;
import dev.caisson.v1.SecretTestJson;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Secrets of tenants. A value is in memory only from where it comes to where it is encrypted, and
 * from there to the gateway; it is never answered, told or logged. Thread-safe.
 */
final class Secrets implements SecretService {
    private static final String NOUN = "secrets";
    private static final int MAX_PER_TENANT = 200;
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_][A-Za-z0-9._-]{0,62}");
    private static final Duration LONGEST = Duration.ofDays(3650);

    private final Ledger ledger;
    private final Cursors cursors;
    private final Vault vault;
    private final Directory directory;
    private final SecretSources sources;
    private final SecretFeed feed;

    Secrets(
            Ledger ledger,
            Cursors cursors,
            Vault vault,
            Directory directory,
            SecretSources sources,
            SecretFeed feed) {
        this.ledger = ledger;
        this.cursors = cursors;
        this.vault = vault;
        this.directory = directory;
        this.sources = sources;
        this.feed = feed;
    }

    /** What the value of a secret is sealed for. */
    static String purpose(String id) {
        return "secret\n" + id;
    }

    /** What events tell of one. */
    static Map<String, Object> data(Row row, String more, Object value) {
        Map<String, Object> data = new TreeMap<>();
        data.put("secret", row.id());
        data.put("name", String.valueOf(row.name()));
        data.put(more, value);
        return data;
    }

    // ---- making

    @Override
    public SecretJson create(Caller caller, SecretRequest request) {
        Access.require(caller, "secrets:write");
        String name = name(request.name());
        SecretSources.Origin origin = origin(caller, request.source());
        SecretSpec spec = SecretRules.checked(request.spec());
        Instant end = end(request.expiresAt(), request.lifeMillis());
        String id = Ids.next(Ids.Kind.SECRET);
        String sealed = sealed(id, origin, request.source(), spec);
        Instant now = ledger.now();
        SecretDoc doc =
                new SecretDoc(
                        spec,
                        origin.kind(),
                        origin.from(),
                        origin.refreshMillis(),
                        sealed,
                        1,
                        null,
                        now,
                        end,
                        SecretDoc.Usage.NONE,
                        null);
        Row row = ledger.write(tx -> insert(tx, caller, id, name, doc));
        return doc.form(row, now);
    }

    private Row insert(Store.Tx tx, Caller caller, String id, String name, SecretDoc doc) {
        if (tx.count(Kind.SECRET, Query.of(caller.tenant())) >= MAX_PER_TENANT) {
            throw CaissonException.of(
                            ErrorCode.QUOTA_EXCEEDED,
                            "A tenant has at most " + MAX_PER_TENANT + " secrets.")
                    .withRemedy("Delete one.")
                    .withDetail("limit", NOUN)
                    .withDetail("allowed", Integer.toString(MAX_PER_TENANT));
        }
        Row row = Rows.fresh(id, caller.tenant(), name, SecretDoc.ACTIVE, ledger.now(), doc);
        tx.insert(Kind.SECRET, row);
        event(tx, caller, EventType.SECRET_CREATED, data(row, "source", doc.source()));
        return row;
    }

    private void event(Store.Tx tx, Caller caller, EventType type, Map<String, Object> data) {
        Ledger.Subject about = Ledger.Subject.tenant(caller.tenant());
        ledger.event(tx, caller, type, about, "requested", data);
    }

    private static String name(@Nullable String name) {
        if (name == null || !NAME.matcher(name).matches()) {
            throw CaissonException.invalid(
                    "name", "The name is not [A-Za-z0-9_][A-Za-z0-9._-]{0,62}.");
        }
        if (Ids.matches(Ids.Kind.SECRET, name)) {
            throw CaissonException.invalid("name", "A name must not look like an id.");
        }
        return name;
    }

    /**
     * What is on the server is everybody's who could name it and bind it to a host of their own, so
     * only who runs the service does; for a tenant as well.
     */
    private SecretSources.Origin origin(Caller caller, @Nullable SecretSource source) {
        SecretSources.Origin origin = sources.origin(source);
        if (!origin.isValue() && !directory.runsService(caller)) {
            throw CaissonException.of(
                            ErrorCode.POLICY_DENIED,
                            "Secrets from the server's files, environment and commands are made"
                                    + " by those who run the service only.")
                    .withRemedy("Give the value itself, or ask them to make it for this tenant.")
                    .withDetail("field", "source." + origin.kind());
        }
        return origin;
    }

    private String sealed(
            String id,
            SecretSources.Origin origin,
            @Nullable SecretSource source,
            SecretSpec spec) {
        byte[] value = sources.first(origin, Objects.requireNonNull(source));
        try {
            SecretValues.check(spec, value);
            return vault.seal(purpose(id), value);
        } finally {
            Arrays.fill(value, (byte) 0);
        }
    }

    private @Nullable Instant end(@Nullable Instant at, @Nullable Long life) {
        if (at != null && life != null) {
            throw CaissonException.invalid("lifeMillis", "Give expiresAt or lifeMillis, not both.");
        }
        if (life != null) {
            return ledger.now().plusMillis(Orders.within("lifeMillis", life, LONGEST));
        }
        if (at != null && !at.isAfter(ledger.now())) {
            throw CaissonException.invalid("expiresAt", "It has passed.");
        }
        return at;
    }

    // ---- asking

    @Override
    public SecretJson find(Caller caller, String id) {
        Access.require(caller, "secrets:read");
        Row row = row(caller, id);
        return SecretDoc.of(row).form(row, ledger.now());
    }

    private Row row(Caller caller, String id) {
        return ledger.read(tx -> Rows.require(tx, Kind.SECRET, caller.tenant(), id));
    }

    @Override
    public Page<SecretJson> list(Caller caller, Listing listing) {
        Access.require(caller, "secrets:read");
        Query query = cursors.page(Query.of(caller.tenant()), listing, NOUN);
        List<Row> rows = ledger.read(tx -> tx.list(Kind.SECRET, query));
        Instant now = ledger.now();
        return cursors.answer(rows, query, listing, NOUN, row -> SecretDoc.of(row).form(row, now));
    }

    @Override
    public SecretTestJson test(Caller caller, String id) {
        Access.require(caller, "secrets:write"); // it starts commands
        Row row = row(caller, id);
        SecretDoc doc = SecretDoc.of(row);
        byte[] value = {};
        String problem = null;
        try {
            value =
                    doc.from() == null
                            ? vault.openBytes(purpose(row.id()), doc.sealed())
                            : sources.read(doc.source(), doc.from());
            SecretValues.check(doc.spec(), value);
        } catch (CaissonException e) {
            problem = e.message();
        } finally {
            Arrays.fill(value, (byte) 0);
        }
        return new SecretTestJson(row.id(), problem == null, problem, ledger.now());
    }

    // ---- changing

    @Override
    public SecretJson rotate(Caller caller, String id, SecretRotateRequest request) {
        Access.require(caller, "secrets:write");
        Row known = row(caller, id);
        SecretDoc before = SecretDoc.of(known);
        SecretSource source = request.source();
        if (source == null && (request.spec() != null || before.from() == null)) {
            throw CaissonException.invalid(
                            "source",
                            request.spec() == null
                                    ? "A secret of a value needs a new one."
                                    : "Another spec needs the value as well.")
                    .withRemedy("Give a source.");
        }
        SecretSources.Origin origin =
                source == null
                        ? new SecretSources.Origin(
                                before.source(), before.from(), before.refreshMillis())
                        : origin(caller, source);
        SecretSpec spec =
                request.spec() == null ? before.spec() : SecretRules.checked(request.spec());
        Instant end = end(request.expiresAt(), request.lifeMillis());
        SecretSource given =
                source == null ? new SecretSource(null, null, null, null, null) : source;
        String sealed = sealed(known.id(), origin, given, spec);
        Row row =
                ledger.write(tx -> rotated(tx, caller, known, new Next(origin, spec, sealed, end)));
        feed.changed(row.id());
        return SecretDoc.of(row).form(row, ledger.now());
    }

    private record Next(
            SecretSources.Origin origin, SecretSpec spec, String sealed, @Nullable Instant end) {
        SecretDoc after(SecretDoc before, Instant now) {
            return new SecretDoc(
                    spec,
                    origin.kind(),
                    origin.from(),
                    origin.refreshMillis(),
                    sealed,
                    before.generation() + 1,
                    now,
                    now,
                    end == null ? before.expiresAt() : end,
                    before.usage(),
                    null);
        }
    }

    private Row rotated(Store.Tx tx, Caller caller, Row known, Next next) {
        Row row = Rows.require(tx, Kind.SECRET, caller.tenant(), known.id());
        SecretDoc now = SecretDoc.of(row);
        if (now.generation() != SecretDoc.of(known).generation()) {
            // A spec that was read before may belong to another value by now.
            throw CaissonException.of(
                            ErrorCode.PRECONDITION_FAILED,
                            "The secret " + row.name() + " got another value meanwhile.")
                    .withRemedy("Look at it, and rotate it again if that is still wanted.");
        }
        SecretDoc after = next.after(now, ledger.now());
        Row written = tx.update(Kind.SECRET, Rows.withBody(row, after));
        event(tx, caller, EventType.SECRET_ROTATED, data(written, "version", after.generation()));
        return written;
    }

    @Override
    public void delete(Caller caller, String id) {
        Access.require(caller, "secrets:write");
        Row row =
                ledger.write(tx -> {
                    Row there = Rows.require(tx, Kind.SECRET, caller.tenant(), id);
                    Map<String, Object> data =
                            data(there, "version", SecretDoc.of(there).generation());
                    event(tx, caller, EventType.SECRET_DELETED, data);
                    tx.delete(Kind.SECRET, there.id());
                    return there;
                });
        feed.changed(row.id());
    }
}
