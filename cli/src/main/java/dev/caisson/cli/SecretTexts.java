package dev.caisson.cli;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.core.SecretReader;
import dev.caisson.policy.HostName;
import dev.caisson.v1.Json;
import dev.caisson.v1.SecretBinding;
import dev.caisson.v1.SecretSlot;
import dev.caisson.v1.SecretSpec;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** How secrets are written on a command line. A value itself never is: every process sees it. */
final class SecretTexts {
    private static final int MAX_SPEC = 1 << 20;
    private static final Pattern BINDING =
            Pattern.compile("(?:https://)?([^/:@\\s]{1,255})(?::([0-9]{1,5}))?(/\\S{0,1024})?");

    private SecretTexts() {}

    /**
     * Reads a value of the user of this command.
     *
     * @param source {@code -} for standard input, {@code env:VARIABLE}, {@code file:PATH} or {@code
     *     command:PROGRAM ARGUMENTS}, whose words are parted by blanks; no shell
     */
    static byte[] value(String source, Map<String, String> env, InputStream in) {
        if (source.equals("-")) {
            return input(in);
        }
        int colon = source.indexOf(':');
        String rest = source.substring(colon + 1);
        return switch (colon < 0 ? "" : source.substring(0, colon)) {
            case "env" -> variable(rest, env);
            case "file" -> file(rest);
            case "command" -> command(rest, env);
            default ->
                    // Not the text: it may be the value.
                    throw CaissonException.invalid(
                                    "secret", "A secret comes from env:, file: or command:.")
                            .withRemedy(
                                    "Write env:VARIABLE, file:PATH or command:PROGRAM; a value on a"
                                            + " command line could be seen by others.");
        };
    }

    private static byte[] input(InputStream in) {
        byte[] buffer = {};
        try {
            buffer = in.readNBytes(SecretReader.MAX_BYTES + 2);
            int length = buffer.length;
            if (length > 0 && buffer[length - 1] == '\n') {
                length--;
            }
            if (length > SecretReader.MAX_BYTES) {
                throw CaissonException.of(
                        ErrorCode.TOO_LARGE,
                        "A secret has at most " + SecretReader.MAX_BYTES + " bytes.");
            }
            return Arrays.copyOf(buffer, length);
        } catch (IOException e) {
            throw CaissonException.of(ErrorCode.INVALID, "The standard input cannot be read.", e);
        } finally {
            Arrays.fill(buffer, (byte) 0);
        }
    }

    private static byte[] variable(String name, Map<String, String> env) {
        String value = env.get(name);
        if (value == null) {
            throw CaissonException.invalid("secret", "There is no variable " + name + " here.")
                    .withRemedy("Set and export it first.");
        }
        return value.getBytes(StandardCharsets.UTF_8);
    }

    private static byte[] file(String path) {
        try {
            return SecretReader.file(Path.of(path));
        } catch (InvalidPathException e) {
            throw CaissonException.invalid("secret", "This is no path of a file.");
        }
    }

    private static byte[] command(String text, Map<String, String> env) {
        List<String> argv = List.of(text.strip().split(" +", -1));
        if (argv.getFirst().isEmpty()) {
            throw CaissonException.invalid("secret", "There is no command.");
        }
        return SecretReader.command(argv, env);
    }

    /**
     * Reads {@code HOST[:PORT][/PATH]}, with {@code https://} before it or not.
     *
     * @param methods upper case; empty: any
     */
    static SecretBinding binding(String text, List<String> methods, SecretSlot slot) {
        Matcher matcher = BINDING.matcher(text);
        if (!matcher.matches()) {
            throw CaissonException.invalid("host", "'" + text + "' is not HOST[:PORT][/PATH].")
                    .withRemedy("A secret goes to exact hosts, over https only.");
        }
        String port = matcher.group(2);
        return new SecretBinding(
                matcher.group(1),
                port == null ? null : Integer.valueOf(ServerCommand.port(port)),
                methods,
                matcher.group(3),
                slot);
    }

    /**
     * Refuses all but an exact name: below a suffix anyone may be, and no certificate says who an
     * address is.
     */
    static void requireExact(String host) {
        if (host.indexOf('*') >= 0) {
            throw CaissonException.invalid("host", "A secret goes to an exact host, not to " + host)
                    .withRemedy("Name each host.");
        }
        try {
            HostName.of(host);
        } catch (CaissonException e) {
            throw CaissonException.invalid("host", e.message())
                    .withRemedy("A secret goes to exact host names, over https only.");
        }
    }

    /** Reads a spec, JSON as in the API. */
    static SecretSpec spec(String file) {
        try {
            Path path = Path.of(file);
            if (Files.size(path) > MAX_SPEC) {
                throw CaissonException.of(ErrorCode.TOO_LARGE, file + " is larger than 1 MiB.");
            }
            return Json.request(Files.readAllBytes(path), SecretSpec.class);
        } catch (IOException | InvalidPathException e) {
            throw CaissonException.of(ErrorCode.INVALID, "The file " + file + " cannot be read.", e)
                    .withRemedy("See whether it is there and you may read it.");
        }
    }
}
