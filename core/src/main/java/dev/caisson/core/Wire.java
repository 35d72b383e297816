package dev.caisson.core;

import dev.caisson.api.ByteSize;
import dev.caisson.api.ExecReason;
import dev.caisson.api.FileType;
import dev.caisson.api.Limit;
import dev.caisson.api.OutputFd;
import dev.caisson.api.Usage;
import dev.caisson.api.WatchKind;
import java.time.Duration;

/**
 * Between the words of the protocol and those of the API. Numbers from inside are unsigned and may
 * be absurd.
 */
final class Wire {
    private Wire() {}

    static ExecReason reason(dev.caisson.wire.agent.ExecReason reason) {
        return switch (reason) {
            case REASON_EXITED -> ExecReason.EXITED;
            case REASON_SIGNALLED -> ExecReason.SIGNALLED;
            case REASON_TIMEOUT -> ExecReason.TIMEOUT;
            case REASON_OOM -> ExecReason.OOM;
            case REASON_OUTPUT -> ExecReason.OUTPUT;
            case REASON_CANCELLED -> ExecReason.CANCELLED;
            case REASON_KILLED -> ExecReason.KILLED;
            case REASON_ERROR -> ExecReason.ERROR;
            case REASON_UNKNOWN, UNRECOGNIZED -> ExecReason.UNKNOWN;
        };
    }

    static Limit limit(dev.caisson.wire.agent.Limit limit) {
        return switch (limit) {
            case LIMIT_MEMORY -> Limit.MEMORY;
            case LIMIT_PIDS -> Limit.PIDS;
            case LIMIT_DISK -> Limit.DISK;
            case LIMIT_INODES -> Limit.INODES;
            case LIMIT_OUTPUT -> Limit.OUTPUT;
            case LIMIT_TIME -> Limit.TIME;
            case LIMIT_CPU -> Limit.CPU;
            case LIMIT_IO -> Limit.IO;
            case LIMIT_EGRESS -> Limit.EGRESS;
            case LIMIT_UNKNOWN, UNRECOGNIZED -> Limit.UNKNOWN;
        };
    }

    static FileType type(dev.caisson.wire.agent.FileType type) {
        return switch (type) {
            case FILE_TYPE_REGULAR -> FileType.REGULAR;
            case FILE_TYPE_DIRECTORY -> FileType.DIRECTORY;
            case FILE_TYPE_SYMLINK -> FileType.SYMLINK;
            case FILE_TYPE_FIFO -> FileType.FIFO;
            case FILE_TYPE_SOCKET -> FileType.SOCKET;
            case FILE_TYPE_DEVICE -> FileType.DEVICE;
            case FILE_TYPE_UNKNOWN, UNRECOGNIZED -> FileType.UNKNOWN;
        };
    }

    static WatchKind kind(dev.caisson.wire.agent.WatchKind kind) {
        return switch (kind) {
            case WATCH_CREATED -> WatchKind.CREATED;
            case WATCH_WRITTEN -> WatchKind.WRITTEN;
            case WATCH_REMOVED -> WatchKind.REMOVED;
            case WATCH_RENAMED -> WatchKind.RENAMED;
            case WATCH_ATTRIBUTES -> WatchKind.ATTRIBUTES;
            case WATCH_UNKNOWN, UNRECOGNIZED -> WatchKind.UNKNOWN;
        };
    }

    static OutputFd fd(dev.caisson.wire.agent.OutputFd fd) throws ProtocolException {
        return switch (fd) {
            case STDOUT -> OutputFd.STDOUT;
            case STDERR -> OutputFd.STDERR;
            case PTY -> OutputFd.PTY;
            case UNRECOGNIZED -> throw new ProtocolException("Output of an unknown descriptor.");
        };
    }

    static Usage usage(dev.caisson.wire.agent.Usage usage) {
        return new Usage(
                micros(usage.getWallMicros()),
                micros(usage.getCpuMicros()),
                micros(usage.getCpuThrottledMicros()),
                size(usage.getPeakMemoryBytes()),
                positive(usage.getMemoryByteMillis()) / 1000,
                size(usage.getDiskBytes()),
                size(usage.getEgressBytes()));
    }

    /** An unsigned number of the wire as one that is at most {@link Long#MAX_VALUE}. */
    static long positive(long unsigned) {
        return unsigned < 0 ? Long.MAX_VALUE : unsigned;
    }

    static Duration micros(long unsigned) {
        return Duration.ofNanos(Math.min(positive(unsigned), Long.MAX_VALUE / 1000) * 1000);
    }

    static ByteSize size(long unsigned) {
        return ByteSize.of(positive(unsigned));
    }
}
