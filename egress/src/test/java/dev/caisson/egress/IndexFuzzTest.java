package dev.caisson.egress;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.caisson.policy.HttpPath;
import dev.caisson.policy.Registry;
import dev.caisson.v1.PackageRule;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.core.JacksonException;

/** Any index and any path: read or refused, and a denied version never appears. */
class IndexFuzzTest {
    private static final String EVIL = "666.0.0";

    static Stream<Arguments> seeds() {
        return Stream.of(
                        "{\"versions\":{\"666.0.0\":{\"dist\":{\"tarball\":\"https://x.example/a\"}},"
                            + "\"1.0.0\":{\"dist\":{\"tarball\":\"/a.tgz\"}}},"
                            + "\"dist-tags\":{\"latest\":\"666.0.0\"}}",
                        "{\"versions\":[\"666.0.0\"],\"files\":[{\"filename\":\"demo-666.0.0.zip\","
                            + "\"url\":\"a\"},{\"filename\":\"demo-1.zip\",\"url\":\"https://x.example/b\"}]}",
                        "<base href=//x.example><a href='a#sha256=00'>demo-666.0.0.zip</a><a"
                                + " href=b",
                        "<a href=\"&#104;ttps://x.example/&amp;\" x=y>demo-1.zip<!-- --></a>",
                        "{\"files\":{\"a\":[]},\"versions\":1,\"time\":[],\"dist-tags\":[{}]}",
                        "{\"versions\":{},\"versions\":{}}",
                        "[[[[",
                        "@a%2fb/-/b-1.tgz",
                        "org/example/demo/1-SNAPSHOT/demo-1-2026.jar",
                        "pool/a/a_1_amd64.deb",
                        "<",
                        "")
                .map(text -> Arguments.of((Object) text.getBytes(StandardCharsets.UTF_8)));
    }

    private static PackageIndex index(String ecosystem) {
        return new PackageIndex(
                Registry.of(ecosystem, "https://registry.example.org/r"),
                URI.create("https://registry.example.org/r/demo"),
                "demo",
                new PackageRules(
                        ecosystem,
                        List.of(
                                new PackageRule(
                                        null, List.of(), List.of("demo@" + EVIL), null, Map.of()))),
                new LearnedFiles(),
                Instant.EPOCH);
    }

    @MethodSource("seeds")
    @FuzzTest
    void readsOrRefuses(byte[] bytes) {
        IndexJson.read("{}".getBytes(StandardCharsets.UTF_8), (name, in) -> in.skipChildren());
        try {
            NpmIndex npm = new NpmIndex(index("npm"));
            String seen = new String(npm.rewrite(bytes), StandardCharsets.UTF_8);
            assertThat(seen).doesNotContain("\"" + EVIL + "\":{\"dist\"");
        } catch (JacksonException e) {
            // refused
        }
        try {
            new PypiIndex(index("pypi")).json(bytes, false);
            new PypiIndex(index("pypi")).json(bytes, true);
        } catch (JacksonException e) {
            // refused
        }
        byte[] once = new PypiIndex(index("pypi")).html(bytes);
        assertThat(new String(once, StandardCharsets.UTF_8))
                .doesNotContain(">demo-" + EVIL + ".zip<");
        assertThat(new PypiIndex(index("pypi")).html(once)).isEqualTo(once);
    }

    @MethodSource("seeds")
    @FuzzTest
    void readsPaths(byte[] bytes) {
        String text = new String(bytes, StandardCharsets.ISO_8859_1);
        HttpPath.normal("/" + text)
                .ifPresent(path -> {
                    for (String ecosystem : List.of("pypi", "npm", "maven", "debian")) {
                        if (PackagePaths.read(ecosystem, path.substring(1))
                                instanceof Asked.File file) {
                            assertThat(file.name()).isNotEmpty();
                            assertThat(file.version()).isNotEmpty();
                        }
                    }
                });
        SemanticVersion.newest(List.of(text, "1.0.0", "a"), text);
        FileHashes.integrity(new java.util.HashMap<>(), text);
    }
}
