package dev.caisson.cli;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Tunnel;
import dev.caisson.client.ServiceClient;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code caisson forward}: a port inside, reachable on this machine. */
@Command(
        name = "forward",
        description = "Makes ports of a sandbox reachable on 127.0.0.1, until it is interrupted.",
        sortOptions = false,
        footer = {"", "Example:", "  caisson forward build 8080:18080"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class ForwardCommand extends ServerCommand {
    private static final int MOST_CONNECTIONS = 256;
    private static final int BUFFER = 16 << 10;

    @Parameters(index = "0", paramLabel = "ID", description = "id or name of a sandbox")
    private String id;

    @Parameters(
            index = "1..*",
            arity = "1..*",
            paramLabel = "PORT[:LOCAL]",
            description = "a port inside, and the one here (the same; 0: any)")
    private List<String> ports;

    private final Semaphore connections = new Semaphore(MOST_CONNECTIONS);

    @Override
    int run(ServiceClient client, Printer printer) {
        client.sandboxes().find(id); // there is nothing to listen for otherwise
        List<Thread> listeners = new ArrayList<>();
        for (String port : ports) {
            listeners.add(listen(client, printer, port));
        }
        for (Thread listener : listeners) {
            try {
                listener.join();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return 0;
            }
        }
        return 0;
    }

    private Thread listen(ServiceClient client, Printer printer, String words) {
        String[] parts = words.split(":", 2);
        int inside = port(parts[0]);
        boolean any = parts.length == 2 && parts[1].equals("0");
        int here = any ? 0 : port(parts[parts.length - 1]);
        try {
            // Whoever is on this machine may connect, nobody else.
            ServerSocket socket = new ServerSocket(here, 64, InetAddress.getLoopbackAddress());
            int local = socket.getLocalPort();
            printer.item(
                    Map.of("sandbox", id, "port", inside, "local", local),
                    "127.0.0.1:" + local,
                    "to port " + inside + " of " + id);
            return Thread.ofVirtual().start(() -> accept(client, socket, inside));
        } catch (IOException e) {
            throw CaissonException.of(
                            ErrorCode.INVALID, "Port " + here + " cannot be listened on: " + e, e)
                    .withRemedy("Name another one: " + inside + ":LOCAL.");
        }
    }

    private void accept(ServiceClient client, ServerSocket socket, int inside) {
        try (socket) {
            while (true) {
                Socket connection = socket.accept();
                Thread.ofVirtual().start(() -> serve(client, connection, inside));
            }
        } catch (IOException e) {
            main().streams().say("no longer listening: " + e.getMessage());
        }
    }

    private void serve(ServiceClient client, Socket connection, int inside) {
        connections.acquireUninterruptibly();
        try (connection;
                Tunnel tunnel = client.ports().dial(id, inside)) {
            Thread up = Thread.ofVirtual().start(() -> copy(connection, tunnel.output()));
            InputStream from = tunnel.input();
            byte[] first = first(from, inside);
            connection.getOutputStream().write(first);
            from.transferTo(connection.getOutputStream());
            connection.shutdownOutput();
            up.join();
        } catch (CaissonException e) {
            main().streams().say(Clean.text(Explain.failure(e)));
        } catch (IOException e) {
            // One side went away, which the other sees.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            connections.release();
        }
    }

    /** The first bytes; where the connection broke without any, nobody listens as a rule. */
    private byte[] first(InputStream from, int inside) throws IOException {
        byte[] bytes = new byte[BUFFER];
        try {
            return Arrays.copyOf(bytes, Math.max(0, from.read(bytes)));
        } catch (IOException e) {
            main().streams()
                    .say(
                            "port "
                                    + inside
                                    + " of "
                                    + Clean.text(id)
                                    + " cannot be reached: does a program listen there?");
            throw e;
        }
    }

    private static void copy(Socket connection, OutputStream inside) {
        try (inside) {
            InputStream from = connection.getInputStream();
            from.transferTo(inside);
        } catch (IOException e) {
            // One side went away, which the other sees.
        }
    }
}
