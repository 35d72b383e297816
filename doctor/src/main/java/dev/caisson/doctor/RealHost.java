package dev.caisson.doctor;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** This machine. Programs are only asked for their version, with arguments of this package. */
final class RealHost implements Host {
    private static final int MAX_READ = 64 << 10;
    private static final List<String> FOLDERS =
            List.of("/usr/local/bin", "/usr/local/sbin", "/usr/bin", "/usr/sbin", "/bin", "/sbin");

    @Override
    public Optional<String> read(String path) {
        try (var input = Files.newInputStream(Path.of(path))) {
            return Optional.of(
                    new String(input.readNBytes(MAX_READ), StandardCharsets.UTF_8).strip());
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    @Override
    public boolean exists(String path) {
        return Files.exists(Path.of(path));
    }

    @Override
    public Optional<Path> program(String name) {
        return FOLDERS.stream()
                .map(folder -> Path.of(folder, name))
                .filter(Files::isExecutable)
                .findFirst();
    }

    @Override
    public Optional<String> run(String program, String... arguments) {
        Optional<Path> path = program(program);
        if (path.isEmpty()) {
            return Optional.empty();
        }
        List<String> command = new ArrayList<>();
        command.add(path.get().toString());
        command.addAll(List.of(arguments));
        try {
            Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
            process.getOutputStream().close();
            Thread killer =
                    Thread.ofVirtual()
                            .start(() -> {
                                if (!ended(process)) {
                                    process.destroyForcibly();
                                }
                            });
            String text =
                    new String(
                            process.getInputStream().readNBytes(MAX_READ), StandardCharsets.UTF_8);
            killer.join();
            return process.exitValue() == 0 ? Optional.of(text.strip()) : Optional.empty();
        } catch (IOException e) {
            return Optional.empty();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Optional.empty();
        }
    }

    private static boolean ended(Process process) {
        try {
            return process.waitFor(5, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    @Override
    public boolean answers(Path socket) {
        try (SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
            return channel.connect(UnixDomainSocketAddress.of(socket));
        } catch (IOException | IllegalArgumentException e) {
            return false;
        }
    }

    @Override
    public long freeBytes(Path path) {
        Path there = path.toAbsolutePath();
        for (Path parent = there.getParent();
                parent != null && !Files.exists(there);
                parent = parent.getParent()) {
            there = parent;
        }
        try {
            return Files.getFileStore(there).getUsableSpace();
        } catch (IOException e) {
            return -1;
        }
    }

    @Override
    public boolean root() {
        try {
            return Integer.valueOf(0).equals(Files.getAttribute(Path.of("/proc/self"), "unix:uid"));
        } catch (IOException e) {
            return false;
        }
    }
}
