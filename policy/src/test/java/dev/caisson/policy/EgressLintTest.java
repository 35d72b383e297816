package dev.caisson.policy;

import static dev.caisson.policy.Documents.document;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.caisson.api.CaissonException;
import dev.caisson.v1.FindingJson;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class EgressLintTest {
    private static List<String> lint(String json) {
        return EgressLint.of(document(json)).stream()
                .map(finding -> finding.level() + " " + finding.field())
                .toList();
    }

    @Test
    void hasNothingToSayOfAPlainDocument() {
        assertThat(lint("{}")).isEmpty();
        assertThat(
                        lint(
                                "{'allow':[{'host':'api.example.org'},{'host':'*.example.org'},"
                                    + "{'host':'mine.github.io'},{'host':'*.mine.github.io'},"
                                    + "{'host':'git.example.org','schemes':['tls'],'ports':[22]},"
                                    + "{'cidr':'10.1.0.0/16','ports':[5432]}],"
                                    + "'packages':{'npm':{'minAgeMillis':86400000}}}"))
                .isEmpty();
    }

    /** N15, N29. */
    @ParameterizedTest
    @CsvSource({
        "*.github.io,warning",
        "*.blob.core.windows.net,warning",
        "*.s3.amazonaws.com,warning",
        "*.s3.eu-west-1.amazonaws.com,warning",
        "*.vercel.app,warning",
        "*.netlify.app,warning",
        "*.pages.dev,warning",
        "*.workers.dev,warning",
        "*.herokuapp.com,warning",
        "*.cloudfront.net,warning",
        "*.azurewebsites.net,warning",
        "*.web.app,warning",
        "*.firebaseapp.com,warning",
        "*.ngrok.io,warning",
        "*.windows.net,warning",
        "*.org,error",
        "*.io,error",
        "raw.githubusercontent.com,warning",
        "gist.github.com,warning",
        "dns.google,warning",
        "cloudflare-dns.com,warning",
        "metadata.google.internal,error"
    })
    void warnsOfHostsThatAreAnybodys(String host, String level) {
        assertThat(lint("{'allow':[{'host':'" + host + "'}]}"))
                .contains(level + " egress.allow[0].host");
    }

    @ParameterizedTest
    @CsvSource({
        "0.0.0.0/0,error",
        "10.0.0.0/7,error",
        "2000::/16,error",
        "127.0.0.1,error",
        "127.0.0.0/8,error",
        "::1,error",
        "169.254.169.254,error",
        "fd00:ec2::254,error",
        "169.254.0.0/16,note",
        "fc00::/7,error"
    })
    void warnsOfRangesThatAreWideOrReachThisHost(String cidr, String level) {
        assertThat(lint("{'allow':[{'cidr':'" + cidr + "','ports':[80]}]}"))
                .contains(level + " egress.allow[0].cidr");
    }

    @Test
    void warnsOfWhatIsNotChecked() {
        assertThat(
                        lint(
                                "{'mode':'observe','allow':[{'host':'a.test','schemes':['tcp'],"
                                        + "'ports':[22]},{'host':'a.test','schemes':['http']},"
                                        + "{'host':'a.test','noSni':true},{'host':'a.test',"
                                        + "'ech':'outer-sni'}],"
                                        + "'packages':{'npm':{'registry':'http://npm.test'}}}"))
                .containsExactly(
                        "error egress.mode",
                        "warning egress.allow[0].schemes",
                        "warning egress.allow[1].schemes",
                        "warning egress.allow[2].noSni",
                        "warning egress.allow[3].ech",
                        "warning egress.packages.npm.registry",
                        "note egress.packages.npm");
        assertThat(lint("{'secrets':['a']}")).containsExactly("warning egress.secrets");
        assertThat(lint("{'allow':[{'cidr':'10.1.0.0/16','schemes':['https']}]}"))
                .containsExactly("warning egress.allow[0].schemes");
    }

    @Test
    void warnsOfRulesOfRequestsThatAnotherRuleUndoes() {
        String judged = "{'host':'api.a.test','http':[{'path':'/v1'}]}";
        for (String other :
                List.of(
                        "{'host':'*.a.test'}",
                        "{'host':'api.a.test'}",
                        "{'host':'*.a.test','schemes':['tls'],'ports':[443]}")) {
            assertThat(lint("{'allow':[" + judged + "," + other + "]}"))
                    .containsExactly("warning egress.allow[0].http");
            assertThat(lint("{'allow':[" + other + "," + judged + "]}"))
                    .containsExactly("warning egress.allow[1].http");
        }
        for (String other :
                List.of(
                        "{'host':'*.b.test'}",
                        "{'host':'a.test'}",
                        "{'host':'*.api.a.test'}",
                        "{'host':'*.a.test','ports':[8443]}",
                        "{'host':'*.a.test','http':[{'path':'/v2'}]}")) {
            assertThat(lint("{'allow':[" + judged + "," + other + "]}")).isEmpty();
        }
    }

    @Test
    void warnsOfRangesThatPassTheRulesOfRequests() {
        String judged = "{'host':'api.a.test','http':[{'path':'/v1'}]}";
        for (String range :
                List.of(
                        "{'cidr':'10.0.0.0/24','ports':[443]}",
                        "{'cidr':'10.0.0.0/24','ports':[443],'schemes':['http']}")) {
            assertThat(lint("{'allow':[" + judged + "," + range + "]}"))
                    .containsExactly("warning egress.allow[1].schemes");
        }
        assertThat(
                        lint(
                                "{'allow':["
                                        + judged
                                        + ",{'cidr':'10.0.0.0/24','schemes':['https'],'noSni':true}]}"))
                .containsExactlyInAnyOrder(
                        "warning egress.allow[1].noSni", "warning egress.allow[1].schemes");
        for (String range :
                List.of(
                        "{'cidr':'10.0.0.0/24','schemes':['https']}",
                        "{'cidr':'10.0.0.0/24','ports':[5432]}")) {
            assertThat(lint("{'allow':[" + judged + "," + range + "]}")).isEmpty();
            assertThat(lint("{'allow':[{'host':'api.a.test'}," + range + "]}")).isEmpty();
        }
    }

    @Test
    void refusesWhatIsNotValid() {
        assertThatThrownBy(() -> lint("{'mode':'open'}")).isInstanceOf(CaissonException.class);
    }

    @Test
    void saysWhatToDo() {
        assertThat(EgressLint.of(document("{'allow':[{'host':'*.github.io'}]}")))
                .extracting(FindingJson::message, FindingJson::remedy)
                .allSatisfy(texts -> assertThat(texts.toList()).doesNotContain(""));
    }
}
