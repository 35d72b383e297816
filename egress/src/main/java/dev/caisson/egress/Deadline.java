package dev.caisson.egress;

/** Closes what takes too long. */
final class Deadline {
    private Deadline() {}

    /** Closes it after a time, unless the thread that is returned is interrupted before. */
    static Thread close(Duplex duplex, long millis) {
        return Thread.ofVirtual()
                .name("egress-deadline")
                .start(() -> {
                    try {
                        Thread.sleep(millis);
                        duplex.close();
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt(); // in time
                    }
                });
    }
}
