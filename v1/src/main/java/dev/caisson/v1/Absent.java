package dev.caisson.v1;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What is absent in a document is empty in a record. */
final class Absent {
    private Absent() {}

    static <T> List<T> list(@Nullable List<T> given) {
        return given == null ? List.of() : given;
    }

    static <K, V> Map<K, V> map(@Nullable Map<K, V> given) {
        return given == null ? Map.of() : given;
    }
}
