package dev.caisson.egress;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Packages of npm, Maven and Debian. */
class OtherGatesTest {
    private static final byte[] BYTES = "the file".getBytes(StandardCharsets.UTF_8);
    private static final long WEEK = Duration.ofDays(7).toMillis();
    private FakeRegistry registry;

    @BeforeEach
    void open() throws Exception {
        registry = new FakeRegistry();
    }

    @AfterEach
    void close() throws Exception {
        registry.close();
    }

    private String get(String path) throws Exception {
        return registry.get(FakeRegistry.HOST, path);
    }

    private void npm(String name, String path) {
        String integrity =
                "sha512-"
                        + Base64.getEncoder()
                                .encodeToString(
                                        HexFormat.of()
                                                .parseHex(FakeRegistry.hash("SHA-512", BYTES)));
        registry.page(
                FakeRegistry.HOST + path,
                "application/json",
                """
                {"name":"%s","dist-tags":{"latest":"2.0.0","next":"3.0.0-rc.1"},"versions":{
                 "1.9.0":{"dist":{"tarball":"https://files.example.net/t/1.9.0.tgz","integrity":"%s"}},
                 "1.10.0":{"dist":{"tarball":"https://files.example.net/t/1.10.0.tgz","integrity":"%s"}},
                 "2.0.0":{"dist":{"tarball":"https://files.example.net/t/2.0.0.tgz","shasum":"%s"}},
                 "3.0.0-rc.1":{"dist":{"tarball":"https://files.example.net/t/3.tgz"}}},
                 "time":{"created":"2020-01-01T00:00:00.000Z","1.9.0":"2020-01-01T00:00:00.000Z",
                 "1.10.0":"2021-01-01T00:00:00.000Z","2.0.0":"2026-05-31T00:00:00.000Z",
                 "3.0.0-rc.1":"2026-05-31T00:00:00.000Z"}}
                """
                        .formatted(name, integrity, integrity, "0".repeat(40)));
        for (String file : List.of("1.9.0", "1.10.0", "2.0.0", "3")) {
            registry.page(FakeRegistry.FILES + "/t/" + file + ".tgz", BYTES);
        }
    }

    @Test
    void npmsIndexLosesYoungVersionsAndItsTagIsMoved() throws Exception {
        npm("demo", "/npm/demo");
        registry.rules("npm", FakeRegistry.rule("/npm", List.of(), List.of(), WEEK, Map.of()));
        assertThat(get("/npm/demo"))
                .contains("\"latest\":\"1.10.0\"", "\"1.9.0\":{", "created")
                .doesNotContain("2.0.0", "3.0.0");
        assertThat(registry.get(FakeRegistry.FILES, "/t/1.10.0.tgz")).endsWith("the file");
        assertThat(registry.get(FakeRegistry.FILES, "/t/2.0.0.tgz")).contains("package path");
        assertThat(registry.session.events)
                .hasSize(1)
                .first()
                .asString()
                .contains("name=demo, version=1.10.0");
        assertThat(registry.server.heads.getFirst().toLowerCase(java.util.Locale.ROOT))
                .contains("accept: application/json");
        assertThat(get("/npm/demo/-/demo-1.9.0.tgz")).contains("package age");
    }

    @Test
    void npmsFilesOfALockFileAreJudgedByAnIndexThatNobodyAskedFor() throws Exception {
        registry.page(
                FakeRegistry.HOST + "/npm/@my%2fdemo",
                "application/json",
                """
                {"name":"@my/demo","dist-tags":{"latest":"2.0.0"},"versions":{
                 "1.0.0":{"dist":{"tarball":"https://registry.example.org/npm/@my/demo/-/demo-1.0.0.tgz"}},
                 "2.0.0":{"dist":{"tarball":"https://registry.example.org/npm/@my/demo/-/demo-2.0.0.tgz"}}},
                 "time":{"1.0.0":"2020-01-01T00:00:00.000Z","2.0.0":"2026-05-31T00:00:00.000Z"}}
                """);
        for (String version : List.of("1.0.0", "2.0.0")) {
            registry.page(FakeRegistry.HOST + "/npm/@my/demo/-/demo-" + version + ".tgz", BYTES);
        }
        registry.page(FakeRegistry.HOST + "/npm/other/-/other-1.0.0.tgz", BYTES);
        registry.rules("npm", FakeRegistry.rule("/npm", List.of(), List.of(), WEEK, Map.of()));

        assertThat(get("/npm/@my/demo/-/demo-1.0.0.tgz")).endsWith("the file");
        assertThat(registry.session.events).hasSize(1);
        assertThat(registry.server.heads).hasSize(2).first().asString().contains("@my%2fdemo");
        assertThat(get("/npm/@my/demo/-/demo-2.0.0.tgz")).contains("package age");
        // Its index is not there.
        assertThat(get("/npm/other/-/other-1.0.0.tgz")).contains("package age");
        assertThat(registry.session.events).hasSize(1);
    }

    @Test
    void npmsHashesAreCompared() throws Exception {
        npm("demo", "/npm/demo");
        registry.rules("npm", FakeRegistry.rule("/npm", List.of(), List.of()));
        assertThat(get("/npm/demo")).contains("\"latest\":\"2.0.0\"");
        assertThat(registry.get(FakeRegistry.FILES, "/t/2.0.0.tgz")).doesNotContain("the file");
        assertThat(registry.session.denied)
                .containsExactly("package npm:demo@2.0.0 [package hash]");
        assertThat(registry.get(FakeRegistry.FILES, "/t/1.9.0.tgz")).endsWith("the file");
    }

