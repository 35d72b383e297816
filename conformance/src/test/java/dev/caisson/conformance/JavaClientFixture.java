package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Exec;
import dev.caisson.api.ExecListener;
import dev.caisson.api.ExecResult;
import dev.caisson.api.OutputFd;
import dev.caisson.client.RemoteCaisson;
import dev.caisson.client.RemoteConfig;
import dev.caisson.client.ServiceClient;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** A Java client of a service of the class's own. */
@SuppressWarnings("NullAway.Init") // set before each test
abstract class JavaClientFixture extends ServiceFixture {
    static final Duration LONG = Duration.ofSeconds(30);

    RemoteCaisson caisson;
    ServiceClient client;

    @BeforeEach
    void open() {
        caisson = RemoteCaisson.open(config(service.adminKey()));
        client = caisson.service();
    }

    @AfterEach
    void close() {
        caisson.close();
    }

    static RemoteConfig config(String key) {
        return RemoteConfig.of(service.url().toString(), key);
    }

    static ExecResult end(Exec exec) {
        return exec.await(LONG).orElseThrow(() -> new AssertionError(exec.id() + " goes on"));
    }

    /** What a listener is told. */
    static final class Heard implements ExecListener {
        @SuppressWarnings("JdkObsolete") // written and read by two threads
        final StringBuffer text = new StringBuffer();

        @Override
        public void output(OutputFd fd, ByteBuffer bytes) {
            text.append(StandardCharsets.UTF_8.decode(bytes));
        }

        void await(String wanted) {
            org.awaitility.Awaitility.await()
                    .atMost(Duration.ofSeconds(15))
                    .untilAsserted(() -> assertThat(text.toString()).contains(wanted));
        }
    }

    static void write(Exec exec, String text) {
        try {
            OutputStream in = exec.stdin();
            in.write(text.getBytes(StandardCharsets.UTF_8));
            in.flush();
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    static CaissonException refused(ErrorCode code, Runnable call) {
        try {
            call.run();
        } catch (CaissonException e) {
            assertThat(e.code()).as(e.toString()).isEqualTo(code);
            assertThat(e.message()).isNotBlank();
            return e;
        }
        throw new AssertionError("not refused with " + code);
    }
}
