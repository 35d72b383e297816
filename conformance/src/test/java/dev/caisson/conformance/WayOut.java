package dev.caisson.conformance;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.caisson.api.Caisson;
import dev.caisson.api.Denied;
import dev.caisson.api.EventSink;
import dev.caisson.api.ExecResult;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.Sandbox;
import dev.caisson.embedded.EmbeddedCaisson;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What sandboxes with a way out meet: servers of the host, its name server, and a gateway that
 * trusts their authority. What counts is what arrived here. Shared by the tests of this JVM, so
 * each of them looks for words of its own.
 */
final class WayOut implements AutoCloseable {
    /** Names that the certificate of the web server is for. */
    private static final String[] CERTIFIED = {
        "allowed.test",
        "tunnel.test",
        "git.test",
        "reading.test",
        "denied.test",
        "shared.test",
        "*.wild.test",
        "moving.test",
        "key.test",
        "other.test"
    };

    private static @Nullable WayOut shared;

    final Zone zone = new Zone();
    final TestAuthority authority = new TestAuthority();
    final WebServer web = new WebServer(authority.server(CERTIFIED));
    final Sink sink = new Sink();
    private final Path trusted;
    private @Nullable Caisson caisson;

    private WayOut() {
        try {
            trusted = Files.createTempFile("caisson-trust", ".pem");
            trusted.toFile().deleteOnExit();
            Files.writeString(trusted, authority.pem());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        for (String name : CERTIFIED) {
            zone.host(name, "127.0.0.1");
        }
        zone.host("raw.test", "127.0.0.1");
        zone.host("six.test", "::1");
    }

    /** The one that tests share. Skips the test where there is none. */
    static synchronized WayOut rig() {
        needs();
        if (shared == null) {
            WayOut made = new WayOut();
            Runtime.getRuntime().addShutdownHook(new Thread(made.web.git()::close));
            shared = made;
        }
        return shared;
    }

    /** One of a test's own; the test closes it. */
    static WayOut own() {
        needs();
        return new WayOut();
    }

    private static void needs() {
        Lab.needsSandboxes();
        assumeTrue(
                Files.isDirectory(jars()),
                "needs the gateway's jars: run ./caisson test, or set -Dcaisson.gateway.jars");
    }

    /** The folder of the gateway's jars. */
    static Path jars() {
        String given = System.getProperty("caisson.gateway.jars", "");
        return given.isEmpty()
                ? Path.of(System.getProperty("caisson.checkout", "none"), "build", "lib")
                : Path.of(given);
    }

    /** Options of a gateway that asks this zone and trusts this authority. */
    List<String> arguments() {
        return List.of("--resolver", "127.0.0.1:" + zone.port(), "--trust", "/mnt/trusted.pem");
    }

    /** Its file, {@code NAME=PATH}. */
    String file() {
        return "trusted.pem=" + trusted;
    }

    /** The Caisson whose gateway that is. Its launcher ends with this JVM. */
    Caisson caisson() {
        synchronized (WayOut.class) { // the settings are those of this JVM
            if (caisson == null) {
                System.setProperty("caisson.gateway.jars", jars().toString());
                System.setProperty("caisson.gateway.args", String.join(" ", arguments()));
                System.setProperty("caisson.gateway.files", file());
                caisson = EmbeddedCaisson.open();
            }
            return caisson;
        }
    }

    /** A Caisson whose gateway asks and trusts what this host does; the test closes it. */
    static Caisson toTheWorld(EventSink events) {
        needs();
        synchronized (WayOut.class) { // the settings are those of this JVM
            Map<String, String> before = new HashMap<>();
            for (String name : List.of("caisson.gateway.args", "caisson.gateway.files")) {
                String value = System.clearProperty(name);
                if (value != null) {
                    before.put(name, value);
                }
            }
            System.setProperty("caisson.gateway.jars", jars().toString());
            try {
                return EmbeddedCaisson.open(events);
            } finally {
                before.forEach(System::setProperty);
            }
        }
    }

    /** Options of a launcher that starts such a gateway. */
    List<String> launcherOptions() {
        List<String> options =
                new ArrayList<>(
                        List.of(
                                "--gateway-java",
                                System.getProperty("java.home"),
                                "--gateway-jars",
                                jars().toString(),
                                "--gateway-file",
                                file()));
        arguments().forEach(word -> options.addAll(List.of("--gateway-arg", word)));
        return options;
    }

    /** The processes of a launcher's gateway. */
    static Set<Long> gateways(long launcher) {
        Set<Long> found = new TreeSet<>(HostView.withArgument("dev.caisson.egress.Main"));
        found.retainAll(HostView.tree(launcher));
        return found;
    }

    /** Closes what is the test's own. */
    @Override
    public void close() {
        if (caisson != null) {
            caisson.close();
        }
        web.close();
        zone.close();
        sink.close();
    }

    /**
     * A sandbox with that policy, in which {@code HTTP}, {@code TLS} and {@code SINK} are ports.
     */
    Sandbox sandbox(String policy) {
        return caisson().create(Lab.spec(l -> l).withEgress(filled(policy)));
    }

    /** That text with the ports of the servers. */
    String filled(String text) {
        return text.replace("$HTTP", Integer.toString(web.plain()))
                .replace("$TLS", Integer.toString(web.tls()))
                .replace("$SINK", Integer.toString(sink.port()));
    }

    /** Runs a line of shell inside, with the ports filled in. */
    ExecResult sh(Sandbox sandbox, String line) {
        return sandbox.exec(ExecSpec.shell(filled(line)).withTimeout(Duration.ofSeconds(40)));
    }

    /** Runs Python inside, with the ports filled in. */
    ExecResult python(Sandbox sandbox, String code) {
        return Lab.python(sandbox, filled(code));
    }

    /** Everything that an exec was denied, for the look of a test. */
    static String denied(ExecResult result) {
        return result.denied().stream().map(Denied::toString).collect(Collectors.joining("\n"));
    }

    /** What it wrote and was denied, for the message of a failure. */
    static String said(ExecResult result) {
        return result.exitCode()
                + " "
                + result.stdout().text()
                + result.stderr().text()
                + result.denied();
    }
}
