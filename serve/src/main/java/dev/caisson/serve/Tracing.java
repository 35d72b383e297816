package dev.caisson.serve;

import dev.caisson.api.CaissonException;
import dev.caisson.server.RequestListener;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A span for each request, when a collector is named. What sends them is loaded in the background,
 * so a start does not wait for it; requests before that have no span.
 */
final class Tracing implements RequestListener, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Tracing.class);

    private final AtomicReference<RequestListener> sender = new AtomicReference<>(request -> {});
    private volatile boolean closed;

    private Tracing() {}

    /**
     * Starts it.
     *
     * @param endpoint base URL of the collector; empty: there are no spans
     */
    static Tracing start(Optional<String> endpoint, String node) {
        Tracing tracing = new Tracing();
        endpoint.ifPresent(text -> {
            URI url = endpoint(text);
            Thread.ofPlatform()
                    .daemon()
                    .name("caisson-traces")
                    .start(() -> tracing.load(url, node));
        });
        return tracing;
    }

    private void load(URI url, String node) {
        Spans spans = Spans.open(url, node);
        sender.set(spans);
        LOG.atInfo().addKeyValue("endpoint", url).log("traces are sent");
        if (closed) {
            spans.close();
        }
    }

    /** Of the collector: {@code /v1/traces} is added to a URL without a path. */
    static URI endpoint(String text) {
        try {
            URI url = new URI(text);
            boolean http = "http".equals(url.getScheme()) || "https".equals(url.getScheme());
            if (http && url.getHost() != null && url.getUserInfo() == null) {
                String path = url.getPath();
                return path.isEmpty() || path.equals("/") ? url.resolve("/v1/traces") : url;
            }
        } catch (URISyntaxException e) {
            // Told below.
        }
        throw CaissonException.invalid(
                Setting.OTLP_ENDPOINT.key(),
                "The setting otlp.endpoint is not a URL such as http://127.0.0.1:4318.");
    }

    @Override
    public void ended(Ended request) {
        sender.get().ended(request);
    }

    /** Sends what waits, for at most 3 s. */
    @Override
    public void close() {
        closed = true;
        if (sender.get() instanceof Spans spans) {
            spans.close();
        }
    }
}
