package dev.caisson.bench;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Contestants that take turns in blocks, A B A B, so that whatever the machine does meanwhile meets
 * all of them. After each block there is a rest, in which its background work ends.
 *
 * @param blocks turns of each
 * @param interval between starts within a block; zero: back to back
 */
record Duel(int blocks, Duration interval) {
    private static final Duration REST = Duration.ofMillis(150);

    /** One block of one contestant. */
    interface Contestant {
        /** Runs {@code count} times; nanoseconds of each. */
        List<Long> run(int count, Duration interval);
    }

    /**
     * A contestant with its block.
     *
     * @param count runs per block
     */
    record Entry(String name, int count, Contestant contestant) {}

    /** Lets them take turns; samples by name. */
    Map<String, Samples> fight(List<Entry> entries) {
        Map<String, Samples> results = new LinkedHashMap<>();
        entries.forEach(entry -> results.put(entry.name(), new Samples()));
        for (int block = 0; block < blocks; block++) {
            for (Entry entry : entries) {
                Samples samples = results.get(entry.name());
                if (samples != null) {
                    samples.addAll(entry.contestant().run(entry.count(), interval));
                }
                Pace.rest(REST);
            }
        }
        return results;
    }
}
