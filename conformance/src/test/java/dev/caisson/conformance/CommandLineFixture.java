package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.cli.CommandLines;
import dev.caisson.cli.CommandLines.Ended;
import dev.caisson.v1.Json;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import tools.jackson.databind.JsonNode;

/** The commands of {@code caisson} against a server of the class's own. */
abstract class CommandLineFixture extends ServiceFixture {
    /** What Caisson itself ends with where it refuses or fails. */
    static final int OWN_ERROR = 125;

    static Map<String, String> env(String key) {
        return Map.of("CAISSON_URL", service.url().toString(), "CAISSON_API_KEY", key);
    }

    static Ended caisson(String... words) {
        return feed("", words);
    }

    static Ended feed(String stdin, String... words) {
        return CommandLines.run(env(service.adminKey()), stdin, words);
    }

    /** What one that must succeed printed. */
    static String ok(String... words) {
        return ok(caisson(words));
    }

    static String ok(Ended ended) {
        assertThat(ended.status()).as(ended::toString).isZero();
        return ended.out();
    }

    /** The one JSON object that one prints. */
    static JsonNode json(String... words) {
        String out = ok(words);
        assertThat(out).hasLineCount(1);
        return Json.LENIENT.readTree(out);
    }

    static List<JsonNode> items(String... words) {
        List<JsonNode> items = new ArrayList<>();
        json(words).path("items").forEach(items::add);
        return items;
    }

    static String create(String... more) {
        List<String> words = new ArrayList<>(List.of("create"));
        words.addAll(List.of(more));
        String id = ok(words.toArray(String[]::new)).strip();
        assertThat(id).startsWith("sb");
        return id;
    }

    /** A refusal in one line that says what to do. */
    static void refused(Ended ended, String... wanted) {
        assertThat(ended.status()).as(ended::toString).isEqualTo(OWN_ERROR);
        assertThat(ended.out()).isEmpty();
        assertThat(ended.err()).startsWith("caisson: ").hasLineCount(1).contains(wanted);
    }

    /** The same for programs. */
    static JsonNode refusedAsJson(Ended ended, String code) {
        assertThat(ended.status()).as(ended::toString).isEqualTo(OWN_ERROR);
        assertThat(ended.err()).isEmpty();
        JsonNode error = Json.LENIENT.readTree(ended.out()).path("error");
        assertThat(error.path("code").asString()).isEqualTo(code);
        assertThat(error.path("message").asString()).isNotBlank();
        return error;
    }

    // ---- as a program of its own

    /** What starts {@code caisson} with these words. */
    static List<String> command(String... words) {
        List<String> command =
                new ArrayList<>(
                        List.of(
                                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                                "-XX:TieredStopAtLevel=1",
                                "-XX:+UseSerialGC",
                                "--enable-native-access=ALL-UNNAMED",
                                "dev.caisson.cli.Main"));
        command.addAll(List.of(words));
        return command;
    }

    /** Its environment, for that key. */
    static Map<String, String> environment(String key) {
        Map<String, String> environment = new LinkedHashMap<>(env(key));
        environment.put("CLASSPATH", LiveService.classPath());
        return environment;
    }

    /** Starts it for the first admin, on pipes; the test ends it. */
    static Process start(String... words) {
        return startAs(service.adminKey(), words);
    }

    static Process startAs(String key, String... words) {
        ProcessBuilder builder = new ProcessBuilder(command(words));
        builder.environment().putAll(environment(key));
        try {
            return builder.start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The exit status of one that is on its way out. */
    static int status(Process process) {
        try {
            assertThat(process.waitFor(20, TimeUnit.SECONDS)).as("it ends").isTrue();
            return process.exitValue();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
