package dev.caisson.mcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayDeque;
import java.util.Deque;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Sixteen sessions, of which a tenant that is alone may have fourteen. */
final class HttpSessionsTest {
    private final HttpSessions sessions =
            new HttpSessions(HttpSettings.defaults().withMaxSessions(16, 16));
    private final Deque<HttpSession> ofAlpha = new ArrayDeque<>();

    @AfterEach
    void close() {
        sessions.close();
    }

    private HttpSession open(String tenant, String key) {
        return sessions.open(new Gate.Access(tenant, tenant + "/" + key, FakeBackend::new));
    }

    private static void full(ThrowingCallable call) {
        CaissonException refusal = catchThrowableOfType(CaissonException.class, call);
        assertThat(refusal.code()).isEqualTo(ErrorCode.NO_CAPACITY);
        assertThat(refusal.remedy()).isNotEmpty();
    }

    @Test
    void noTenantTakesTheLastSessionsOfOthers() {
        for (int i = 0; i < 14; i++) {
            ofAlpha.add(open("alpha", "key" + i));
        }
        full(() -> open("alpha", "another"));
        open("beta", "key");
        full(() -> open("beta", "key"));
        for (int i = 0; i < 4; i++) {
            sessions.close(ofAlpha.pop());
        }
        open("beta", "key"); // control: what was given back is there
        open("beta", "key");
        full(() -> open("alpha", "another")); // it has ten, and three are free
    }

    @Test
    void aSessionThatIsClosedTwiceGivesBackOnePlace() {
        HttpSession session = open("alpha", "key");
        sessions.close(session);
        sessions.close(session);
        for (int i = 0; i < 14; i++) {
            open("alpha", "key");
        }
        full(() -> open("alpha", "key"));
    }

    @Test
    void noTenantTakesAllStreams() {
        HttpSession session = open("alpha", "key");
        for (int i = 0; i < 16; i++) {
            sessions.requireStream(session);
            Thread.ofVirtual().start(() -> read(session));
            int open = i + 1;
            await().until(() -> session.readers() == open);
        }
        full(() -> sessions.requireStream(session));
        sessions.requireStream(open("beta", "key")); // control
    }

    private static void read(HttpSession session) {
        try {
            session.general().writeTo(bytes -> {}, true);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
