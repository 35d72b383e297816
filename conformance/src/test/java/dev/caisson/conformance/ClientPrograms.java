package dev.caisson.conformance;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.caisson.api.Sandbox;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Clients that are compiled on the host and put into a sandbox. */
final class ClientPrograms {
    /** Either client of the JDK, and its resolver. */
    private static final String JAVA =
            """
            import java.net.InetAddress;
            import java.net.URI;
            import java.net.http.HttpClient;
            import java.net.http.HttpRequest;
            import java.net.http.HttpResponse;
            import java.util.Arrays;
            public class Fetch {
                public static void main(String[] args) throws Exception {
                    URI uri = URI.create(args[1]);
                    if (args[0].equals("lookup")) {
                        System.out.println(Arrays.toString(InetAddress.getAllByName(uri.getHost())));
                    } else if (args[0].equals("HttpClient")) {
                        System.out.println(HttpClient.newHttpClient().send(
                                HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofString()).body());
                    } else {
                        System.out.write(uri.toURL().openConnection().getInputStream().readAllBytes());
                        System.out.flush();
                    }
                }
            }
            """;

    private static final String GO =
            """
            package main

            import (
            	"fmt"
            	"io"
            	"net"
            	"net/http"
            	"os"
            )

            func main() {
            	if os.Args[1] == "lookup" {
            		addresses, _ := net.LookupHost(os.Args[2])
            		fmt.Println(addresses)
            		return
            	}
            	answer, err := http.Get(os.Args[1])
            	if err != nil {
            		fmt.Fprintln(os.Stderr, err)
            		os.Exit(1)
            	}
            	io.Copy(os.Stdout, answer.Body)
            }
            """;
    private static final String C =
            """
            #include <arpa/inet.h>
            #include <netdb.h>
            #include <stdio.h>
            int main(int count, char **words) {
                struct addrinfo *found, hints = {.ai_socktype = SOCK_STREAM};
                int error = getaddrinfo(words[1], "80", &hints, &found);
                if (error) return fprintf(stderr, "%s\\n", gai_strerror(error)), 1;
                for (; found; found = found->ai_next) {
                    char text[64] = "";
                    if (found->ai_family == AF_INET)
                        inet_ntop(AF_INET, &((struct sockaddr_in *) found->ai_addr)->sin_addr, text, sizeof text);
                    puts(text);
                }
            }
            """;
    private static final int EXECUTABLE = 0b111_101_101;
    private static final Path COMPILER = Path.of("/usr/local/go/bin/go");

    private static byte[] go = {};

    private ClientPrograms() {}

    /** The Javas that sandboxes see, each once. */
    static List<Path> javas() {
        return HostView.entries(Path.of("/usr/lib/jvm")).stream()
                .filter(home -> !Files.isSymbolicLink(home))
                .map(home -> home.resolve("bin/java"))
                .filter(Files::isExecutable)
                .sorted()
                .toList();
    }

    /** Puts the Java client beneath /work. */
    static void putJava(Sandbox sandbox) throws IOException, InterruptedException {
        Path folder = Files.createTempDirectory("caisson-fetch");
        try {
            Path source = folder.resolve("Fetch.java");
            Files.writeString(source, JAVA);
            Path javac = Path.of(System.getProperty("java.home"), "bin", "javac");
            Lab.Outside done =
                    Lab.outside(
                            javac.toString(),
                            "--release",
                            "17",
                            "-d",
                            folder.toString(),
                            source.toString());
            if (done.status() != 0) {
                throw new IllegalStateException(done.text());
            }
            byte[] compiled = Files.readAllBytes(folder.resolve("Fetch.class"));
            sandbox.files().write("/work/Fetch.class", compiled);
        } finally {
            LiveService.remove(folder);
        }
    }

    /** Puts a static program in Go at /work/fetch, or skips the test. */
    static void putGo(Sandbox sandbox) throws IOException, InterruptedException {
        assumeTrue(Files.isExecutable(COMPILER), "Go is not installed: " + COMPILER);
        put(sandbox, "/work/fetch", goProgram());
    }

    private static synchronized byte[] goProgram() throws IOException, InterruptedException {
        if (go.length > 0) {
            return go;
        }
        Path folder = Files.createTempDirectory("caisson-go");
        try {
            Files.writeString(folder.resolve("main.go"), GO);
            Files.writeString(folder.resolve("go.mod"), "module fetch\ngo 1.21\n");
            ProcessBuilder builder =
                    new ProcessBuilder(COMPILER.toString(), "build", "-o", "fetch", ".")
                            .directory(folder.toFile())
                            .redirectErrorStream(true);
            builder.environment().put("CGO_ENABLED", "0");
            builder.environment().put("GOTOOLCHAIN", "local");
            Process process = builder.start();
            String said =
                    new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assumeTrue(process.waitFor() == 0, "Go builds nothing here: " + said);
            go = Files.readAllBytes(folder.resolve("fetch"));
            return go;
        } finally {
            LiveService.remove(folder);
        }
    }

    /** Puts a static program of musl, which looks up its argument, at /work/lookup; or skips. */
    static void putMusl(Sandbox sandbox) throws IOException, InterruptedException {
        Lab.needs("musl-gcc");
        Path folder = Files.createTempDirectory("caisson-musl");
        try {
            Path source = folder.resolve("lookup.c");
            Files.writeString(source, C);
            Path program = folder.resolve("lookup");
            Lab.Outside done =
                    Lab.outside("musl-gcc", "-static", "-o", program.toString(), source.toString());
            if (done.status() != 0) {
                throw new IllegalStateException(done.text());
            }
            put(sandbox, "/work/lookup", Files.readAllBytes(program));
        } finally {
            LiveService.remove(folder);
        }
    }

    private static void put(Sandbox sandbox, String path, byte[] program) {
        sandbox.files().write(path, new ByteArrayInputStream(program), EXECUTABLE);
    }
}
