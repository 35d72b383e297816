package dev.caisson.cli;

import dev.caisson.serve.Serving;
import dev.caisson.serve.Settings;
import java.util.concurrent.CountDownLatch;

/** A server from its settings to its end. */
final class Serve {
    private Serve() {}

    /** Serves until the process is told to end. */
    static int run(Settings settings, Streams streams) {
        Serving serving = Serving.start(settings);
        welcome(serving, streams);
        CountDownLatch stopped = new CountDownLatch(1);
        Runtime.getRuntime()
                .addShutdownHook(
                        new Thread(
                                () -> {
                                    serving.close();
                                    stopped.countDown();
                                },
                                "caisson-stop"));
        try {
            stopped.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return 0;
    }

    private static void welcome(Serving serving, Streams streams) {
        String url = serving.url();
        streams.say("Caisson listens on " + url);
        String key = "$(cat " + serving.firstKeyFile() + ")";
        if (serving.firstKey().isPresent()) {
            streams.say("The first admin key is in " + serving.firstKeyFile());
            if (streams.errIsTerminal()) {
                key = String.valueOf(serving.firstKey().get().key());
                streams.say("and, shown once here:  " + key);
            }
        }
        streams.say("Try:");
        streams.say(
                "  curl -H \"Authorization: Bearer "
                        + key
                        + "\" -H 'Content-Type: application/json' \\");
        streams.say(
                "       -d '{\"language\":\"python\",\"code\":\"print(6*7)\"}' "
                        + url
                        + "/v1/runs");
    }
}
