package dev.caisson.mcp;

import dev.caisson.control.Caller;
import dev.caisson.control.Control;
import dev.caisson.v1.ExecJson;
import java.time.Duration;
import java.util.Optional;

/** An exec of the service. */
final class ControlExec implements Work {
    private final Control control;
    private final Caller caller;
    private final String id;

    ControlExec(Control control, Caller caller, ExecJson exec) {
        this.control = control;
        this.caller = caller;
        this.id = exec.id();
    }

    @Override
    public String id() {
        return id;
    }

    @Override
    public Status status() {
        return status(control.execs().find(caller, id));
    }

    @Override
    public Status await(Duration longest) {
        Optional<ExecJson> ended = control.execs().await(caller, id, longest);
        return ended.map(ControlExec::status).orElseGet(this::status);
    }

    private static Status status(ExecJson exec) {
        boolean waits = exec.state().equals("waiting_approval");
        return new Status(
                exec.state(),
                exec.sandbox(),
                exec.result(),
                exec.error(),
                waits ? exec.approval() : null);
    }

    @Override
    public Piece output(boolean stderr, long offset, int length) {
        return OutputReader.read(
                status().result(),
                follower -> control.execs().follow(caller, id, null, follower),
                stderr,
                offset,
                length);
    }

    @Override
    public void kill() {
        if (!status().over()) {
            control.execs().kill(caller, id);
        }
    }
}
