package dev.caisson.control;

import static dev.caisson.control.Fixture.refused;
import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.v1.Json;
import dev.caisson.v1.SecretSpec;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class SecretRulesTest {
    private static SecretSpec spec(String json) {
        byte[] bytes = json.replace('\'', '"').getBytes(StandardCharsets.UTF_8);
        return Json.request(bytes, SecretSpec.class);
    }

    private static SecretSpec bound(String binding) {
        return spec("{'bindings':[" + binding + "]}");
    }

    private static SecretSpec slot(String slot) {
        return bound("{'host':'a.example.com','slot':" + slot + "}");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{'kind':'header'}",
                "{'kind':'header','name':'X-Api-Key'}",
                "{'kind':'header','name':'PRIVATE-TOKEN','format':'{}'}",
                "{'kind':'header','format':'token {}'}",
                "{'kind':'basic'}",
                "{'kind':'basic','user':'someone'}",
                "{'kind':'query','name':'api_key'}",
                "{'kind':'git'}",
                "{'kind':'git','user':'x-access-token','push':true}",
                "{'kind':'sigv4','region':'eu-central-1','service':'s3'}",
                "{'kind':'oauth','tokenUrl':'https://id.example.com/token'}",
                "{'kind':'oauth','tokenUrl':'https://id.example.com/token','scopes':['a','b:c']}",
            })
    void takesSlots(String slot) {
        assertThat(SecretRules.checked(slot(slot)).bindings()).hasSize(1);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "null",
                "{'kind':'cookie'}",
                "{'kind':''}",
                "{'kind':'header','user':'x'}",
                "{'kind':'header','push':false}",
                "{'kind':'header','name':'Host'}",
                "{'kind':'header','name':'content-length'}",
                "{'kind':'header','name':'Transfer-Encoding'}",
                "{'kind':'header','name':'CONNECTION'}",
                "{'kind':'header','name':'TE'}",
                "{'kind':'header','name':'Proxy-Authorization'}",
                "{'kind':'header','name':'Upgrade'}",
                "{'kind':'header','name':'a b'}",
                "{'kind':'header','name':'a:b'}",
                "{'kind':'header','name':':authority'}",
                "{'kind':'header','name':'x\\r\\ny'}",
                "{'kind':'header','name':''}",
                "{'kind':'header','name':'nam\u00e9'}",
                "{'kind':'header','format':'Bearer'}",
                "{'kind':'header','format':'{} {}'}",
                "{'kind':'header','format':'{}{}'}",
                "{'kind':'header','format':'Bearer {}\\r\\nX: y'}",
                "{'kind':'header','format':' {}'}",
                "{'kind':'basic','name':'x'}",
                "{'kind':'basic','user':'a:b'}",
                "{'kind':'basic','user':''}",
                "{'kind':'query'}",
                "{'kind':'query','name':'a&b'}",
                "{'kind':'query','name':'a=b'}",
                "{'kind':'query','name':'a','format':'{}'}",
                "{'kind':'sigv4','region':'x'}",
                "{'kind':'sigv4','service':'s3'}",
                "{'kind':'sigv4','region':'a/b','service':'s3'}",
                "{'kind':'oauth'}",
                "{'kind':'oauth','tokenUrl':'http://id.example.com/token'}",
                "{'kind':'oauth','tokenUrl':'https://u:p@id.example.com/'}",
                "{'kind':'oauth','tokenUrl':'https://id.example.com/#x'}",
                "{'kind':'oauth','tokenUrl':'https://169.254.169.254/token'}",
                "{'kind':'oauth','tokenUrl':'https:///token'}",
                "{'kind':'oauth','tokenUrl':'token'}",
                "{'kind':'oauth','tokenUrl':'https://id.example.com/','scopes':['a b']}",
                "{'kind':'oauth','tokenUrl':'https://id.example.com/','region':'x'}",
            })
    void refusesSlots(String slot) {
        CaissonException why = refused(ErrorCode.INVALID, () -> SecretRules.checked(slot(slot)));

        assertThat(why.details().get("field")).startsWith("spec.bindings[0].slot");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "*",
                "*.example.com",
                "a.*.com",
                "",
                "10.0.0.1",
                "2130706433",
                "[::1]",
                "0x7f.1",
                "a.example.com:443",
                "https://a.example.com",
                "a b",
                "a/b",
                "user@a.example.com",
                "a..b",
                "ａ.example.com"
            })
    void refusesHostsThatAreNoExactName(String host) {
        CaissonException why =
                refused(
                        ErrorCode.INVALID,
                        () ->
                                SecretRules.checked(
                                        bound("{'host':'" + host + "','slot':{'kind':'header'}}")));

        assertThat(why.details()).containsEntry("field", "spec.bindings[0].host");
    }

    @Test
    void keepsNamesInTheirOneForm() {
        SecretSpec checked =
                SecretRules.checked(bound("{'host':'API.Example.COM.','slot':{'kind':'header'}}"));

        assertThat(checked.bindings().getFirst().host()).isEqualTo("api.example.com");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "'path':'x'|path",
                "'path':'/a?b'|path",
                "'path':'/a#b'|path",
                "'path':'/a/../b'|path",
                "'path':'/a/./b'|path",
                "'path':'/..'|path",
                "'path':'//a'|path",
                "'path':'/a%2fb'|path",
                "'path':'/a%2Fb'|path",
                "'path':'/a%2e%2e/b'|path",
                "'path':'/a%5Cb'|path",
                "'path':'/a%00'|path",
                "'path':'/a\\\\b'|path",
                "'path':'/a b'|path",
                "'port':0|port",
                "'port':65536|port",
                "'methods':['get']|methods",
                "'methods':['GET X']|methods",
                "'methods':['']|methods",
            })
    void refusesOtherPartsOfABinding(String partAndField) {
        int bar = partAndField.lastIndexOf('|');
        String part = partAndField.substring(0, bar);
        String field = partAndField.substring(bar + 1);
        String binding = "{'host':'a.example.com'," + part + ",'slot':{'kind':'header'}}";
        CaissonException why =
                refused(ErrorCode.INVALID, () -> SecretRules.checked(bound(binding)));

        assertThat(why.details()).containsEntry("field", "spec.bindings[0]." + field);
    }

    @Test
    void takesTheOtherPartsOfABinding() {
        SecretSpec spec =
                bound(
                        "{'host':'a.example.com','port':8443,'methods':['GET','POST'],"
                                + "'path':'/v1/**/x-*.json','slot':{'kind':'header'}}");

        assertThat(SecretRules.checked(spec)).isEqualTo(spec);
    }

    @Test
    void refusesTwoBindingsOfTheSameRequests() {
        String one = "{'host':'a.example.com','slot':{'kind':'header'}}";
        String same = "{'host':'A.example.com','port':443,'slot':{'kind':'basic'}}";
        String other = "{'host':'a.example.com','port':444,'slot':{'kind':'basic'}}";

        refused(ErrorCode.INVALID, () -> SecretRules.checked(bound(one + "," + same)));
        assertThat(SecretRules.checked(bound(one + "," + other)).bindings()).hasSize(2);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{'bindings':[]}",
                "{'bindings':[B],'env':'1A'}",
                "{'bindings':[B],'env':'A=B'}",
                "{'bindings':[B],'env':''}",
                "{'bindings':[B],'requestsPerMinute':0}",
                "{'bindings':[B],'requests':0}",
                "{'bindings':[B],'requests':-1}",
                "{'bindings':[B],'bytes':0}",
            })
    void refusesSpecs(String text) {
        String binding = "{'host':'a.example.com','slot':{'kind':'header'}}";
        refused(
                ErrorCode.INVALID,
                () -> SecretRules.checked(spec(text.replace("B]", binding + "]"))));
    }

    @Test
    void refusesMoreBindingsThanAnybodyNeeds() {
        StringBuilder all = new StringBuilder();
        for (int i = 0; i < 33; i++) {
            all.append(i == 0 ? "" : ",")
                    .append("{'host':'h" + i + ".example.com','slot':{'kind':'header'}}");
        }
        refused(ErrorCode.INVALID, () -> SecretRules.checked(bound(all.toString())));
        refused(ErrorCode.INVALID, () -> SecretRules.checked(null));
    }

    @ParameterizedTest
    @CsvSource({
        "basic, user:password, true",
        "basic, userpassword, false",
        "basic, :password, false",
        "basic, user:short, false",
        "git, user:password, true",
        "oauth, client:secret-of-it, true",
        "oauth, client, false",
        "header, ' leading', false",
        "header, 'trailing ', false",
        "header, 'with blank', true",
        "header, pässwort, false",
        "query, pässwort, true",
    })
    void valuesFitTheirSlots(String kind, String value, boolean fits) {
        String more =
                switch (kind) {
                    case "query" -> ",'name':'q'";
                    case "oauth" -> ",'tokenUrl':'https://id.example.com/'";
                    default -> "";
                };
        SecretSpec spec = SecretRules.checked(slot("{'kind':'" + kind + "'" + more + "}"));
        byte[] bytes = value.getBytes(StandardCharsets.UTF_8);

        if (fits) {
            SecretValues.check(spec, bytes);
        } else {
            CaissonException why =
                    refused(ErrorCode.INVALID, () -> SecretValues.check(spec, bytes));
            assertThat(why.message()).doesNotContain(value.strip());
        }
    }

    @Test
    void aSignatureNeedsKeyAndSecret() {
        SecretSpec spec = SecretRules.checked(slot("{'kind':'sigv4','region':'x','service':'s3'}"));

        SecretValues.check(spec, bytes("AKIDEXAMPLE:secret-secret"));
        SecretValues.check(spec, bytes("AKIDEXAMPLE:secret-secret:session-token"));
        assertThat(SecretValues.hidden(spec, bytes("AKIDEXAMPLE:secret-secret:session-token")))
                .hasSize(3);
        refused(ErrorCode.INVALID, () -> SecretValues.check(spec, bytes("AKIDEXAMPLE")));
        refused(ErrorCode.INVALID, () -> SecretValues.check(spec, new byte[] {-1, -2, 1, 1, 1, 1}));
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
