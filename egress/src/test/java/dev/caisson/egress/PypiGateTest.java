package dev.caisson.egress;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Python's packages: index on one host, files on another. */
class PypiGateTest {
    private static final String JSON = "Accept: " + PypiIndex.JSON + ", text/html;q=0.1";
    private static final byte[] OLD = "old wheel".getBytes(StandardCharsets.UTF_8);
    private static final byte[] NEW = "new wheel".getBytes(StandardCharsets.UTF_8);
    private static final String OLD_FILE = "/f/demo_app-1.0-py3-none-any.whl";
    private static final String NEW_FILE = "/f/demo_app-2.0-py3-none-any.whl";
    private FakeRegistry registry;

    @BeforeEach
    void open() throws Exception {
        registry = new FakeRegistry();
        registry.page(FakeRegistry.FILES + OLD_FILE, OLD);
        registry.page(FakeRegistry.FILES + NEW_FILE, NEW);
        registry.page(FakeRegistry.FILES + "/f/other", NEW);
        registry.page(FakeRegistry.HOST + "/simple/demo-app/", PypiIndex.JSON, json(NEW));
        allow(List.of(), List.of());
    }

    @AfterEach
    void close() throws Exception {
        registry.close();
    }

    private static String json(byte[] second) {
        return """
        {"meta":{"api-version":"1.1"},"name":"demo-app","versions":["1.0","2.0"],"files":[
         {"filename":"demo_app-1.0-py3-none-any.whl","url":"https://%s%s","hashes":{"sha256":"%s"},
          "upload-time":"2020-01-01T00:00:00.000000Z","core-metadata":true,"yanked":false},
         {"filename":"demo_app-2.0-py3-none-any.whl","url":"https://%s%s","hashes":{"sha256":"%s"},
          "upload-time":"2026-05-31T00:00:00Z","requires-python":">=3.8"}]}
        """
                .formatted(
                        FakeRegistry.FILES,
                        OLD_FILE,
                        FakeRegistry.hash("SHA-256", OLD),
                        FakeRegistry.FILES,
                        NEW_FILE,
                        FakeRegistry.hash("SHA-256", second));
    }

    private void allow(List<String> allow, List<String> deny) {
        registry.rules("pypi", FakeRegistry.rule("/simple", allow, deny));
    }

    private String index(String... headers) throws Exception {
        return registry.get(FakeRegistry.HOST, "/simple/demo-app/", headers);
    }

    private String file(String path) throws Exception {
        return registry.get(FakeRegistry.FILES, path);
    }

    @Test
    void theHostOfFilesIsOpenForWhatTheIndexNamedAndNothingElse() throws Exception {
        assertThat(file(NEW_FILE)).isEmpty();
        assertThat(index(JSON)).contains("demo_app-1.0", "demo_app-2.0", "\"versions\"");
        assertThat(file(NEW_FILE)).endsWith("new wheel");
        assertThat(file("/f/other")).startsWith("HTTP/1.1 403").contains("package path");
        assertThat(file(NEW_FILE + "?data=taken")).contains("package path");
        assertThat(file(OLD_FILE + ".metadata")).startsWith("HTTP/1.1 404");
        assertThat(registry.session.events)
                .containsExactly(
                        "package.installed {ecosystem=pypi, name=demo-app, version=2.0,"
                                + " registry=registry.example.org,"
                                + " file=demo_app-2.0-py3-none-any.whl, sha256="
                                + FakeRegistry.hash("SHA-256", NEW)
                                + ", bytes=9}");
        assertThat(registry.server.heads).noneMatch(head -> head.contains("taken"));
    }

    @Test
    void aProgramThatTakesNoJsonGetsHtmlOfIt() throws Exception {
        assertThat(index("Accept: text/html"))
                .contains(
                        "Content-Type: text/html",
                        "<a href=\"https://files.example.net" + NEW_FILE + "#sha256=",
                        "data-requires-python=\"&gt;=3.8\"",
                        "data-core-metadata=\"true\"");
        assertThat(file(OLD_FILE)).endsWith("old wheel");
    }

    @Test
    void anIndexInHtmlIsReadAndWrittenAnew() throws Exception {
        registry.page(
                FakeRegistry.HOST + "/simple/demo-app/",
                "text/html",
                "<html><script>x</script><A HREF='https://files.example.net"
                        + OLD_FILE
                        + "#sha256="
                        + FakeRegistry.hash("SHA-256", OLD)
                        + "'>demo_app-1.0-py3-none-any.whl</A>"
                        + "<a href=../../f/demo-app-0.5.tar.gz>demo-app-0.5.tar.gz</a></html>");
        assertThat(index(JSON))
                .contains("demo_app-1.0-py3-none-any.whl</a>", "demo-app-0.5.tar.gz</a>")
                .doesNotContain("script");
        assertThat(file(OLD_FILE)).endsWith("old wheel");
        registry.page(FakeRegistry.HOST + "/f/demo-app-0.5.tar.gz", OLD);
        assertThat(registry.get(FakeRegistry.HOST, "/f/demo-app-0.5.tar.gz")).endsWith("wheel");
    }

    @Test
    void aTyposquatIsRefusedAndTheRightNameIsNot() throws Exception {
        allow(List.of("demo-app"), List.of());
        assertThat(registry.get(FakeRegistry.HOST, "/simple/demoapp/"))
                .startsWith("HTTP/1.1 403")
                .contains("package allow", "pypi that allows demoapp");
        assertThat(registry.session.denied).containsExactly("package pypi:demoapp [package allow]");
        assertThat(registry.get(FakeRegistry.HOST, "/simple/Demo_App/")).contains("404");
        assertThat(index(JSON)).startsWith("HTTP/1.1 200");
        assertThat(registry.server.heads).noneMatch(head -> head.contains("demoapp"));
    }

