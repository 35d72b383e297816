package dev.caisson.core;

import dev.caisson.api.CaissonException;
import dev.caisson.api.EndReason;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.EventType;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.Limits;
import dev.caisson.api.SandboxFiles;
import dev.caisson.api.Tunnel;
import dev.caisson.api.UserInfo;
import dev.caisson.api.Watch;
import dev.caisson.api.WatchListener;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A sandbox that may outlive its client: for servers. Safe for use by several threads. */
public final class HostedSandbox implements AutoCloseable {
    private HostedSandbox() {}

    /**
     * How a sandbox is used.
     *
     * @param firstEpoch 0 to 2^31-1; above every one that was used with this sandbox before, so
     *     that numbers of connections and of streams never repeat: for instance the number of the
     *     server's start
     * @param env environment of every exec, beneath the exec's own
     * @param allowDegraded whether a host that cannot do all is accepted
     * @param limits of execs: timeout, open files, output
     */
    public record HostedSettings(
            long firstEpoch, Map<String, String> env, boolean allowDegraded, Limits limits) {
        /** Copies the map. */
        public HostedSettings {
            env = Map.copyOf(env);
        }
    }

    /** Told what happens to a sandbox. */
    public interface HostedListener {
        /** The sandbox is gone, for whatever reason. Called once, on a thread of its own. */
        void ended(EngineSandbox.Ended ended);

        /**
         * A client did something with files or signals, or the data channel broke or came back;
         * what an exec does is told to its {@link ExecSink} only. Must not block.
         */
        default void event(
                EventType type, Optional<String> exec, String reason, Map<String, Object> data) {}
    }

    public static HostedSandbox create(
            Engine engine,
            EngineRequest request,
            HostedSettings settings,
            HostedListener listener) {
        throw todo();
    }

    public static HostedSandbox attach(
            Engine engine,
            String sandbox,
            long firstEpoch,
            HostedSettings settings,
            HostedListener listener) {
        throw todo();
    }

    private static CaissonException todo() {
        return CaissonException.of(ErrorCode.NOT_AVAILABLE, "Not yet.");
    }

    public String id() {
        throw todo();
    }

    public List<String> degraded() {
        throw todo();
    }

    public EngineSandbox engine() {
        throw todo();
    }

    public Duration setup() {
        throw todo();
    }

    public List<KnownExec> knownExecs() {
        throw todo();
    }

    public HostedExec start(String execId, ExecSpec spec, ExecSink sink) {
        throw todo();
    }

    public HostedExec adopt(KnownExec known, Position from, ExecSpec spec, ExecSink sink) {
        throw todo();
    }

    public SandboxFiles files() {
        throw todo();
    }

    public Tunnel dial(int port) {
        throw todo();
    }

    public Watch watch(String path, boolean recursive, WatchListener listener) {
        throw todo();
    }

    public UserInfo addUser(String name) {
        throw todo();
    }

    public EngineSandbox.Ended destroy(EndReason reason) {
        throw todo();
    }

    @Override
    public void close() {
        throw todo();
    }
}
