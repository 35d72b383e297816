package dev.caisson.testkit;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;

/** The answer to one request of a {@link StubServer}, written as a test likes. One thread. */
public final class StubReply {
    private final Socket socket;
    private final InputStream in;
    private final OutputStream out;
    private StubServer.Request request =
            new StubServer.Request("", "", java.util.Map.of(), java.util.Map.of(), "");
    private boolean chunked;
    private boolean begun;
    private boolean closed;

    StubReply(Socket socket, InputStream in, OutputStream out) {
        this.socket = socket;
        this.in = in;
        this.out = out;
    }

    void begin(StubServer.Request next) {
        request = next;
        begun = false;
        chunked = false;
    }

    boolean closed() {
        return closed;
    }

    /** Ends what the handler left open. */
    void finish() throws IOException {
        if (chunked) {
            end();
        }
        if (!begun) {
            json(200, "{}");
        }
    }

    /** Writes a head: {@code head(200, "Content-Length: 3")}. */
    public void head(int status, String... headers) throws IOException {
        begun = true;
        StringBuilder head = new StringBuilder("HTTP/1.1 " + status + " Stub\r\n");
        for (String header : headers) {
            head.append(header).append("\r\n");
        }
        raw(head.append("\r\n").toString());
    }

    /** A whole JSON answer. */
    public void json(int status, String body, String... headers) throws IOException {
        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
        String[] all = new String[headers.length + 2];
        System.arraycopy(headers, 0, all, 2, headers.length);
        all[0] = "Content-Type: application/json";
        all[1] = "Content-Length: " + bytes.length;
        head(status, all);
        raw(bytes);
    }

    /** An error object. */
    public void error(int status, String code, String message, String... headers)
            throws IOException {
        json(
                status,
                "{\"error\":{\"code\":\""
                        + code
                        + "\",\"message\":\""
                        + message
                        + "\",\"remedy\":\"Do better.\",\"requestId\":\"rq1\",\"retryable\":"
                        + (status == 429 || status == 503)
                        + ",\"details\":{\"field\":\"x\",\"allowed\":3}}}",
                headers);
    }

    /** A body of bytes of known length. */
    public void bytes(byte[] body) throws IOException {
        head(200, "Content-Length: " + body.length);
        raw(body);
    }

    /** Begins a stream of items. */
    public StubReply stream() throws IOException {
        head(200, "Content-Type: application/x-ndjson", "Transfer-Encoding: chunked");
        chunked = true;
        return this;
    }

    /** One line of a stream, seen at once. */
    public StubReply item(String json) throws IOException {
        return chunk((json + "\n").getBytes(StandardCharsets.UTF_8));
    }

    /** Part of a chunked body. */
    public StubReply chunk(byte[] bytes) throws IOException {
        raw(Integer.toHexString(bytes.length) + "\r\n");
        raw(bytes);
        raw("\r\n");
        return this;
    }

    /** The end of a stream. */
    public void end() throws IOException {
        chunked = false;
        raw("0\r\n\r\n");
    }

    /** Cuts the connection here. */
    public void cut() throws IOException {
        begun = true;
        chunked = false;
        closed = true;
        socket.close();
    }

    /** Writes anything. */
    public void raw(String text) throws IOException {
        raw(text.getBytes(StandardCharsets.ISO_8859_1));
    }

    private void raw(byte[] bytes) throws IOException {
        out.write(bytes);
        out.flush();
    }

    /** Accepts a WebSocket (RFC 6455). */
    public void upgrade() throws IOException {
        try {
            String accept =
                    request.header("sec-websocket-key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
            byte[] hash =
                    MessageDigest.getInstance("SHA-1")
                            .digest(accept.getBytes(StandardCharsets.US_ASCII));
            head(
                    101,
                    "Upgrade: websocket",
                    "Connection: Upgrade",
                    "Sec-WebSocket-Accept: " + Base64.getEncoder().encodeToString(hash));
            closed = true;
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Sends a whole frame: opcode 1 text, 2 binary, 8 close. */
    public void frame(int opcode, byte[] payload) throws IOException {
        out.write(0x80 | opcode);
        if (payload.length < 126) {
            out.write(payload.length);
        } else {
            out.write(126);
            out.write(payload.length >> 8);
            out.write(payload.length);
        }
        raw(payload);
    }

    /** Sends a text frame. */
    public void text(String text) throws IOException {
        frame(1, text.getBytes(StandardCharsets.UTF_8));
    }

    /** The next frame of a client as text, its opcode in front: {@code 2:abc}. */
    public String frame() throws IOException {
        DataInputStream data = new DataInputStream(in);
        int opcode = data.readUnsignedByte() & 0x0F;
        long length = data.readUnsignedByte() & 0x7F;
        if (length == 126) {
            length = data.readUnsignedShort();
        } else if (length == 127) {
            length = data.readLong();
        }
        byte[] mask = data.readNBytes(4);
        byte[] payload = data.readNBytes((int) length);
        for (int i = 0; i < payload.length; i++) {
            payload[i] ^= mask[i % 4];
        }
        return opcode + ":" + new String(payload, StandardCharsets.UTF_8);
    }
}
