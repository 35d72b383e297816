package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.caisson.v1.Json;
import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;
import tools.jackson.databind.JsonNode;

/** {@code caisson} as a program of its own: what follows, what listens, and signals to it. */
@Isolated("starts launchers and servers of its own")
@Timeout(60)
class CommandLineProcessTest extends CommandLineFixture {
    private static final int INSIDE = 8099;
    private static final int TERMINATED = 143;
    private static final int READER_GONE = 141;

    @Test
    void aRunGoesToTheServer() throws Exception {
        Process run = start("run", "--json", "--", "sh", "-c", "echo there; exit 5");
        Lab.Outside ended = Lab.finish(run);

        JsonNode result = Json.LENIENT.readTree(ended.text());
        assertThat(ended.status()).as(ended.text()).isEqualTo(5);
        assertThat(result.path("exitCode").asInt()).isEqualTo(5);
        String id = result.path("run").asString();
        assertThat(ok("runs", "logs", id)).isEqualTo("there\n");
        assertThat(ok("runs", "ls")).contains(id);
        ok("runs", "rm", id);
    }

    @Test
    void aSignalToTheCommandLineKillsTheCommandInside() throws Exception {
        String id = create();
        Process exec = start("exec", id, "--", "sh", "-c", "echo up; exec sleep 61");
        try {
            byte[] up = exec.getInputStream().readNBytes(3);
            assertThat(new String(up, StandardCharsets.US_ASCII)).isEqualTo("up\n");
            assertThat(ok("ps", id)).contains("sleep 61"); // control
            LiveService.signal("TERM", exec);

            assertThat(status(exec)).isEqualTo(TERMINATED);

            await().atMost(Duration.ofSeconds(10))
                    .untilAsserted(() -> assertThat(ok("ps", id)).isEmpty());
        } finally {
            exec.destroyForcibly();
        }
    }

    // ---- forward

    /** A sandbox with a file server in it. */
    private static String serving() {
        Lab.needs("python3");
        String id = create();
        ok("exec", id, "--", "sh", "-c", "mkdir www; echo small > www/f; seq 1 500000 > www/big");
        ok(
                "exec",
                "-d",
                id,
                "--",
                "python3",
                "-m",
                "http.server",
                Integer.toString(INSIDE),
                "--bind",
                "127.0.0.1",
                "--directory",
                "www");
        String dial = "import socket; socket.create_connection(('127.0.0.1', " + INSIDE + "))";
        await().atMost(Duration.ofSeconds(15))
                .until(() -> caisson("exec", id, "--", "python3", "-c", dial).status() == 0);
        return id;
    }

    private static int local(Transcript seen, String id) {
        seen.await("to port " + INSIDE + " of " + id);
        Matcher matcher = Pattern.compile("127\\.0\\.0\\.1:(\\d+)\t").matcher(seen.text());
        assertThat(matcher.find()).as(seen::text).isTrue();
        return Integer.parseInt(matcher.group(1));
    }

    private static Socket connect(int port) throws IOException {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
        socket.setSoTimeout(15_000);
        return socket;
    }

    private static void send(Socket socket, String text) throws IOException {
        socket.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
        socket.getOutputStream().flush();
    }

    private static String rest(Socket socket) throws IOException {
        try (InputStream in = socket.getInputStream()) {
            return new String(in.readAllBytes(), StandardCharsets.US_ASCII);
        }
    }

    @Test
    void aPortInsideIsReachableHereUntilASignal() throws Exception {
        String id = serving();
        Process forward = start("forward", id, INSIDE + ":0");
        try {
            int port = local(Transcript.of(forward.getInputStream()), id);
            try (Socket slow = connect(port);
                    Socket quick = connect(port)) {
                send(slow, "GET /big HTTP/1.0\r\n");
                // The other one is served while this one has half of a request.
                send(quick, "GET /f HTTP/1.0\r\n\r\n");
                assertThat(rest(quick)).startsWith("HTTP/1.0 200").endsWith("\r\n\r\nsmall\n");
                send(slow, "\r\n");
                String big = rest(slow);
                assertThat(big).startsWith("HTTP/1.0 200").endsWith("\n499999\n500000\n");
                assertThat(big).hasSizeGreaterThan(3_388_896);
            }
            Socket open = connect(port); // control: it listens, and one is open at the end
            send(open, "GET /f HTTP/1.0\r\n");

            LiveService.signal("TERM", forward);

            assertThat(status(forward)).isEqualTo(TERMINATED);
            open.close();
            assertThatThrownBy(() -> connect(port)).isInstanceOf(ConnectException.class);
            // Nothing goes on inside for a connection that is gone.
            await().atMost(Duration.ofSeconds(10))
                    .untilAsserted(() -> assertThat(connections(id)).isEqualTo("0"));
        } finally {
            forward.destroyForcibly();
        }
    }

