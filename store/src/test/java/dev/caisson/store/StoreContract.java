package dev.caisson.store;

import static dev.caisson.store.Things.NOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.control.Kind;
import dev.caisson.control.Query;
import dev.caisson.control.Row;
import dev.caisson.control.Store;
import dev.caisson.v1.EventJson;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What every store must do: rows, transactions, fencing. Each test has a database of its own. */
abstract class StoreContract {
    protected Store store;
    private final List<Store> opened = new ArrayList<>();

    /** Where the database of this test is. */
    abstract StoreConfig config(String node);

    protected final Store open(String node) {
        Store another = Stores.open(config(node));
        opened.add(another);
        return another;
    }

    @BeforeEach
    final void openStore() {
        store = open("n1");
    }

    @AfterEach
    final void closeStores() {
        opened.reversed().forEach(Store::close);
    }

    protected final void insert(Row... rows) {
        store.write(tx -> {
            for (Row row : rows) {
                tx.insert(Kind.SANDBOX, row);
            }
            return rows.length;
        });
    }

    protected final Optional<Row> find(String id) {
        return store.read(tx -> tx.find(Kind.SANDBOX, id));
    }

    protected final Optional<Row> named(String tenant, String name) {
        return store.read(tx -> tx.named(Kind.SANDBOX, tenant, name));
    }

    protected final long lastSeq(String tenant) {
        return store.read(tx -> tx.lastSeq(tenant));
    }

    protected final Optional<String> meta(String name) {
        return store.read(tx -> tx.meta(name));
    }

