package dev.caisson.cli;

import dev.caisson.api.CaissonException;
import dev.caisson.client.RemoteConfig;
import dev.caisson.client.ServiceClient;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** A command that speaks to a server. */
@SuppressWarnings("NullAway.Init") // picocli sets the fields
abstract class ServerCommand implements Callable<Integer> {
    @Spec private CommandSpec spec;

    @Option(names = "--json", description = "print JSON, in the forms of the API")
    private boolean json;

    @Option(
            names = "--context",
            paramLabel = "NAME",
            description = "a server of 'caisson context ls' (the one in use)")
    private @Nullable String context;

    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "show this")
    @SuppressWarnings("UnusedVariable") // picocli asks its own model
    private boolean help;

    /** Does it; returns the exit status. */
    abstract int run(ServiceClient client, Printer printer);

    @Override
    public Integer call() {
        try (ServiceClient client = ServiceClient.open(config())) {
            return run(client, printer());
        }
    }

    final RemoteConfig config() {
        return Server.config(main().env(), context, local());
    }

    /**
     * Why a run on this host has nothing of the kind, as the end of a sentence; empty: it is clear.
     */
    String local() {
        return "";
    }

    final Printer printer() {
        return new Printer(main(), json);
    }

    final Main main() {
        return (Main) spec.root().userObject();
    }

    /** What is wrong with the words of this command. */
    final ParameterException wrong(String message) {
        return new ParameterException(spec.commandLine(), message);
    }

    /** Reads {@code NAME=VALUE} words. */
    final Map<String, String> pairs(String option, @Nullable List<String> words) {
        Map<String, String> pairs = new LinkedHashMap<>();
        for (String word : words == null ? List.<String>of() : words) {
            int equals = word.indexOf('=');
            if (equals < 1) {
                throw wrong(option + ": '" + word + "' is not of the form NAME=VALUE.");
            }
            pairs.put(word.substring(0, equals), word.substring(equals + 1));
        }
        return pairs;
    }

    /** Variables of commands; says so when one looks like a credential. */
    final Map<String, String> variables(@Nullable List<String> words) {
        Map<String, String> variables = pairs("--env", words);
        CredentialWarning.tell(main().streams(), variables);
        return variables;
    }

    /** A port, 1 to 65535. */
    static int port(String text) {
        try {
            int port = Integer.parseInt(text);
            if (port >= 1 && port <= 65_535) {
                return port;
            }
        } catch (NumberFormatException e) {
            // Told below.
        }
        throw CaissonException.invalid("port", "'" + text + "' is not a port.")
                .withDetail("allowed", "1 to 65535");
    }
}