    /** Connections to the server inside that stand (state 01 of proc_net(5)). */
    private static String connections(String id) {
        String port = String.format(":%04X", INSIDE);
        return ok(
                        "exec",
                        id,
                        "--",
                        "sh",
                        "-c",
                        "awk '$2 ~ /" + port + "$/ && $4 == \"01\"' /proc/net/tcp | wc -l")
                .strip();
    }

    @Test
    void aPortThatNobodyServesIsSaidAndTheOthersGoOn() throws Exception {
        String id = serving();
        Process forward = start("forward", "--json", id, "4:0", INSIDE + ":0");
        try {
            Transcript seen = Transcript.of(forward.getInputStream());
            Transcript said = Transcript.of(forward.getErrorStream());
            seen.await("\"port\":" + INSIDE);
            List<JsonNode> ports = seen.text().lines().map(Json.LENIENT::readTree).toList();
            assertThat(ports)
                    .extracting(one -> one.path("port").asInt())
                    .containsExactly(4, INSIDE);
            try (Socket nobody = connect(ports.getFirst().path("local").asInt())) {
                assertThat(rest(nobody)).isEmpty();
            }
            said.await("caisson: port 4 of " + id);
            try (Socket socket = connect(ports.getLast().path("local").asInt())) {
                send(socket, "GET /f HTTP/1.0\r\n\r\n");
                assertThat(rest(socket)).endsWith("small\n");
            }
        } finally {
            LiveService.signal("TERM", forward);
            assertThat(status(forward)).isEqualTo(TERMINATED);
        }
    }

    @Test
    void thereIsNothingToListenForWithoutASandbox() {
        refused(caisson("forward", "sbnothing", "80:0"), "sbnothing");
        refused(caisson("forward", create(), "0"), "port");
    }

    // ---- what follows

    @Test
    void logsAreFollowedUntilTheSandboxEnds() {
        String id = create();
        ok("exec", id, "--", "echo", "before");
        Process logs = start("logs", "-f", id);
        try {
            Transcript seen = Transcript.of(logs.getInputStream());
            Transcript said = Transcript.of(logs.getErrorStream());
            seen.await("before\n");

            ok("exec", "-d", id, "--", "sh", "-c", "echo first; read x < /dev/null; echo second");
            seen.await("second\n");
            assertThat(logs.isAlive()).isTrue(); // control
            ok("rm", id);

            assertThat(status(logs)).as(said::text).isZero();
            assertThat(seen.text()).isEqualTo("before\nfirst\nsecond\n");
        } finally {
            logs.destroyForcibly();
        }
    }

    @Test
    void eventsAreFollowedUntilASignal() {
        String id = create();
        Process events = start("events", "-f", "--json", "--sandbox", id);
        try {
            Transcript seen = Transcript.of(events.getInputStream());
            seen.await("sandbox.created");
            assertThat(seen.text()).doesNotContain("exec.ended"); // control

            ok("exec", id, "--", "true");

            seen.await("exec.ended");
            assertThat(seen.text().lines().map(Json.LENIENT::readTree))
                    .extracting(event -> event.path("sandbox").asString())
                    .containsOnly(id);
            LiveService.signal("INT", events);
            assertThat(status(events)).isEqualTo(130);
        } finally {
            events.destroyForcibly();
        }
    }

    @Test
    void whatNobodyReadsEnds() throws Exception {
        String id = create();
        Process events = start("events", "-f", "--sandbox", id);
        Process logs = start("logs", "-f", id);
        try {
            byte[] begun = events.getInputStream().readNBytes(1);
            assertThat(begun).hasSize(1);
            events.getInputStream().close();
            logs.getInputStream().close();

            Transcript said = Transcript.of(events.getErrorStream());
            await().atMost(Duration.ofSeconds(20))
                    .until(() -> {
                        ok("exec", id, "--", "echo", "something");
                        return !events.isAlive() && !logs.isAlive();
                    });

            assertThat(status(events)).isEqualTo(READER_GONE);
            assertThat(status(logs)).isEqualTo(READER_GONE);
            assertThat(said.text()).isEmpty();
        } finally {
            events.destroyForcibly();
            logs.destroyForcibly();
        }
    }
}
