package dev.caisson.server;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.control.Caller;
import dev.caisson.control.ContentService;
import dev.caisson.control.Control;
import dev.caisson.control.EventService;
import dev.caisson.control.ExecService;
import dev.caisson.control.FileService;
import dev.caisson.control.Follower;
import dev.caisson.control.Idempotency;
import dev.caisson.control.PortService;
import dev.caisson.control.Proof;
import dev.caisson.control.Role;
import dev.caisson.v1.EventJson;
import dev.caisson.v1.StreamItem;
import dev.caisson.v1.WatchJson;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A control that notes every call. The parts that matter are written by hand; the others answer
 * with full samples of their forms.
 */
final class FakeControl {
    static final String KEY = "caisson_" + "a".repeat(40);
    static final String OTHER_KEY = "caisson_" + "b".repeat(40);
    static final String READER_KEY = "caisson_" + "c".repeat(40);

    final List<Call> calls = new CopyOnWriteArrayList<>();
    final FakeExecs execs = new FakeExecs();
    final FakeFiles files = new FakeFiles();
    final FakePorts ports = new FakePorts();
    final FakeIdempotency idempotency = new FakeIdempotency();
    final Map<String, RuntimeException> failures = new ConcurrentHashMap<>();
    volatile @Nullable String unready;
    private final AtomicInteger mark = new AtomicInteger();

    /** Done by the thread of each call of a part. */
    volatile Runnable within = () -> {};

    private final Map<Class<?>, Object> written =
            Map.of(
                    ExecService.class, execs,
                    FileService.class, files,
                    ContentService.class, files,
                    PortService.class, ports,
                    Idempotency.class, idempotency);

    /** One call of a part. */
    record Call(String part, String method, List<@Nullable Object> arguments) {
        Caller caller() {
            return (Caller) Objects.requireNonNull(arguments.getFirst());
        }
    }

    static Caller caller(String tenant, Role role) {
        return new Caller(
                tenant,
                "0000000" + tenant.charAt(0),
                tenant,
                role,
                Set.of(),
                null,
                false,
                Map.of(),
                null,
                Proof.NONE);
    }

    Control control() {
        return (Control) proxy(Control.class);
    }

    List<Call> calls(String part, String method) {
        return calls.stream()
                .filter(call -> call.part().equals(part) && call.method().equals(method))
                .toList();
    }

    private Object proxy(Class<?> type) {
        return Proxy.newProxyInstance(
                type.getClassLoader(),
                new Class<?>[] {type},
                (proxy, method, arguments) ->
                        call(type, method, arguments == null ? new Object[0] : arguments));
    }

    private @Nullable Object call(Class<?> type, Method method, Object[] arguments)
            throws Throwable {
        String name = type.getSimpleName() + "." + method.getName();
        RuntimeException failure = failures.get(name);
        if (type == Control.class) {
            if (failure != null) {
                throw failure;
            }
            return control(method, arguments);
        }
        calls.add(
                new Call(type.getSimpleName(), method.getName(), Arrays.asList(arguments.clone())));
        if (failure != null) {
            throw failure;
        }
        within.run();
        Object by = written.get(type);
        if (by == null) {
            return sample(method, arguments);
        }
        try {
            return method.invoke(by, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    private @Nullable Object control(Method method, Object[] arguments) {
        return switch (method.getName()) {
            case "authenticate" -> proving(authenticate((String) arguments[0]), null);
            case "authenticateToken" -> authenticateToken((String) arguments[0]);
            case "actFor" -> actFor((Caller) arguments[0], (String) arguments[1]);
            case "requireStill" -> {
                requireStill((Caller) arguments[0]);
                yield null;
            }
            case "requireService" -> null;
            case "require" -> {
                require((Caller) arguments[0], (String) arguments[1]);
                yield null;
            }
            case "unready" -> unready;
            case "hashCode" -> 1;
            default ->
                    method.getReturnType().isInterface()
                            ? proxy(method.getReturnType())
                            : Samples.of(method.getGenericReturnType());
        };
    }

    private static Caller authenticate(String key) {
        String digits = key.replaceFirst("caisson_|e2b_", "");
        if (digits.equals("a".repeat(40))) {
            return caller("alpha", Role.ADMIN);
        }
        if (digits.equals("b".repeat(40))) {
            return caller("beta", Role.ADMIN);
        }
        if (digits.equals("c".repeat(40))) {
            return caller("gamma", Role.AUDITOR);
        }
        throw CaissonException.of(ErrorCode.UNAUTHENTICATED, "No.");
    }

    /** All keys have another secret from now on. */
    void rotate() {
        mark.incrementAndGet();
    }

    private void requireStill(Caller caller) {
        if (!caller.proof().mark().equals(mark.toString())) {
            throw CaissonException.of(ErrorCode.UNAUTHENTICATED, "No more.");
        }
    }

    /** An agent whose token ends then. */
    static Caller ending(String tenant, Instant until) {
        return presenting(caller(tenant, Role.AGENT), new Proof("", until));
    }

    /** The same who has presented the secret of now. */
    private Caller proving(Caller caller, @Nullable Instant until) {
        return presenting(caller, new Proof(mark.toString(), until));
    }

    private static Caller presenting(Caller caller, Proof proof) {
        return new Caller(
                caller.tenant(),
                caller.keyId(),
                caller.subject(),
                caller.role(),
                caller.scopes(),
                caller.policy(),
                caller.actingFor(),
                caller.claimed(),
                caller.traceId(),
                proof);
    }

    private Caller authenticateToken(String token) {
        if (token.equals("oidc.good.token")) {
            return proving(caller("oidc", Role.AGENT), Instant.now().plusSeconds(20));
        }
        throw CaissonException.of(ErrorCode.UNAUTHENTICATED, "No.");
    }

    private Caller actFor(Caller caller, String tenant) {
        calls.add(new Call("Control", "actFor", Arrays.asList(caller, tenant)));
        return new Caller(
                tenant,
                caller.keyId(),
                caller.subject(),
                caller.role(),
                Set.of(),
                null,
                true,
                Map.of(),
                null,
                caller.proof());
    }

    private static void require(Caller caller, String scope) {
        if (caller.role() == Role.AUDITOR && scope.endsWith(":write")) {
            throw CaissonException.of(ErrorCode.POLICY_DENIED, "This key may not write.");
        }
        if (!caller.scopes().isEmpty() && !caller.scopes().contains(scope)) {
            throw CaissonException.of(ErrorCode.POLICY_DENIED, "This key is narrower.");
        }
    }

    private static @Nullable Object sample(Method method, Object[] arguments) throws Exception {
        for (Object argument : arguments) {
            switch (argument) {
                case Follower follower -> {
                    follower.accept(FakeExecs.item("1", "started"));
                    follower.accept(FakeExecs.item("2", "exit"));
                }
                case EventService.EventFollower follower -> {
                    follower.accept((EventJson) Samples.of(EventJson.class));
                    follower.accept(null);
                }
                case FileService.WatchSink sink ->
                        sink.accept(new WatchJson("1", Instant.EPOCH, "ready", null, null));
                case InputStream input -> input.readAllBytes();
                case OutputStream output -> output.write(bytes("archive"));
                case null, default -> {
                    // Nothing to do with it.
                }
            }
        }
        return method.getReturnType() == InputStream.class
                ? new ByteArrayInputStream(bytes("content"))
                : Samples.of(method.getGenericReturnType());
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    static StreamItem sampleItem() {
        return FakeExecs.item("1", "started");
    }
}
