package dev.caisson.cli;

import dev.caisson.serve.ServeConfig;
import dev.caisson.serve.Serving;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParentCommand;

/** Serves sandboxes over HTTP. */
@Command(
        name = "serve",
        description = "Serves sandboxes over HTTP to many tenants.",
        footer = {"", "Example:", "  sudo caisson serve --listen 127.0.0.1:3900"})
final class ServeCommand implements Callable<Integer> {
    @ParentCommand
    @SuppressWarnings("NullAway.Init") // picocli sets it
    private Main main;

    @Option(
            names = "--listen",
            paramLabel = "ADDRESS:PORT",
            description = "where the API answers (default ${DEFAULT-VALUE})")
    private String listen = "127.0.0.1:3900";

    @Option(
            names = "--data",
            paramLabel = "DIR",
            description = "folder of everything that is kept (default ${DEFAULT-VALUE})")
    private Path data = Path.of("/var/lib/caisson/server");

    @Option(
            names = "--launcher",
            paramLabel = "SOCKET",
            description = "socket of the launcher (default ${DEFAULT-VALUE})")
    private Path launcher = Path.of("/run/caisson/launcher.sock");

    @Override
    public Integer call() throws InterruptedException {
        int colon = listen.lastIndexOf(':');
        InetSocketAddress address =
                new InetSocketAddress(
                        listen.substring(0, colon), Integer.parseInt(listen.substring(colon + 1)));
        Serving serving =
                Serving.start(
                        new ServeConfig(
                                address,
                                Optional.empty(),
                                "localhost",
                                Set.of(),
                                data,
                                "sqlite:" + data.resolve("caisson.db").toAbsolutePath(),
                                "main",
                                launcher));
        String url = "http://" + listen;
        main.streams().say("Caisson listens on " + url);
        serving.firstKey()
                .ifPresent(key -> main.streams().say("first admin key: " + key.key()));
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
}
