package dev.caisson.egress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.zip.GZIPOutputStream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The host's own pip and npm against registries of the test; skipped where there are none. */
class PackageClientsTest {
    @TempDir Path folder;
    private FakeRegistry registry;

    private record Ran(int status, String output) {}

    @BeforeEach
    void open() throws Exception {
        registry = new FakeRegistry();
        Files.writeString(folder.resolve("ca.pem"), registry.session.authority.pem());
    }

    @AfterEach
    void close() throws Exception {
        registry.close();
    }

    private Ran run(String... command) throws Exception {
        ProcessBuilder builder = new ProcessBuilder(command).directory(folder.toFile());
        builder.redirectErrorStream(true);
        Map<String, String> env = builder.environment();
        env.keySet().removeIf(name -> name.matches("(?i)(PIP|NPM|NODE)_.*|.*_PROXY|.*_CA_BUNDLE"));
        env.put("HOME", folder.toString());
        env.put("PIP_CONFIG_FILE", "/dev/null");
        Path out = folder.resolve("out.txt");
        builder.redirectOutput(out.toFile());
        Process process = builder.start();
        boolean ended = process.waitFor(60, TimeUnit.SECONDS);
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
        assertThat(ended).as(Files.readString(out)).isTrue();
        return new Ran(process.exitValue(), Files.readString(out));
    }

    private boolean has(String... command) {
        try {
            return run(command).status == 0;
        } catch (Exception e) {
            return false;
        }
    }

    // ---- pip

