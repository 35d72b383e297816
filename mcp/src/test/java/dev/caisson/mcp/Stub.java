package dev.caisson.mcp;

import java.lang.reflect.Proxy;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A stand-in for a wide interface of which a test needs a few methods, told by name. The others
 * throw, and so does a default method that was not told.
 */
final class Stub<T> {
    private final Class<T> type;
    private final Map<String, Answer> answers = new HashMap<>();

    /** What a method does. */
    @FunctionalInterface
    interface Answer {
        @Nullable Object to(Object[] arguments) throws Exception;
    }

    Stub(Class<T> type) {
        this.type = type;
    }

    Stub<T> on(String method, Answer answer) {
        answers.put(method, answer);
        return this;
    }

    T make() {
        return type.cast(
                Proxy.newProxyInstance(
                        type.getClassLoader(),
                        new Class<?>[] {type},
                        (proxy, method, arguments) -> {
                            Answer answer = answers.get(method.getName());
                            if (answer == null) {
                                throw new UnsupportedOperationException(method.toString());
                            }
                            return answer.to(arguments == null ? new Object[0] : arguments);
                        }));
    }
}
