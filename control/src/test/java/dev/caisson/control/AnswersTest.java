package dev.caisson.control;

import static dev.caisson.control.Fixture.refused;
import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.core.Room;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

final class AnswersTest {
    private static final String ROUTE = "POST /v1/sandboxes";

    private final Fixture fixture = new Fixture();
    private final Caller admin = fixture.admin();
    private final Answers answers = new Answers(fixture.ledger, fixture.vault);

    private Answers server(String node) {
        Fixture other = fixture.server(node);
        return new Answers(other.ledger, other.vault);
    }

    @Test
    void replaysTheStoredAnswer() {
        assertThat(answers.begin(admin, ROUTE, "k", "h")).isEmpty();
        refused(ErrorCode.CONFLICT, () -> answers.begin(admin, ROUTE, "k", "h"));
        answers.complete(admin, ROUTE, "k", new Idempotency.Answer(201, "{\"id\":\"sb1\"}"));
        assertThat(answers.begin(admin, ROUTE, "k", "h"))
                .contains(new Idempotency.Answer(201, "{\"id\":\"sb1\"}"));
        assertThat(server("two").begin(admin, ROUTE, "k", "h")).isPresent();
        refused(ErrorCode.IDEMPOTENCY_MISMATCH, () -> answers.begin(admin, ROUTE, "k", "other"));
        assertThat(answers.begin(admin, "POST /v1/runs", "k", "other")).isEmpty();
        Caller a = fixture.tenant(admin, "a", null);
        assertThat(answers.begin(a, ROUTE, "k", "other")).isEmpty();
    }

    @Test
    void bodiesAreEncryptedAndSecretsAreNotThere() {
        answers.begin(admin, ROUTE, "k", "h");
        answers.complete(admin, ROUTE, "k", new Idempotency.Answer(200, "visible"));
        answers.begin(admin, ROUTE, "s", "h");
        answers.complete(admin, ROUTE, "s", new Idempotency.Answer(201, ""));
        List<Row> rows = fixture.store.read(tx -> tx.list(Kind.ANSWER, Query.ALL));
        assertThat(rows).hasSize(2).noneMatch(row -> row.body().contains("visible"));
        assertThat(answers.begin(admin, ROUTE, "s", "h")).contains(new Idempotency.Answer(201, ""));
    }

    @Test
    void aLongAnswerIsReadOnlyWhereThereIsRoom() {
        String body = "x".repeat(1 << 20);
        answers.begin(admin, ROUTE, "k", "h");
        answers.complete(admin, ROUTE, "k", new Idempotency.Answer(200, body));
        List<Row> rows = fixture.store.read(tx -> tx.list(Kind.ANSWER, Query.ALL));
        assertThat(rows.stream().map(Row::state)).containsExactlyInAnyOrder("done", "body");
        assertThat(rows.stream().anyMatch(row -> row.body().contains("x".repeat(20)))).isFalse();
        try (Room room = Room.enter()) {
            long all = Runtime.getRuntime().maxMemory() / 2;
            room.take(all - (1 << 20));
            refused(ErrorCode.NO_CAPACITY, () -> answers.begin(admin, ROUTE, "k", "h"));
            room.keep(0);
            assertThat(answers.begin(admin, ROUTE, "k", "h"))
                    .contains(new Idempotency.Answer(200, body));
            refused(ErrorCode.NO_CAPACITY, () -> room.take(all - (1 << 20)));
        } finally {
            Room.leave();
        }
        fixture.clock.advance(Duration.ofHours(25));
        assertThat(answers.begin(admin, ROUTE, "k", "other")).isEmpty();
        rows = fixture.store.read(tx -> tx.list(Kind.ANSWER, Query.ALL));
        assertThat(rows).hasSize(1);
        answers.complete(admin, ROUTE, "k", new Idempotency.Answer(200, body));
        fixture.clock.advance(Duration.ofHours(25));
        assertThat(answers.purge()).isEqualTo(2);
    }

    @Test
    void readsRowsOfAnEarlierVersion() {
        answers.begin(admin, ROUTE, "k", "h");
        answers.complete(admin, ROUTE, "k", new Idempotency.Answer(200, "old"));
        fixture.store.write(tx -> {
            Row row = tx.list(Kind.ANSWER, Query.ALL).getFirst();
            String body = row.body().replace(",\"beside\":0", "");
            assertThat(body).doesNotContain("beside");
            return tx.update(
                    Kind.ANSWER,
                    new Row(
                            row.id(),
                            row.tenant(),
                            null,
                            null,
                            row.state(),
                            row.node(),
                            row.created(),
                            row.due(),
                            Map.of(),
                            row.version(),
                            body));
        });
        assertThat(answers.begin(admin, ROUTE, "k", "h"))
                .contains(new Idempotency.Answer(200, "old"));
    }

    @Test
    void abandonedMayBeTriedAgain() {
        answers.begin(admin, ROUTE, "k", "h");
        answers.abandon(admin, ROUTE, "k");
        assertThat(answers.begin(admin, ROUTE, "k", "h2")).isEmpty();
        answers.complete(admin, ROUTE, "k", new Idempotency.Answer(200, "x"));
        answers.abandon(admin, ROUTE, "k");
        assertThat(answers.begin(admin, ROUTE, "k", "h2")).isPresent();
    }

    @Test
    void oneOfManyServersBegins() throws Exception {
        Answers two = server("two");
        for (int round = 0; round < 20; round++) {
            String key = "k" + round;
            List<Callable<Boolean>> tries = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                Answers one = i % 2 == 0 ? answers : two;
                tries.add(() -> begins(one, key));
            }
            try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
                int begun = 0;
                for (Future<Boolean> one : threads.invokeAll(tries)) {
                    begun += one.get() ? 1 : 0;
                }
                assertThat(begun).isEqualTo(1);
            }
        }
    }

    private boolean begins(Answers one, String key) {
        try {
            return one.begin(admin, ROUTE, key, "h").isEmpty();
        } catch (CaissonException e) {
            assertThat(e.code()).isEqualTo(ErrorCode.CONFLICT);
            return false;
        }
    }

    @Test
    void whatACrashLeftIsClearedByItsOwnNodeOnly() {
        answers.begin(admin, ROUTE, "k", "h");
        Answers two = server("two");
        two.start();
        refused(ErrorCode.CONFLICT, () -> two.begin(admin, ROUTE, "k", "h"));
        Answers again = server("one");
        assertThat(again.begin(admin, ROUTE, "k", "h")).isEmpty();
        refused(ErrorCode.CONFLICT, () -> again.begin(admin, ROUTE, "k", "h"));
        Answers third = server("one");
        third.start();
        assertThat(two.begin(admin, ROUTE, "k", "h")).isEmpty();
    }

    @Test
    void areKeptForADay() {
        answers.begin(admin, ROUTE, "k", "h");
        answers.complete(admin, ROUTE, "k", new Idempotency.Answer(200, "x"));
        fixture.clock.advance(Duration.ofHours(23));
        assertThat(answers.purge()).isZero();
        assertThat(answers.begin(admin, ROUTE, "k", "h")).isPresent();
        fixture.clock.advance(Duration.ofHours(1));
        assertThat(answers.begin(admin, ROUTE, "k", "other")).isEmpty();
        fixture.clock.advance(Duration.ofDays(2));
        assertThat(answers.purge()).isEqualTo(1);
    }

    @Test
    void oddKeysAreRefused() {
        for (String key : List.of("", "a b", "é", "x".repeat(256), "a\n")) {
            refused(ErrorCode.INVALID, () -> answers.begin(admin, ROUTE, key, "h"));
        }
    }
}
