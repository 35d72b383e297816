package dev.caisson.egress;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.Optional;

/**
 * Finds the ClientHello in the records of TLS as they come, however they are cut. Each byte is
 * looked at once. One thread.
 */
final class HelloReader {
    /** Bytes of the records together that are looked at. */
    static final int MAX = 64 << 10;

    /** Type of a record that holds a handshake: the first byte of TLS. */
    static final int HANDSHAKE = 22;

    private static final int MAX_RECORD = 16 << 10;
    private static final int CLIENT_HELLO = 1;
    private static final int RECORD_HEADER = 5;
    private static final int MESSAGE_HEADER = 4;

    private final ByteArrayOutputStream message = new ByteArrayOutputStream(512);
    private final byte[] header = new byte[RECORD_HEADER];
    private int headerBytes;
    private int recordLeft;
    private int total;
    private int wanted = -1;

    /**
     * Takes the next bytes.
     *
     * @return the message, once it is whole
     * @throws MalformedException when this is no ClientHello
     */
    Optional<ClientHello> next(byte[] bytes, int from, int to) throws MalformedException {
        total += to - from;
        if (total > MAX) {
            throw new MalformedException("too long");
        }
        int at = from;
        while (at < to) {
            at = recordLeft == 0 ? header(bytes, at) : body(bytes, at, to);
            if (wanted >= 0 && message.size() >= wanted) {
                return Optional.of(whole());
            }
        }
        return Optional.empty();
    }

    private int header(byte[] bytes, int at) throws MalformedException {
        header[headerBytes++] = bytes[at];
        if (header[0] != HANDSHAKE || (headerBytes > 1 && header[1] != 3)) {
            throw new MalformedException("no record of a handshake");
        }
        if (headerBytes == RECORD_HEADER) {
            headerBytes = 0;
            recordLeft = ((header[3] & 0xFF) << 8) | (header[4] & 0xFF);
            if (recordLeft == 0 || recordLeft > MAX_RECORD) {
                throw new MalformedException("length of a record");
            }
        }
        return at + 1;
    }

    private int body(byte[] bytes, int at, int to) throws MalformedException {
        int size = Math.min(recordLeft, to - at);
        message.write(bytes, at, size);
        recordLeft -= size;
        if (wanted < 0 && message.size() >= MESSAGE_HEADER) {
            byte[] start = message.toByteArray();
            int length = ((start[1] & 0xFF) << 16) | ((start[2] & 0xFF) << 8) | (start[3] & 0xFF);
            if (start[0] != CLIENT_HELLO || length > MAX - MESSAGE_HEADER) {
                throw new MalformedException("no ClientHello");
            }
            wanted = MESSAGE_HEADER + length;
        }
        return at + size;
    }

    /**
     * Nothing may follow in its last record: keys change behind no ClientHello, but nobody asks.
     */
    private ClientHello whole() throws MalformedException {
        if (recordLeft != 0 || message.size() != wanted) {
            throw new MalformedException("bytes behind the ClientHello");
        }
        byte[] all = message.toByteArray();
        return ClientHello.parse(ByteBuffer.wrap(all, MESSAGE_HEADER, wanted - MESSAGE_HEADER));
    }
}