    @Test
    void npmsScopesAreNamesInEveryWriting() throws Exception {
        npm("@good/demo", "/npm/@good%2fdemo");
        npm("@evil/demo", "/npm/@evil%2fdemo");
        registry.page(FakeRegistry.HOST + "/npm/@good/demo/-/demo-1.0.0.tgz", BYTES);
        registry.rules("npm", FakeRegistry.rule("/npm", List.of("@good/*"), List.of()));
        assertThat(get("/npm/@good%2fdemo")).startsWith("HTTP/1.1 200");
        assertThat(get("/npm/@good/demo/-/demo-1.0.0.tgz")).endsWith("the file");
        for (String path : List.of("/npm/@evil%2fdemo", "/npm/@evil/demo", "/npm/%40evil%2Fdemo")) {
            assertThat(get(path)).contains("package allow");
        }
        assertThat(get("/npm/@good/demo/-/other-1.0.0.tgz")).contains("package path");
        assertThat(get("/npm/-/all")).contains("package path");
    }

    @Test
    void nothingIsPublishedToNpm() throws Exception {
        registry.rules("npm", FakeRegistry.rule("/npm", List.of(), List.of()));
        assertThat(registry.ask("PUT", FakeRegistry.HOST, "/npm/demo")).contains("package publish");
        assertThat(registry.ask("PUT", FakeRegistry.HOST, "/npm/-/user/x"))
                .contains("package publish");
        assertThat(
                        registry.ask(
                                "POST",
                                FakeRegistry.HOST,
                                "/npm/-/npm/v1/security/advisories/bulk"))
                .startsWith("HTTP/1.1 403")
                .contains("package audit");
        assertThat(registry.server.heads).isEmpty();
    }

    @Test
    void mavensFilesAreJudgedByCoordinatesAgeAndHash() throws Exception {
        String jar = "/maven2/org/example/demo/1.0/demo-1.0.jar";
        registry.page(
                FakeRegistry.HOST + jar,
                BYTES,
                "Last-Modified: Wed, 01 Jan 2020 00:00:00 GMT",
                "X-Checksum-Sha1: " + FakeRegistry.hash("SHA-1", BYTES));
        registry.page(
                FakeRegistry.HOST + jar.replace("1.0", "2.0"),
                BYTES,
                "Last-Modified: Sun, 31 May 2026 00:00:00 GMT");
        registry.page(FakeRegistry.HOST + jar.replace("1.0", "3.0"), BYTES);
        registry.page(
                FakeRegistry.HOST + jar.replace("1.0", "4.0"),
                BYTES,
                "Last-Modified: Wed, 01 Jan 2020 00:00:00 GMT",
                "X-Checksum-Sha1: " + "0".repeat(40));
        registry.page(FakeRegistry.HOST + jar + ".sha1", "text/plain", "x");
        registry.rules(
                "maven",
                FakeRegistry.rule(
                        "/maven2",
                        List.of("org.example:*"),
                        List.of("org.example:bad"),
                        WEEK,
                        Map.of()));
        assertThat(get(jar)).endsWith("the file");
        assertThat(get(jar + ".sha1")).endsWith("x");
        assertThat(get(jar.replace("1.0", "2.0"))).contains("package age");
        assertThat(get(jar.replace("1.0", "3.0"))).contains("package age");
        assertThat(get(jar.replace("1.0", "4.0"))).doesNotContain("the file");
        assertThat(get(jar.replace("demo", "bad"))).contains("package deny");
        assertThat(get("/maven2/org/other/demo/1.0/demo-1.0.jar")).contains("package allow");
        assertThat(get("/maven2/org/example/demo/1.0/else-1.0.jar")).contains("package path");
        assertThat(get("/maven2/org/example/demo/maven-metadata.xml")).startsWith("HTTP/1.1 404");
        assertThat(registry.session.events)
                .singleElement()
                .asString()
                .contains("name=org.example:demo, version=1.0", "bytes=8");
        assertThat(registry.session.denied)
                .contains(
                        "package maven:org.example:demo@4.0 [package hash]",
                        "package maven:org.other:demo@1.0 [package allow]");
    }

    @Test
    void debiansFilesAreJudgedByNameAndListsPass() throws Exception {
        String deb = "/debian/pool/main/h/hello/hello_2.10-3+b1_amd64.deb";
        registry.page(FakeRegistry.HOST + deb, BYTES);
        registry.page(FakeRegistry.HOST + "/debian/dists/stable/InRelease", BYTES);
        registry.rules(
                "debian", FakeRegistry.rule("/debian", List.of("hello@2.10-3+b1"), List.of()));
        assertThat(get("/debian/dists/stable/InRelease", "If-Modified-Since: x"))
                .endsWith("the file");
        assertThat(get(deb)).endsWith("the file");
        assertThat(get(deb.replace("hello", "hellO"))).contains("package allow");
        assertThat(get(deb.replace("2.10", "2.11"))).contains("package allow");
        assertThat(get("/debian/pool/main/h/hello/hello_2.10.tar.xz")).contains("package path");
        assertThat(registry.session.events)
                .singleElement()
                .asString()
                .contains("ecosystem=debian, name=hello, version=2.10-3+b1");
        registry.rules(
                "debian", FakeRegistry.rule("/debian", List.of(), List.of(), WEEK, Map.of()));
        assertThat(get(deb)).contains("package age", "Debian's indexes do not say so");
    }

    private String get(String path, String header) throws Exception {
        return registry.get(FakeRegistry.HOST, path, header);
    }
}
