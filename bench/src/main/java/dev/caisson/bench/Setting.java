package dev.caisson.bench;

import dev.caisson.api.Caisson;
import java.nio.file.Path;

/**
 * What every measure is given.
 *
 * @param checkout root of the source tree
 * @param work an empty folder on a real disk, removed at the end
 * @param pace the compiled {@code peers/pace.c}
 * @param quick fewer runs: to see that everything works, not to publish
 * @param startDocker whether a Docker engine may be started
 */
record Setting(Path checkout, Path work, Path pace, boolean quick, boolean startDocker) {

    /** The compiled {@code peers/load.c}. */
    Path load() {
        return pace.resolveSibling("load");
    }

    /** The compiled {@code peers/net.c}. */
    Path net() {
        return pace.resolveSibling("net");
    }

    /** How often something is done. */
    int times(int usually, int whenQuick) {
        return quick ? whenQuick : usually;
    }

    /**
     * Makes and ends sandboxes until the JVM has compiled what is measured and the launcher's stock
     * is full.
     */
    void warmUp(Caisson caisson) {
        for (int i = 0; i < times(300, 30); i++) {
            Life.once(caisson);
        }
    }
}
