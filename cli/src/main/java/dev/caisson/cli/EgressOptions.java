package dev.caisson.cli;

import dev.caisson.api.CaissonException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The way out, as it is written on a command line. Loads no class of documents unless it is. */
final class EgressOptions {
    @Option(
            names = "--allow",
            paramLabel = "HOST[:PORT]",
            description =
                    "a host that may be reached, repeatable: by https, or on another port by"
                            + " anything (nothing)")
    private List<String> allow = new ArrayList<>();

    @Option(
            names = "--packages",
            paramLabel = "ECOSYSTEM[:NAME[,NAME]]",
            description =
                    "packages that may be installed from pypi, npm, maven or debian, repeatable"
                            + " (none)")
    private List<String> packages = new ArrayList<>();

    @Option(
            names = "--egress",
            paramLabel = "FILE",
            description = "instead of both: the way out as a document in JSON or YAML")
    private @Nullable String file;

    private List<String> secrets = new ArrayList<>();

    /** The words of one command line. */
    static EgressOptions of(List<String> allow, List<String> packages, List<String> secrets) {
        EgressOptions options = new EgressOptions();
        options.allow = allow;
        options.packages = packages;
        options.secrets = secrets;
        return options;
    }

    /** The same with secrets, and with the hosts that those are bound to. */
    EgressOptions with(List<String> names, List<String> hosts) {
        List<String> all = new ArrayList<>(allow);
        if (file == null) { // a document says itself what may be reached
            hosts.stream().filter(host -> !allow.contains(host)).forEach(all::add);
        }
        EgressOptions more = of(all, packages, names);
        more.file = file;
        return more;
    }

    /** Names of secrets. */
    List<String> secrets() {
        return List.copyOf(secrets);
    }

    /** Whether hosts, packages or a document were written. */
    boolean narrows() {
        return file != null || !allow.isEmpty() || !packages.isEmpty();
    }

    /**
     * The document in JSON; empty: nothing was written. What would open much more than it says is
     * told on standard error.
     */
    Optional<String> document(Main main) {
        Optional<String> document = read(main);
        document.ifPresent(json -> EgressWords.warn(main.streams(), json));
        return document;
    }

    private Optional<String> read(Main main) {
        if (file != null) {
            if (!allow.isEmpty() || !packages.isEmpty()) {
                throw CaissonException.invalid(
                                "--egress",
                                "--egress and --allow or --packages exclude each other.")
                        .withRemedy("Write all of it into " + file + ".");
            }
            return Optional.of(EgressWords.document(main, file, secrets));
        }
        return allow.isEmpty() && packages.isEmpty() && secrets.isEmpty()
                ? Optional.empty()
                : Optional.of(EgressWords.document(allow, packages, secrets));
    }
}
