package dev.caisson.cli;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Options that say when a sandbox ends. */
final class AskedLife {
    @Option(
            names = "--lifetime",
            paramLabel = "TIME",
            converter = Converters.Time.class,
            description = "it ends that long from now, unless extended")
    private @Nullable Duration lifetime;

    @Option(
            names = "--idle",
            paramLabel = "TIME",
            converter = Converters.Time.class,
            description = "it ends when unused that long")
    private @Nullable Duration idle;

    @Option(
            names = "--max-life",
            paramLabel = "TIME",
            converter = Converters.Time.class,
            description = "it ends after that, whatever happens")
    private @Nullable Duration maxLife;

    @Option(
            names = "--on-timeout",
            paramLabel = "delete|pause",
            description = "what its end means (delete)")
    private @Nullable String onTimeout;

    @Option(names = "--auto-resume", description = "a use of a paused one resumes it")
    private boolean autoResume;

    @Nullable Long timeoutMillis() {
        return millis(lifetime);
    }

    @Nullable Long idleTimeoutMillis() {
        return millis(idle);
    }

    @Nullable Long maxLifeMillis() {
        return millis(maxLife);
    }

    @Nullable String onTimeout() {
        return onTimeout;
    }

    boolean autoResume() {
        return autoResume;
    }

    private static @Nullable Long millis(@Nullable Duration time) {
        return time == null ? null : time.toMillis();
    }
}
