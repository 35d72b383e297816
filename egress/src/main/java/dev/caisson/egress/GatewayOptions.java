package dev.caisson.egress;

import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalInt;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * How a gateway is started.
 *
 * @param folder holds the sockets and what is kept
 * @param controlGid group that may open control.sock
 * @param resolvers name servers; empty: what the host uses
 * @param ranges of synthetic addresses
 * @param upstreamProxy file of mode 0600 with the address of an HTTP proxy; null: none
 * @param authorities PEM files of certificate authorities that are trusted besides the host's
 * @param controlUids who may speak on control.sock, besides root
 * @param controlByGroup whoever the mode of control.sock lets connect may speak, too
 * @param exitWithStdin the end of standard input is the end of the gateway
 */
record GatewayOptions(
        Path folder,
        OptionalInt controlGid,
        List<InetSocketAddress> resolvers,
        SyntheticRanges ranges,
        @Nullable Path upstreamProxy,
        List<Path> authorities,
        Set<Integer> controlUids,
        boolean controlByGroup,
        boolean exitWithStdin) {
    static final String USAGE =
            """
            usage: dev.caisson.egress.Main --folder DIR [--control-gid N] [--resolver ADDRESS[:PORT]]...
              [--synthetic4 CIDR] [--synthetic6 CIDR] [--upstream-proxy FILE] [--trust PEM-FILE]...
              [--allow-control-uid N]... [--control-by-group] [--exit-with-stdin]
            """;
    private static final int DNS_PORT = 53;

    /** Copies the collections. */
    GatewayOptions {
        resolvers = List.copyOf(resolvers);
        authorities = List.copyOf(authorities);
        controlUids = Set.copyOf(controlUids);
    }

    /** Only what a folder needs: the defaults of everything else. */
    static GatewayOptions of(Path folder) {
        return parse("--folder", folder.toString());
    }

    /**
     * Reads a command line.
     *
     * @throws IllegalArgumentException with what is wrong
     */
    static GatewayOptions parse(String... args) {
        Reading reading = new Reading(args);
        while (reading.more()) {
            reading.option();
        }
        return reading.options();
    }

    private static final class Reading {
        private final String[] args;
        private int at;
        private @Nullable Path folder;
        private OptionalInt gid = OptionalInt.empty();
        private final List<InetSocketAddress> resolvers = new ArrayList<>();
        private AddressRange four = SyntheticRanges.DEFAULT.four();
        private AddressRange six = SyntheticRanges.DEFAULT.six();
        private @Nullable Path proxy;
        private final List<Path> authorities = new ArrayList<>();
        private boolean byGroup;
        private final Set<Integer> uids = new HashSet<>();
        private boolean stdin;

        Reading(String[] args) {
            this.args = args;
        }

        boolean more() {
            return at < args.length;
        }

        void option() {
            String name = args[at++];
            switch (name) {
                case "--folder" -> folder = Path.of(value(name));
                case "--control-gid" -> gid = OptionalInt.of(number(name));
                case "--resolver" -> resolvers.add(resolver(value(name)));
                case "--synthetic4" -> four = AddressRange.parse(value(name));
                case "--synthetic6" -> six = AddressRange.parse(value(name));
                case "--upstream-proxy" -> proxy = Path.of(value(name));
                case "--trust" -> authorities.add(Path.of(value(name)));
                case "--control-by-group" -> byGroup = true;
                case "--allow-control-uid" -> uids.add(number(name));
                case "--exit-with-stdin" -> stdin = true;
                default -> throw new IllegalArgumentException("There is no option " + name + ".");
            }
        }

        GatewayOptions options() {
            if (folder == null) {
                throw new IllegalArgumentException("--folder is missing.");
            }
            return new GatewayOptions(
                    folder,
                    gid,
                    resolvers,
                    new SyntheticRanges(four, six),
                    proxy,
                    authorities,
                    uids,
                    byGroup,
                    stdin);
        }

        private String value(String name) {
            if (!more()) {
                throw new IllegalArgumentException(name + " needs a value.");
            }
            return args[at++];
        }

        private int number(String name) {
            String text = value(name);
            try {
                return Integer.parseUnsignedInt(text);
            } catch (NumberFormatException e) {
                throw new IllegalArgumentException(name + " needs a number, not " + text + ".", e);
            }
        }

        /**
         * {@code 192.0.2.1}, {@code 192.0.2.1:5353}, {@code 2001:db8::1}, {@code [2001:db8::1]:53}.
         */
        private static InetSocketAddress resolver(String text) {
            HostPort parsed = HostPort.parse(text, DNS_PORT);
            return new InetSocketAddress(
                    dev.caisson.policy.IpAddress.parse(parsed.host()).toInet(), parsed.port());
        }
    }
}
