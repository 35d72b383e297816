package dev.caisson.control;

import dev.caisson.api.Tier;
import dev.caisson.core.Engine;
import dev.caisson.core.EngineRequest;
import dev.caisson.core.EngineSandbox;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** An engine that only remembers what it was told of groups. */
final class FakeEngine implements Engine {
    private final List<String> told = new CopyOnWriteArrayList<>();

    List<String> told() {
        return List.copyOf(told);
    }

    @Override
    public void setGroup(String group, GroupLimits limits) {
        told.add(group + " " + limits);
    }

    @Override
    public String name() {
        return "fake";
    }

    @Override
    public Tier tier() {
        return Tier.CONTAINER;
    }

    @Override
    public Capabilities capabilities() {
        return new Capabilities(false, false, false, false);
    }

    @Override
    public HostFacts host() {
        return new HostFacts("0", List.of(), List.of());
    }

    @Override
    public String reserve(String group) {
        throw new UnsupportedOperationException("No sandboxes in " + group);
    }

    @Override
    public EngineSandbox create(EngineRequest request) {
        throw new UnsupportedOperationException("No sandboxes for " + request);
    }

    @Override
    public EngineSandbox attach(String sandbox) {
        throw new UnsupportedOperationException("No sandbox " + sandbox);
    }

    @Override
    public void close() {}
}
