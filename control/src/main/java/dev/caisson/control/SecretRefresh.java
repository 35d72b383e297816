package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.EventType;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.Collection;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads sources of secrets again, so that who rotates them there need not tell us. What cannot be
 * read stays as it was. Thread-safe.
 */
final class SecretRefresh {
    private static final Logger LOG = LoggerFactory.getLogger(SecretRefresh.class);

    private final Ledger ledger;
    private final Vault vault;
    private final SecretSources sources;
    private final Consumer<String> changed;

    /** Ids that are being read now: a slow command is not started twice. */
    private final Set<String> busy = ConcurrentHashMap.newKeySet();

    /**
     * @param changed told of a secret that has another value, which is durable then
     */
    SecretRefresh(Ledger ledger, Vault vault, SecretSources sources, Consumer<String> changed) {
        this.ledger = ledger;
        this.vault = vault;
        this.sources = sources;
        this.changed = changed;
    }

    /** Reads those again whose time has come, each by a thread of its own; does not wait. */
    void tick(Collection<Row> rows) {
        for (Row row : rows) {
            if (SecretDoc.of(row).stale(ledger.now()) && !busy.contains(row.id())) {
                Thread.ofVirtual().name("caisson-secret-" + row.id()).start(() -> soon(row));
            }
        }
    }

    private void soon(Row row) {
        try {
            now(row);
        } catch (CaissonException e) {
            LOG.atWarn()
                    .addKeyValue("secret", row.id())
                    .addKeyValue("cause", e.message())
                    .log("a secret that was read again is not written, trying again");
        }
    }

    /** Reads one again if its time has come; waits. */
    void now(Row row) {
        SecretDoc doc = SecretDoc.of(row);
        if (!doc.stale(ledger.now()) || !busy.add(row.id())) {
            return;
        }
        try {
            read(row.id(), doc);
        } finally {
            busy.remove(row.id());
        }
    }

    private void read(String id, SecretDoc doc) {
        byte[] value = {};
        byte[] before = {};
        try {
            value = sources.read(doc.source(), Objects.requireNonNull(doc.from()));
            SecretValues.check(doc.spec(), value);
            before = vault.openBytes(Secrets.purpose(id), doc.sealed());
            if (MessageDigest.isEqual(value, before)) {
                write(id, doc, now -> now.readAgain(ledger.now()), Optional.empty());
                return;
            }
            String sealed = vault.seal(Secrets.purpose(id), value);
            write(id, doc, now -> now.refreshed(sealed, ledger.now()), Optional.empty());
            changed.accept(id);
        } catch (CaissonException e) {
            write(id, doc, now -> now.failed(e.message(), ledger.now()), Optional.of(e));
        } finally {
            Arrays.fill(value, (byte) 0);
            Arrays.fill(before, (byte) 0);
        }
    }

    /** Unless somebody gave it another value meanwhile. */
    private void write(
            String id,
            SecretDoc read,
            UnaryOperator<SecretDoc> next,
            Optional<CaissonException> failure) {
        ledger.act(tx -> {
            Row row = tx.find(Kind.SECRET, id).orElse(null);
            if (row == null || SecretDoc.of(row).generation() != read.generation()) {
                return;
            }
            SecretDoc before = SecretDoc.of(row);
            SecretDoc after = next.apply(before);
            Row written = tx.update(Kind.SECRET, Rows.withBody(row, after));
            if (after.generation() != before.generation()) {
                Map<String, Object> data = Secrets.data(written, "version", after.generation());
                tell(tx, EventType.SECRET_ROTATED, written, "refreshed", data);
            } else if (before.problem() == null && failure.isPresent()) {
                CaissonException why = failure.get();
                Map<String, Object> data = Secrets.data(written, "problem", why.message());
                tell(tx, EventType.SECRET_FAILED, written, why.code().value(), data);
            }
        });
    }

    private void tell(
            Store.Tx tx, EventType type, Row row, String reason, Map<String, Object> data) {
        ledger.event(tx, type, Ledger.Subject.tenant(row.tenant()), reason, data);
    }
}
