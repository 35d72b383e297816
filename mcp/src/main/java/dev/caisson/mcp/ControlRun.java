package dev.caisson.mcp;

import dev.caisson.api.CaissonException;
import dev.caisson.control.Caller;
import dev.caisson.control.Control;
import dev.caisson.v1.ExecJson;
import dev.caisson.v1.RunJson;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A run of the service. */
final class ControlRun implements Work {
    private final Control control;
    private final Caller caller;
    private final String id;

    ControlRun(Control control, Caller caller, RunJson run) {
        this.control = control;
        this.caller = caller;
        this.id = run.id();
    }

    @Override
    public String id() {
        return id;
    }

    @Override
    public Status status() {
        return status(control.runs().find(caller, id));
    }

    @Override
    public Status await(Duration longest) {
        Optional<RunJson> ended = control.runs().await(caller, id, longest);
        return ended.map(this::status).orElseGet(this::status);
    }

    private Status status(RunJson run) {
        Optional<ExecJson> waiting =
                run.state().equals("running") ? waiting(run.exec()) : Optional.empty();
        return new Status(
                waiting.map(ExecJson::state).orElse(run.state()),
                run.sandbox(),
                run.result(),
                run.error(),
                waiting.map(ExecJson::approval).orElse(null));
    }

    /** The exec of the run, where it waits for an approval. */
    private Optional<ExecJson> waiting(@Nullable String exec) {
        if (exec == null) {
            return Optional.empty();
        }
        try {
            return Optional.of(control.execs().find(caller, exec))
                    .filter(found -> found.approval() != null)
                    .filter(found -> found.state().equals("waiting_approval"));
        } catch (CaissonException e) {
            // The run has just ended, or this key may not read execs: it waits for nothing we know.
            return Optional.empty();
        }
    }

    @Override
    public Piece output(boolean stderr, long offset, int length) {
        return OutputReader.read(
                status().result(),
                follower -> control.runs().follow(caller, id, null, follower),
                stderr,
                offset,
                length);
    }

    @Override
    public void kill() {
        if (!status().over()) {
            control.runs().delete(caller, id);
        }
    }
}
