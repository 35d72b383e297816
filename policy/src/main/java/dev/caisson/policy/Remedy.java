package dev.caisson.policy;

import java.util.Locale;

/** What verdicts tell people and models. */
final class Remedy {
    private static final String ASK = "Do without, or ask for a policy that allows ";

    private Remedy() {}

    /** How a verdict names what the table of addresses says. */
    static String rule(AddressKind kind) {
        return "address " + kind.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    static String host(HostName host) {
        return ASK + "the host " + host + " (on the command line: --allow " + host + ").";
    }

    static String connect(Destination to) {
        return switch (to) {
            case Destination.Named named ->
                    ASK
                            + "the host "
                            + named.host()
                            + " on port "
                            + named.port()
                            + " (on the command line: --allow "
                            + named
                            + ").";
            case Destination.Literal literal ->
                    "Use a host name, or ask for a policy that allows cidr "
                            + literal.address()
                            + " on port "
                            + literal.port()
                            + ".";
        };
    }

    static String address(Destination to, IpAddress address) {
        return "The name leads to an address that is not public: ask for a policy that allows cidr "
                + address
                + " on port "
                + to.port()
                + " beside the host.";
    }

    static String request(Destination.Named to, HttpRequestLine request, boolean clear) {
        return clear
                ? ASK
                        + request.method()
                        + " "
                        + Wrong.printable(request.path())
                        + " at "
                        + to.host()
                        + "."
                : "Write the path without '.', '..', '//', '\\', ';' and escaped separators.";
    }
}
