package dev.caisson.policy;

/** Where a connection wants to go. */
public sealed interface Destination {
    /** 1 to 65535. */
    int port();

    /** A name. */
    record Named(HostName host, int port) implements Destination {
        @Override
        public String toString() {
            return host + ":" + port;
        }
    }

    /** An address that no name was asked for. */
    record Literal(IpAddress address, int port) implements Destination {
        @Override
        public String toString() {
            return address + ":" + port;
        }
    }
}
