package dev.caisson.cli;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** A command line with streams that can be read afterwards. */
final class Shell {
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();
    private final FakeCaisson caisson;
    private OutputStream target = out;
    private String stdin = "";
    private boolean terminal;
    private boolean outTerminal;
    private Map<String, String> env = Map.of();

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

    /** Standard output is one. */
    Shell outOnTerminal() {
        outTerminal = true;
        return this;
    }

    Shell env(Map<String, String> variables) {
        env = variables;
        return this;
    }

    int run(String... args) {
        Streams streams =
                new Streams(
                        new ByteArrayInputStream(stdin.getBytes(StandardCharsets.UTF_8)),
                        target,
                        err,
                        terminal,
                        outTerminal);
        return new Main(streams, () -> caisson, env).execute(args);
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
