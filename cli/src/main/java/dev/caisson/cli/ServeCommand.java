package dev.caisson.cli;

import dev.caisson.serve.Serving;
import dev.caisson.serve.Settings;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.ParentCommand;

/** Serves sandboxes over HTTP. */
@Command(
        name = "serve",
        description = "Serves sandboxes over HTTP to many tenants.",
        footer = {
            "",
            "Started as root it starts the launcher, then serves as the user caisson.",
            "The first start makes an admin key: it is shown once on a terminal, and kept in the",
            "file admin.key of the data folder, which only its owner may read.",
            "",
            "Example:",
            "  sudo caisson serve",
            "  sudo caisson serve --listen 0.0.0.0:3900 --set hosts=sandboxes.example"
        })
final class ServeCommand implements Callable<Integer> {
    @ParentCommand
    @SuppressWarnings("NullAway.Init") // picocli sets it
    private Main main;

    @Mixin
    @SuppressWarnings("NullAway.Init") // picocli sets it
    private ServeOptions options;

    @Override
    public Integer call() throws InterruptedException {
        Settings settings = options.settings();
        Serving serving = Serving.start(settings);
        welcome(serving);
        CountDownLatch stopped = new CountDownLatch(1);
        Runtime.getRuntime()
                .addShutdownHook(
                        new Thread(
                                () -> {
                                    serving.close();
                                    stopped.countDown();
                                },
                                "caisson-stop"));
        stopped.await();
        return 0;
    }

    private void welcome(Serving serving) {
        Streams streams = main.streams();
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
