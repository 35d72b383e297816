package dev.caisson.policy;

import static dev.caisson.policy.Documents.at;
import static dev.caisson.policy.Documents.hosts;
import static dev.caisson.policy.Documents.https;
import static dev.caisson.policy.Documents.policy;
import static dev.caisson.policy.Documents.to;
import static dev.caisson.policy.Verdict.Answer.ALLOW;
import static dev.caisson.policy.Verdict.Answer.ASK;
import static dev.caisson.policy.Verdict.Answer.DENY;
import static dev.caisson.policy.Verdict.Answer.OBSERVE;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class EgressPolicyTest {
    private static Verdict.Answer connect(EgressPolicy policy, String host, int port) {
        return policy.connect(to(host, port)).verdict().answer();
    }

    @Test
    void allowsNothingWhenEmpty() {
        EgressPolicy closed = policy("{}");
        assertThat(closed.isClosed()).isTrue();
        assertThat(closed.terminates()).isFalse();
        assertThat(connect(closed, "example.org", 443)).isEqualTo(DENY);
        assertThat(closed.name(HostName.of("example.org")).answer()).isEqualTo(DENY);
        assertThat(closed.connect(at("8.8.8.8", 443)).verdict().answer()).isEqualTo(DENY);
    }

    @Test
    void opensPort443OfAnAllowedHostAndNothingElse() {
        EgressPolicy policy = hosts("api.example.org");
        ConnectVerdict verdict = policy.connect(to("api.example.org", 443));
        assertThat(verdict.verdict())
                .isEqualTo(new Verdict(ALLOW, "allow[0] host api.example.org", ""));
        assertThat(verdict.schemes()).containsExactly(Scheme.HTTPS);
        assertThat(verdict.terminate()).isFalse();
        assertThat(verdict.noSni()).isFalse();
        assertThat(verdict.outerSni()).isFalse();
        assertThat(policy.name(HostName.of("api.example.org")).answer()).isEqualTo(ALLOW);
        for (int port : List.of(1, 22, 25, 80, 442, 444, 4430, 8443, 65535)) {
            assertThat(connect(policy, "api.example.org", port)).isEqualTo(DENY);
        }
    }

    /** N27. */
    @ParameterizedTest
    @CsvSource({
        "example.org,ALLOW",
        "a.example.org,DENY",
        "below.test,DENY",
        "a.below.test,ALLOW",
        "a.b.c.below.test,ALLOW",
        "evilbelow.test,DENY",
        "below.test.evil.test,DENY",
        "example.org.evil.test,DENY",
        "xexample.org,DENY",
        "org,DENY"
    })
    void matchesWholeNamesAndLabels(String host, Verdict.Answer answer) {
        EgressPolicy policy = hosts("example.org", "*.below.test");
        assertThat(connect(policy, host, 443)).isEqualTo(answer);
        assertThat(policy.name(HostName.of(host)).answer()).isEqualTo(answer);
    }

    @Test
    void tellsWhatToAskForWhenItRefuses() {
        Verdict verdict = hosts("a.test").connect(to("b.test", 8080)).verdict();
        assertThat(verdict.rule()).isEqualTo("default");
        assertThat(verdict.remedy()).contains("b.test on port 8080", "--allow b.test:8080");
        assertThat(verdict.passes()).isFalse();
    }

    @Test
    void letsADenialWinOverEveryRule() {
        EgressPolicy policy =
                policy(
                        "{'allow':[{'host':'*.example.org'},{'host':'bad.example.org'},"
                                + "{'cidr':'8.8.0.0/16','ports':[443]}],"
                                + "'deny':['bad.example.org','*.worse.example.org','8.8.8.0/24']}");
        assertThat(connect(policy, "good.example.org", 443)).isEqualTo(ALLOW);
        assertThat(connect(policy, "bad.example.org", 443)).isEqualTo(DENY);
        assertThat(policy.name(HostName.of("bad.example.org")).rule())
                .isEqualTo("deny[0] host bad.example.org");
        assertThat(connect(policy, "worse.example.org", 443)).isEqualTo(ALLOW);
        assertThat(connect(policy, "very.worse.example.org", 443)).isEqualTo(DENY);
        assertThat(policy.connect(at("8.8.4.4", 443)).verdict().answer()).isEqualTo(ALLOW);
        assertThat(policy.connect(at("8.8.8.8", 443)).verdict().rule())
                .isEqualTo("deny[2] cidr 8.8.8.0/24");
        assertThat(policy.address(to("good.example.org", 443), IpAddress.parse("8.8.8.8")).answer())
                .isEqualTo(DENY);
    }

    @Test
    void givesEachSchemeItsPort() {
        EgressPolicy policy =
                policy(
                        "{'allow':[{'host':'a.test','schemes':['https','http']},"
                            + "{'host':'b.test','schemes':['tls'],'ports':[5671,443],'noSni':true},"
                            + "{'host':'c.test','schemes':['tcp'],'ports':[22]},"
                            + "{'host':'c.test','ports':[22,8443],'ech':'outer-sni'}]}");
        assertThat(policy.connect(to("a.test", 443)).schemes()).containsExactly(Scheme.HTTPS);
        assertThat(policy.connect(to("a.test", 80)).schemes()).containsExactly(Scheme.HTTP);
        assertThat(policy.connect(to("b.test", 5671)).schemes()).containsExactly(Scheme.TLS);
        assertThat(policy.connect(to("b.test", 5671)).noSni()).isTrue();
        assertThat(policy.connect(to("c.test", 22)).schemes())
                .containsExactlyInAnyOrder(Scheme.TCP, Scheme.HTTPS);
        assertThat(policy.connect(to("c.test", 8443)).outerSni()).isTrue();
        assertThat(connect(policy, "c.test", 443)).isEqualTo(DENY);
    }

    @Test
    void letsLiteralsThroughByARangeOnly() {
        EgressPolicy policy =
                policy("{'allow':[{'host':'dns.test'},{'cidr':'10.1.0.0/16','ports':[5432]}]}");
        assertThat(policy.connect(at("10.1.2.3", 5432)).schemes()).containsExactly(Scheme.TCP);
        assertThat(policy.connect(at("10.1.2.3", 5433)).verdict().answer()).isEqualTo(DENY);
        assertThat(policy.connect(at("10.2.2.3", 5432)).verdict())
                .satisfies(verdict -> assertThat(verdict.rule()).isEqualTo("address private"));
        assertThat(policy.connect(at("8.8.8.8", 443)).verdict().answer()).isEqualTo(DENY);
        assertThat(policy.connect(at("::ffff:10.1.2.3", 5432)).verdict().answer()).isEqualTo(ALLOW);
        assertThat(policy.connect(at("64:ff9b::10.1.2.3", 5432)).verdict().answer())
                .isEqualTo(DENY);
    }

    /** N16. */
    @Test
    void needsAHostRuleAndARangeForANameThatLeadsToAPrivateAddress() {
        EgressPolicy policy =
                policy(
                        "{'allow':[{'host':'db.test','schemes':['tcp'],'ports':[5432]},"
                                + "{'cidr':'10.1.0.0/16','ports':[5432]}]}");
        Destination db = to("db.test", 5432);
        assertThat(policy.address(db, IpAddress.parse("10.1.2.3")).answer()).isEqualTo(ALLOW);
        assertThat(policy.address(db, IpAddress.parse("10.2.2.3")).answer()).isEqualTo(DENY);
        assertThat(policy.address(db, IpAddress.parse("93.184.216.34")).answer()).isEqualTo(ALLOW);
        assertThat(policy.address(to("db.test", 5433), IpAddress.parse("10.1.2.3")).answer())
                .isEqualTo(DENY);
        assertThat(policy.address(to("other.test", 5432), IpAddress.parse("10.1.2.3")).answer())
                .isEqualTo(DENY);
        assertThat(policy.address(db, IpAddress.parse("169.254.169.254")).rule())
                .isEqualTo("address metadata");
    }

    /** N02, N05, N06: a range that is wider than what it would name means the internet. */
    @ParameterizedTest
    @CsvSource({
        "0.0.0.0/0,8.8.8.8,ALLOW",
        "0.0.0.0/0,10.0.0.1,DENY",
        "0.0.0.0/0,127.0.0.1,DENY",
        "0.0.0.0/0,169.254.169.254,DENY",
        "10.0.0.0/8,10.0.0.1,ALLOW",
        "127.0.0.0/8,127.0.0.1,ALLOW",
        "127.0.0.1,127.0.0.1,ALLOW",
        "169.254.0.0/16,169.254.1.1,ALLOW",
        "169.254.0.0/16,169.254.169.254,DENY",
        "169.254.169.254,169.254.169.254,ALLOW",
        "168.0.0.0/8,168.63.129.16,DENY",
        "168.63.129.16,168.63.129.16,ALLOW",
        "::/0,2606:4700::1,ALLOW",
        "::/0,::1,DENY",
        "::/0,fd00::1,DENY",
        "::1,::1,ALLOW",
        "fc00::/7,fd00::1,ALLOW",
        "fc00::/7,fd00:ec2::254,DENY",
        "fd00:ec2::/32,fd00:ec2::254,DENY",
        "fd00:ec2::254,fd00:ec2::254,ALLOW",
        "64:ff9b::/96,64:ff9b::8.8.8.8,ALLOW",
        "64:ff9b::/96,64:ff9b::10.0.0.1,DENY",
        "64:ff9b::/96,64:ff9b::a9fe:a9fe,DENY"
    })
    void namesAddressesOnlyByRangesOfTheirBlock(String cidr, String address, Verdict.Answer is) {
        EgressPolicy policy = policy("{'allow':[{'cidr':'" + cidr + "','ports':[80]}]}");
        assertThat(policy.connect(at(address, 80)).verdict().answer()).isEqualTo(is);
        assertThat(policy.address(at(address, 80), IpAddress.parse(address)).answer())
                .isEqualTo(is);
    }

    @ParameterizedTest
    @CsvSource({
        "metadata.google.internal",
        "instance-data.ec2.internal",
        "a.metadata.google.internal",
        "metadata.tencentyun.com"
    })
    void reachesMetadataServicesByTheirOwnNameOnly(String name) {
        HostName host = HostName.of(name);
        String above = name.substring(name.indexOf('.') + 1);
        assertThat(hosts("*." + above).name(host).rule()).isEqualTo("address metadata");
        assertThat(policy("{'mode':'observe'}").name(host).answer()).isEqualTo(DENY);
        assertThat(policy("{'mode':'ask'}").connect(to(name, 80)).verdict().answer())
                .isEqualTo(DENY);
        assertThat(hosts(name).name(host).answer()).isEqualTo(ALLOW);
    }

    @Test
    void observesWhatNoRuleAllowsButForAddressesThatAreNotPublic() {
        EgressPolicy policy = policy("{'mode':'observe','deny':['bad.test']}");
        assertThat(policy.isClosed()).isFalse();
        ConnectVerdict seen = policy.connect(to("a.test", 22));
        assertThat(seen.verdict()).isEqualTo(new Verdict(OBSERVE, "default", ""));
        assertThat(seen.schemes()).containsExactly(Scheme.TCP);
        assertThat(seen.verdict().passes()).isTrue();
        assertThat(connect(policy, "bad.test", 443)).isEqualTo(DENY);
        assertThat(policy.connect(at("8.8.8.8", 53)).verdict().answer()).isEqualTo(OBSERVE);
        assertThat(policy.connect(at("10.0.0.1", 53)).verdict().answer()).isEqualTo(DENY);
        assertThat(policy.address(to("a.test", 443), IpAddress.parse("127.0.0.1")).answer())
                .isEqualTo(DENY);
        EgressPolicy ranged =
                policy("{'mode':'observe','allow':[{'cidr':'10.0.0.0/8','ports':[443]}]}");
        assertThat(ranged.address(to("a.test", 443), IpAddress.parse("10.0.0.1")).answer())
                .isEqualTo(DENY);
    }

    @Test
    void asksAboutWhatNoRuleAllows() {
        EgressPolicy policy = policy("{'mode':'ask','allow':[{'host':'a.test'}]}");
        assertThat(connect(policy, "a.test", 443)).isEqualTo(ALLOW);
        ConnectVerdict asked = policy.connect(to("b.test", 443));
        assertThat(asked.verdict().answer()).isEqualTo(ASK);
        assertThat(asked.schemes()).containsExactly(Scheme.TLS);
        assertThat(policy.connect(at("10.0.0.1", 443)).verdict().answer()).isEqualTo(DENY);
    }

    @Test
    void allowsWhatEveryDocumentAllows() {
        EgressPolicy policy =
                policy(
                        "{'allow':[{'host':'*.test'},{'host':'d.test','schemes':['tcp'],"
                            + "'ports':[443]}],'secrets':['a','b'],'limits':{'connections':1000,"
                            + "'bytes':500}}",
                        "{'allow':[{'host':'a.test'},{'host':'other.example'},"
                                + "{'host':'d.test','schemes':['tls']},"
                                + "{'host':'b.test','schemes':['http'],'ports':[443]}],"
                                + "'secrets':['b','c'],'limits':{'bytes':900,'bytesPerSecond':7}}");
        assertThat(connect(policy, "a.test", 443)).isEqualTo(ALLOW);
        assertThat(connect(policy, "c.test", 443)).isEqualTo(DENY);
        assertThat(policy.connect(to("c.test", 443)).verdict().rule())
                .isEqualTo("layer[1] default");
        assertThat(connect(policy, "other.example", 443)).isEqualTo(DENY);
        assertThat(policy.connect(to("b.test", 443)).verdict().rule()).isEqualTo("schemes");
        assertThat(policy.connect(to("d.test", 443)).schemes())
                .containsExactlyInAnyOrder(Scheme.TLS, Scheme.HTTPS);
        assertThat(policy.secrets()).containsExactly("b");
        assertThat(policy.caps())
                .isEqualTo(
                        new EgressCaps(OptionalLong.of(500), OptionalLong.of(7), 1000, 200, 600));
        assertThat(policy("{'allow':[{'host':'a.test'}]}", "{}").isClosed()).isTrue();
        assertThat(
                        connect(
                                policy("{'mode':'observe'}", "{'allow':[{'host':'a.test'}]}"),
                                "a.test",
                                443))
                .isEqualTo(OBSERVE);
        assertThat(connect(policy("{'mode':'observe'}", "{'mode':'ask'}"), "a.test", 443))
                .isEqualTo(ASK);
    }

    @Test
    void opensRegistriesForReadingOnly() {
        EgressPolicy policy =
                policy(
                        "{'packages':{'pypi':{'registry':'https://packages.test/simple'},"
                                + "'debian':{'registry':'http://packages.test:8080/debian/'},"
                                + "'npm':{}},'allow':[{'host':'packages.test'}]}");
        ConnectVerdict verdict = policy.connect(to("packages.test", 443));
        assertThat(verdict.verdict().answer()).isEqualTo(ALLOW);
        assertThat(verdict.terminate()).isTrue();
        assertThat(policy.connect(to("packages.test", 8080)).schemes())
                .containsExactly(Scheme.HTTP);
        assertThat(connect(policy, "packages.test", 80)).isEqualTo(DENY);
        Destination.Named host = (Destination.Named) to("packages.test", 443);
        assertThat(policy.request(host, https("GET", "/simple/a/")).answer()).isEqualTo(ALLOW);
        assertThat(policy.request(host, https("GET", "/@a%2fb")).answer()).isEqualTo(ALLOW);
        assertThat(policy.request(host, https("POST", "/simple/")).answer()).isEqualTo(DENY);
        assertThat(policy.request(host, https("PUT", "/simple/")).answer()).isEqualTo(DENY);
        assertThat(policy.terminates()).isTrue();
        assertThat(policy.isClosed()).isFalse();
        assertThat(policy.ecosystems()).containsExactlyInAnyOrder("pypi", "npm", "debian");
        assertThat(policy.registries()).containsOnlyKeys(HostName.of("packages.test"));
        assertThat(policy.registryAddresses())
                .extracting(Registry::path)
                .containsExactly("/simple", "/debian");
        assertThat(policy.packages("maven")).isEmpty();
        assertThat(policy.packages("npm")).hasSize(1);
    }

    @Test
    void installsOnlyWhatEveryDocumentHasPackagesOf() {
        String pypi = "{'packages':{'pypi':{'registry':'https://one.test'},'npm':{}}}";
        assertThat(policy(pypi, "{'packages':{'pypi':{}}}").ecosystems()).containsExactly("pypi");
        assertThat(policy(pypi, "{'packages':{'pypi':{}}}").registries()).hasSize(1);
        assertThat(
                        policy(pypi, "{'packages':{'pypi':{'registry':'https://two.test'}}}")
                                .registries())
                .isEmpty();
        assertThat(policy(pypi, "{'allow':[{'host':'one.test'}]}").ecosystems()).isEmpty();
        assertThat(
                        policy(
                                        "{'packages':{'pypi':{'registry':'https://one.test'}},"
                                                + "'deny':['one.test']}")
                                .connect(to("one.test", 443))
                                .verdict()
                                .rule())
                .isEqualTo("deny[0] host one.test");
    }

    @Test
    void takesRegistriesOfTheHostWhereNoDocumentNamesOne() {
        EgressPolicy policy =
                EgressPolicy.of(
                        List.of(Documents.document("{'packages':{'npm':{}}}")),
                        java.util.Map.of("npm", List.of("https://npm.test", "http://m.test/x")));
        assertThat(policy.connect(to("npm.test", 443)).verdict().rule()).isEqualTo("packages npm");
        assertThat(policy.connect(to("m.test", 80)).schemes()).containsExactly(Scheme.HTTP);
    }
}
