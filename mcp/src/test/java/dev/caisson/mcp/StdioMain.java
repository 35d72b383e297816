package dev.caisson.mcp;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/** A server process over standard streams, with a fake backend and a program that talks much. */
final class StdioMain {
    private StdioMain() {}

    /**
     * Serves until the end of the input.
     *
     * @param arguments a file that is told at the end which sandboxes were deleted
     */
    public static void main(String[] arguments) throws IOException {
        FakeBackend backend = new FakeBackend();
        Thread.ofVirtual()
                .start(() -> {
                    while (!Thread.currentThread().isInterrupted()) {
                        LockSupport.parkNanos(20_000_000);
                        if (System.out.equals(System.err)) {
                            System.out.println("a foreign line on standard output");
                        }
                    }
                });
        McpStdio.serveProcess(backend);
        Files.writeString(Path.of(arguments[0]), "deleted " + backend.deleted);
    }

    /** The command line of this process. */
    static List<String> command(Path report) {
        Path java = Path.of(System.getProperty("java.home"), "bin", "java");
        return List.of(
                java.toString(),
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                StdioMain.class.getName(),
                report.toString());
    }
}
