package dev.caisson.cli;

import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import dev.caisson.v1.SecretBinding;
import dev.caisson.v1.SecretSlot;
import dev.caisson.v1.SecretSpec;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Where a secret goes and how much of that there may be, as options or as a file. */
final class SecretSpecOptions {
    @Option(
            names = "--spec",
            paramLabel = "FILE",
            description = "JSON with all of this, as in the API; for sigv4 and oauth the only way")
    private @Nullable String file;

    @Option(
            names = "--host",
            paramLabel = "HOST",
            description = "HOST[:PORT][/PATH] that gets it, over https only, repeatable")
    private @Nullable List<String> hosts;

    @Option(names = "--method", paramLabel = "METHOD", description = "only these, repeatable (any)")
    private @Nullable List<String> methods;

    @Option(
            names = "--header",
            paramLabel = "NAME",
            description = "header that it goes into (Authorization)")
    private @Nullable String header;

    @Option(
            names = "--format",
            paramLabel = "TEXT",
            description = "of that header, with {} for the value (Bearer {} or {})")
    private @Nullable String format;

    @Option(names = "--basic", description = "basic authentication; USER:PASSWORD without --user")
    private boolean basic;

    @Option(names = "--git", description = "basic authentication for git over https, reading")
    private boolean git;

    @Option(names = "--push", description = "git may push as well")
    private boolean push;

    @Option(names = "--user", paramLabel = "USER", description = "of --basic and --git")
    private @Nullable String user;

    @Option(names = "--query", paramLabel = "NAME", description = "parameter that it goes into")
    private @Nullable String query;

    @Option(
            names = "--variable",
            paramLabel = "NAME",
            description = "holds the placeholder inside (NAME, if it can be a variable)")
    private @Nullable String variable;

    @Option(names = "--per-minute", paramLabel = "N", description = "requests a minute (any)")
    private @Nullable Integer perMinute;

    @Option(names = "--requests", paramLabel = "N", description = "requests in its life (any)")
    private @Nullable Long requests;

    @Option(
            names = "--bytes",
            paramLabel = "SIZE",
            converter = Converters.Size.class,
            description = "of requests and answers in its life (any)")
    private @Nullable ByteSize bytes;

    SecretSpec spec(String name) {
        if (file != null) {
            if (Stream.of(hosts, methods, header, format, user, query, variable)
                            .anyMatch(java.util.Objects::nonNull)
                    || basic
                    || git
                    || push) {
                throw CaissonException.invalid("--spec", "The file has all of it.")
                        .withRemedy("Leave the other options out.");
            }
            return SecretTexts.spec(file);
        }
        if (hosts == null) {
            throw CaissonException.invalid("--host", "Nothing says where the secret goes.")
                    .withRemedy("Write --host HOST, or --spec FILE.");
        }
        SecretSlot slot = slot();
        List<SecretBinding> bindings =
                hosts.stream()
                        .map(host ->
                                SecretTexts.binding(
                                        host, methods == null ? List.of() : methods, slot))
                        .toList();
        return new SecretSpec(
                bindings,
                variable == null && name.matches("[A-Za-z_][A-Za-z0-9_]*") ? name : variable,
                perMinute,
                requests,
                bytes == null ? null : Long.valueOf(bytes.bytes()));
    }

    private SecretSlot slot() {
        boolean named = header != null || format != null;
        if ((named ? 1 : 0) + (basic ? 1 : 0) + (git ? 1 : 0) + (query == null ? 0 : 1) > 1) {
            throw CaissonException.invalid(
                    "--header", "Give one of --header, --basic, --git and --query.");
        }
        if ((user != null && !basic && !git) || (push && !git)) {
            throw CaissonException.invalid(
                    "--user", "--user is for --basic and --git, --push for --git.");
        }
        String kind = basic ? "basic" : git ? "git" : query != null ? "query" : "header";
        return new SecretSlot(
                kind,
                query == null ? header : query,
                format,
                user,
                null,
                null,
                null,
                List.of(),
                push ? Boolean.TRUE : null);
    }
}
