package dev.caisson.engine.namespaces;

import com.google.protobuf.ByteString;
import dev.caisson.api.ByteSize;
import dev.caisson.api.Usage;
import dev.caisson.core.Engine;
import dev.caisson.core.EngineRequest;
import dev.caisson.core.EngineSandbox;
import dev.caisson.core.VolumeMount;
import dev.caisson.wire.launcher.Create;
import dev.caisson.wire.launcher.Disk;
import dev.caisson.wire.launcher.Limits;
import dev.caisson.wire.launcher.Living;
import dev.caisson.wire.launcher.Observed;
import dev.caisson.wire.launcher.SandboxUsage;
import dev.caisson.wire.launcher.SetGroup;
import java.time.Duration;
import java.util.Optional;

/** Between the words of the launcher's protocol and those of the core. */
final class Messages {
    private static final long MIN_CPU_MILLIS = 10;
    private static final double MILLIS = 1000;

    private Messages() {}

    static Create create(EngineRequest request) {
        Create.Builder create =
                Create.newBuilder()
                        .setSandbox(request.sandbox())
                        .setGroup(request.group())
                        .setTemplate(request.template())
                        .setLimits(limits(request.limits()))
                        .setRoot(request.root())
                        .setEgress(request.egress().isPresent());
        request.lease().ifPresent(lease -> create.setLeased(true).setLeaseMillis(lease.toMillis()));
        request.maxLife().ifPresent(life -> create.setMaxLifeMillis(life.toMillis()));
        request.snapshot().ifPresent(create::setSnapshot);
        request.volumes().forEach(volume -> create.addVolumes(mount(volume)));
        return create.build();
    }

    private static dev.caisson.wire.launcher.VolumeMount mount(VolumeMount volume) {
        return dev.caisson.wire.launcher.VolumeMount.newBuilder()
                .setVolume(volume.volume())
                .setPath(ByteString.copyFromUtf8(volume.path()))
                .setReadOnly(volume.readOnly())
                .build();
    }

    static Limits limits(dev.caisson.api.Limits limits) {
        Limits.Builder wire =
                Limits.newBuilder()
                        .setCpuMillis(cpuMillis(limits.cpus()))
                        .setMemoryBytes(limits.memory().bytes())
                        .setPids(limits.pids())
                        .setDiskBytes(limits.disk().bytes())
                        .setInodes(limits.inodes());
        limits.ioRate().ifPresent(rate -> wire.setIoBytesPerSecond(rate.bytes()));
        return wire.build();
    }

    private static long cpuMillis(double cpus) {
        return Math.max(MIN_CPU_MILLIS, Math.round(cpus * MILLIS));
    }

    static SetGroup group(String group, Engine.GroupLimits limits) {
        SetGroup.Builder wire = SetGroup.newBuilder().setGroup(group).setWeight(limits.weight());
        limits.memory().ifPresent(memory -> wire.setMemoryBytes(memory.bytes()));
        limits.pids().ifPresent(wire::setPids);
        limits.cpus().ifPresent(cpus -> wire.setCpuMillis(cpuMillis(cpus)));
        return wire.build();
    }

    static Engine.Living living(Living living) {
        return new Engine.Living(
                living.getSandbox(),
                living.getGroup(),
                living.getLeased(),
                living.getFrozen(),
                millis(living.getLeaseLeftMillis()),
                living.getMaxLifeLeftMillis() == 0
                        ? Optional.empty()
                        : Optional.of(millis(living.getMaxLifeLeftMillis())));
    }

    static Engine.SavedDisk disk(Disk disk) {
        return new Engine.SavedDisk(
                disk.getId(), size(disk.getDiskBytes()), size(disk.getAllocatedBytes()));
    }

    static EngineSandbox.Observation observation(Observed observed) {
        return new EngineSandbox.Observation(
                usage(observed.getUsage()),
                size(observed.getMemoryBytes()),
                positive(observed.getPids()),
                size(observed.getDiskUsedBytes()),
                positive(observed.getInodesUsed()),
                observed.getFrozen(),
                positive(observed.getIoBytes()),
                observed.hasLimits()
                        ? Optional.of(enforced(observed.getLimits()))
                        : Optional.empty());
    }

    private static EngineSandbox.Enforced enforced(Limits limits) {
        return new EngineSandbox.Enforced(
                positive(limits.getCpuMillis()),
                size(limits.getMemoryBytes()),
                positive(limits.getPids()));
    }

    static Usage usage(SandboxUsage usage) {
        return new Usage(
                micros(usage.getWallMicros()),
                micros(usage.getCpuMicros()),
                micros(usage.getCpuThrottledMicros()),
                size(usage.getPeakMemoryBytes()),
                0,
                size(usage.getDiskBytes()),
                ByteSize.of(0));
    }

    static Duration micros(long micros) {
        return Duration.ofNanos(Math.clamp(micros, 0, Long.MAX_VALUE / 1000) * 1000);
    }

    private static Duration millis(long millis) {
        return Duration.ofMillis(positive(millis));
    }

    static ByteSize size(long bytes) {
        return ByteSize.of(positive(bytes));
    }

    private static long positive(long number) {
        return Math.max(0, number);
    }
}
