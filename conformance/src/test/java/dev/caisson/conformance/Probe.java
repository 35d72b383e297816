package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.ExecResult;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.Sandbox;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A program of the test resources that attacks and prints a line for each try: what it tried, and
 * as the last word how that went. It runs inside, and outside as the control.
 */
final class Probe {
    private Probe() {}

    /** Outcomes inside, by what was tried. */
    static Map<String, String> inside(Sandbox sandbox, String name, String... arguments) {
        sandbox.files().write("/work/" + name, resource(name));
        if (name.endsWith(".c")) {
            Lab.needs("gcc");
            compile(sandbox, name);
        }
        List<String> argv = command("/work", name);
        argv.addAll(List.of(arguments));
        ExecResult result = sandbox.exec(ExecSpec.of(argv));
        assertThat(result.shellStatus()).as(result.stderr().text()).isZero();
        return outcomes(result.stdout().text());
    }

    private static void compile(Sandbox sandbox, String name) {
        ExecResult result =
                sandbox.exec(
                        "gcc", "-w", "-no-pie", "-o", "/work/" + name + ".out", "/work/" + name);
        assertThat(result.shellStatus()).as(result.stderr().text()).isZero();
    }

    /** Outcomes of the same program on the host, as the user that runs the tests. */
    static Map<String, String> outside(String name, String... arguments)
            throws IOException, InterruptedException {
        Path folder = Files.createTempDirectory("caisson-probe");
        try {
            Path file = Files.write(folder.resolve(name), resource(name));
            if (name.endsWith(".c")) {
                Lab.Outside gcc =
                        Lab.outside(
                                "/usr/bin/gcc", "-w", "-no-pie", "-o", file + ".out", file + "");
                assertThat(gcc.status()).as(gcc.text()).isZero();
            }
            List<String> argv = command(folder.toString(), name);
            argv.addAll(List.of(arguments));
            return outcomes(Lab.outside(argv.toArray(String[]::new)).text());
        } finally {
            delete(folder);
        }
    }

    private static List<String> command(String folder, String name) {
        if (name.endsWith(".c")) {
            return new ArrayList<>(List.of(folder + "/" + name + ".out"));
        }
        Lab.needs("python3");
        return new ArrayList<>(List.of("/usr/bin/python3", folder + "/" + name));
    }

    /** The text of a resource. */
    static byte[] resource(String name) {
        try (InputStream in = Probe.class.getResourceAsStream("probes/" + name)) {
            if (in == null) {
                throw new AssertionError("no resource probes/" + name);
            }
            return in.readAllBytes();
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    private static Map<String, String> outcomes(String text) {
        Map<String, String> outcomes = new LinkedHashMap<>();
        text.lines()
                .filter(line -> line.indexOf(' ') > 0)
                .forEach(line -> {
                    int space = line.indexOf(' ');
                    outcomes.put(line.substring(0, space), line.substring(space + 1).strip());
                });
        return outcomes;
    }

    private static void delete(Path folder) throws IOException {
        for (Path entry : HostView.entries(folder)) {
            Files.delete(entry);
        }
        Files.delete(folder);
    }
}
