package dev.caisson.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.control.Kind;
import dev.caisson.control.Store;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.sqlite.SQLiteConfig.SynchronousMode;

/** PostgreSQL crashes, comes again, or is cut off in the middle of a commit. */
@Timeout(value = 3, unit = TimeUnit.MINUTES) // a busy machine syncs slowly
class PostgresOutageTest {
    private static Postgres postgres;

    private String url;

    @BeforeAll
    static void start() {
        postgres = Postgres.start();
    }

    @BeforeEach
    void makeDatabase() {
        url = postgres.database();
    }

    @AfterAll
    static void end() {
        if (postgres != null) {
            postgres.close();
        }
    }

    @Test
    void losesAndDoublesNothingOverCrashes() throws Exception {
        Queue<Integer> acknowledged = new ConcurrentLinkedQueue<>();
        Queue<CaissonException> failures = new ConcurrentLinkedQueue<>();
        AtomicInteger next = new AtomicInteger();
        AtomicBoolean over = new AtomicBoolean();
        StoreConfig patient = postgres.config(url, "n1").withPatience(Duration.ofMinutes(1));
        try (Store store = Stores.open(patient)) {
            List<Thread> writers = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                writers.add(
                        Thread.ofVirtual()
                                .start(() -> {
                                    while (!over.get()) {
                                        int number = next.incrementAndGet();
                                        try {
                                            Ledger.write(store, number);
                                            acknowledged.add(number);
                                        } catch (CaissonException e) {
                                            failures.add(e);
                                        }
                                    }
                                }));
            }
            try {
                for (int i = 0; i < 3; i++) {
                    awaitMore(acknowledged);
                    postgres.crash();
                    postgres.launch();
                }
                awaitMore(acknowledged);
            } finally {
                over.set(true);
            }
            for (Thread writer : writers) {
                writer.join();
            }

            assertThat(failures)
                    .allMatch(e -> "unknown".equals(e.details().get("outcome")), "honest");
            Ledger.verify(store, acknowledged);
        }
    }

    @Test
    void losesNothingWhenItsProgramIsKilled() throws Exception {
        List<Integer> acknowledged = new ArrayList<>();
        for (int round = 0; round < 3; round++) {
            Child child =
                    Child.start(
                            postgres.config(url, "n1"),
                            1 + round * 1_000_000,
                            SynchronousMode.FULL);
            try (child) {
                child.await(20);
                Thread.sleep(ThreadLocalRandom.current().nextInt(20, 300));
            }
            acknowledged.addAll(child.acknowledged());

            try (Store store = Stores.open(postgres.config(url, "n1"))) {
                Ledger.verify(store, acknowledged);
            }
        }
    }

    private static void awaitMore(Queue<Integer> acknowledged) {
        int now = acknowledged.size();
        Awaitility.await()
                .atMost(Duration.ofSeconds(45))
                .until(() -> acknowledged.size() > now + 10);
    }

    @ParameterizedTest
    @EnumSource(names = {"BEFORE_COMMIT", "AFTER_COMMIT"})
    void writesOnceWhenTheConnectionBreaksAtTheCommit(CuttingProxy.Cut cut) throws Exception {
        try (CuttingProxy proxy = new CuttingProxy(postgres.port())) {
            String through = url.replace(":" + postgres.port(), ":" + proxy.port());
            try (Store store = Stores.open(postgres.config(through, "n1"))) {
                proxy.cut(cut);

                long seq = store.write(tx -> tx.append(Things.event("t1", "a.b")));

                assertThat(proxy.done()).isTrue();
                assertThat(seq).isOne();
                assertThat(store.<Long>read(tx -> tx.lastSeq("t1"))).isOne();
                assertThat(store.<Long>write(tx -> tx.append(Things.event("t1", "a.b"))))
                        .isEqualTo(2);
            }
        }
    }

    @Test
    void saysWhenItCannotBeReached() {
        StoreConfig impatient = postgres.config(url, "n1").withPatience(Duration.ofMillis(300));
        try (Store store = Stores.open(impatient)) {
            postgres.crash();

            assertThatThrownBy(() -> store.write(tx -> tx.delete(Kind.SANDBOX, "sb1")))
                    .isInstanceOfSatisfying(
                            CaissonException.class,
                            e -> {
                                assertThat(e.code()).isEqualTo(ErrorCode.INTERNAL);
                                assertThat(e.retryable()).isTrue();
                                assertThat(e).hasMessageContaining("cannot be reached");
                            });
            postgres.launch();
            store.check();
        }
    }
}
