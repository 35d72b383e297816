package dev.caisson.control;

/** Writes rows of execs. */
final class ExecRows {
    private ExecRows() {}

    /** Inserts or replaces: only the server that has the exec writes its row. */
    static void put(Store.Tx tx, Row row) {
        tx.find(Kind.EXEC, row.id())
                .ifPresentOrElse(
                        there -> tx.update(Kind.EXEC, withVersion(row, there.version())),
                        () -> tx.insert(Kind.EXEC, row));
    }

    static Row withVersion(Row row, long version) {
        return new Row(
                row.id(),
                row.tenant(),
                row.parent(),
                row.name(),
                row.state(),
                row.node(),
                row.created(),
                row.due(),
                row.labels(),
                version,
                row.body());
    }
}
