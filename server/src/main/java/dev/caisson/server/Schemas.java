package dev.caisson.server;

import java.lang.reflect.AnnotatedParameterizedType;
import java.lang.reflect.AnnotatedType;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** JSON schemas of the forms, made from the records themselves. Of one thread. */
final class Schemas {
    private final Properties words;
    private final Set<Class<?>> requests;
    private final Map<String, Object> made = new TreeMap<>();

    /**
     * @param words what fields mean: {@code Form.field=sentence}
     * @param requests forms whose collections may be left out
     */
    Schemas(Properties words, Set<Class<?>> requests) {
        this.words = words;
        this.requests = requests;
    }

    /** Whether a part of a form may be absent. */
    static boolean nullable(RecordComponent part) {
        return part.getAnnotatedType().isAnnotationPresent(Nullable.class);
    }

    static Map<String, Object> ref(Class<?> type) {
        return Map.of("$ref", "#/components/schemas/" + type.getSimpleName());
    }

    /** All that were asked for, by name. */
    Map<String, Object> all() {
        return made;
    }

    Map<String, Object> of(Type type) {
        return of(type, null);
    }

    private Map<String, Object> of(Type type, @Nullable AnnotatedType annotated) {
        if (type instanceof ParameterizedType generic) {
            return generic(generic, annotated);
        }
        Class<?> raw = (Class<?>) type;
        if (raw.isRecord()) {
            record(raw);
            return ref(raw);
        }
        Map<String, Object> schema = new LinkedHashMap<>();
        if (raw == String.class || raw.isEnum()) {
            schema.put("type", "string");
        } else if (raw == boolean.class || raw == Boolean.class) {
            schema.put("type", "boolean");
        } else if (raw == long.class || raw == Long.class) {
            schema.put("type", "integer");
            schema.put("format", "int64");
        } else if (raw == int.class || raw == Integer.class) {
            schema.put("type", "integer");
            schema.put("format", "int32");
        } else if (raw == Instant.class) {
            schema.put("type", "string");
            schema.put("format", "date-time");
        } else if (raw != Object.class) {
            throw new IllegalStateException("There is no schema for " + raw);
        }
        return schema;
    }

    private Map<String, Object> generic(
            ParameterizedType generic, @Nullable AnnotatedType annotated) {
        Class<?> raw = (Class<?>) generic.getRawType();
        Map<String, Object> schema = new LinkedHashMap<>();
        if (Collection.class.isAssignableFrom(raw)) {
            schema.put("type", "array");
            schema.put("items", of(generic.getActualTypeArguments()[0]));
        } else if (Map.class.isAssignableFrom(raw)) {
            Map<String, Object> value = of(generic.getActualTypeArguments()[1]);
            boolean nullable =
                    annotated instanceof AnnotatedParameterizedType known
                            && known.getAnnotatedActualTypeArguments()[1].isAnnotationPresent(
                                    Nullable.class);
            if (nullable && value.get("type") instanceof String one) {
                value.put("type", List.of(one, "null"));
            }
            schema.put("type", "object");
            schema.put("additionalProperties", value);
        } else {
            throw new IllegalStateException("There is no schema for " + generic);
        }
        return schema;
    }

    private void record(Class<?> type) {
        String name = type.getSimpleName();
        if (made.containsKey(name)) {
            return;
        }
        Map<String, Object> schema = new LinkedHashMap<>();
        made.put(name, schema);
        Map<String, Object> properties = new LinkedHashMap<>();
        List<String> required = new ArrayList<>();
        for (RecordComponent part : type.getRecordComponents()) {
            Map<String, Object> property =
                    new LinkedHashMap<>(of(part.getGenericType(), part.getAnnotatedType()));
            String meaning = words.getProperty(name + "." + part.getName());
            if (meaning != null) {
                property.put("description", meaning);
            }
            properties.put(part.getName(), property);
            if (required(type, part)) {
                required.add(part.getName());
            }
        }
        schema.put("type", "object");
        String meaning = words.getProperty(name);
        if (meaning != null) {
            schema.put("description", meaning);
        }
        schema.put("properties", properties);
        if (!required.isEmpty()) {
            schema.put("required", required);
        }
        if (requests.contains(type)) {
            schema.put("additionalProperties", false);
        }
    }

    private boolean required(Class<?> type, RecordComponent part) {
        boolean collection =
                Collection.class.isAssignableFrom(part.getType())
                        || Map.class.isAssignableFrom(part.getType());
        return !nullable(part) && !(collection && requests.contains(type));
    }
}
