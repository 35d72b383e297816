package dev.caisson.egress;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * What the first message of TLS (RFC 8446, 4.1.2) says.
 *
 * @param serverName as sent; empty when there is none
 * @param encryptedHello whether it offers an encrypted ClientHello (RFC 9849)
 * @param alpn protocols, as sent
 */
record ClientHello(Optional<String> serverName, boolean encryptedHello, List<String> alpn) {
    private static final int SERVER_NAME = 0;
    private static final int ALPN = 16;
    private static final int ENCRYPTED_CLIENT_HELLO = 0xFE0D;
    private static final int RANDOM = 2 + 32; // the version before it
    private static final int MAX_SESSION = 32;
    private static final int MAX_NAME = 255;

    /** Copies the list. */
    ClientHello {
        alpn = List.copyOf(alpn);
    }

    /**
     * Reads the body of the message, without its type and length.
     *
     * @throws MalformedException when it is not exactly that
     */
    static ClientHello parse(ByteBuffer body) throws MalformedException {
        try {
            ByteBuffer rest = body.slice();
            rest.position(RANDOM);
            if (part(rest, 1).remaining() > MAX_SESSION) {
                throw new MalformedException("session id");
            }
            ByteBuffer suites = part(rest, 2);
            if (suites.remaining() < 2 || suites.remaining() % 2 != 0) {
                throw new MalformedException("cipher suites");
            }
            if (!part(rest, 1).hasRemaining()) {
                throw new MalformedException("compression methods");
            }
            Reading reading = new Reading();
            if (rest.hasRemaining()) {
                reading.extensions(part(rest, 2));
            }
            end(rest);
            return new ClientHello(reading.name, reading.encrypted, reading.alpn);
        } catch (BufferUnderflowException | IllegalArgumentException e) {
            throw new MalformedException("a length");
        }
    }

    private static final class Reading {
        private Optional<String> name = Optional.empty();
        private boolean encrypted;
        private final List<String> alpn = new ArrayList<>();
        private final Set<Integer> seen = new HashSet<>();

        void extensions(ByteBuffer all) throws MalformedException {
            while (all.hasRemaining()) {
                int type = all.getShort() & 0xFFFF;
                ByteBuffer value = part(all, 2);
                if (!seen.add(type)) {
                    throw new MalformedException("an extension twice");
                }
                switch (type) {
                    case SERVER_NAME -> serverName(value);
                    case ALPN -> protocols(value);
                    case ENCRYPTED_CLIENT_HELLO -> encrypted = true;
                    default -> {
                        // says nothing that we ask for
                    }
                }
            }
        }

        /** Exactly one name of the only kind there is (RFC 6066, 3). */
        private void serverName(ByteBuffer value) throws MalformedException {
            ByteBuffer list = part(value, 2);
            end(value);
            if (list.get() != 0) {
                throw new MalformedException("kind of server name");
            }
            ByteBuffer text = part(list, 2);
            end(list);
            if (!text.hasRemaining() || text.remaining() > MAX_NAME) {
                throw new MalformedException("server name");
            }
            name = Optional.of(ascii(text));
        }

        private void protocols(ByteBuffer value) throws MalformedException {
            ByteBuffer list = part(value, 2);
            end(value);
            while (list.hasRemaining()) {
                alpn.add(StandardCharsets.ISO_8859_1.decode(part(list, 1)).toString());
            }
        }
    }

    private static String ascii(ByteBuffer text) throws MalformedException {
        String name = StandardCharsets.ISO_8859_1.decode(text).toString();
        if (!name.chars().allMatch(c -> c > 0x20 && c < 0x7F)) {
            throw new MalformedException("server name");
        }
        return name;
    }

    /** Bytes with their length in front. */
    private static ByteBuffer part(ByteBuffer from, int lengthBytes) {
        int length = from.get() & 0xFF;
        if (lengthBytes == 2) {
            length = (length << 8) | (from.get() & 0xFF);
        }
        ByteBuffer part = from.slice(from.position(), checked(length, from.remaining()));
        from.position(from.position() + length);
        return part;
    }

    private static int checked(int length, int there) {
        if (length > there) {
            throw new BufferUnderflowException();
        }
        return length;
    }

    private static void end(ByteBuffer rest) throws MalformedException {
        if (rest.hasRemaining()) {
            throw new MalformedException("bytes behind it");
        }
    }
}
