package dev.caisson.api;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.InputStream;
import java.lang.reflect.Method;
import java.lang.reflect.RecordComponent;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Each {@code with} method changes the field that it is called after, and no other one. */
class SpecCopyTest {
    /** All that is not a default, so that a field that is not copied is seen. */
    private static final SandboxSpec SANDBOX =
            SandboxSpec.defaults()
                    .withName("one")
                    .withLabels(Map.of("a", "b"))
                    .withTier(Tier.CONTAINER)
                    .withTemplate("other")
                    .withLimits(Limits.defaults().withPids(7))
                    .withEnv(Map.of("A", "B"))
                    .withMaxLife(Duration.ofHours(1))
                    .withAllowDegraded(true)
                    .withRoot(true)
                    .withEgress("{}")
                    .withSecrets(List.of());

    private static final RunSpec RUN =
            RunSpec.command("true")
                    .withArguments(List.of("a"))
                    .withSandbox(SANDBOX)
                    .withOut(Path.of("out"))
                    .withOutLimit(ByteSize.ofKib(1))
                    .withStdin(InputStream.nullInputStream())
                    .withWorkdir("/tmp")
                    .withCapture(false)
                    .withListFiles(false)
                    .withInlineFiles(true);

    private static final ExecSpec EXEC =
            ExecSpec.of("true")
                    .withEnv(Map.of("A", "B"))
                    .withCwd("/tmp")
                    .withUser(User.ROOT)
                    .withTimeout(Duration.ofSeconds(7))
                    .withGrace(Duration.ofSeconds(7))
                    .withStdin(true)
                    .withLinger(true)
                    .withCapture(false)
                    .withOutputLimit(ByteSize.ofKib(1))
                    .withSecrets(List.of("a"));

    static List<Record> specs() {
        return List.of(SANDBOX, RUN, EXEC);
    }

    @ParameterizedTest
    @MethodSource("specs")
    void changesOneFieldAndNoOther(Record spec) throws Exception {
        int tried = 0;
        for (Method method : spec.getClass().getDeclaredMethods()) {
            if (!method.getName().startsWith("with") || method.getParameterCount() != 1) {
                continue;
            }
            String field = method.getName().substring(4);
            field = field.substring(0, 1).toLowerCase(Locale.ROOT) + field.substring(1);
            Object value = another(method.getParameterTypes()[0], spec, field);
            if (value == null) {
                continue;
            }
            Object changed = method.invoke(spec, value);
            assertThat(differing(spec, changed)).as(method.getName()).containsExactly(field);
            tried++;
        }
        assertThat(tried).as("control").isGreaterThan(5);
    }

    /** A value of a type that the field does not have; null: of a type that is not tried. */
    private static @Nullable Object another(Class<?> type, Record spec, String field)
            throws Exception {
        if (type == boolean.class) {
            return !(boolean) spec.getClass().getMethod(field).invoke(spec);
        } else if (type == String.class) {
            return field.matches("cwd|workdir") ? "/another" : "another";
        } else if (type == Duration.class) {
            return Duration.ofSeconds(3);
        } else if (type == Map.class) {
            return Map.of("C", "D");
        } else if (type == ByteSize.class) {
            return ByteSize.ofKib(99);
        } else if (type == List.class && field.matches("argv|arguments|secrets")) {
            return field.equals("secrets") && spec instanceof SandboxSpec ? null : List.of("z");
        } else if (type == Tier.class) {
            return Tier.AUTO;
        } else if (type == Limits.class) {
            return Limits.defaults();
        } else if (type == SandboxSpec.class) {
            return SandboxSpec.defaults();
        } else if (type == Path.class) {
            return Path.of("another");
        }
        return null;
    }

    private static List<String> differing(Object before, Object after) throws Exception {
        List<String> names = new ArrayList<>();
        for (RecordComponent one : Arrays.asList(before.getClass().getRecordComponents())) {
            Method accessor = one.getAccessor();
            if (!accessor.invoke(before).equals(accessor.invoke(after))) {
                names.add(one.getName());
            }
        }
        return names;
    }
}
