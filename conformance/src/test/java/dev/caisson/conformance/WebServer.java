package dev.caisson.conformance;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.security.KeyStore;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.zip.GZIPOutputStream;
import org.eclipse.jetty.alpn.server.ALPNServerConnectionFactory;
import org.eclipse.jetty.http.HttpField;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http2.server.HTTP2ServerConnectionFactory;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.SslConnectionFactory;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.ssl.SslContextFactory;
import org.eclipse.jetty.websocket.api.Session;
import org.eclipse.jetty.websocket.server.WebSocketUpgradeHandler;

/**
 * A web server of the host: HTTP, HTTPS, HTTP/2, WebSocket, events, redirects, git. It keeps every
 * request that came, and echoes.
 */
final class WebServer implements AutoCloseable {
    private final Server server = new Server();
    private final List<Seen> seen = new CopyOnWriteArrayList<>();
    private final GitBackend git = new GitBackend();
    private int plain;
    private int tls;

    /**
     * A request that came.
     *
     * @param what method, scheme, host and target
     * @param headers in lower case, values joined by commas
     * @param bytes of its body
     * @param body its beginning
     */
    record Seen(
            String what, String protocol, Map<String, String> headers, long bytes, String body) {
        String header(String name) {
            return headers.getOrDefault(name, "");
        }
    }

    /** On 127.0.0.1 and, where the host has it, ::1. */
    WebServer(KeyStore certificate) {
        HttpConfiguration http = new HttpConfiguration();
        http.setSendServerVersion(false);
        try {
            plain = listen("127.0.0.1", 0, null, http);
            tls = listen("127.0.0.1", 0, certificate, http);
            if (HostView.text(java.nio.file.Path.of("/proc/net/if_inet6")).isPresent()) {
                listen("::1", plain, null, http);
                listen("::1", tls, certificate, http);
            }
            WebSocketUpgradeHandler sockets =
                    WebSocketUpgradeHandler.from(
                            server,
                            container ->
                                    container.addMapping(
                                            "/ws", (request, response, callback) -> new Echo()));
            sockets.setHandler(new Answers());
            server.setHandler(sockets);
            server.start();
        } catch (Exception e) {
            throw new IllegalStateException("no web server", e);
        }
    }

    /** One more port whose certificate is another one. */
    int also(KeyStore certificate) {
        try {
            return listen("127.0.0.1", 0, certificate, new HttpConfiguration());
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private int listen(
            String host,
            int port,
            @org.jspecify.annotations.Nullable KeyStore certificate,
            HttpConfiguration http)
            throws Exception {
        ServerConnector connector;
        if (certificate == null) {
            connector = new ServerConnector(server, new HttpConnectionFactory(http));
        } else {
            SslContextFactory.Server factory = new SslContextFactory.Server();
            factory.setKeyStore(certificate);
            factory.setKeyStorePassword(new String(TestAuthority.PASSWORD));
            factory.setSniRequired(false);
            ALPNServerConnectionFactory alpn = new ALPNServerConnectionFactory("h2", "http/1.1");
            alpn.setDefaultProtocol("http/1.1");
            connector =
                    new ServerConnector(
                            server,
                            new SslConnectionFactory(factory, "alpn"),
                            alpn,
                            new HTTP2ServerConnectionFactory(http),
                            new HttpConnectionFactory(http));
        }
        connector.setHost(host);
        connector.setPort(port);
        connector.open();
        server.addConnector(connector);
        if (server.isStarted()) {
            connector.start();
        }
        return connector.getLocalPort();
    }

    int plain() {
        return plain;
    }

    int tls() {
        return tls;
    }

    GitBackend git() {
        return git;
    }

    /** The requests in which that text is. */
    List<Seen> seen(String part) {
        return seen.stream().filter(one -> one.toString().contains(part)).toList();
    }

    private final class Answers extends Handler.Abstract {
        @Override
        public boolean handle(Request request, Response response, Callback callback)
                throws Exception {
            String path = Request.getPathInContext(request);
            Map<String, String> headers = new TreeMap<>();
            for (HttpField field : request.getHeaders()) {
                headers.merge(field.getLowerCaseName(), field.getValue(), (a, b) -> a + "," + b);
            }
            InputStream body = Content.Source.asInputStream(request);
            if (path.startsWith("/git/")) {
                keep(request, headers, 0, "");
                git.serve(request, response, body);
            } else {
                String beginning = new String(body.readNBytes(4096), StandardCharsets.ISO_8859_1);
                keep(request, headers, beginning.length() + drain(body), beginning);
                answer(path, request, response, headers.getOrDefault("authorization", "none"));
            }
            callback.succeeded();
            return true;
        }

        private void keep(Request request, Map<String, String> headers, long bytes, String body) {
            seen.add(
                    new Seen(
                            request.getMethod() + " " + request.getHttpURI(),
                            request.getConnectionMetaData().getProtocol(),
                            headers,
                            bytes,
                            body));
        }
    }

    private static long drain(InputStream body) throws IOException {
        byte[] buffer = new byte[1 << 16];
        long bytes = 0;
        for (int n = body.read(buffer); n >= 0; n = body.read(buffer)) {
            bytes += n;
        }
        return bytes;
    }

    private void answer(String path, Request request, Response response, String authorization)
            throws IOException {
        OutputStream out = Content.Sink.asOutputStream(response);
        switch (path) {
            case "/redirect" -> {
                response.setStatus(302);
                String to = Request.extractQueryParameters(request).getValue("to");
                response.getHeaders().put(HttpHeader.LOCATION, to);
            }
            case "/events" -> events(response, out);
            case "/echo-header" -> response.getHeaders().put("X-Echo", authorization);
            case "/echo-body" -> out.write(bytes("you sent " + authorization));
            case "/echo-gzip" -> {
                response.getHeaders().put(HttpHeader.CONTENT_ENCODING, "gzip");
                out.write(gzip("you sent " + authorization));
            }
            case "/echo-pieces" -> {
                for (byte one : bytes("you sent " + authorization)) {
                    out.write(one);
                    out.flush();
                }
            }
            default -> out.write(bytes("hello " + path));
        }
        out.close();
    }

    private static void events(Response response, OutputStream out) throws IOException {
        response.getHeaders().put(HttpHeader.CONTENT_TYPE, "text/event-stream");
        for (int i = 0; i < 4; i++) {
            out.write(bytes("data: event " + i + "\n\n"));
            out.flush();
            LiveService.pause(300);
        }
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static byte[] gzip(String text) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (GZIPOutputStream gzip = new GZIPOutputStream(bytes)) {
            gzip.write(bytes(text));
        }
        return bytes.toByteArray();
    }

    /** Sends each message back. */
    public static final class Echo extends Session.Listener.AbstractAutoDemanding {
        @Override
        public void onWebSocketText(String message) {
            getSession().sendText("echo " + message, org.eclipse.jetty.websocket.api.Callback.NOOP);
        }
    }

    @Override
    public void close() {
        try {
            server.stop();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
        git.close();
    }
}