    private static byte[] wheel(String version) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ZipOutputStream zip = new ZipOutputStream(bytes)) {
            String info = "demo_app-" + version + ".dist-info/";
            Map<String, String> files =
                    Map.of(
                            "demo_app.py",
                            "x = 1\n",
                            info + "METADATA",
                            "Metadata-Version: 2.1\nName: demo-app\nVersion: " + version + "\n",
                            info + "WHEEL",
                            """
                            Wheel-Version: 1.0
                            Generator: t
                            Root-Is-Purelib: true
                            Tag: py3-none-any
                            """,
                            info + "RECORD",
                            "");
            for (Map.Entry<String, String> file : files.entrySet()) {
                zip.putNextEntry(new ZipEntry(file.getKey()));
                zip.write(file.getValue().getBytes(StandardCharsets.UTF_8));
            }
        }
        return bytes.toByteArray();
    }

    private void pypi() throws IOException {
        StringBuilder files = new StringBuilder();
        for (String version : List.of("1.0", "2.0")) {
            byte[] wheel = wheel(version);
            String file = "demo_app-" + version + "-py3-none-any.whl";
            registry.page(FakeRegistry.FILES + "/f/" + file, wheel);
            files.append(files.isEmpty() ? "" : ",")
                    .append(
                            """
                            {"filename":"%s","url":"https://files.example.net/f/%s",
                             "hashes":{"sha256":"%s"},"upload-time":"%s"}
                            """
                                    .formatted(
                                            file,
                                            file,
                                            FakeRegistry.hash("SHA-256", wheel),
                                            version.equals("1.0")
                                                    ? "2020-01-01T00:00:00Z"
                                                    : "2026-05-31T00:00:00Z"));
        }
        registry.page(
                FakeRegistry.HOST + "/simple/demo-app/",
                PypiIndex.JSON,
                "{\"meta\":{\"api-version\":\"1.1\"},\"name\":\"demo-app\",\"files\":["
                        + files
                        + "]}");
    }

    private Ran pip(String what) throws Exception {
        return run(
                "python3",
                "-m",
                "pip",
                "download",
                "--no-deps",
                "--no-cache-dir",
                "--disable-pip-version-check",
                "--retries=0",
                "--timeout=10",
                "--proxy=http://127.0.0.1:" + registry.proxyPort(),
                "--cert=" + folder.resolve("ca.pem"),
                "--index-url=https://registry.example.org/simple",
                "-d",
                "got",
                what);
    }

    @Test
    void pipTakesTheNewestThatIsAllowedAndNoTyposquat() throws Exception {
        assumeTrue(has("python3", "-m", "pip", "--version"), "needs pip");
        pypi();
        registry.rules("pypi", FakeRegistry.rule("/simple", List.of("demo-app"), List.of()));
        Ran newest = pip("demo-app");
        assertThat(newest.status).as(newest.output).isZero();
        assertThat(folder.resolve("got/demo_app-2.0-py3-none-any.whl")).exists();
        registry.rules(
                "pypi",
                FakeRegistry.rule(
                        "/simple", List.of(), List.of(), Duration.ofDays(7).toMillis(), Map.of()));
        Ran older = pip("demo-app");
        assertThat(older.status).as(older.output).isZero();
        assertThat(folder.resolve("got/demo_app-1.0-py3-none-any.whl")).exists();
        registry.rules("pypi", FakeRegistry.rule("/simple", List.of("demo-app"), List.of()));
        Ran squat = pip("demoapp");
        assertThat(squat.status).isNotZero();
        assertThat(squat.output).contains("No matching distribution found for demoapp");
        assertThat(registry.session.events).hasSize(2);
    }

    // ---- npm

    private static byte[] tarball(String version) throws IOException {
        byte[] json =
                ("{\"name\":\"demo\",\"version\":\"" + version + "\"}")
                        .getBytes(StandardCharsets.UTF_8);
        byte[] head = new byte[512];
        byte[] name = "package/package.json".getBytes(StandardCharsets.US_ASCII);
        System.arraycopy(name, 0, head, 0, name.length);
        put(head, 100, "0000644\0000000000\0000000000\000");
        put(head, 124, "%011o\00000000000000\000".formatted(json.length));
        put(head, 148, "        0");
        put(head, 257, "ustar\00000");
        int sum = 0;
        for (byte b : head) {
            sum += b & 0xff;
        }
        put(head, 148, "%06o\000 ".formatted(sum));
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (GZIPOutputStream zip = new GZIPOutputStream(bytes)) {
            zip.write(head);
            zip.write(json);
            zip.write(new byte[1024 + 512 - json.length % 512]);
        }
        return bytes.toByteArray();
    }

    private static void put(byte[] into, int at, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
        System.arraycopy(bytes, 0, into, at, bytes.length);
    }

    private void npm() throws IOException {
        StringBuilder versions = new StringBuilder();
        for (String version : List.of("1.0.0", "2.0.0")) {
            byte[] tarball = tarball(version);
            registry.page(FakeRegistry.FILES + "/t/demo-" + version + ".tgz", tarball);
            versions.append(versions.isEmpty() ? "" : ",")
                    .append(
                            """
                            "%s":{"name":"demo","version":"%s","dist":{"integrity":"sha512-%s",
                             "tarball":"https://files.example.net/t/demo-%s.tgz"}}
                            """
                                    .formatted(
                                            version,
                                            version,
                                            Base64.getEncoder()
                                                    .encodeToString(
                                                            HexFormat.of()
                                                                    .parseHex(
                                                                            FakeRegistry.hash(
                                                                                    "SHA-512",
                                                                                    tarball))),
                                            version));
        }
        registry.page(
                FakeRegistry.HOST + "/npm/demo",
                "application/json",
                "{\"name\":\"demo\",\"dist-tags\":{\"latest\":\"2.0.0\"},\"versions\":{"
                        + versions
                        + "},\"time\":{\"1.0.0\":\"2020-01-01T00:00:00.000Z\","
                        + "\"2.0.0\":\"2026-05-31T00:00:00.000Z\"}}");
        Files.writeString(folder.resolve("package.json"), "{\"name\":\"x\",\"version\":\"1.0.0\"}");
    }

    private Ran npm(String... words) throws Exception {
        List<String> command = new ArrayList<>(List.of("npm"));
        command.addAll(List.of(words));
        command.addAll(
                List.of(
                        "--registry=https://registry.example.org/npm/",
                        "--https-proxy=http://127.0.0.1:" + registry.proxyPort(),
                        "--cafile=" + folder.resolve("ca.pem"),
                        "--cache=" + Files.createTempDirectory(folder, "cache"),
                        "--fetch-retries=0",
                        "--no-update-notifier"));
        return run(command.toArray(new String[0]));
    }

    @Test
    void npmInstallsWhatIsAllowedAndTheAuditThatIsRefusedDoesNotFailIt() throws Exception {
        assumeTrue(has("npm", "--version"), "needs npm");
        npm();
        registry.rules(
                "npm",
                FakeRegistry.rule(
                        "/npm",
                        List.of("demo"),
                        List.of(),
                        Duration.ofDays(7).toMillis(),
                        Map.of()));
        Ran install = npm("install", "demo");
        assertThat(install.status).as(install.output).isZero();
        assertThat(folder.resolve("node_modules/demo/package.json"))
                .content()
                .contains("\"1.0.0\"");
        assertThat(registry.session.denied).anyMatch(one -> one.contains("[package audit]"));
        Ran again = npm("ci");
        assertThat(again.status).as(again.output).isZero();
        assertThat(registry.session.events).hasSize(2).allMatch(one -> one.contains("1.0.0"));
        Ran squat = npm("install", "dem0");
        assertThat(squat.status).isNotZero();
        assertThat(squat.output).contains("403");
        Ran publish = npm("publish", "--//registry.example.org/npm/:_authToken=x");
        assertThat(publish.status).isNotZero();
        assertThat(registry.session.denied).anyMatch(one -> one.contains("[package publish]"));
        assertThat(registry.server.heads).noneMatch(head -> head.startsWith("P"));
    }
}
