package dev.caisson.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.control.Kind;
import dev.caisson.control.Query;
import dev.caisson.control.Store;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class PostgresStoreTest extends EventAndUsageContract {
    private static Postgres postgres;

    private @Nullable String url;

    @BeforeAll
    static void start() {
        postgres = Postgres.start("fsync=off");
    }

    @AfterAll
    static void end() {
        if (postgres != null) {
            postgres.close();
        }
    }

    @Override
    StoreConfig config(String node) {
        return postgres.config(url(), node);
    }

    private String url() {
        String known = url;
        if (known == null) {
            known = postgres.database();
            url = known;
        }
        return known;
    }

    @Test
    void keepsAQuotaOfAllServersTogether() throws Exception {
        Store other = open("n2");
        List<CompletableFuture<Boolean>> tries = new ArrayList<>();
        for (int i = 0; i < 60; i++) {
            String id = "sb" + i;
            Store one = i % 2 == 0 ? store : other;
            tries.add(
                    one.submit(tx -> {
                        if (tx.count(Kind.SANDBOX, Query.of("t1")) >= 10) {
                            return false;
                        }
                        tx.insert(Kind.SANDBOX, Things.row("t1", id));
                        return true;
                    }));
        }
        int made = 0;
        for (CompletableFuture<Boolean> one : tries) {
            made += one.get() ? 1 : 0;
        }

        assertThat(made).isEqualTo(10);
        assertThat(store.<Long>read(tx -> tx.count(Kind.SANDBOX, Query.ALL))).isEqualTo(10);
    }

    @Test
    void getsOverDeadlocksOfTwoServers() throws Exception {
        Store other = open("n2");
        List<CompletableFuture<Long>> works = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            boolean even = i % 2 == 0;
            works.add(
                    (even ? store : other)
                            .submit(tx -> {
                                tx.append(Things.event(even ? "t1" : "t2", "a.b"));
                                return tx.append(Things.event(even ? "t2" : "t1", "a.b"));
                            }));
        }
        for (CompletableFuture<Long> work : works) {
            work.get();
        }

        assertThat(lastSeq("t1")).isEqualTo(40);
        assertThat(lastSeq("t2")).isEqualTo(40);
    }

    @Test
    void leavesBackupsToPostgresItself() {
        assertThatThrownBy(() -> store.backup(Path.of("backup.db")))
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> {
                            assertThat(e.code()).isEqualTo(ErrorCode.UNSUPPORTED);
                            assertThat(e.remedy()).contains("pg_dump");
                        });
    }

    @Test
    void refusesTextThatPostgresCannotHold() {
        assertCode(ErrorCode.INVALID, () -> insert(Things.named("t1", "sb1", "a\0b")));
        insert(Things.named("t1", "sb1", "ab"));
    }

    @Test
    void refusesASchemaOfANewerProgram() {
        store.close();
        postgres.execute(
                url(),
                "INSERT INTO schema_history SELECT 99, '99', 'later', 'JDBC', 'x', 0, 'x', now(),"
                        + " 1, true");

        assertCode(ErrorCode.INVALID_STATE, () -> open("n1"));
    }

    @Test
    void letsServersStartTogetherOnAnEmptyDatabase() throws Exception {
        String empty = postgres.database();
        List<CompletableFuture<Long>> epochs = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            epochs.add(
                    CompletableFuture.supplyAsync(
                            () -> {
                                try (Store one = Stores.open(postgres.config(empty, "same"))) {
                                    return one.epoch();
                                }
                            },
                            task -> Thread.ofPlatform().start(task)));
        }
        List<Long> taken = new ArrayList<>();
        for (CompletableFuture<Long> epoch : epochs) {
            taken.add(epoch.get());
        }

        assertThat(taken).containsExactlyInAnyOrder(1L, 2L, 3L);
    }

    @Test
    void startsFromEveryReleasedSchema() throws Exception {
        for (int schema = 1; schema <= Migrations.LATEST; schema++) {
            String old = postgres.database();
            postgres.execute(old, Released.dump(schema, "postgresql"));

            try (Store released = Stores.open(postgres.config(old, "n1"))) {
                Released.verify(released);
            }
        }
    }

    @Test
    void saysWhatIsWrongWithUserAndPassword() {
        StoreConfig wrong = config("n3").withPassword("wrong");

        assertThatThrownBy(() -> Stores.open(wrong))
                .isInstanceOfSatisfying(
                        CaissonException.class, e -> assertThat(e.remedy()).contains("password"));
    }
}
