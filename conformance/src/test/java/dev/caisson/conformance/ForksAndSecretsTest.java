package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;
import tools.jackson.databind.JsonNode;

/** What forks may not have in common, and what a saved disk may not hold. */
@Isolated("starts launchers and servers of its own")
@Timeout(90)
class ForksAndSecretsTest extends ServiceFixture {
    private static final Map<String, Object> SMALL =
            Map.of("limits", Map.of("diskBytes", 32 << 20));

    @Test
    @DisplayName("L18 forks of one snapshot have nothing in common that must be one's own")
    void forksDifferInWhatMustDiffer() {
        String origin = api.sandbox(SMALL);
        api.sh(origin, "echo common > /work/common; head -c 32 /dev/urandom > /work/kept");
        String kept = api.out(origin, "sha256sum < /work/kept");
        JsonNode forks =
                api.post("/v1/sandboxes/" + origin + "/fork", Map.of("count", 2))
                        .ok(201)
                        .path("items");
        assertThat(forks).hasSize(2);
        List<String> all = List.of(origin, id(forks.path(0)), id(forks.path(1)));
        assertThat(new HashSet<>(all)).hasSize(3);
        Set<String> sessions = new HashSet<>();
        for (String one : all) {
            sessions.add(api.get("/v1/sandboxes/" + one).ok().path("session").asString());
            // No seed lies on the disk, and no id of a machine that all would share.
            assertThat(
                            api.out(
                                    one,
                                    "ls /etc/machine-id /var/lib/dbus/machine-id"
                                            + " /var/lib/systemd/random-seed /etc/ssh/ssh_host*"
                                            + " 2>/dev/null; true"))
                    .isEmpty();
            // The control: what was saved is the same in each.
            assertThat(api.out(one, "cat /work/common; sha256sum < /work/kept"))
                    .isEqualTo("common\n" + kept);
        }
        assertThat(sessions).hasSize(3);
        all.forEach(one -> api.delete("/v1/sandboxes/" + one).ok());
    }

    @Test
    @DisplayName("L18 a port's token of the origin opens no fork")
    void tokensOfTheOriginAreNotTheForks() {
        String origin = api.sandbox(SMALL);
        String path = "/v1/sandboxes/" + origin;
        String token =
                api.post(path + "/ports", Map.of("port", 8080)).ok(201).path("token").asString();
        String fork = id(api.post(path + "/fork", Map.of()).ok(201).path("items").path(0));
        assertThat(api.get("/v1/sandboxes/" + fork + "/ports").ok().path("items")).isEmpty();
        String own =
                api.post("/v1/sandboxes/" + fork + "/ports", Map.of("port", 8080))
                        .ok(201)
                        .path("token")
                        .asString();
        assertThat(own).isNotEmpty().isNotEqualTo(token);
        // The control: the same port of the same life has one token.
        assertThat(api.get(path + "/ports").ok().path("items").path(0).path("token").asString())
                .isEqualTo(token);
    }

    @Test
    @DisplayName("L19 no variable, key or token is in a saved disk, nor what was removed")
    void savedDisksHoldNoSecrets() throws IOException {
        String env = "canary-of-the-environment-4711";
        String command = "canary-of-a-command-4712";
        String input = "canary-of-the-input-4713";
        String removed = "canary-of-a-removed-file-4714";
        String written = "canary-of-a-file-4715";
        Map<String, Object> form = new LinkedHashMap<>(SMALL);
        form.put("env", Map.of("CANARY", env));
        String id = api.sandbox(form);
        String path = "/v1/sandboxes/" + id;
        assertThat(api.out(id, "echo $CANARY | wc -c")).isEqualTo(env.length() + 1 + "\n");
        api.post(
                        path + "/execs",
                        Map.of(
                                "command",
                                "cat > /dev/shm/in-memory; sleep 0.1",
                                "env",
                                Map.of("OTHER", command),
                                "input",
                                input))
                .ok(200);
        api.sh(id, "printf %s-%s canary-of-a-file 4715 > /work/f");
        api.sh(id, "printf %s-%s canary-of-a-removed-file 4714 > /work/r; sync; rm /work/r; sync");
        String token =
                api.post(path + "/ports", Map.of("port", 8080)).ok(201).path("token").asString();
        String key = service.adminKey();
        String snapshot = id(api.post(path + "/snapshots", Map.of()).ok(201));
        Path image = service.state().resolve("snapshots/" + snapshot + ".img");
        byte[] disk = Files.readAllBytes(image);
        for (String secret : List.of(env, command, input, removed, token, key)) {
            assertThat(secret).isNotEmpty();
            assertThat(holds(disk, secret)).as(secret).isFalse();
        }
        // The control: what is in a file of the sandbox is there.
        assertThat(holds(disk, written)).isTrue();
        inNoFileOfTheServer(List.of(env, command, key));
        api.delete(path).ok();
    }

    /** The variables are sealed, the key is a hash; only its own file has it. */
    private static void inNoFileOfTheServer(List<String> secrets) throws IOException {
        boolean any = false;
        try (Stream<Path> all = Files.walk(service.data())) {
            for (Path file : all.filter(Files::isRegularFile).toList()) {
                byte[] content = Files.readAllBytes(file);
                any |= holds(content, "sandbox.created");
                for (String secret : secrets) {
                    boolean own = file.endsWith("admin.key") && secret.equals(service.adminKey());
                    assertThat(holds(content, secret)).as(file + " " + secret).isEqualTo(own);
                }
            }
        }
        assertThat(any).as("the control: events are found").isTrue();
    }

    private static boolean holds(byte[] content, String text) {
        byte[] wanted = text.getBytes(StandardCharsets.UTF_8);
        // ISO 8859-1 has a character for each byte.
        return new String(content, StandardCharsets.ISO_8859_1)
                .contains(new String(wanted, StandardCharsets.ISO_8859_1));
    }
}
