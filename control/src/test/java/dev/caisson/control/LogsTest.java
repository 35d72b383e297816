package dev.caisson.control;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.ErrorCode;
import dev.caisson.v1.ExecRequest;
import dev.caisson.v1.Json;
import dev.caisson.v1.StreamItem;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class LogsTest {
    @TempDir private Path folder;
    private FakeHost host;
    private String sandbox;

    @BeforeEach
    void open() {
        host = FakeHost.open(folder);
        sandbox = host.create().id();
    }

    @AfterEach
    void close() {
        host.close();
    }

    private List<StreamItem> kept(@Nullable String after) throws IOException {
        List<StreamItem> items = new ArrayList<>();
        host.service.logs().read(host.admin, sandbox, false, after, items::add);
        return items;
    }

    private void run(String word) {
        String id = host.start(sandbox, "echo", word);
        assertThat(host.service.execs().await(host.admin, id, Duration.ofSeconds(15))).isPresent();
        host.clock.advance(Duration.ofMillis(1));
    }

    @Test
    void goesOnBehindEachItem() throws IOException {
        run("one");
        run("two");
        run("three");
        List<StreamItem> all = kept(null);
        assertThat(FakeHost.text(all)).isEqualTo("one\ntwo\nthree\n");
        for (int i = 0; i < all.size(); i++) {
            List<StreamItem> rest = kept(all.get(i).id());
            assertThat(rest)
                    .as(all.get(i).id())
                    .extracting(StreamItem::id)
                    .isEqualTo(
                            all.subList(i + 1, all.size()).stream().map(StreamItem::id).toList());
        }
        run("four");
        assertThat(FakeHost.text(kept(all.getLast().id()))).isEqualTo("four\n");
    }

    @Test
    void goesOnInAllThatRunAtOnce() throws Exception {
        String first = later();
        String second = later();
        List<StreamItem> before = new CopyOnWriteArrayList<>();
        Thread reader = follow(null, before);
        await().until(() -> FakeHost.text(before).equals("before before "));
        reader.interrupt();
        reader.join(Duration.ofSeconds(5));
        for (String exec : List.of(first, second)) {
            host.service
                    .execs()
                    .input(host.admin, exec, new java.io.ByteArrayInputStream(new byte[0]), true);
        }
        List<StreamItem> after = new CopyOnWriteArrayList<>();
        Thread again = follow(before.getLast().id(), after);
        await().until(() -> FakeHost.text(after).equals("afterafter"));
        host.service.sandboxes().delete(host.admin, sandbox);
        again.join(Duration.ofSeconds(10));
        assertThat(after.getLast().type()).isEqualTo("exit");
        assertThat(after).extracting(StreamItem::type).doesNotContain("started");
    }

    /** Says something, and more at the end of its input. */
    private String later() {
        String json = "{\"argv\":[\"later\"],\"stdin\":true}";
        ExecRequest request = Json.read(json, ExecRequest.class);
        return host.service.execs().start(host.admin, sandbox, request).id();
    }

    private Thread follow(@Nullable String after, List<StreamItem> items) {
        return Thread.ofVirtual()
                .start(() -> {
                    try {
                        host.service.logs().read(host.admin, sandbox, true, after, items::add);
                    } catch (IOException e) {
                        // It was interrupted.
                    }
                });
    }

    @Test
    void tellsAGapWhereThereAreMoreExecsThanItTells() throws IOException {
        run("seen");
        Row like = host.memory.read(tx -> tx.list(Kind.EXEC, Query.ALL)).getFirst();
        ExecDoc doc = ExecDoc.of(like);
        for (int i = 0; i < Logs.MAX_EXECS; i++) {
            doc.id = "ex" + "%020d".formatted(i);
            doc.createdAt = host.clock.instant().plusMillis(i);
            Row row = doc.row(1, host.memory.node(), null);
            host.memory.write(tx -> {
                tx.insert(Kind.EXEC, row);
                return true;
            });
        }
        List<StreamItem> items = kept(null);
        assertThat(items.getFirst().type()).isEqualTo("gap");
        assertThat(items).filteredOn(item -> item.type().equals("gap")).hasSize(1);
        assertThat(items).extracting(StreamItem::exec).doesNotContain(like.id());
        assertThat(kept(items.getLast().id())).isEmpty();
    }

    @Test
    void refusesWhatIsNoPlace() {
        for (String after :
                List.of("1.2.3.4", "x", "5-ex1", "-", "1-" + "ex" + "0".repeat(20) + "_x")) {
            Fixture.refused(ErrorCode.INVALID, () -> kept(after));
        }
    }
}
