package dev.caisson.cli;

import dev.caisson.testkit.StubServer;
import java.util.LinkedHashMap;
import java.util.Map;

/** Command lines against a stub server. */
final class Remote {
    static final String SB = "sbaaaaaaaaaaaaaaaaaaaa";
    static final String EX = "exaaaaaaaaaaaaaaaaaaaa";
    static final String ONE = " /v1/sandboxes/" + SB;
    static final String STREAM = "GET /v1/execs/" + EX + "/stream";
    static final String EXEC =
            "{\"id\":\""
                    + EX
                    + "\",\"sandbox\":\""
                    + SB
                    + "\",\"session\":\"se1\",\"state\":\"running\",\"argv\":[\"x\",\"a\\tb\"],"
                    + "\"cwd\":\"/work\",\"user\":\"sandbox\",\"pty\":false,"
                    + "\"createdAt\":\"2026-11-30T12:00:00Z\"}";

    private Remote() {}

    static String sandbox(String name, String labels) {
        return "{\"id\":\""
                + SB
                + "\",\"name\":"
                + name
                + ",\"tenant\":\"local\",\"session\":\"se1\",\"state\":\"running\","
                + "\"tier\":\"container\",\"engine\":\"namespaces\",\"template\":\"host\","
                + "\"labels\":"
                + labels
                + ",\"limits\":{\"memoryBytes\":1024},\"root\":\"denied\",\"volumes\":[],"
                + "\"createdAt\":\"2026-11-30T12:00:00Z\",\"onTimeout\":\"delete\","
                + "\"autoResume\":false,\"degraded\":[],\"node\":\"n\",\"version\":1}";
    }

    static String item(int id, String type, String more) {
        return "{\"id\":\""
                + id
                + "\",\"time\":\"2026-11-30T12:00:00Z\",\"type\":\""
                + type
                + "\""
                + more
                + "}";
    }

    static String exit(String how) {
        return item(
                99,
                "exit",
                ",\"result\":{"
                        + how
                        + ",\"stdout\":{\"encoding\":\"utf-8\",\"data\":\"\",\"totalBytes\":0},"
                        + "\"stderr\":{\"encoding\":\"utf-8\",\"data\":\"\",\"totalBytes\":0}}");
    }

    static Map<String, String> env(StubServer server) {
        Map<String, String> env = new LinkedHashMap<>();
        env.put("CAISSON_URL", server.url());
        env.put("CAISSON_API_KEY", "caisson_" + "1".repeat(40));
        return env;
    }

    static Shell shell(StubServer server) {
        return new Shell(new FakeCaisson()).env(env(server));
    }
}