    @Test
    void denyWinsAndEachDocumentMustAllow() throws Exception {
        allow(List.of("demo-*"), List.of("demo_app@2.0"));
        assertThat(index(JSON)).contains("demo_app-1.0").doesNotContain("2.0");
        registry.rules(
                "pypi",
                FakeRegistry.rule("/simple", List.of(), List.of()),
                FakeRegistry.rule("/simple", List.of("demo-app@2.0"), List.of()));
        assertThat(index(JSON)).contains("demo_app-2.0").doesNotContain("demo_app-1.0");
        registry.rules(
                "pypi",
                FakeRegistry.rule("/simple", List.of("demo-app"), List.of()),
                FakeRegistry.rule("/simple", List.of("another"), List.of()));
        assertThat(index(JSON)).startsWith("HTTP/1.1 403");
    }

    @Test
    void aVersionThatIsTooYoungDoesNotAppearAndWithoutTimesNoneDoes() throws Exception {
        index(JSON);
        registry.rules(
                "pypi",
                FakeRegistry.rule(
                        "/simple", List.of(), List.of(), Duration.ofDays(7).toMillis(), Map.of()));
        assertThat(file(NEW_FILE)).startsWith("HTTP/1.1 403").contains("package age");
        assertThat(index("Accept: text/html")).contains("demo_app-1.0").doesNotContain("2.0");
        assertThat(file(OLD_FILE)).endsWith("old wheel");
        registry.page(
                FakeRegistry.HOST + "/simple/demo-app/",
                "text/html",
                "<a href=\"/f/demo-app-1.0.tar.gz\">demo-app-1.0.tar.gz</a>");
        assertThat(index(JSON)).startsWith("HTTP/1.1 200").doesNotContain("demo-app-1.0");
    }

    @Test
    void otherBytesThanTheIndexNamesNeverArriveWhole() throws Exception {
        registry.page(FakeRegistry.HOST + "/simple/demo-app/", PypiIndex.JSON, json(OLD));
        index(JSON);
        assertThat(file(NEW_FILE)).doesNotContain("new wheel");
        assertThat(registry.session.denied)
                .containsExactly("package pypi:demo-app@2.0 [package hash]");
        assertThat(registry.session.events).isEmpty();
        assertThat(file(OLD_FILE)).endsWith("old wheel");
    }

    @Test
    void aPinnedHashHoldsWhateverTheIndexNames() throws Exception {
        String pin = "sha512:" + FakeRegistry.hash("SHA-512", OLD);
        registry.rules(
                "pypi",
                FakeRegistry.rule(
                        "/simple",
                        List.of(),
                        List.of(),
                        null,
                        Map.of("Demo.App@1.0", pin, "demo-app@2.0", pin)));
        index(JSON);
        assertThat(file(OLD_FILE)).endsWith("old wheel");
        assertThat(file(NEW_FILE)).doesNotContain("new wheel");
        assertThat(registry.session.denied)
                .containsExactly("package pypi:demo-app@2.0 [package hash]");
    }

    @Test
    void nothingIsSentToARegistry() throws Exception {
        for (String method : List.of("POST", "PUT", "DELETE", "PATCH")) {
            assertThat(registry.ask(method, FakeRegistry.HOST, "/simple/demo-app/"))
                    .startsWith("HTTP/1.1 403")
                    .contains("package publish");
        }
        assertThat(registry.get(FakeRegistry.HOST, "/legacy/")).contains("package path");
        assertThat(registry.get(FakeRegistry.HOST, "/simple/")).contains("package path");
        assertThat(registry.server.heads).isEmpty();
        assertThat(registry.ask("HEAD", FakeRegistry.HOST, "/simple/demo-app/")).contains("200");
    }

    @Test
    void aRedirectIsLearnedForThatFileAndAnIndexIsNotReadElsewhere() throws Exception {
        index(JSON);
        registry.pages.put(
                FakeRegistry.FILES + NEW_FILE,
                new FakeRegistry.Page(
                        302, new byte[0], "Location: https://files.example.net/f/other"));
        assertThat(file("/f/other")).contains("403");
        assertThat(file(NEW_FILE)).startsWith("HTTP/1.1 302");
        assertThat(file("/f/other")).endsWith("new wheel");
        registry.pages.put(
                FakeRegistry.FILES + OLD_FILE,
                new FakeRegistry.Page(302, new byte[0], "Location: http://files.example.net/x"));
        assertThat(file(OLD_FILE)).contains("package redirect");
        registry.pages.put(
                FakeRegistry.HOST + "/simple/demo-app/",
                new FakeRegistry.Page(302, new byte[0], "Location: https://files.example.net/i"));
        assertThat(index(JSON)).contains("package redirect");
    }

    @Test
    void whatIsNoIndexIsRefused() throws Exception {
        registry.page(FakeRegistry.HOST + "/simple/demo-app/", PypiIndex.JSON, "{\"files\":[");
        assertThat(index(JSON)).startsWith("HTTP/1.1 403").contains("package index");
    }

    @Test
    void aFileIsForgottenWithItsRegistry() throws Exception {
        index(JSON);
        registry.rules("npm", FakeRegistry.rule("/npm", List.of(), List.of()));
        assertThat(file(NEW_FILE)).isEmpty();
    }
}
