package dev.caisson.egress;

import java.io.Closeable;
import java.io.IOException;
import java.util.Optional;

/** A connection to a server that speaks HTTP, of whatever version. */
interface Upstream extends Closeable {
    /**
     * Sends a request and waits for its answer's head. The body goes out on a thread of its own
     * while the answer comes.
     *
     * @param body of the request
     * @param interim is told of answers before the last one
     * @throws DeniedException what reading the body threw
     * @throws BadHttpException when the answer is not HTTP
     */
    Reply send(RequestHead head, HttpBody body, Interim interim) throws IOException;

    /** Whether another request may be sent now. */
    boolean reusable();

    @Override
    void close();

    /** Is told of answers before the last one. */
    interface Interim {
        void answer(AnswerHead head) throws IOException;
    }

    /**
     * An answer.
     *
     * @param tunnel after 101: what follows
     */
    record Reply(AnswerHead head, HttpBody body, Optional<Duplex> tunnel) {}
}
