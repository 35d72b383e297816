package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.Exec;
import dev.caisson.api.Sandbox;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Attacks on the programs that make sandboxes and start commands in them (CVE-2019-5736 and its
 * like).
 */
class HostProgramsTest {
    /**
     * Holds every program that it can see and tries to write to it while it runs and after it
     * ended.
     */
    private static final String ATTACK =
            """
            import os, sys, time
            written = 0
            def overwrite(path):
                global written
                for flags in os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC:
                    try:
                        os.write(os.open(path, flags), b'#!/bin/false')
                        written += 1
                    except OSError:
                        pass
            held = []
            end = time.time() + float(sys.argv[1])
            while time.time() < end:
                for pid in [p for p in os.listdir('/proc') if p.isdigit()] + ['1', 'self']:
                    path = f'/proc/{pid}/exe'
                    overwrite(path)
                    try:
                        held.append(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
                    except OSError:
                        pass
                for one in held[-20:]:
                    overwrite(f'/proc/self/fd/{one}')
                while len(held) > 200:
                    os.close(held.pop(0))
            for path in sys.argv[2:]:
                overwrite(path)
            print('written', written)
            """;

    private static Map<String, String> programs() throws IOException {
        Map<String, String> sums = new TreeMap<>();
        Path folder =
                Path.of(
                        System.getProperty(
                                "caisson.native.dir", System.getenv("CAISSON_NATIVE_DIR")));
        for (Path file : HostView.entries(folder)) {
            sums.put(file.toString(), sha256(file));
        }
        for (String file :
                new String[] {"/usr/bin/python3", "/bin/sh", "/usr/bin/env", "/usr/bin/sleep"}) {
            sums.put(file, sha256(Path.of(file).toRealPath()));
        }
        return sums;
    }

    private static String sha256(Path file) throws IOException {
        try {
            return HexFormat.of()
                    .formatHex(
                            MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(file)));
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    @DisplayName(
            "K08 (CVE-2019-5736) no program of the host changes, whatever is tried while commands"
                    + " start")
    void noProgramOfTheHostChanges(@TempDir Path host) throws IOException, InterruptedException {
        Lab.needs("python3");
        Lab.needsSandboxes();
        Map<String, String> before = programs();
        try (Sandbox sandbox = Lab.sandbox()) {
            sandbox.files().write("/work/attack.py", ATTACK);
            Exec attack = sandbox.start(dev.caisson.api.ExecSpec.of("python3", "attack.py", "2"));
            for (int i = 0; i < 30; i++) {
                sandbox.exec("env");
                sandbox.files().write("/work/file", "x");
            }
            assertThat(attack.await().stdout().text()).isEqualTo("written 0\n");
            assertThat(Lab.sh(sandbox, "echo alive").stdout().text()).isEqualTo("alive\n");
        }
        assertThat(programs()).isEqualTo(before);

        Path script = Files.writeString(host.resolve("attack.py"), ATTACK);
        Path victim = Files.writeString(host.resolve("victim"), "#!/bin/sh\n");
        // Only its victim: a sandbox's attack on every program, run outside, would be one.
        Lab.Outside control =
                Lab.outside("/usr/bin/python3", script.toString(), "0", victim.toString());
        assertThat(control.text()).as("control").isEqualTo("written 3\n");
    }
}
