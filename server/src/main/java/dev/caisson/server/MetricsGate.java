package dev.caisson.server;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;

/** On the Unix socket there are metrics and nothing else; everything else is the API's. */
final class MetricsGate extends Handler.Wrapper {
    private final Metrics metrics;

    MetricsGate(Metrics metrics, Handler api) {
        super(api);
        this.metrics = metrics;
    }

    @Override
    public boolean handle(Request request, Response response, Callback callback) throws Exception {
        if (!Listeners.isMetrics(request.getConnectionMetaData().getConnector())) {
            return super.handle(request, response, callback);
        }
        Secure.headers(request, response, RequestIds.next());
        boolean known =
                request.getMethod().equals("GET")
                        && "/metrics".equals(request.getHttpURI().getPath());
        response.setStatus(known ? 200 : 404);
        response.getHeaders()
                .put(
                        "Content-Type",
                        known ? "text/plain; version=0.0.4; charset=utf-8" : "text/plain");
        response.write(true, ByteBuffer.wrap(known ? text() : new byte[0]), callback);
        return true;
    }

    private byte[] text() throws IOException {
        return metrics.text().getBytes(StandardCharsets.UTF_8);
    }
}
