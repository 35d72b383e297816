package dev.caisson.store;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.util.Set;

/**
 * What PostgreSQL's SQLSTATEs mean: appendix <a
 * href="https://www.postgresql.org/docs/current/errcodes-appendix.html">A</a> of its manual.
 */
final class PostgresErrors {
    /** Serialization failure, deadlock, lock not available, unique and foreign keys, a race. */
    private static final Set<String> CONFLICTS =
            Set.of("40001", "40P01", "55P03", "23505", "23503");

    /** Shut down by the administrator, crashed, starting. */
    private static final Set<String> GONE = Set.of("57P01", "57P02", "57P03", "57P05");

    private PostgresErrors() {}

    static Trouble trouble(SQLException e) {
        String state = state(e);
        if (CONFLICTS.contains(state)) {
            return Trouble.CONFLICT;
        }
        boolean lost =
                state.startsWith("08")
                        || GONE.contains(state)
                        || e instanceof SQLTransientConnectionException;
        return lost ? Trouble.LOST : Trouble.REFUSED;
    }

    static CaissonException explain(SQLException e, String where) {
        String state = state(e);
        if (trouble(e) == Trouble.LOST) {
            return CaissonException.of(
                            ErrorCode.INTERNAL,
                            "The store (" + where + ") cannot be reached; nothing was changed.",
                            e)
                    .withRetryable(true)
                    .withRemedy("Check that PostgreSQL runs there and lets this user in.");
        }
        return switch (state) {
            case "53100" -> Explanations.diskFull(where, e);
            case "XX001", "XX002" ->
                    Explanations.corrupt(
                            where, "Restore PostgreSQL from its last backup; see its log.", e);
            case "40001", "40P01", "55P03" ->
                    CaissonException.of(
                                    ErrorCode.TIMEOUT,
                                    "Other writes were in the way for too long.",
                                    e)
                            .withRemedy("Try again.");
            case "22021", "22P05", "54000" ->
                    CaissonException.of(
                            ErrorCode.INVALID,
                            "The store cannot hold this text: " + e.getMessage(),
                            e);
            case "28P01", "28000", "3D000" ->
                    Explanations.failed(where, e)
                            .withRemedy("Check user, password and database of the store's URL.");
            case "25006" ->
                    Explanations.failed(where, e)
                            .withRemedy("This is a standby; name the primary in the store's URL.");
            default -> Explanations.failed(where, e);
        };
    }

    private static String state(SQLException e) {
        String state = e.getSQLState();
        return state == null ? "" : state;
    }
}
