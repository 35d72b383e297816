package dev.caisson.policy;

import static dev.caisson.policy.Documents.policy;
import static dev.caisson.policy.Verdict.Answer.ALLOW;
import static dev.caisson.policy.Verdict.Answer.DENY;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.caisson.api.CaissonException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class EgressExplainTest {
    private static final EgressPolicy POLICY =
            policy(
                    "{'allow':[{'host':'api.test','http':[{'methods':['GET'],'path':'/v1/**'}]},"
                            + "{'host':'db.test','schemes':['tcp'],'ports':[5432]},"
                            + "{'cidr':'10.0.0.0/8','ports':[5432]}]}");

    private static EgressExplain explain(String text) {
        return EgressExplain.of(POLICY, EgressTarget.of(text));
    }

    @ParameterizedTest
    @CsvSource({
        "https://api.test/v1/a,ALLOW",
        "https://api.test/v1/a?x=../,ALLOW",
        "https://API.test:443/v1/a#x,ALLOW",
        "https://api.test/v2,DENY",
        "https://api.test,DENY",
        "https://api.test?x,DENY",
        "POST https://api.test/v1/a,DENY",
        "http://api.test/v1/a,DENY",
        "http://api.test:443/v1/a,DENY",
        "api.test,ALLOW",
        "api.test:443,ALLOW",
        "api.test:80,DENY",
        "db.test:5432,ALLOW",
        "10.1.2.3:5432,ALLOW",
        "10.1.2.3,DENY",
        "[::ffff:10.1.2.3]:5432,ALLOW",
        "2606:4700::1,DENY",
        "[2606:4700::1]:443,DENY"
    })
    void saysWhatWouldCome(String target, Verdict.Answer answer) {
        assertThat(explain(target).verdict().answer()).isEqualTo(answer);
    }

    @Test
    void goesStepByStepUpToTheOneThatEndsIt() {
        assertThat(explain("https://api.test/v1/a").steps())
                .extracting(EgressExplain.Step::what)
                .containsExactly("name", "connect", "request");
        assertThat(explain("https://other.test/").steps())
                .extracting(EgressExplain.Step::what)
                .containsExactly("name");
        EgressExplain resolved =
                EgressExplain.of(
                        POLICY,
                        EgressTarget.of("db.test:5432"),
                        List.of(IpAddress.parse("10.0.0.1"), IpAddress.parse("127.0.0.1")));
        assertThat(resolved.steps())
                .extracting(step -> step.verdict().answer())
                .containsExactly(ALLOW, ALLOW, ALLOW, DENY);
        assertThat(resolved.verdict().rule()).isEqualTo("address loopback");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                " ",
                "ftp://a.test/",
                "GET a.test",
                "a.test:",
                "a.test:0",
                "a.test:+443",
                "a.test:0443",
                "a.test:65979",
                "https://u@a.test/",
                "https://a.test\\b/",
                "[a.test]:1",
                "[::1",
                "[::1]x",
                "[::1]x:1",
                "1:2:3",
                "https:///x",
                "2130706433"
            })
    void refusesWhatIsNoDestination(String text) {
        assertThatThrownBy(() -> EgressTarget.of(text)).isInstanceOf(CaissonException.class);
    }
}
