package dev.caisson.cli;

import dev.caisson.serve.LocalTls;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** {@code caisson tls}: makes a certificate for a server on this machine. */
@Command(
        name = "tls",
        description =
                "Makes a certificate for a server on this machine, and at the first time the local"
                        + " authority that signs it, and prints the settings. Again: a fresh"
                        + " certificate, which a running server takes up by itself.",
        sortOptions = false,
        footer = {
            "",
            "Example:",
            "  sudo caisson tls sandboxes.example 192.0.2.7",
            "  curl --cacert /var/lib/caisson/server/tls/ca.crt"
                    + " https://sandboxes.example:3900/healthz"
        })
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class TlsCommand extends LocalCommand {
    @Parameters(
            arity = "0..*",
            paramLabel = "NAME",
            description = "names and addresses besides localhost")
    private List<String> names = List.of();

    @Mixin private ServeOptions options;

    @Override
    public Integer call() {
        LocalTls.Made made = LocalTls.make(options.settings(), names);
        Printer printer = printer();
        if (printer.json()) {
            printer.object(made);
            return 0;
        }
        main().streams()
                .print(
                        "tls.certificate: "
                                + made.certificate()
                                + "\ntls.key: "
                                + made.key()
                                + "\nhosts: "
                                + String.join(",", made.names())
                                + "\n");
        main().streams()
                .say("put these lines into caisson.yaml; clients trust " + made.authority());
        return 0;
    }
}
