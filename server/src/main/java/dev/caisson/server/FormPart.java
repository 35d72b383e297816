package dev.caisson.server;

import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A component of a form, looked at once for each class: reflection for each request is dear. */
record FormPart(RecordComponent component, boolean nullable) {
    private static final ClassValue<List<FormPart>> KNOWN =
            new ClassValue<>() {
                @Override
                protected List<FormPart> computeValue(Class<?> type) {
                    return Arrays.stream(type.getRecordComponents())
                            .map(part -> new FormPart(part, Schemas.nullable(part)))
                            .toList();
                }
            };

    /** The components of a record's class, in their order. */
    static List<FormPart> of(Class<?> type) {
        return KNOWN.get(type);
    }

    /** Its name below that of the form it is in. */
    String within(String path) {
        return path.isEmpty() ? component.getName() : path + "." + component.getName();
    }

    @Nullable Object value(Object form) {
        try {
            return component.getAccessor().invoke(form);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("A form cannot be read.", e);
        }
    }
}
