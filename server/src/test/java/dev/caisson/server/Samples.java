package dev.caisson.server;

import java.lang.reflect.Constructor;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Makes a full example of any form: every part is there. */
final class Samples {
    private Samples() {}

    static @Nullable Object of(Type type) {
        if (type instanceof ParameterizedType generic) {
            return generic(generic);
        }
        Class<?> raw = (Class<?>) type;
        if (raw.isRecord()) {
            return record(raw, type);
        }
        if (raw == String.class || raw == Object.class) {
            return "sample";
        }
        if (raw == boolean.class || raw == Boolean.class) {
            return true;
        }
        if (raw == long.class || raw == Long.class) {
            return 7L;
        }
        if (raw == int.class || raw == Integer.class) {
            return 7;
        }
        if (raw == Instant.class) {
            return Instant.parse("2026-11-30T12:00:00Z");
        }
        if (raw == void.class) {
            return null;
        }
        throw new IllegalArgumentException("No sample of " + type);
    }

    private static Object generic(ParameterizedType generic) {
        Class<?> raw = (Class<?>) generic.getRawType();
        Type[] arguments = generic.getActualTypeArguments();
        if (Collection.class.isAssignableFrom(raw)) {
            return new ArrayList<>(List.of(sure(arguments[0])));
        }
        if (raw == Map.class) {
            return Map.of("key", sure(arguments[1]));
        }
        if (raw == Optional.class) {
            return Optional.of(sure(arguments[0]));
        }
        return record(raw, generic);
    }

    private static Object sure(Type type) {
        Object value = of(type);
        if (value == null) {
            throw new IllegalArgumentException("No sample of " + type);
        }
        return value;
    }

    private static Object record(Class<?> raw, Type type) {
        try {
            RecordComponent[] parts = raw.getRecordComponents();
            Class<?>[] types = new Class<?>[parts.length];
            Object[] values = new Object[parts.length];
            for (int i = 0; i < parts.length; i++) {
                types[i] = parts[i].getType();
                values[i] = part(parts[i].getGenericType(), type);
            }
            Constructor<?> constructor = raw.getDeclaredConstructor(types);
            constructor.setAccessible(true);
            return constructor.newInstance(values);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static @Nullable Object part(Type part, Type owner) {
        if (part instanceof ParameterizedType generic
                && owner instanceof ParameterizedType outer
                && generic.getActualTypeArguments()[0] instanceof java.lang.reflect.TypeVariable) {
            return new ArrayList<>(List.of(sure(outer.getActualTypeArguments()[0])));
        }
        return of(part);
    }
}
