package dev.caisson.embedded;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.caisson.core.EgressDocuments;
import dev.caisson.policy.HostRegistries;
import dev.caisson.policy.RegistryFill;
import dev.caisson.v1.EgressJson;
import dev.caisson.v1.Json;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import tools.jackson.core.JacksonException;
import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.DeserializationFeature;

/**
 * Documents of the way out as a server reads them, with the registries that the host's tools
 * report.
 */
final class Documents implements EgressDocuments {
    @Override
    public String complete(String document) {
        return Reader.complete(document);
    }

    @Override
    public Map<String, Object> data(String json) {
        return Reader.data(json);
    }

    /** Loaded, and all that reads JSON with it, by the first sandbox with a way out. */
    private static final class Reader {
        private static final HostRegistries REGISTRIES = new HostRegistries(Map.of());

        static String complete(String document) {
            EgressJson json = Json.request(document.getBytes(UTF_8), EgressJson.class);
            EgressJson whole = RegistryFill.fill(List.of(json), REGISTRIES).getFirst();
            return whole.equals(json) ? document : Json.write(whole);
        }

        static Map<String, Object> data(String json) {
            try {
                Map<String, Object> data =
                        Json.LENIENT
                                .readerFor(new TypeReference<Map<String, Object>>() {})
                                .with(DeserializationFeature.USE_LONG_FOR_INTS)
                                .readValue(json);
                data.values().removeIf(Objects::isNull);
                return data;
            } catch (JacksonException e) {
                return Map.of();
            }
        }
    }
}
