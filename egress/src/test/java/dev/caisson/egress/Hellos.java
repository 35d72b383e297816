package dev.caisson.egress;

import java.nio.ByteBuffer;
import java.util.List;
import javax.net.ssl.SNIHostName;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;

/** First messages of TLS: real ones of the JDK, and such as are put together by hand. */
final class Hellos {
    private Hellos() {}

    /** As the JDK sends it; an empty name: none. */
    static byte[] real(String name) throws Exception {
        SSLEngine engine = SSLContext.getDefault().createSSLEngine();
        engine.setUseClientMode(true);
        SSLParameters parameters = engine.getSSLParameters();
        if (!name.isEmpty()) {
            parameters.setServerNames(List.of(new SNIHostName(name)));
        }
        parameters.setApplicationProtocols(new String[] {"h2", "http/1.1"});
        engine.setSSLParameters(parameters);
        ByteBuffer out = ByteBuffer.allocate(32 << 10);
        engine.wrap(ByteBuffer.allocate(0), out);
        byte[] bytes = new byte[out.flip().remaining()];
        out.get(bytes);
        return bytes;
    }

    /** A body with these extensions. */
    static byte[] body(byte[]... extensions) {
        ByteBuffer out = ByteBuffer.allocate(32 << 10);
        out.putShort((short) 0x0303).put(new byte[32]).put((byte) 0);
        out.putShort((short) 2).putShort((short) 0x1301).put((byte) 1).put((byte) 0);
        int at = out.position();
        out.putShort((short) 0);
        for (byte[] extension : extensions) {
            out.put(extension);
        }
        out.putShort(at, (short) (out.position() - at - 2));
        byte[] bytes = new byte[out.flip().remaining()];
        out.get(bytes);
        return bytes;
    }

    static byte[] extension(int type, byte[] value) {
        return ByteBuffer.allocate(4 + value.length)
                .putShort((short) type)
                .putShort((short) value.length)
                .put(value)
                .array();
    }

    static byte[] sni(String name) {
        byte[] text = name.getBytes(java.nio.charset.StandardCharsets.ISO_8859_1);
        return extension(
                0,
                ByteBuffer.allocate(5 + text.length)
                        .putShort((short) (3 + text.length))
                        .put((byte) 0)
                        .putShort((short) text.length)
                        .put(text)
                        .array());
    }

    static byte[] ech() {
        return extension(0xFE0D, new byte[40]);
    }

    /** Records of at most so many bytes around a body. */
    static byte[] records(byte[] body, int size) {
        byte[] message =
                ByteBuffer.allocate(4 + body.length)
                        .putInt(1 << 24 | body.length)
                        .put(body)
                        .array();
        ByteBuffer out = ByteBuffer.allocate(message.length * 6 + 10);
        for (int at = 0; at < message.length; at += size) {
            int part = Math.min(size, message.length - at);
            out.put((byte) 22).putShort((short) 0x0301).putShort((short) part);
            out.put(message, at, part);
        }
        byte[] bytes = new byte[out.flip().remaining()];
        out.get(bytes);
        return bytes;
    }
}
