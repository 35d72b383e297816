package dev.caisson.client;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.v1.Json;
import dev.caisson.v1.StreamItem;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import org.junit.jupiter.api.Test;

class LogItemsTest {
    private final List<StreamItem> told = new ArrayList<>();
    private final LogItems items = new LogItems(told::add);

    private boolean take(String type, String id, String more) {
        String json =
                "{\"id\":\""
                        + id
                        + "\",\"time\":\"2026-11-30T12:00:00Z\",\"type\":\""
                        + type
                        + "\""
                        + more
                        + "}";
        return items.take(Json.read(json, StreamItem.class));
    }

    private String text() {
        StringBuilder text = new StringBuilder();
        for (StreamItem item : told) {
            String base64 = item.base64();
            text.append(
                    base64 == null
                            ? String.valueOf(item.text())
                            : new String(
                                    Base64.getDecoder().decode(base64), StandardCharsets.UTF_8));
        }
        return text.toString();
    }

    @Test
    void tellsWhatIsOpenedAgainOnceHoweverItIsCut() {
        take("stdout", "1.2.0.0", ",\"exec\":\"a\",\"offset\":0,\"text\":\"ab\"");
        take("stdout", "1.2.0.0", ",\"exec\":\"b\",\"offset\":0,\"text\":\"AB\"");
        // Opened again.
        take("stdout", "1.1.0.0", ",\"exec\":\"a\",\"offset\":0,\"text\":\"a\"");
        take("stdout", "1.4.0.0", ",\"exec\":\"a\",\"offset\":1,\"text\":\"bcd\"");
        take("stderr", "1.4.1.0", ",\"exec\":\"a\",\"offset\":0,\"text\":\"e\"");
        take("stdout", "1.3.0.0", ",\"exec\":\"b\",\"offset\":2,\"base64\":\"Qw==\"");

        assertThat(text()).isEqualTo("abABcdeC");
        assertThat(told.get(2).offset()).isEqualTo(2);
    }

    @Test
    void tellsBeginningsGapsAndEndsOnce() {
        for (int i = 0; i < 2; i++) {
            take("started", "1.0.0.0", ",\"exec\":\"a\",\"pid\":7");
            take("gap", "1.9.0.0", ",\"exec\":\"a\",\"fd\":\"stdout\",\"offset\":0,\"bytes\":9");
            take("stdout", "1.10.0.0", ",\"exec\":\"a\",\"offset\":9,\"text\":\"x\"");
            assertThat(take("exit", "2.10.0.0", ",\"exec\":\"a\"")).isFalse();
        }

        assertThat(told)
                .extracting(StreamItem::type)
                .containsExactly("started", "gap", "stdout", "exit");
    }

    @Test
    void endsWithTheSandbox() {
        assertThat(take("keepalive", "0", "")).isFalse();
        assertThat(take("exit", "0", ",\"sandbox\":\"s\"")).isTrue();

        assertThat(told).hasSize(2);
    }
}
