package dev.caisson.egress;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/**
 * The head of a request to a proxy.
 *
 * @param method as sent
 * @param authority host and port as sent; a port may lack in an absolute address
 * @param path what follows the authority of an absolute address; empty with CONNECT
 * @param version {@code HTTP/1.1} or {@code HTTP/1.0}
 * @param headers lines as sent
 */
record ProxyRequest(
        String method, String authority, String path, String version, List<String> headers) {
    /** Bytes of a head. */
    static final int MAX_HEAD = 32 << 10;

    private static final String CONNECT = "CONNECT";
    private static final String ABSOLUTE = "http://";
    private static final int MAX_LINES = 128;
    // Of this connection alone, and credentials that are meant for nobody.
    private static final Set<String> OWN =
            Set.of("connection", "keep-alive", "proxy-connection", "proxy-authorization");

    /** Copies the list. */
    ProxyRequest {
        headers = List.copyOf(headers);
    }

    boolean isConnect() {
        return method.equals(CONNECT);
    }

    /**
     * Reads a head; what follows it stays where it is.
     *
     * @return empty at the end of the connection
     */
    static Optional<ProxyRequest> read(Inside inside) throws IOException, MalformedException {
        byte[] head = new byte[MAX_HEAD];
        int size = 0;
        int end = -1;
        while (end < 0) {
            if (size == MAX_HEAD) {
                throw new MalformedException("the head is too long");
            }
            ByteBuffer into = ByteBuffer.wrap(head, size, MAX_HEAD - size);
            if (inside.read(into) < 0) {
                return Optional.empty();
            }
            int from = Math.max(0, size - 3);
            size = into.position();
            end = emptyLine(head, from, size);
        }
        inside.unread(java.util.Arrays.copyOfRange(head, end + 4, size));
        return Optional.of(parse(new String(head, 0, end, StandardCharsets.ISO_8859_1)));
    }

    private static int emptyLine(byte[] bytes, int from, int to) {
        for (int i = from; i + 3 < to; i++) {
            if (bytes[i] == '\r'
                    && bytes[i + 1] == '\n'
                    && bytes[i + 2] == '\r'
                    && bytes[i + 3] == '\n') {
                return i;
            }
        }
        return -1;
    }

    /** Reads the lines of a head, without the empty one. */
    static ProxyRequest parse(String head) throws MalformedException {
        List<String> lines = List.of(head.split("\r\n", -1));
        if (lines.size() > MAX_LINES) {
            throw new MalformedException("too many header fields");
        }
        for (String line : lines) {
            if (!line.chars().allMatch(c -> c == '\t' || (c >= ' ' && c != 0x7F))) {
                throw new MalformedException("a control character");
            }
        }
        List<String> headers = new ArrayList<>(lines.subList(1, lines.size()));
        for (String line : headers) {
            name(line);
        }
        return requestLine(lines.getFirst(), headers);
    }

    private static ProxyRequest requestLine(String line, List<String> headers)
            throws MalformedException {
        String[] words = line.split(" ", -1);
        if (words.length != 3
                || !words[0].matches("[A-Z]{1,24}")
                || !words[2].matches("HTTP/1\\.[01]")) {
            throw new MalformedException("the request line");
        }
        if (words[0].equals(CONNECT)) {
            return new ProxyRequest(CONNECT, authority(words[1]), "", words[2], headers);
        }
        if (!words[1].regionMatches(true, 0, ABSOLUTE, 0, ABSOLUTE.length())) {
            throw new MalformedException("a proxy is asked with http://HOST/ or CONNECT HOST:PORT");
        }
        String rest = words[1].substring(ABSOLUTE.length());
        int slash = rest.indexOf('/');
        String authority = slash < 0 ? rest : rest.substring(0, slash);
        String path = slash < 0 ? "/" : rest.substring(slash);
        return new ProxyRequest(words[0], authority(authority), path, words[2], headers);
    }

    /** No user, no backslash, no fragment, nothing that could be read in two ways. */
    private static String authority(String text) throws MalformedException {
        if (!text.matches("[A-Za-z0-9._:\\[\\]-]{1,300}")) {
            throw new MalformedException("the host");
        }
        return text;
    }

    private static String name(String line) throws MalformedException {
        int colon = line.indexOf(':');
        if (colon <= 0 || !line.substring(0, colon).matches("[A-Za-z0-9!#$%&'*+.^_`|~-]+")) {
            throw new MalformedException("a header field");
        }
        return line.substring(0, colon).toLowerCase(Locale.ROOT);
    }

    /**
     * The request as its server would get it. The connection ends with it, since the next one may
     * be for another host.
     */
    String rewritten() {
        StringBuilder out = new StringBuilder();
        out.append(method).append(' ').append(path).append(' ').append(version).append("\r\n");
        for (String line : headers) {
            String name = line.substring(0, line.indexOf(':')).toLowerCase(Locale.ROOT);
            if (!OWN.contains(name)) {
                out.append(line).append("\r\n");
            }
        }
        return out.append("Connection: close\r\n\r\n").toString();
    }
}
