package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;
import tools.jackson.databind.JsonNode;

/** Names that would lead elsewhere where they become paths: refused, and nothing is touched. */
@Isolated("starts launchers and servers of its own")
@Timeout(90)
class HostileNamesTest extends ServiceFixture {
    private static final List<String> NAMES =
            List.of(
                    "../../other",
                    "..",
                    ".",
                    "/etc/passwd",
                    "a/../../b",
                    "a/b",
                    "..\\other",
                    "%2e%2e%2fother",
                    "a\u0000b",
                    "a\nb",
                    "-rf",
                    "$(id)",
                    "\u202eother",
                    "x".repeat(300));

    /** What is asked with such a name. */
    private interface Asked {
        Api.Answer with(String name);
    }

    /** Everything beneath the folders of launcher and server, but what moves by itself. */
    private static Set<String> files() throws IOException {
        Set<String> files = new TreeSet<>();
        for (Path folder : List.of(service.state(), service.data())) {
            try (Stream<Path> all = Files.walk(folder)) {
                all.map(Path::toString)
                        .filter(path -> !path.contains("-wal") && !path.contains("-shm"))
                        .forEach(files::add);
            }
        }
        return files;
    }

    private static String mounts(String volume) {
        return api.post(
                        "/v1/sandboxes",
                        Map.of(
                                "volumes",
                                List.of(
                                        Map.of(
                                                "volume",
                                                volume,
                                                "path",
                                                "/data",
                                                "readOnly",
                                                true))))
                .toString();
    }

    private static Map<String, Asked> asked(String sandbox) {
        Map<String, Asked> asked = new LinkedHashMap<>();
        asked.put("sandbox", name -> api.post("/v1/sandboxes", Map.of("name", name)));
        asked.put(
                "snapshot",
                name -> api.post("/v1/sandboxes/" + sandbox + "/snapshots", Map.of("name", name)));
        asked.put(
                "volume",
                name -> api.post("/v1/volumes", Map.of("name", name, "diskBytes", 16 << 20)));
        asked.put("pool", name -> api.post("/v1/pools", Map.of("name", name, "size", 0)));
        asked.put("template", name -> api.post("/v1/sandboxes", Map.of("template", name)));
        asked.put(
                "template of a pool",
                name -> api.post("/v1/pools", Map.of("name", name(), "size", 0, "template", name)));
        asked.put("from a snapshot", name -> api.post("/v1/sandboxes", Map.of("snapshot", name)));
        asked.put(
                "webhook",
                name ->
                        api.post(
                                "/v1/webhooks",
                                Map.of("url", "https://example.com/", "types", List.of(name))));
        asked.put(
                "label",
                name -> api.post("/v1/sandboxes", Map.of("labels", Map.of(name, "value"))));
        asked.put(
                "label of a volume",
                name ->
                        api.post(
                                "/v1/volumes",
                                Map.of(
                                        "name",
                                        name(),
                                        "diskBytes",
                                        16 << 20,
                                        "labels",
                                        Map.of(name, "value"))));
        return asked;
    }

    @Test
    @DisplayName("C03 names that climb or hide are refused, and nothing is touched")
    void namesThatLeadElsewhereAreRefused() throws IOException {
        String sandbox = api.sandbox(Map.of());
        api.sh(sandbox, "true");
        Set<String> before = files();
        List<String> wrong = new ArrayList<>();
        asked(sandbox)
                .forEach((what, ask) -> {
                    for (String name : NAMES) {
                        if (harmless(what, name)) {
                            continue;
                        }
                        Api.Answer answer = ask.with(name);
                        boolean names = what.startsWith("template") || what.startsWith("from");
                        boolean refused =
                                answer.code().equals("invalid")
                                        // What is there is named: no other is.
                                        || (names && answer.code().equals("not_found"))
                                        || (names && answer.code().equals("policy_denied"));
                        if (!refused) {
                            wrong.add(what + " '" + name + "' " + answer);
                        }
                    }
                });
        assertThat(wrong).isEmpty();
        for (String name : NAMES) {
            assertThat(mounts(name)).startsWith("404");
        }
        assertThat(files()).isEqualTo(before);
        // The control: plain names are taken, and show.
        asked(sandbox)
                .forEach((what, ask) -> {
                    if (List.of("sandbox", "snapshot", "volume", "pool", "label").contains(what)) {
                        assertThat(ask.with(name()).status()).as(what).isEqualTo(201);
                    }
                });
        Set<String> after = files();
        after.removeAll(before);
        assertThat(after).anyMatch(path -> path.contains("/volumes/vo"));
        assertThat(after).anyMatch(path -> path.contains("/snapshots/sn"));
    }

    /** A label is never a path: its name may have a slash, and dots after a first letter. */
    private static boolean harmless(String what, String name) {
        return what.startsWith("label") && List.of("a/../../b", "a/b").contains(name);
    }

    @Test
    @DisplayName("C03 ids of requests that climb reach nothing of others")
    void idsThatLeadElsewhereAreRefused() {
        for (String noun :
                List.of("sandboxes", "snapshots", "volumes", "pools", "webhooks", "secrets")) {
            for (String id : List.of("..%2f..%2fother", "%2e%2e", "a%00b", "a%2fb")) {
                Api.Answer answer = api.get("/v1/" + noun + "/" + id);
                assertThat(answer.status()).as(noun + " " + answer).isIn(400, 404);
            }
        }
        JsonNode control = api.post("/v1/volumes", Map.of("name", name())).ok(201);
        assertThat(api.get("/v1/volumes/" + id(control)).status()).isEqualTo(200);
    }
}
