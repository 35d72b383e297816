package dev.caisson.control;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.v1.Json;
import dev.caisson.v1.SecretBinding;
import dev.caisson.v1.SecretSlot;
import dev.caisson.v1.SecretSpec;
import java.util.Locale;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Specs of any bytes: refused as invalid, or of a form that cannot change a request around it. */
class SecretRulesFuzzTest {
    static Stream<Arguments> specs() {
        return Stream.of(
                        slot("{'kind':'header','name':'X-Api-Key','format':'v {}'}"),
                        slot("{'kind':'header','format':'{}\\r\\nX: y'}"),
                        slot("{'kind':'header','name':'Host\\u0000'}"),
                        slot(
                                "{'kind':'oauth','tokenUrl':'https://id.example.com/t','scopes':['a']}"),
                        slot("{'kind':'oauth','tokenUrl':'https://[::1]/','scopes':[null]}"),
                        slot("{'kind':'query','name':'a'}"),
                        slot("{'kind':'git','user':'u','push':true}"),
                        slot("{'kind':'sigv4','region':'r','service':'s'}"),
                        slot("null"),
                        "{'bindings':[null]}",
                        "{'bindings':null,'bytes':-1}",
                        "{'bindings':[{'host':'*.a','methods':['GET','x'],'path':'/%2f'}]}",
                        "[[[",
                        "\uFFFF\u0000")
                .map(text -> text.replace('\'', '"'))
                .map(text ->
                        Arguments.of(
                                (Object) text.getBytes(java.nio.charset.StandardCharsets.UTF_8)));
    }

    private static String slot(String slot) {
        return "{'bindings':[{'host':'a.Example.com','port':8443,'methods':['GET'],"
                + "'path':'/v1/*','slot':"
                + slot
                + "}],'env':'A','requests':1}";
    }

    @MethodSource("specs")
    @FuzzTest
    void whatIsTakenIsHarmless(byte[] json) {
        SecretSpec spec;
        try {
            spec = SecretRules.checked(Json.request(json, SecretSpec.class));
        } catch (CaissonException e) {
            assertThat(e.code()).isEqualTo(ErrorCode.INVALID);
            return;
        }
        assertThat(spec.bindings()).isNotEmpty().hasSizeLessThanOrEqualTo(32);
        for (SecretBinding binding : spec.bindings()) {
            assertThat(binding.host()).matches("[a-z0-9_.-]{1,253}").doesNotContain("*");
            harmless(binding.path());
            harmless(binding.slot());
        }
    }

    private static void harmless(SecretSlot slot) {
        for (String text :
                new @Nullable String[] {
                    slot.name(), slot.user(), slot.region(), slot.service(), slot.tokenUrl()
                }) {
            harmless(text);
        }
        slot.scopes().forEach(SecretRulesFuzzTest::harmless);
        String name = slot.name();
        if (slot.kind().equals("header") && name != null) {
            assertThat(name.toLowerCase(Locale.ROOT))
                    .isNotIn("host", "content-length", "transfer-encoding", "connection", "te");
        }
        String format = slot.format();
        if (format != null) {
            assertThat(format.split("\\{}", -1)).hasSize(2);
            assertThat(format.chars()).allMatch(c -> c >= ' ' && c < 0x7f);
        }
    }

    private static void harmless(@Nullable String text) {
        if (text != null) {
            assertThat(text.chars()).allMatch(c -> c > ' ' && c < 0x7f);
        }
    }
}
