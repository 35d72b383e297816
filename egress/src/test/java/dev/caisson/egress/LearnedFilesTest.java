package dev.caisson.egress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.policy.Destination;
import dev.caisson.policy.EgressPolicy;
import dev.caisson.policy.Registry;
import dev.caisson.policy.Scheme;
import dev.caisson.policy.Verdict;
import dev.caisson.v1.EgressJson;
import dev.caisson.v1.PackageRule;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** What indexes named, and what of the network it opens. */
class LearnedFilesTest {
    private static final String ADDRESS = "https://registry.example.org/npm";
    private static final Registry REGISTRY = Registry.of("npm", ADDRESS);
    private static final Destination.Named FILES =
            new Destination.Named(Rig.name("files.example.net"), 443);

    private static EgressJson packages(List<String> deny) {
        return new EgressJson(
                null,
                null,
                List.of(),
                deny,
                null,
                List.of(),
                Map.of("npm", new PackageRule(ADDRESS, List.of(), List.of(), null, Map.of())));
    }

    private static LearnedFile file() {
        return new LearnedFile(REGISTRY, "demo", "1.0.0", Map.of(), Optional.empty(), true, 0);
    }

    private static FileAddress at(String target) {
        return new FileAddress(Scheme.HTTPS, FILES, target);
    }

    @Test
    void theFirstOnesAreForgottenWhenThereAreTooMany() {
        LearnedFiles files = new LearnedFiles();
        EgressPolicy policy = EgressPolicy.of(List.of(packages(List.of())));
        for (int i = 0; i <= LearnedFiles.MAX; i++) {
            files.learn(at("/" + i), file());
        }
        assertThat(files.find(at("/0"), policy)).isEmpty();
        assertThat(files.find(at("/1"), policy)).isPresent();
        assertThat(files.find(at("/" + LearnedFiles.MAX), policy)).isPresent();
    }

    @Test
    void linksToOtherHostsAreHttpsAndPlain() {
        URI base = URI.create("https://registry.example.org/npm/demo");
        assertThat(FileAddress.link(REGISTRY, base, "../f/a.tgz"))
                .hasValueSatisfying(at -> assertThat(at.target()).isEqualTo("/f/a.tgz"));
        assertThat(FileAddress.link(REGISTRY, base, "https://files.example.net/a%2Bb?x=1#y"))
                .hasValue(at("/a+b?x=1"));
        for (String bad :
                List.of(
                        "http://files.example.net/a",
                        "http://registry.example.org/a",
                        "https://u:p@files.example.net/a",
                        "https://169.254.169.254/a",
                        "https://files.example.net/a%2f..%2fb",
                        "https://files.example.net/%00",
                        "ftp://files.example.net/a",
                        "file:///etc/passwd",
                        "https://",
                        "a b",
                        "https://files.example.net/" + "a".repeat(3000))) {
            assertThat(FileAddress.link(REGISTRY, base, bad)).as(bad).isEmpty();
        }
    }

    @Test
    void aSandboxMayLookUpAndReachALearnedHostByHttpsAndOnThatPortOnly() throws Exception {
        try (Rig rig = Rig.started()) {
            rig.client().put("sb1", packages(List.of()));
            Sandbox sandbox = rig.sandbox("sb1");
            assertThat(sandbox.allowed(FILES.host())).isFalse();
            assertThat(sandbox.connectVerdict(FILES).verdict().answer())
                    .isEqualTo(Verdict.Answer.DENY);
            sandbox.files().learn(at("/a"), file());
            assertThat(sandbox.allowed(FILES.host())).isTrue();
            assertThat(sandbox.connectVerdict(FILES).verdict().answer())
                    .isEqualTo(Verdict.Answer.ALLOW);
            assertThat(sandbox.connectVerdict(FILES).terminate()).isTrue();
            assertThat(sandbox.connectVerdict(FILES).schemes()).containsExactly(Scheme.HTTPS);
            assertThat(
                            sandbox.connectVerdict(new Destination.Named(FILES.host(), 80))
                                    .verdict()
                                    .answer())
                    .isEqualTo(Verdict.Answer.DENY);
        }
    }

    @Test
    void whatTheOperatorDeniesIsNotOpenedByAnIndex() throws Exception {
        try (Rig rig = Rig.started()) {
            rig.client().put("sb1", packages(List.of("files.example.net")));
            Sandbox sandbox = rig.sandbox("sb1");
            sandbox.files().learn(at("/a"), file());
            assertThat(sandbox.connectVerdict(FILES).verdict().answer())
                    .isEqualTo(Verdict.Answer.DENY);
        }
    }
}
