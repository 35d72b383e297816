package dev.caisson.client;

import dev.caisson.testkit.StubServer;
import java.time.Duration;

/** JSON of a server, and clients of a stub. */
final class Forms {
    static final String SB = "sbaaaaaaaaaaaaaaaaaaaa";
    static final String EX = "exaaaaaaaaaaaaaaaaaaaa";
    static final String EXEC =
            "{\"id\":\""
                    + EX
                    + "\",\"sandbox\":\""
                    + SB
                    + "\",\"session\":\"se1\",\"state\":\"running\",\"argv\":[\"x\"],"
                    + "\"cwd\":\"/work\",\"user\":\"sandbox\",\"pty\":false,"
                    + "\"createdAt\":\"2026-11-30T12:00:00Z\",\"aNewField\":1}";
    static final String STREAM = "GET /v1/execs/" + EX + "/stream";
    static final String EXIT =
            item(
                    99,
                    "exit",
                    "\"result\":{\"exitCode\":3,\"reason\":\"exited\",\"limitsHit\":[],"
                            + "\"stdout\":{\"encoding\":\"utf-8\",\"data\":\"of the"
                            + " server\",\"totalBytes\":13,\"truncated\":false,\"droppedBytes\":0},"
                            + "\"stderr\":{\"encoding\":\"utf-8\",\"data\":\"\",\"totalBytes\":0,"
                            + "\"truncated\":false,\"droppedBytes\":0},\"usage\":{\"wallMillis\":5,"
                            + "\"cpuMillis\":1,\"cpuThrottledMillis\":0,\"peakMemoryBytes\":1,"
                            + "\"memoryByteSeconds\":1,\"diskBytes\":1,\"egressBytes\":0}}");

    private Forms() {}

    static String item(int id, String type, String more) {
        return "{\"id\":\""
                + id
                + "\",\"time\":\"2026-11-30T12:00:00Z\",\"type\":\""
                + type
                + "\""
                + (more.isEmpty() ? "" : "," + more)
                + "}";
    }

    static String out(int id, long offset, String text) {
        return item(id, "stdout", "\"offset\":" + offset + ",\"text\":\"" + text + "\"");
    }

    static String sandbox(String state) {
        return "{\"id\":\""
                + SB
                + "\",\"name\":null,\"tenant\":\"local\",\"session\":\"se1\",\"state\":\""
                + state
                + "\",\"tier\":\"container\",\"engine\":\"namespaces\",\"template\":\"host\","
                + "\"labels\":{},\"limits\":{},\"root\":\"denied\",\"volumes\":[],"
                + "\"createdAt\":\"2026-11-30T12:00:00Z\",\"onTimeout\":\"delete\","
                + "\"autoResume\":false,\"degraded\":[],\"node\":\"n\",\"version\":1"
                + (state.equals("ended") ? ",\"reason\":\"deleted\"" : "")
                + "}";
    }

    static RemoteConfig config(StubServer server) {
        return RemoteConfig.of(server.url(), "caisson_" + "0".repeat(40))
                .withTimeouts(Duration.ofSeconds(5), Duration.ofSeconds(5), Duration.ofSeconds(5))
                .withPatience(Duration.ofSeconds(3));
    }
}
