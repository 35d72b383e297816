package dev.caisson.policy;

import static dev.caisson.policy.Documents.policy;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.v1.EgressJson;
import dev.caisson.v1.EgressRule;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class DocumentRulesTest {
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{'version':2}|egress.version",
                "{'mode':'open'}|egress.mode",
                "{'mode':''}|egress.mode",
                "{'allow':[{}]}|egress.allow[0]",
                "{'allow':[{'host':'a.test','cidr':'10.0.0.0/8'}]}|egress.allow[0]",
                "{'allow':[{'host':'10.0.0.1'}]}|egress.allow[0].host",
                "{'allow':[{'host':'*'}]}|egress.allow[0].host",
                "{'allow':[{'host':'*.*.test'}]}|egress.allow[0].host",
                "{'allow':[{'host':'a.*.test'}]}|egress.allow[0].host",
                "{'allow':[{'host':'a.test:443'}]}|egress.allow[0].host",
                "{'allow':[{'host':'https://a.test'}]}|egress.allow[0].host",
                "{'allow':[{'host':'a.test'},{'cidr':'10.0.0.1/8','ports':[1]}]}|egress.allow[1].cidr",
                "{'allow':[{'cidr':'a.test','ports':[1]}]}|egress.allow[0].cidr",
                "{'allow':[{'host':'a.test','ports':[0]}]}|egress.allow[0].ports",
                "{'allow':[{'host':'a.test','ports':[65536]}]}|egress.allow[0].ports",
                "{'allow':[{'host':'a.test','schemes':['tcp']}]}|egress.allow[0].ports",
                "{'allow':[{'host':'a.test','schemes':['tcp','https']}]}|egress.allow[0].ports",
                "{'allow':[{'cidr':'10.0.0.0/8'}]}|egress.allow[0].ports",
                "{'allow':[{'host':'a.test','schemes':['ftp']}]}|egress.allow[0].schemes",
                "{'allow':[{'host':'a.test','schemes':['HTTPS']}]}|egress.allow[0].schemes",
                "{'allow':[{'host':'a.test','ech':'yes'}]}|egress.allow[0].ech",
                "{'allow':[{'host':'a.test','schemes':['tls'],'terminate':true}]}|egress.allow[0].schemes",
                "{'allow':[{'host':'a.test','schemes':['tls'],'http':[{}]}]}|egress.allow[0].schemes",
                "{'allow':[{'host':'a.test','schemes':['http'],'terminate':true}]}|egress.allow[0].terminate",
                "{'allow':[{'cidr':'10.0.0.0/8','schemes':['https'],'http':[{}]}]}|egress.allow[0]",
                "{'allow':[{'host':'a.test','http':[{'action':'no'}]}]}|egress.allow[0].http[0].action",
                "{'allow':[{'host':'a.test','http':[{},{'methods':['get']}]}]}|egress.allow[0].http[1].methods",
                "{'allow':[{'host':'a.test','http':[{'methods':['A"
                        + " B']}]}]}|egress.allow[0].http[0].methods",
                "{'allow':[{'host':'a.test','http':[{'path':'a'}]}]}|egress.allow[0].http[0].path",
                "{'allow':[{'host':'a.test','http':[{'path':'/a/../b'}]}]}|egress.allow[0].http[0].path",
                "{'allow':[{'host':'a.test','http':[{'path':'/a**'}]}]}|egress.allow[0].http[0].path",
                "{'allow':[{'host':'a.test','http':[{'path':'/a?b'}]}]}|egress.allow[0].http[0].path",
                "{'allow':[{'host':'a.test','http':[{'headers':{'a"
                        + " b':'c'}}]}]}|egress.allow[0].http[0].headers",
                "{'allow':[{'host':'a.test','http':[{'headers':{'a':'"
                        + " c'}}]}]}|egress.allow[0].http[0].headers",
                "{'allow':[{'host':'a.test','http':[{'headers':{'a':'c','A':'d'}}]}]}|egress.allow[0].http[0].headers",
                "{'deny':['a b']}|egress.deny[0]",
                "{'deny':['a.test','10.0.0.1/8']}|egress.deny[1]",
                "{'deny':['*']}|egress.deny[0]",
                "{'limits':{'bytes':0}}|egress.limits.bytes",
                "{'limits':{'connections':-1}}|egress.limits.connections",
                "{'limits':{'connections':1000000}}|egress.limits.connections",
                "{'limits':{'dnsQueriesPerMinute':0}}|egress.limits.dnsQueriesPerMinute",
                "{'secrets':['A B']}|egress.secrets",
                "{'packages':{'cargo':{}}}|egress.packages",
                "{'packages':{'pypi':{'registry':'ftp://a.test'}}}|egress.packages.pypi.registry",
                "{'packages':{'pypi':{'registry':'https://u@a.test'}}}|egress.packages.pypi.registry",
                "{'packages':{'pypi':{'registry':'https://a.test/x?y'}}}|egress.packages.pypi.registry",
                "{'packages':{'pypi':{'registry':'https://127.0.0.1/'}}}|egress.packages.pypi.registry",
                "{'packages':{'pypi':{'registry':'https://a.test:0443/'}}}|egress.packages.pypi.registry",
                "{'packages':{'pypi':{'allow':['a b']}}}|egress.packages.pypi.allow",
                "{'packages':{'pypi':{'deny':['a*b']}}}|egress.packages.pypi.deny",
                "{'packages':{'pypi':{'minAgeMillis':-1}}}|egress.packages.pypi.minAgeMillis",
                "{'packages':{'pypi':{'hashes':{'a@1':'md5:00'}}}}|egress.packages.pypi.hashes",
                "{'packages':{'pypi':{'hashes':{'a@1':'sha256:00'}}}}|egress.packages.pypi.hashes"
            })
    void refusesWhatNobodyUnderstandsAndNamesTheField(String json, String field) {
        assertThatThrownBy(() -> policy(json))
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> {
                            assertThat(e.code()).isEqualTo(ErrorCode.INVALID);
                            assertThat(e.details()).containsEntry("field", field);
                            assertThat(e.details()).containsKeys("requested", "allowed");
                            assertThat(e.remedy()).isNotEmpty();
                        });
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{'alow':[]}",
                "{'allow':[{'host':'a.test','port':[1]}]}",
                "{'allow':[{'host':1}]}",
                "{'allow':[{'host':'a.test','ports':['443']}]}",
                "{'mode':false}"
            })
    void refusesUnknownFieldsAndOtherTypes(String json) {
        assertThatThrownBy(() -> policy(json)).isInstanceOf(CaissonException.class);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{'version':1,'mode':'enforce'}",
                "{'packages':{'npm':{'allow':['@scope/name@1.2.3','lodash','@types/*'],"
                        + "'deny':['*'],'minAgeMillis':0}}}",
                "{'packages':{'maven':{'allow':['org.example:*','org.example:a@1.0']}}}",
                "{'packages':{'debian':{'registry':'http://mirror.test/debian/',"
                        + "'allow':['libstdc++6','g++']}}}",
                "{'allow':[{'cidr':'10.0.0.0/8','schemes':['https'],'noSni':true}]}",
                "{'allow':[{'host':'a.test','http':[{'methods':['GET'],'path':'/**',"
                        + "'headers':{'Accept':'x'}}],'terminate':true}]}"
            })
    void takesWhatIsDocumented(String json) {
        assertThatCode(() -> policy(json)).doesNotThrowAnyException();
    }

    @Test
    void boundsEveryCount() {
        assertThatThrownBy(() -> EgressPolicy.of(List.of())).isInstanceOf(CaissonException.class);
        assertThatThrownBy(() -> EgressPolicy.of(Collections.nCopies(9, EgressJson.closed())))
                .isInstanceOf(CaissonException.class);
        assertThatThrownBy(() -> EgressPolicy.of(List.of(rules(257))))
                .isInstanceOf(CaissonException.class);
        assertThatCode(() -> EgressPolicy.of(List.of(rules(256)))).doesNotThrowAnyException();
    }

    private static EgressJson rules(int count) {
        return new EgressJson(
                null,
                null,
                Collections.nCopies(count, EgressRule.https("a.test")),
                List.of(),
                null,
                List.of(),
                Map.of());
    }

    @Test
    void decidesQuicklyWithManyRules() {
        EgressPolicy policy =
                EgressPolicy.of(
                        List.of(
                                new EgressJson(
                                        null,
                                        null,
                                        java.util.stream.IntStream.range(0, 256)
                                                .mapToObj(
                                                        i -> EgressRule.https("*.h" + i + ".test"))
                                                .toList(),
                                        List.of(),
                                        null,
                                        List.of(),
                                        Map.of())));
        Destination to = Documents.to("a.b.c.d.h255.test", 443);
        long begin = System.nanoTime();
        int allowed = 0;
        for (int i = 0; i < 100_000; i++) {
            allowed += policy.connect(to).verdict().passes() ? 1 : 0;
        }
        assertThat(allowed).isEqualTo(100_000);
        // 256 patterns one by one would take some ten times as long.
        assertThat(System.nanoTime() - begin).isLessThan(5_000_000_000L);
    }
}
