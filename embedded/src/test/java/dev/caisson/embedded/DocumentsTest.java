package dev.caisson.embedded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.caisson.api.CaissonException;
import dev.caisson.policy.HostRegistries;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class DocumentsTest {
    private final Documents documents = new Documents();

    @Test
    void whatNamesARegistryOrNoPackagesStaysAsItIs() {
        for (String document :
                new String[] {
                    "{}",
                    "{ \"allow\": [{\"host\": \"a.test\"}] }",
                    "{\"packages\": {\"pypi\": {\"registry\": \"https://mirror.test/simple/\","
                            + " \"allow\": [\"six\"]}}}"
                }) {
            assertThat(documents.complete(document)).isEqualTo(document);
        }
    }

    @Test
    void whatNamesNoneGetsTheAddressOfTheHost() {
        String document = "{\"packages\": {\"debian\": {\"allow\": [\"hello\"]}}}";
        Optional<String> address = new HostRegistries(Map.of()).apply("debian");

        String whole = documents.complete(document);

        assertThat(whole).contains("hello");
        if (address.isPresent()) {
            assertThat(whole).contains(address.get());
        } else {
            assertThat(whole).isEqualTo(document);
        }
    }

    @Test
    void theDataOfAnEventIsRead() {
        assertThat(documents.data("{\"bytes\": 3, \"host\": \"a.test\"}"))
                .containsEntry("host", "a.test")
                .containsEntry("bytes", 3L);
        assertThat(documents.data("nothing")).isEmpty();
    }

    @Test
    void whatIsNoDocumentIsRefused() {
        assertThatThrownBy(() -> documents.complete("{\"nobody\": 1}"))
                .isInstanceOf(CaissonException.class);
    }
}
