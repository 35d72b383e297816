package dev.caisson.client;

import java.io.InputStream;
import java.net.http.HttpHeaders;
import java.util.OptionalLong;

/**
 * An answer whose body is still to be read. The caller closes it.
 *
 * @param status 2xx
 * @param headers as they came
 * @param body fails when nothing comes for too long
 */
record Answer(int status, HttpHeaders headers, PolledBody body) implements AutoCloseable {

    /** The length that was announced. */
    OptionalLong length() {
        return headers.firstValueAsLong("content-length");
    }

    /** Whether a body that breaks off can be told from one that ends. */
    boolean endIsTold() {
        return length().isPresent() || headers.firstValue("transfer-encoding").isPresent();
    }

    InputStream stream() {
        return body;
    }

    @Override
    public void close() {
        body.close();
    }
}
