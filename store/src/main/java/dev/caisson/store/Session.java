package dev.caisson.store;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A connection and its prepared statements. For one thread at a time; whoever opens closes. */
final class Session implements AutoCloseable {
    private static final int MAX_STATEMENTS = 200;

    private final Connection connection;
    private final Map<String, PreparedStatement> statements = new LinkedHashMap<>(64, 0.75f, true);

    Session(Connection connection) {
        this.connection = connection;
    }

    Connection connection() {
        return connection;
    }

    /** Runs a statement without parameters and answers. */
    void execute(String sql) {
        try {
            prepare(sql).execute();
        } catch (SQLException e) {
            throw new SqlFailure(e);
        }
    }

    /** How many rows it changed. */
    int update(String sql, @Nullable Object... values) {
        try {
            PreparedStatement statement = prepare(sql);
            bind(statement, values);
            return statement.executeUpdate();
        } catch (SQLException e) {
            throw new SqlFailure(e);
        }
    }

    <T> List<T> query(String sql, Mapper<T> mapper, List<?> values) {
        return query(sql, mapper, values.toArray());
    }

    <T> List<T> query(String sql, Mapper<T> mapper, @Nullable Object... values) {
        try {
            PreparedStatement statement = prepare(sql);
            bind(statement, values);
            try (ResultSet rows = statement.executeQuery()) {
                List<T> found = new ArrayList<>();
                while (rows.next()) {
                    found.add(mapper.map(rows));
                }
                return found;
            }
        } catch (SQLException e) {
            throw new SqlFailure(e);
        }
    }

    <T> Optional<T> first(String sql, Mapper<T> mapper, @Nullable Object... values) {
        return query(sql, mapper, values).stream().findFirst();
    }

    /** The one number of the one row that there must be. */
    long number(String sql, @Nullable Object... values) {
        return first(sql, row -> row.getLong(1), values).orElseThrow();
    }

    private PreparedStatement prepare(String sql) throws SQLException {
        PreparedStatement known = statements.get(sql);
        if (known != null) {
            return known;
        }
        if (statements.size() >= MAX_STATEMENTS) {
            String eldest = statements.keySet().iterator().next();
            PreparedStatement dropped = statements.remove(eldest);
            if (dropped != null) {
                dropped.close();
            }
        }
        PreparedStatement statement = connection.prepareStatement(sql);
        statements.put(sql, statement);
        return statement;
    }

    private static void bind(PreparedStatement statement, @Nullable Object[] values)
            throws SQLException {
        for (int i = 0; i < values.length; i++) {
            switch (values[i]) {
                case null -> statement.setObject(i + 1, null);
                case Long number -> statement.setLong(i + 1, number);
                case Integer number -> statement.setInt(i + 1, number);
                case Object text -> statement.setString(i + 1, text.toString());
            }
        }
    }

    /** Never throws: a connection that is broken is closed all the same. */
    @Override
    public void close() {
        statements.values().forEach(Session::quietly);
        statements.clear();
        try {
            connection.close();
        } catch (SQLException e) {
            // Nothing depends on it: what was committed is committed.
        }
    }

    private static void quietly(Statement statement) {
        try {
            statement.close();
        } catch (SQLException e) {
            // Its connection is closed next.
        }
    }

    /** Reads one row. */
    @FunctionalInterface
    interface Mapper<T> {
        T map(ResultSet row) throws SQLException;
    }
}
