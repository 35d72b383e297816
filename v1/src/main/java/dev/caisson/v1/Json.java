package dev.caisson.v1;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import tools.jackson.core.JacksonException;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.core.json.JsonFactory;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.MapperFeature;
import tools.jackson.databind.cfg.CoercionAction;
import tools.jackson.databind.cfg.CoercionInputShape;
import tools.jackson.databind.exc.MismatchedInputException;
import tools.jackson.databind.exc.UnrecognizedPropertyException;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.type.LogicalType;

/** Reads and writes the JSON forms. Thread-safe. */
public final class Json {
    private static final int MAX_DEPTH = 64;
    private static final int MAX_NAME = 1024;
    private static final int MAX_TEXT = 64 << 20;

    /** For what is trusted: answers of a server, rows of the store. Unknown fields are ignored. */
    public static final JsonMapper LENIENT = mapper(false);

    /** For requests: unknown fields, duplicate keys, trailing text and wrong types are refused. */
    public static final JsonMapper STRICT = mapper(true);

    private Json() {}

    private static JsonMapper mapper(boolean strict) {
        JsonFactory factory =
                JsonFactory.builder()
                        .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
                        .streamReadConstraints(
                                StreamReadConstraints.builder()
                                        .maxNestingDepth(MAX_DEPTH)
                                        .maxNameLength(MAX_NAME)
                                        .maxStringLength(MAX_TEXT)
                                        .build())
                        .build();
        JsonMapper.Builder builder = JsonMapper.builder(factory);
        if (strict) {
            // Neither a number nor a word such as false is a text.
            builder.withCoercionConfig(
                    LogicalType.Textual,
                    text ->
                            text.setCoercion(CoercionInputShape.Boolean, CoercionAction.Fail)
                                    .setCoercion(CoercionInputShape.Integer, CoercionAction.Fail)
                                    .setCoercion(CoercionInputShape.Float, CoercionAction.Fail));
        }
        return builder.changeDefaultPropertyInclusion(
                        all -> all.withValueInclusion(JsonInclude.Include.NON_NULL))
                .configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, strict)
                .configure(DeserializationFeature.FAIL_ON_TRAILING_TOKENS, true)
                .configure(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES, strict)
                .configure(DeserializationFeature.ACCEPT_FLOAT_AS_INT, !strict)
                .configure(MapperFeature.ALLOW_COERCION_OF_SCALARS, !strict)
                .build();
    }

    /** The JSON of a form. */
    public static String write(Object form) {
        return LENIENT.writeValueAsString(form);
    }

    /** The JSON of a form, in UTF-8. */
    public static byte[] bytes(Object form) {
        return LENIENT.writeValueAsBytes(form);
    }

    /** A form that was written by us. */
    public static <T> T read(String json, Class<T> type) {
        return LENIENT.readValue(json, type);
    }

    /**
     * A form out of a request.
     *
     * @throws CaissonException {@link ErrorCode#INVALID} that names the field
     */
    public static <T> T request(byte[] json, Class<T> type) {
        try {
            T form = STRICT.readValue(json, type);
            if (form == null) {
                throw CaissonException.invalid("body", "The body must be a JSON object.");
            }
            return form;
        } catch (UnrecognizedPropertyException e) {
            throw CaissonException.invalid(
                            path(e), "There is no field '" + path(e) + "' in this request.")
                    .withRemedy("Remove it, or look up its name in /v1/openapi.json.");
        } catch (JacksonException e) {
            String field = path(e);
            throw CaissonException.invalid(
                    field,
                    field.isEmpty()
                            ? "The body is not valid JSON: " + e.getOriginalMessage()
                            : "The field '" + field + "' is wrong: " + why(e));
        }
    }

    /** Without names of classes, which say nothing to who wrote the text. */
    private static String why(JacksonException e) {
        return e instanceof MismatchedInputException mismatch
                        && mismatch.getTargetType() != null
                        && mismatch.getTargetType().isRecord()
                ? "it must be an object."
                : e.getOriginalMessage();
    }

    private static String path(JacksonException e) {
        StringBuilder path = new StringBuilder();
        for (JacksonException.Reference reference : e.getPath()) {
            if (reference.getPropertyName() == null) {
                path.append('[').append(reference.getIndex()).append(']');
            } else {
                path.append(path.isEmpty() ? "" : ".").append(reference.getPropertyName());
            }
        }
        return path.toString();
    }
}