    protected static void assertCode(ErrorCode code, ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        CaissonException.class, e -> assertThat(e.code()).isEqualTo(code));
    }

    private List<String> ids(Query query) {
        return store.read(tx -> tx.list(Kind.SANDBOX, query).stream().map(Row::id).toList());
    }

    @Test
    void findsARowAsItWasInserted() {
        Row row =
                new Row(
                        "sb1",
                        "t1",
                        "parent",
                        "büro",
                        "running",
                        "n1",
                        NOON.plusMillis(7),
                        NOON.plusSeconds(60),
                        Map.of("a", "1", "größe", "\u0000 ist erlaubt? nein".substring(2)),
                        1,
                        "{\"x\":\"\\u0000\"}");
        insert(row);

        assertThat(find("sb1")).contains(row);
        assertThat(named("t1", "büro")).contains(row);
        assertThat(store.<Optional<Row>>read(tx -> tx.find(Kind.EXEC, "sb1"))).isEmpty();
        assertThat(named("t2", "büro")).isEmpty();
    }

    @Test
    void insertsWithVersionOne() {
        Row row = Things.row("t1", "sb1");
        insert(
                new Row(
                        row.id(), "t1", null, null, "running", null, NOON, null, Map.of(), 17,
                        "{}"));

        assertThat(find("sb1").orElseThrow().version()).isOne();
    }

    @Test
    void refusesAnIdTwice() {
        insert(Things.row("t1", "sb1"));

        assertCode(ErrorCode.ALREADY_EXISTS, () -> insert(Things.row("t2", "sb1")));
    }

    @Test
    void refusesANameTwiceInATenantAndKind() {
        insert(Things.named("t1", "sb1", "web"), Things.named("t1", "sb2", null));
        insert(Things.named("t2", "sb3", "web"), Things.named("t1", "sb4", null));

        assertCode(ErrorCode.ALREADY_EXISTS, () -> insert(Things.named("t1", "sb5", "web")));
    }

    @Test
    void goesOnInAWorkThatCaughtARefusal() {
        insert(Things.named("t1", "sb1", "web"));

        String found =
                store.write(tx -> {
                    try {
                        tx.insert(Kind.SANDBOX, Things.named("t1", "sb2", "web"));
                        return "inserted";
                    } catch (CaissonException e) {
                        tx.append(Things.event("t1", "sandbox.found"));
                        return tx.named(Kind.SANDBOX, "t1", "web").orElseThrow().id();
                    }
                });

        assertThat(found).isEqualTo("sb1");
        assertThat(lastSeq("t1")).isOne();
    }

    @Test
    void updatesTheVersionThatWasRead() {
        insert(Things.named("t1", "sb1", "web"));
        Row read = find("sb1").orElseThrow();

        Row now = store.write(tx -> tx.update(Kind.SANDBOX, Things.of(read, "paused", Map.of())));

        assertThat(now.version()).isEqualTo(2);
        assertThat(find("sb1")).contains(now);
        assertCode(
                ErrorCode.PRECONDITION_FAILED,
                () -> store.write(tx -> tx.update(Kind.SANDBOX, read)));
        assertCode(
                ErrorCode.NOT_FOUND,
                () -> store.write(tx -> tx.update(Kind.SANDBOX, Things.row("t1", "sb2"))));
    }

    @Test
    void refusesToUpdateToANameThatIsTaken() {
        insert(Things.named("t1", "sb1", "web"), Things.named("t1", "sb2", null));

        assertCode(
                ErrorCode.ALREADY_EXISTS,
                () -> store.write(tx -> tx.update(Kind.SANDBOX, Things.named("t1", "sb2", "web"))));
        store.write(tx -> tx.update(Kind.SANDBOX, Things.named("t1", "sb1", null)));
        store.write(tx -> tx.update(Kind.SANDBOX, Things.named("t1", "sb2", "web")));
        assertThat(named("t1", "web").orElseThrow().id()).isEqualTo("sb2");
    }

    @Test
    void findsByLabelsAsTheyAreNow() {
        insert(
                Things.of(Things.row("t1", "sb1"), "running", Map.of("a", "1", "b", "2")),
                Things.of(Things.row("t1", "sb2"), "running", Map.of("a", "1")));

        assertThat(ids(Query.of("t1").withLabels(Map.of("a", "1")))).containsExactly("sb2", "sb1");
        assertThat(ids(Query.of("t1").withLabels(Map.of("a", "1", "b", "2"))))
                .containsExactly("sb1");
        assertThat(ids(Query.of("t2").withLabels(Map.of("a", "1")))).isEmpty();

        Row read = find("sb1").orElseThrow();
        store.write(tx -> tx.update(Kind.SANDBOX, Things.of(read, "running", Map.of("a", "2"))));

        assertThat(ids(Query.of("t1").withLabels(Map.of("a", "1")))).containsExactly("sb2");
        assertThat(ids(Query.of("t1").withLabels(Map.of("a", "2")))).containsExactly("sb1");
    }

    @Test
    void listsNewestFirstInPagesWithoutGapsWhileRowsCome() {
        for (int i = 0; i < 25; i++) {
            insert(Things.at("t1", "sb%02d".formatted(i), NOON.plusMillis(i / 3)));
        }
        List<String> seen = new ArrayList<>();
        Query.Place place = null;
        do {
            Query page = Query.of("t1").withPage(place, 4);
            List<Row> rows = store.read(tx -> tx.list(Kind.SANDBOX, page));
            rows.forEach(row -> seen.add(row.id()));
            place =
                    rows.size() < 4
                            ? null
                            : new Query.Place(rows.getLast().created(), rows.getLast().id());
            insert(Things.at("t1", "sx" + seen.size(), NOON.plusSeconds(seen.size())));
        } while (place != null);

        assertThat(seen)
                .containsExactlyElementsOf(
                        IntStream.range(0, 25).mapToObj(i -> "sb%02d".formatted(24 - i)).toList());
    }

    @Test
    void matchesEveryPartOfAQuery() {
        insert(
                new Row("a", "t1", "p", null, "running", "n1", NOON, NOON, Map.of(), 1, "{}"),
                new Row("b", "t1", "p", "x", "ended", "n2", NOON, null, Map.of(), 1, "{}"),
                new Row(
                        "c",
                        "t2",
                        null,
                        null,
                        "paused",
                        "n1",
                        NOON,
                        NOON.plusSeconds(9),
                        Map.of(),
                        1,
                        "{}"));

        assertThat(ids(Query.ALL)).containsExactly("c", "b", "a");
        assertThat(ids(Query.of("t1"))).containsExactly("b", "a");
        assertThat(ids(Query.ALL.withParent("p"))).containsExactly("b", "a");
        assertThat(ids(Query.ALL.withName("x"))).containsExactly("b");
        assertThat(ids(Query.ALL.withNode("n1"))).containsExactly("c", "a");
        assertThat(ids(Query.ALL.withStates("running", "paused"))).containsExactly("c", "a");
        assertThat(ids(Query.ALL.withDueBefore(NOON))).containsExactly("a");
        assertThat(ids(Query.ALL.withDueBefore(NOON.plusSeconds(10)))).containsExactly("c", "a");
        assertThat(store.<Long>read(tx -> tx.count(Kind.SANDBOX, Query.of("t1")))).isEqualTo(2);
        assertThat(store.<Long>read(tx -> tx.count(Kind.SANDBOX, Query.ALL.withPage(null, 1))))
                .isOne();
    }

    @Test
    void deletesWithLabels() {
        insert(
                Things.of(Things.row("t1", "sb1"), "running", Map.of("a", "1")),
                Things.of(Things.row("t1", "sb2"), "ended", Map.of("a", "1")),
                Things.of(Things.row("t1", "sb3"), "ended", Map.of("a", "1")));

        assertThat(store.<Boolean>write(tx -> tx.delete(Kind.SANDBOX, "sb1"))).isTrue();
        assertThat(store.<Boolean>write(tx -> tx.delete(Kind.SANDBOX, "sb1"))).isFalse();
        Query oneEnded = Query.of("t1").withStates("ended").withPage(null, 1);
        assertThat(store.<Long>write(tx -> tx.deleteAll(Kind.SANDBOX, oneEnded))).isOne();
        assertThat(ids(Query.ALL)).containsExactly("sb2");
        assertThat(store.<Long>write(tx -> tx.deleteAll(Kind.SANDBOX, Query.ALL))).isOne();
        insert(Things.row("t1", "sb1"));
        assertThat(ids(Query.ALL.withLabels(Map.of("a", "1")))).isEmpty();
    }

    @Test
    void rollsBackAWorkThatThrows() {
        IllegalStateException mine = new IllegalStateException("mine");

        assertThatThrownBy(() ->
                        store.write(tx -> {
                            tx.insert(Kind.SANDBOX, Things.row("t1", "sb1"));
                            tx.append(Things.event("t1", "sandbox.created"));
                            throw mine;
                        }))
                .isSameAs(mine);
        assertThat(ids(Query.ALL)).isEmpty();
        assertThat(lastSeq("t1")).isZero();
    }

    @Test
    void rollsBackOneWorkOfABatchAlone() throws Exception {
        CountDownLatch running = new CountDownLatch(1);
        CountDownLatch all = new CountDownLatch(1);
        CompletableFuture<Boolean> first =
                store.submit(tx -> {
                    running.countDown();
                    try {
                        return all.await(10, TimeUnit.SECONDS);
                    } catch (InterruptedException e) {
                        throw new IllegalStateException(e);
                    }
                });
        running.await();
        List<CompletableFuture<Long>> works = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            int number = i;
            works.add(
                    store.submit(tx -> {
                        tx.insert(Kind.SANDBOX, Things.row("t1", "sb" + number));
                        long seq = tx.append(Things.event("t1", "sandbox.created"));
                        if (number % 3 == 0) {
                            throw new IllegalArgumentException("number " + number);
                        }
                        return seq;
                    }));
        }
        all.countDown();

        assertThat(first.get()).isTrue();
        long seq = 0;
        for (int i = 0; i < works.size(); i++) {
            CompletableFuture<Long> work = works.get(i);
            if (i % 3 == 0) {
                assertThatThrownBy(work::get)
                        .isInstanceOf(ExecutionException.class)
                        .hasCauseInstanceOf(IllegalArgumentException.class);
            } else {
                assertThat(work.get()).isEqualTo(++seq);
            }
        }
        assertThat(ids(Query.ALL)).hasSize((int) seq);
    }

    @Test
    void doesTheWorksOfACallerInOrderAndLetsThemSeeTheirOwnWrites() throws Exception {
        List<CompletableFuture<Integer>> works = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            works.add(
                    store.submit(tx -> {
                        int next = Integer.parseInt(tx.meta("n").orElse("0")) + 1;
                        tx.meta("n", Integer.toString(next));
                        return Integer.parseInt(tx.meta("n").orElseThrow());
                    }));
        }
        for (int i = 0; i < works.size(); i++) {
            assertThat(works.get(i).get()).isEqualTo(i + 1);
        }
        assertThat(meta("n")).contains("300");
    }

    @Test
    void letsAFollowerOfAFutureWriteAgain() {
        CompletableFuture<String> both =
                store.submit(
                                tx -> {
                                    tx.meta("a", "1");
                                    return "1";
                                })
                        .thenApply(one ->
                                store.write(tx -> {
                                    tx.meta("b", one);
                                    return tx.meta("b").orElseThrow();
                                }));

        assertThat(both).succeedsWithin(Duration.ofSeconds(10)).isEqualTo("1");
    }

    @Test
    void refusesToWriteWithinAWorkInsteadOfHanging() {
        assertCode(
                ErrorCode.INTERNAL,
                () -> store.write(tx -> store.write(inner -> inner.meta("a").isPresent())));
        assertCode(
                ErrorCode.INTERNAL,
                () ->
                        store.read(tx -> {
                            tx.meta("a", "1");
                            return true;
                        }));
        assertThat(store.<Boolean>read(tx -> store.read(inner -> inner.meta("a").isEmpty())))
                .isTrue();
    }

    @Test
    void refusesATransactionAfterItsWork() {
        Store.Tx[] kept = new Store.Tx[1];
        store.write(tx -> kept[0] = tx);

        assertCode(ErrorCode.INTERNAL, () -> kept[0].lastSeq("t1"));
    }

    @Test
    void readsOneConsistentView() {
        insert(Things.row("t1", "sb1"));

        store.read(tx -> {
            assertThat(tx.count(Kind.SANDBOX, Query.ALL)).isOne();
            CompletableFuture.runAsync(() -> insert(Things.row("t1", "sb2"))).join();
            return assertThat(tx.count(Kind.SANDBOX, Query.ALL)).isOne();
        });
        assertThat(ids(Query.ALL)).hasSize(2);
    }

    @Test
    void growsTheEpochAndFencesTheServerBefore() {
        assertThat(store.epoch()).isOne();
        insert(Things.row("t1", "sb1"));

        Store second = open("n1");
        Store other = open("n2");

        assertThat(second.epoch()).isEqualTo(2);
        assertThat(other.epoch()).isOne();
        assertCode(ErrorCode.INVALID_STATE, () -> insert(Things.row("t1", "sb2")));
        assertCode(ErrorCode.INVALID_STATE, store::check);
        second.check();
        other.check();
        assertThat(ids(Query.ALL)).containsExactly("sb1");
    }

    @Test
    void sharesRowsAndSequencesBetweenNodes() throws Exception {
        Store other = open("n2");
        List<CompletableFuture<Long>> seqs = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            Store one = i % 2 == 0 ? store : other;
            seqs.add(one.submit(tx -> tx.append(Things.event("t1", "sandbox.created"))));
        }
        List<Long> given = new ArrayList<>();
        for (CompletableFuture<Long> seq : seqs) {
            given.add(seq.get());
        }

        assertThat(given)
                .containsExactlyInAnyOrderElementsOf(
                        IntStream.rangeClosed(1, 200).mapToObj(i -> (long) i).toList());
        assertThat(other.<List<EventJson>>read(tx -> tx.events("t1", 0, 1000, null, null)))
                .hasSize(200);
    }

    @Test
    void keepsEverythingOverAReopening() {
        Instant before = NOON;
        insert(Things.at("t1", "sb1", before));
        store.close();

        store = open("n1");

        assertThat(ids(Query.of("t1"))).containsExactly("sb1");
        assertThat(store.epoch()).isEqualTo(2);
    }

    @Test
    void refusesWritesOnceClosed() {
        store.close();

        assertCode(ErrorCode.INVALID_STATE, () -> store.write(tx -> tx.meta("a").isPresent()));
        store.close();
    }
}
