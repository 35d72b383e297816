package dev.caisson.egress;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * A request that the gateway makes for itself, with the fields of one from inside: its answer is
 * judged and learned from as that one's would be, and then nobody gets it. One thread.
 */
final class OwnExchange implements Exchange {
    private final RequestHead request;
    private boolean answered;

    /** A GET of that path and query on behalf of a request. */
    OwnExchange(RequestHead of, String target) {
        request = new RequestHead("GET", target, HttpHeaders.copy(of.headers()));
    }

    @Override
    public RequestHead request() {
        return request;
    }

    @Override
    public HttpBody body() {
        return HttpBody.EMPTY;
    }

    @Override
    public boolean webSocket() {
        return false;
    }

    @Override
    public void interim(AnswerHead head) {
        // Nobody waits for it.
    }

    @Override
    public void answer(AnswerHead head, HttpBody body) throws IOException {
        answered = true;
        if (head.status() != 200) {
            body.cancel(); // what it says is of no use
            return;
        }
        @Nullable ByteBuffer bytes;
        do {
            bytes = body.next();
        } while (bytes != null);
    }

    @Override
    public Duplex tunnel(AnswerHead head) throws IOException {
        throw new IOException("There is no tunnel for " + this);
    }

    @Override
    public boolean answered() {
        return answered;
    }

    @Override
    public void abort() {
        answered = true;
    }

    @Override
    public String toString() {
        return request.toString();
    }
}
