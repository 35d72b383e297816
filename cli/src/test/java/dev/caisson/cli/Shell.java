package dev.caisson.cli;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;

/** A command line with streams that can be read afterwards. */
final class Shell {
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();
    private final FakeCaisson caisson;
    private OutputStream target = out;
    private String stdin = "";
    private boolean terminal;

    Shell(FakeCaisson caisson) {
        this.caisson = caisson;
    }

    Shell stdin(String text) {
        stdin = text;
        return this;
    }

    Shell out(OutputStream other) {
        target = other;
        return this;
    }

    Shell onTerminal() {
        terminal = true;
        return this;
    }

    int run(String... args) {
        Streams streams =
                new Streams(
                        new ByteArrayInputStream(stdin.getBytes(StandardCharsets.UTF_8)),
                        target,
                        err,
                        terminal);
        return new Main(streams, () -> caisson).execute(args);
    }

    byte[] outBytes() {
        return out.toByteArray();
    }

    String out() {
        return out.toString(StandardCharsets.UTF_8);
    }

    String err() {
        return err.toString(StandardCharsets.UTF_8);
    }
}
