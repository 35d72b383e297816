package dev.caisson.core;

import dev.caisson.api.CaissonException;
import dev.caisson.api.EventType;
import dev.caisson.api.ExecResult;
import dev.caisson.api.Limit;
import java.util.HashMap;
import java.util.Map;

/** Turns the steps of an exec into events. */
record ExecEvents(Reporter reporter) implements ExecObserver {

    @Override
    public void limitHit(Limit limit) {
        reporter.emit(EventType.LIMIT_HIT, limit.value(), Map::of);
    }

    @Override
    public void ended(ExecResult result) {
        reporter.emit(
                EventType.EXEC_ENDED,
                result.reason().value(),
                () -> {
                    Map<String, Object> data = new HashMap<>(LiveExec.usageData(result.usage()));
                    result.exitCode().ifPresent(code -> data.put("exitCode", (long) code));
                    result.signal().ifPresent(signal -> data.put("signal", (long) signal));
                    data.put("limitsHit", result.limitsHit().stream().map(Limit::value).toList());
                    return data;
                });
    }

    @Override
    public void redacted(long count) {
        new RedactionEvents(reporter).redacted(count);
    }

    @Override
    public void failed(CaissonException cause) {
        reporter.emit(
                EventType.EXEC_FAILED,
                cause.code().value(),
                () -> Map.of("message", cause.message()));
    }
}
