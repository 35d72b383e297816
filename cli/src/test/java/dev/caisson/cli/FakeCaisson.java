package dev.caisson.cli;

import dev.caisson.api.ByteSize;
import dev.caisson.api.Caisson;
import dev.caisson.api.CaissonException;
import dev.caisson.api.CapturedOutput;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.ExecReason;
import dev.caisson.api.ExecResult;
import dev.caisson.api.HostInfo;
import dev.caisson.api.Limit;
import dev.caisson.api.OutputFd;
import dev.caisson.api.RunListener;
import dev.caisson.api.RunResult;
import dev.caisson.api.RunSpec;
import dev.caisson.api.Sandbox;
import dev.caisson.api.SandboxSpec;
import dev.caisson.api.Tier;
import dev.caisson.api.Usage;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/** Runs nothing: remembers what it was asked for and plays what it was told. */
final class FakeCaisson implements Caisson {
    /** One thing that happens during a run. */
    interface Step {
        void play(RunListener listener);
    }

    private final List<Step> steps = new ArrayList<>();
    private ExecResult result = exited(0);
    private Optional<CaissonException> failure = Optional.empty();
    private Optional<RunSpec> asked = Optional.empty();
    private boolean closed;

    static ExecResult exited(int code) {
        return ended(ExecReason.EXITED, OptionalInt.of(code), OptionalInt.empty());
    }

    static ExecResult ended(ExecReason reason, OptionalInt code, OptionalInt signal) {
        return new ExecResult(
                code,
                signal,
                reason,
                List.of(),
                CapturedOutput.EMPTY,
                CapturedOutput.EMPTY,
                List.of(),
                List.of(),
                List.of(),
                new Usage(
                        Duration.ofMillis(12),
                        Duration.ofMillis(8),
                        Duration.ZERO,
                        ByteSize.ofMib(3),
                        1000,
                        ByteSize.of(4096),
                        ByteSize.of(0)),
                List.of());
    }

    static ExecResult met(int code, Limit... limits) {
        ExecResult plain = exited(code);
        return new ExecResult(
                plain.exitCode(),
                plain.signal(),
                plain.reason(),
                List.of(limits),
                plain.stdout(),
                plain.stderr(),
                plain.results(),
                plain.files(),
                plain.denied(),
                plain.usage(),
                plain.degraded());
    }

    static RunResult run(ExecResult result) {
        return new RunResult(
                "ru" + "a".repeat(20),
                "sb" + "b".repeat(20),
                "se" + "c".repeat(20),
                Tier.CONTAINER,
                "namespaces",
                result,
                List.of("true"));
    }

    FakeCaisson returns(ExecResult given) {
        result = given;
        return this;
    }

    FakeCaisson fails(CaissonException given) {
        failure = Optional.of(given);
        return this;
    }

    FakeCaisson writes(OutputFd fd, byte[] bytes) {
        steps.add(listener -> listener.output(fd, ByteBuffer.wrap(bytes).asReadOnlyBuffer()));
        return this;
    }

    FakeCaisson writes(OutputFd fd, String text) {
        return writes(fd, text.getBytes(StandardCharsets.UTF_8));
    }

    FakeCaisson then(Step step) {
        steps.add(step);
        return this;
    }

    RunSpec asked() {
        return asked.orElseThrow(() -> new AssertionError("nothing was run"));
    }

    boolean wasAsked() {
        return asked.isPresent();
    }

    boolean closed() {
        return closed;
    }

    @Override
    public RunResult run(RunSpec spec, RunListener listener) {
        asked = Optional.of(spec);
        for (Step step : steps) {
            try {
                step.play(listener);
            } catch (RuntimeException e) {
                throw CaissonException.of(ErrorCode.CANCELLED, "The listener failed.", e);
            }
        }
        failure.ifPresent(given -> {
            throw given;
        });
        return run(result);
    }

    @Override
    public Sandbox create(SandboxSpec spec) {
        throw new AssertionError("the command line creates no sandboxes of its own");
    }

    @Override
    public List<Sandbox> sandboxes() {
        return List.of();
    }

    @Override
    public HostInfo info() {
        throw new AssertionError("not asked");
    }

    @Override
    public void close() {
        closed = true;
    }
}
