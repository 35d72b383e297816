package dev.caisson.store;

import java.sql.SQLException;

/** The database failed beneath a work. Never leaves this package: see {@link Database#explain}. */
final class SqlFailure extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final SQLException sql;

    SqlFailure(SQLException sql) {
        super(sql);
        this.sql = sql;
    }

    SQLException sql() {
        return sql;
    }
}
