package dev.caisson.egress;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Optional;

/** Looks at what a program says first and leaves it to be read again. */
final class FirstBytes {
    /** Longest method that is known to be one. */
    private static final int MAX_METHOD = 24;

    private FirstBytes() {}

    /** What it is. */
    sealed interface Kind {}

    /** TLS. */
    record Tls(ClientHello hello) implements Kind {}

    /** HTTP in the clear, of any version. */
    record Http() implements Kind {}

    /** Anything else. */
    record Other() implements Kind {}

    /** Nothing came in time, or the end. */
    record Silence() implements Kind {}

    /**
     * Looks.
     *
     * @param nanos until it has to be told
     */
    static Kind look(Inside inside, long nanos) throws IOException {
        ByteArrayOutputStream seen = new ByteArrayOutputStream(1024);
        try {
            return new Looking(inside, seen, System.nanoTime() + nanos).kind();
        } finally {
            inside.unread(seen.toByteArray());
        }
    }

    /**
     * Waits for the first byte however long it takes, and then for a whole ClientHello if it is
     * one.
     */
    static Optional<ClientHello> awaitTls(Inside inside) throws IOException {
        ByteArrayOutputStream seen = new ByteArrayOutputStream(1024);
        try {
            Looking looking = new Looking(inside, seen, System.nanoTime() + Long.MAX_VALUE / 2);
            return looking.startsTls() && looking.tls() instanceof Tls tls
                    ? Optional.of(tls.hello())
                    : Optional.empty();
        } finally {
            inside.unread(seen.toByteArray());
        }
    }

    private static final class Looking {
        private final Inside inside;
        private final ByteArrayOutputStream seen;
        private final long end;
        private final ByteBuffer buffer = ByteBuffer.allocate(4096);

        Looking(Inside inside, ByteArrayOutputStream seen, long end) {
            this.inside = inside;
            this.seen = seen;
            this.end = end;
        }

        Kind kind() throws IOException {
            if (!startsTls() && buffer.position() == 0) {
                return new Silence();
            }
            return buffer.get(0) == HelloReader.HANDSHAKE ? tls() : text();
        }

        boolean startsTls() throws IOException {
            return more() && buffer.get(0) == HelloReader.HANDSHAKE;
        }

        Kind tls() throws IOException {
            HelloReader reader = new HelloReader();
            try {
                do {
                    Optional<ClientHello> hello = reader.next(buffer.array(), 0, buffer.position());
                    if (hello.isPresent()) {
                        return new Tls(hello.get());
                    }
                } while (more());
            } catch (MalformedException e) {
                return new Other();
            }
            return new Other();
        }

        /** A token and a space: a method. */
        private Kind text() throws IOException {
            int length = 0;
            do {
                for (int i = 0; i < buffer.position(); i++) {
                    byte b = buffer.get(i);
                    if (b == ' ' && length > 0) {
                        return new Http();
                    }
                    if (!isToken(b) || ++length > MAX_METHOD) {
                        return new Other();
                    }
                }
            } while (more());
            return new Other();
        }

        private boolean more() throws IOException {
            if (!inside.await(end - System.nanoTime()) || inside.read(buffer.clear()) < 0) {
                return false;
            }
            seen.write(buffer.array(), 0, buffer.position());
            return true;
        }
    }

    private static boolean isToken(byte b) {
        return (b >= 'A' && b <= 'Z')
                || (b >= 'a' && b <= 'z')
                || (b >= '0' && b <= '9')
                || "!#$%&'*+-.^_`|~".indexOf(b) >= 0;
    }
}
