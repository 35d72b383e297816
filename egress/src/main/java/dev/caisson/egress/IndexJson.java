package dev.caisson.egress;

import dev.caisson.v1.Json;
import java.io.ByteArrayOutputStream;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.exc.StreamReadException;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Reads and copies indexes in JSON piece by piece, with the limits of all JSON here. */
final class IndexJson {
    private static final JsonMapper MAPPER =
            Json.LENIENT.rebuild().disable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS).build();

    private IndexJson() {}

    /** Takes a field of an object; the parser is at its value, and must be at its end after it. */
    @FunctionalInterface
    interface Field {
        void at(String name, JsonParser in);
    }

    /**
     * Reads a document that is one object.
     *
     * @throws tools.jackson.core.JacksonException it is not JSON, or not an object
     */
    static void read(byte[] document, Field field) {
        try (JsonParser in = MAPPER.createParser(document)) {
            if (in.nextToken() != JsonToken.START_OBJECT) {
                throw new StreamReadException(in, "no object");
            }
            fields(in, field);
            if (in.nextToken() != null) {
                throw new StreamReadException(in, "more than one document");
            }
        }
    }

    /** Reads the fields of an object that the parser is at the start of; others are skipped. */
    static void fields(JsonParser in, Field field) {
        if (in.currentToken() != JsonToken.START_OBJECT) {
            in.skipChildren();
            return;
        }
        while (in.nextToken() == JsonToken.PROPERTY_NAME) {
            String name = in.currentName();
            in.nextToken();
            field.at(name, in);
        }
    }

    static JsonNode tree(JsonParser in) {
        return MAPPER.readTree(in);
    }

    static JsonGenerator writer(ByteArrayOutputStream out) {
        return MAPPER.createGenerator(out);
    }

    /** A text of an object; empty when it is absent or something else. */
    static String text(JsonNode object, String field) {
        JsonNode value = object.get(field);
        return value != null && value.isString() ? value.stringValue() : "";
    }
}
