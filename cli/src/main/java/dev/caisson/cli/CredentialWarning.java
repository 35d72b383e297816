package dev.caisson.cli;

import dev.caisson.redact.CredentialLook;
import java.util.Map;

/** Says of variables that look like credentials that there is a better place for them. */
final class CredentialWarning {
    private CredentialWarning() {}

    /** One line for each; values are not shown. */
    static void tell(Streams streams, Map<String, String> variables) {
        variables.forEach((name, value) ->
                CredentialLook.of(name, value)
                        .ifPresent(look -> streams.say(Clean.text(warning(name, look)))));
    }

    private static String warning(String name, String look) {
        return "warning: --env "
                + name
                + " looks like "
                + look
                + "; all that runs inside can read it. A secret stays outside: see caisson secrets"
                + " create";
    }
}
