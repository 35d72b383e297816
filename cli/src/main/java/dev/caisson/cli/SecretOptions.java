package dev.caisson.cli;

import dev.caisson.api.CaissonException;
import dev.caisson.api.SandboxSecret;
import dev.caisson.v1.Json;
import dev.caisson.v1.SecretBinding;
import dev.caisson.v1.SecretSlot;
import dev.caisson.v1.SecretSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/**
 * Secrets of a run: those that a server keeps, and, where there is no server, those of the user
 * whose run it is.
 */
final class SecretOptions {
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_][A-Za-z0-9._-]{0,62}");
    private static final Pattern VARIABLE = Pattern.compile("[A-Za-z_][A-Za-z0-9_]{0,127}");
    private static final int MAX = 32;
    private static final int MIN_BYTES = 6; // as a server has it

    @Option(
            names = "--secret",
            paramLabel = "NAME[=SOURCE]",
            description =
                    "a secret that the gateway puts into requests, repeatable: of the server, or"
                            + " from env:VARIABLE, file:PATH or command:PROGRAM here")
    private @Nullable List<String> secrets;

    @Option(
            names = "--secret-for",
            paramLabel = "NAME=HOST",
            description =
                    "HOST[:PORT][/PATH] that gets a secret from here as a bearer token, repeatable")
    private @Nullable List<String> hosts;

    @Option(
            names = "--secret-spec",
            paramLabel = "NAME=FILE",
            description = "JSON with the bindings and limits of a secret from here, repeatable")
    private @Nullable List<String> specs;

    /** A secret of the user of this command; whoever takes its value clears it. */
    static final class Local {
        private final String name;
        private final SecretSpec spec;
        private final byte[] value;

        private Local(String name, SecretSpec spec, byte[] value) {
            this.name = name;
            this.spec = spec;
            this.value = value;
        }

        String name() {
            return name;
        }

        SecretSpec spec() {
            return spec;
        }

        /** The very bytes, which {@link #clear} overwrites. */
        byte[] value() {
            return value;
        }

        /** Without the value. */
        @Override
        public String toString() {
            return "Local[name=" + name + ", spec=" + spec + ", value=***]";
        }

        void clear() {
            Arrays.fill(value, (byte) 0);
        }
    }

    /** Names of secrets that the server keeps. */
    List<String> stored() {
        return words(secrets).stream()
                .filter(word -> word.indexOf('=') < 0)
                .map(SecretOptions::name)
                .toList();
    }

    /** The same where there can be no other ones; nothing from here is read. */
    List<String> onlyStored() {
        if (!words(hosts).isEmpty() || !words(specs).isEmpty()) {
            throw wrong("--secret-for", "The server knows where the secrets go that it keeps.")
                    .withRemedy("Leave --secret-for and --secret-spec out.");
        }
        return kept(secrets);
    }

    /** Names of all of them. */
    List<String> names() {
        return words(secrets).stream().map(word -> name(word.split("=", 2)[0])).distinct().toList();
    }

    /** For a library of this machine, which hands them to its own gateway; they are cleared. */
    static List<SandboxSecret> handOver(List<Local> read) {
        return read.stream()
                .map(local -> {
                    SandboxSecret secret =
                            new SandboxSecret(
                                    local.name(),
                                    Json.write(local.spec()),
                                    Optional.ofNullable(local.spec().env()),
                                    local.value());
                    local.clear();
                    return secret;
                })
                .toList();
    }

    /** Hosts that secrets from here are bound to. */
    static List<String> hosts(List<Local> read) {
        Set<String> hosts = new LinkedHashSet<>();
        for (Local local : read) { // no lambda: without secrets no class of v1 is loaded
            for (SecretBinding binding : local.spec().bindings()) {
                hosts.add(host(binding));
            }
        }
        return List.copyOf(hosts);
    }

    private static String host(SecretBinding binding) {
        Integer port = binding.port();
        return port == null || port == 443 ? binding.host() : binding.host() + ":" + port;
    }

    /** Whether nothing was asked for. */
    boolean isEmpty() {
        return words(secrets).isEmpty() && words(hosts).isEmpty() && words(specs).isEmpty();
    }

    /**
     * The secrets from here, read now; the caller clears them.
     *
     * @param env of the user
     * @throws CaissonException {@link dev.caisson.api.ErrorCode#INVALID} that names the secret
     */
    List<Local> local(Map<String, String> env) {
        Map<String, String> sources = new LinkedHashMap<>();
        for (String word : words(secrets)) {
            int equals = word.indexOf('=');
            if (equals >= 0
                    && sources.put(name(word.substring(0, equals)), word.substring(equals + 1))
                            != null) {
                throw wrong(
                        "--secret", "The secret " + word.substring(0, equals) + " is there twice.");
            }
        }
        if (sources.size() > MAX) {
            throw wrong("--secret", "There are at most " + MAX + " secrets.");
        }
        Map<String, SecretSpec> bound = specs(sources.keySet());
        List<Local> read = new ArrayList<>();
        boolean done = false;
        try {
            sources.forEach((name, source) -> read.add(read(name, source, bound, env)));
            done = true;
        } finally {
            if (!done) {
                read.forEach(Local::clear);
            }
        }
        return read;
    }

    private static Local read(
            String name, String source, Map<String, SecretSpec> bound, Map<String, String> env) {
        SecretSpec spec = bound.get(name);
        if (spec == null) {
            throw wrong("--secret-for", "Nothing says where the secret " + name + " goes.")
                    .withRemedy("Write --secret-for " + name + "=HOST.");
        }
        if (source.equals("-")) {
            throw wrong("--secret", "The standard input belongs to the command.");
        }
        spec.bindings().forEach(binding -> SecretTexts.requireExact(binding.host()));
        byte[] value = SecretTexts.value(source, env, java.io.InputStream.nullInputStream());
        if (value.length < MIN_BYTES) {
            Arrays.fill(value, (byte) 0);
            throw wrong(
                    "--secret",
                    "The secret "
                            + name
                            + " has less than "
                            + MIN_BYTES
                            + " bytes; it could not be kept out of output.");
        }
        return new Local(name, spec, value);
    }

    private Map<String, SecretSpec> specs(Set<String> names) {
        Map<String, SecretSpec> bound = new LinkedHashMap<>();
        Map<String, List<SecretBinding>> bindings = new LinkedHashMap<>();
        for (String word : words(hosts)) {
            String name = ofLocal("--secret-for", word, names);
            bindings.computeIfAbsent(name, key -> new ArrayList<>())
                    .add(
                            SecretTexts.binding(
                                    word.substring(name.length() + 1),
                                    List.of(),
                                    SecretSlot.bearer()));
        }
        bindings.forEach((name, all) -> bound.put(name, spec(name, all)));
        for (String word : words(specs)) {
            String name = ofLocal("--secret-spec", word, names);
            SecretSpec spec = SecretTexts.spec(word.substring(name.length() + 1));
            if (bound.put(name, spec) != null) {
                throw wrong("--secret-spec", "The secret " + name + " has several specs.")
                        .withRemedy("Write all of it into the file.");
            }
        }
        return bound;
    }

    /** The variable inside is called as the secret is, where that can be a variable. */
    private static SecretSpec spec(String name, List<SecretBinding> bindings) {
        String variable = VARIABLE.matcher(name).matches() ? name : null;
        return new SecretSpec(bindings, variable, null, null, null);
    }

    private static String ofLocal(String option, String word, Set<String> names) {
        int equals = word.indexOf('=');
        if (equals < 1) {
            String form = option.equals("--secret-for") ? "NAME=HOST" : "NAME=FILE";
            throw wrong(option, option + ": '" + word + "' is not of the form " + form + ".");
        }
        String name = name(word.substring(0, equals));
        if (!names.contains(name)) {
            throw wrong(option, "There is no secret " + name + " from here.")
                    .withRemedy("Write --secret " + name + "=env:VARIABLE as well.");
        }
        return name;
    }

    /**
     * Names of secrets that the server keeps, where no other ones can be given.
     *
     * @throws CaissonException {@link dev.caisson.api.ErrorCode#INVALID} without what was written:
     *     it may be a value, which then is not sent as a name
     */
    static List<String> kept(@Nullable List<String> names) {
        List<String> all = words(names);
        if (all.stream().anyMatch(word -> word.indexOf('=') >= 0)) {
            throw wrong("--secret", "--secret takes the name of a secret that the server keeps.")
                    .withRemedy("Make it with 'caisson secrets create', and give its name alone.");
        }
        all.forEach(SecretOptions::name);
        return all;
    }

    private static String name(String name) {
        if (!NAME.matcher(name).matches()) {
            // Not its text: a value may be where the name should be.
            throw wrong("--secret", "The name of a secret is " + NAME.pattern() + ".");
        }
        return name;
    }

    private static List<String> words(@Nullable List<String> given) {
        return given == null ? List.of() : List.copyOf(new LinkedHashSet<>(given));
    }

    private static CaissonException wrong(String option, String why) {
        return CaissonException.invalid(option, why);
    }
}
