package dev.caisson.api;

import java.util.List;
import java.util.ServiceLoader;

/**
 * Creates sandboxes. Open one per program and keep it: sandboxes of a closed {@code Caisson} end.
 *
 * <pre>{@code
 * try (Caisson caisson = Caisson.open();
 *         Sandbox sandbox = caisson.create()) {
 *     sandbox.files().write("/work/hello.py", "print('hello')");
 *     ExecResult result = sandbox.exec("python3", "hello.py");
 *     System.out.print(result.stdout().text());
 * }
 * }</pre>
 */
public interface Caisson extends AutoCloseable {

    /**
     * Opens the server that the environment variable {@code CAISSON_URL} names, or else the first
     * provider on the class or module path (normally the embedded one), without an event sink.
     *
     * @throws CaissonException {@link ErrorCode#NOT_AVAILABLE} when no provider is there; whatever
     *     the provider says about this host, for instance {@link ErrorCode#LAUNCHER_UNAVAILABLE}
     */
    static Caisson open() {
        return open(EventSink.NONE);
    }

    /**
     * Opens the server that the environment variable {@code CAISSON_URL} names, or else the first
     * provider on the class or module path. A server that is named and cannot be used is an error;
     * nothing is ever run on this host in its place.
     *
     * @param events told about every step of every sandbox; see {@link EventSink} for its duties
     */
    static Caisson open(EventSink events) {
        return provider(System.getenv().getOrDefault("CAISSON_URL", "")).open(events);
    }

    private static CaissonProvider provider(String url) {
        return url.isBlank()
                ? first(CaissonProvider.class, "caisson-embedded")
                : first(RemoteCaissonProvider.class, "caisson-client");
    }

    private static <P extends CaissonProvider> P first(Class<P> kind, String artifact) {
        return ServiceLoader.load(kind)
                .findFirst()
                .orElseThrow(() ->
                        CaissonException.of(
                                        ErrorCode.NOT_AVAILABLE,
                                        "No Caisson implementation is on the class or module path.")
                                .withRemedy("Add " + artifact + " to the program's dependencies."));
    }

    /**
     * Creates a sandbox with every default: closed network, every limit set, template {@code host}.
     */
    default Sandbox create() {
        return create(SandboxSpec.defaults());
    }

    /**
     * Creates a sandbox, ready for commands when this returns. The caller closes it.
     *
     * @throws CaissonException {@link ErrorCode#TIER_UNAVAILABLE}, {@link ErrorCode#UNSUPPORTED}
     *     when this host cannot enforce a limit, {@link ErrorCode#NO_CAPACITY}, {@link
     *     ErrorCode#INVALID}
     */
    Sandbox create(SandboxSpec spec);

    /**
     * Runs a whole life in one call: create, put files, exec, collect results, destroy. Output is
     * captured.
     */
    default RunResult run(RunSpec spec) {
        return run(spec, RunListener.NONE);
    }

    /**
     * Runs a whole life in one call and streams its output.
     *
     * <p>An interrupt of the calling thread ends the sandbox at once and throws with {@link
     * ErrorCode#CANCELLED}.
     *
     * @param listener called from threads of this library, one call at a time
     * @throws CaissonException when the command could not be run at all ({@link
     *     ErrorCode#COMMAND_NOT_FOUND}, {@link ErrorCode#NOT_EXECUTABLE}, {@link
     *     ErrorCode#INTERPRETER_MISSING} …). A command that ran and failed is a result, not an
     *     exception.
     */
    RunResult run(RunSpec spec, RunListener listener);

    /** The sandboxes of this {@code Caisson} that have not ended, oldest first. */
    List<Sandbox> sandboxes();

    /** What this implementation and this host can do. */
    HostInfo info();

    /**
     * Ends every sandbox of this {@code Caisson} and gives back all resources. Does nothing the
     * second time.
     */
    @Override
    void close();
}
