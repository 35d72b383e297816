package dev.caisson.policy;

import static dev.caisson.policy.Documents.https;
import static dev.caisson.policy.Documents.policy;
import static dev.caisson.policy.Documents.to;
import static dev.caisson.policy.Verdict.Answer.ALLOW;
import static dev.caisson.policy.Verdict.Answer.ASK;
import static dev.caisson.policy.Verdict.Answer.DENY;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import dev.caisson.v1.HttpRule;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class HttpRulesTest {
    private static final Destination HOST = to("a.test", 443);

    private static EgressPolicy rules(HttpRule... rules) {
        return Documents.requests("a.test", rules);
    }

    private static HttpRule allow(String path) {
        return new HttpRule(null, List.of(), path, Map.of());
    }

    private static HttpRule deny(String path) {
        return new HttpRule("deny", List.of(), path, Map.of());
    }

    private static HttpRule any() {
        return new HttpRule(null, List.of(), null, Map.of());
    }

    private static Verdict.Answer get(EgressPolicy policy, String path) {
        return policy.request(HOST, https("GET", path)).answer();
    }

    @ParameterizedTest
    @CsvSource({
        "/a,/a,true",
        "/a,/a/,false",
        "/a,/b,false",
        "/a,/A,false",
        "/,/,true",
        "/,/a,false",
        "/a/*,/a/b,true",
        "/a/*,/a/,true",
        "/a/*,/a,false",
        "/a/*,/a/b/c,false",
        "/a/*/c,/a/b/c,true",
        "/a/b*d,/a/bccd,true",
        "/a/b*d,/a/bd,true",
        "/a/b*d*f,/a/bxdyf,true",
        "/a/b*d*f,/a/bxyf,false",
        "/a/*.json,/a/b.json,true",
        "/a/*.json,/a/b.jso,false",
        "/**,/,true",
        "/**,/a/b/c,true",
        "/a/**,/a,true",
        "/a/**,/a/,true",
        "/a/**,/a/b/c,true",
        "/a/**,/ab,false",
        "/a/**/z,/a/z,true",
        "/a/**/z,/a/b/c/z,true",
        "/a/**/z,/a/b/c/y,false",
        "/a/**/m/**/z,/a/b/m/c/d/z,true",
        "/a/**/m/**/z,/a/b/c/d/z,false",
        "/a%20b,/a%20b,true",
        "/a%7Eb,/a~b,true",
        "/a~b,/a%7eb,true",
        "/a!b,/a%21b,true",
        "/ab,/%61b,true",
        "/%C3%A4,/%c3%a4,true",
        "/a%2Ab,/a*b,true",
        "/a%2Ab,/a%2ab,true",
        "/a%2Ab,/axb,false"
    })
    void matchesPaths(String pattern, String path, boolean matches) {
        assertThat(get(rules(allow(pattern)), path)).isEqualTo(matches ? ALLOW : DENY);
        assertThat(get(rules(deny(pattern), any()), path)).isEqualTo(matches ? DENY : ALLOW);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "a",
                "*",
                "//",
                "//a",
                "/a//b",
                "/a/../b",
                "/a/..",
                "/..",
                "/.",
                "/a/./b",
                "/a/%2e%2e/b",
                "/a/.%2E",
                "/a%2fb",
                "/a%2Fb",
                "/a%5cb",
                "/a\\b",
                "/a;b",
                "/a%3bb",
                "/a%252fb",
                "/a%25",
                "/a%",
                "/a%2",
                "/a%zz",
                "/a%00",
                "/a\0",
                "/a b",
                "/a\tb",
                "/a\r\nb",
                "/a%0d%0a",
                "/a\u007f",
                "/a%7f",
                "/\u00e4",
                "/a?b",
                "/a#b",
                "/a\uff0fb"
            })
    void letsNoRuleAllowAPathThatHasTwoReadings(String path) {
        assertThat(get(rules(allow("/**")), path)).isEqualTo(DENY);
        assertThat(get(rules(deny("/never"), any()), path)).isEqualTo(DENY);
        assertThat(get(rules(any()), path)).isEqualTo(ALLOW);
    }

    @Test
    void takesTheFirstRuleThatMatches() {
        EgressPolicy policy = rules(allow("/a/public/**"), deny("/a/**"), allow("/**"));
        assertThat(get(policy, "/a/public/x")).isEqualTo(ALLOW);
        assertThat(get(policy, "/a/x")).isEqualTo(DENY);
        assertThat(get(policy, "/b")).isEqualTo(ALLOW);
        assertThat(policy.request(HOST, https("GET", "/a/x")).rule())
                .isEqualTo("allow[0] host a.test http[1]");
        assertThat(policy.connect(HOST).terminate()).isTrue();
        assertThat(policy.terminates()).isTrue();
    }

    @Test
    void comparesMethodsAsTheyAreSentAndDeniesThemInAnyCase() {
        EgressPolicy get = rules(new HttpRule(null, List.of("GET", "HEAD"), null, Map.of()));
        assertThat(get.request(HOST, https("GET", "/")).answer()).isEqualTo(ALLOW);
        assertThat(get.request(HOST, https("get", "/")).answer()).isEqualTo(DENY);
        assertThat(get.request(HOST, https("POST", "/")).rule())
                .isEqualTo("allow[0] host a.test http default");
        EgressPolicy post = rules(new HttpRule("deny", List.of("POST"), null, Map.of()), any());
        assertThat(post.request(HOST, https("post", "/")).answer()).isEqualTo(DENY);
        assertThat(post.request(HOST, https("GET", "/")).answer()).isEqualTo(ALLOW);
    }

    @Test
    void comparesHeadersByTheirWholeValue() {
        HttpRule rule = new HttpRule(null, List.of(), null, Map.of("X-Kind", "one"));
        EgressPolicy policy = rules(rule);
        assertThat(policy.request(HOST, with(List.of("one"))).answer()).isEqualTo(ALLOW);
        assertThat(policy.request(HOST, with(List.of("one", "two"))).answer()).isEqualTo(DENY);
        assertThat(policy.request(HOST, with(List.of("one,two"))).answer()).isEqualTo(DENY);
        assertThat(policy.request(HOST, with(List.of())).answer()).isEqualTo(DENY);
        HttpRule no = new HttpRule("deny", List.of(), null, Map.of("X-Kind", "one"));
        EgressPolicy denies = rules(no, any());
        assertThat(denies.request(HOST, with(List.of("two", "one"))).answer()).isEqualTo(DENY);
        assertThat(denies.request(HOST, with(List.of("two"))).answer()).isEqualTo(ALLOW);
    }

    private static HttpRequestLine with(List<String> values) {
        return new HttpRequestLine(Scheme.HTTPS, "GET", "/", Map.of("x-kind", values));
    }

    @Test
    void judgesRequestsOfOneSchemeByRulesOfThatScheme() {
        EgressPolicy policy =
                policy(
                        "{'allow':[{'host':'a.test','schemes':['https','http'],'ports':[8080],"
                            + "'http':[{'path':'/x'}]},{'host':'a.test','schemes':['http'],"
                            + "'ports':[8080]},{'host':'b.test','schemes':['tls'],'ports':[8080]}],"
                            + "'mode':'ask'}");
        Destination a = to("a.test", 8080);
        assertThat(policy.request(a, https("GET", "/y")).answer()).isEqualTo(ASK);
        assertThat(
                        policy.request(a, new HttpRequestLine(Scheme.HTTP, "GET", "/y", Map.of()))
                                .answer())
                .isEqualTo(ALLOW);
        assertThat(policy.request(to("b.test", 8080), https("GET", "/y")).answer())
                .isEqualTo(ALLOW);
        assertThat(
                        policy.request(
                                        to("b.test", 8080),
                                        new HttpRequestLine(Scheme.HTTP, "GET", "/y", Map.of()))
                                .answer())
                .isEqualTo(ASK);
        assertThat(policy.request(to("c.test", 443), https("GET", "/")).answer()).isEqualTo(ASK);
    }

    @Test
    void staysQuickWhateverThePathIs() {
        String pattern = "/" + "*a".repeat(40) + "/**/" + "*b".repeat(30) + "/**/x/**/y";
        EgressPolicy policy = rules(allow(pattern), allow("/" + "*/**/".repeat(50) + "z"));
        List<String> paths =
                List.of(
                        "/" + "a".repeat(8000),
                        "/a".repeat(4000),
                        "/" + "ab".repeat(2000) + "/b".repeat(1900) + "/x");
        assertTimeoutPreemptively(
                Duration.ofSeconds(5),
                () -> {
                    for (int i = 0; i < 50; i++) {
                        for (String path : paths) {
                            assertThat(get(policy, path)).isEqualTo(DENY);
                        }
                    }
                });
        assertThat(get(rules(allow("/**")), "/" + "a".repeat(9000))).isEqualTo(DENY);
    }
}
