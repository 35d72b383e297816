package dev.caisson.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
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
        hosts.stream().filter(host -> !allow.contains(host)).forEach(all::add);
        return of(all, packages, names);
    }

    /** Names of secrets. */
    List<String> secrets() {
        return List.copyOf(secrets);
    }

    /** Whether hosts or packages were written. */
    boolean narrows() {
        return !allow.isEmpty() || !packages.isEmpty();
    }

    /** The document in JSON; empty: nothing was written. */
    Optional<String> document() {
        return allow.isEmpty() && packages.isEmpty() && secrets.isEmpty()
                ? Optional.empty()
                : Optional.of(EgressWords.document(allow, packages, secrets));
    }
}
