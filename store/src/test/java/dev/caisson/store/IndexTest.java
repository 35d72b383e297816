package dev.caisson.store;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.control.Kind;
import dev.caisson.control.Query;
import dev.caisson.control.Store;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** SQLite's plans: no query of the service reads a whole table, and no page is sorted. */
class IndexTest {
    private static final Query.Place PLACE = new Query.Place(Things.NOON, "sb1");

    @TempDir Path folder;

    private List<String> plan(String sql, List<Object> values) {
        StoreConfig config = StoreConfig.of("sqlite:" + folder.resolve("caisson.db"), "n1");
        try (Store store = Stores.open(config)) {
            store.check();
        }
        SqliteDatabase database =
                new SqliteDatabase(
                        folder.resolve("caisson.db"),
                        org.sqlite.SQLiteConfig.SynchronousMode.FULL,
                        config);
        try (Session session = database.connect()) {
            return session.query("EXPLAIN QUERY PLAN " + sql, row -> row.getString(4), values);
        } finally {
            database.close();
        }
    }

    private List<String> plan(Query query) {
        return plan(Kind.SANDBOX, query);
    }

    private List<String> plan(Kind kind, Query query) {
        Conditions conditions = new Conditions(kind, query).newest(query);
        return plan("SELECT * FROM item WHERE " + conditions.sql(), conditions.values());
    }

    @Test
    void pagesComeInOrderOutOfAnIndex() {
        Stream.of(Query.ALL, Query.of("t1"), Query.ALL.withParent("p"))
                .map(query -> query.withPage(PLACE, 10))
                .forEach(query ->
                        assertThat(plan(query))
                                .as("%s", query)
                                .anyMatch(step -> step.contains("USING INDEX item_"))
                                .anyMatch(step -> step.contains("<"))
                                .noneMatch(step -> step.contains("TEMP B-TREE")));
    }

    @Test
    void everyQueryHasAnIndex() {
        Stream.of(
                        Query.of("t1").withStates("running"),
                        Query.of("t1").withName("x"),
                        Query.of("t1").withLabels(Map.of("a", "1")),
                        Query.of("t1").withParent("p").withStates("running"),
                        Query.ALL.withNode("n1").withStates("running", "paused"),
                        Query.ALL.withDueBefore(Things.NOON))
                .forEach(query ->
                        assertThat(plan(query))
                                .as("%s", query)
                                .anyMatch(step -> step.contains("USING INDEX"))
                                .noneMatch(step -> step.startsWith("SCAN")));
    }

    @Test
    void whatIsAskedOfExecsHasAnIndexToo() {
        Stream.of(
                        Query.of("t1").withParent("sb1").withPage(PLACE, 10),
                        Query.of("t1").withParent("sb1").withStates("running", "starting"),
                        Query.of("t1"),
                        Query.ALL.withDueBefore(Things.NOON))
                .forEach(query ->
                        assertThat(plan(Kind.EXEC, query))
                                .as("%s", query)
                                .anyMatch(step -> step.contains("USING INDEX item_"))
                                .noneMatch(step -> step.startsWith("SCAN")));
        assertThat(
                        plan(
                                "SELECT hour, SUM(execs) FROM usage WHERE hour >= ? AND hour < ?"
                                        + " AND exec = '' AND sandbox = ? GROUP BY hour",
                                List.of(0L, 1L, "sb1")))
                .anyMatch(step -> step.contains("usage_sandbox"));
    }

    @Test
    void eventsComeInOrderOutOfAnIndex() {
        assertThat(
                        plan(
                                "SELECT body FROM event WHERE tenant = ? AND seq > ? AND sandbox ="
                                        + " ? ORDER BY seq LIMIT ?",
                                List.of("t1", 0L, "sb1", 10)))
                .anyMatch(step -> step.contains("event_sandbox"))
                .noneMatch(step -> step.contains("TEMP B-TREE"));
    }
}
