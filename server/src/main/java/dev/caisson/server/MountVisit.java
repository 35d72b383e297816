package dev.caisson.server;

import dev.caisson.control.Caller;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A request to a mount, on its exchange. */
final class MountVisit implements Mount.Visit {
    private final Exchange exchange;
    private final String path;
    private final Gate gate;

    MountVisit(Exchange exchange, String path, Gate gate) {
        this.exchange = exchange;
        this.path = path;
        this.gate = gate;
        exchange.waitsLong();
    }

    @Override
    public String method() {
        return exchange.request.getMethod();
    }

    @Override
    public String path() {
        return path;
    }

    @Override
    public @Nullable String header(String name) {
        return exchange.request.getHeaders().get(name);
    }

    @Override
    public Caller caller() {
        Caller caller = gate.caller(exchange.request).orElseThrow(Refusal::unauthenticated);
        Caller dressed = gate.dressed(caller, exchange.request);
        exchange.caller(dressed);
        return dressed;
    }

    @Override
    public InputStream body() {
        return exchange.upload();
    }

    @Override
    public void answer(int status, Map<String, String> headers, byte[] body) throws IOException {
        head(status, headers);
        exchange.response.getHeaders().put("Content-Length", body.length);
        try (OutputStream output = exchange.output()) {
            output.write(body);
        }
    }

    @Override
    public OutputStream stream(int status, Map<String, String> headers) throws IOException {
        head(status, headers);
        OutputStream output = exchange.output();
        output.flush();
        return output;
    }

    private void head(int status, Map<String, String> headers) {
        exchange.response.setStatus(status);
        headers.forEach(exchange.response.getHeaders()::put);
    }
}
