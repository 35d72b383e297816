package dev.caisson.egress;

import java.io.IOException;

/** A request of a program inside, and the way back to it, of whatever version. */
interface Exchange {
    /** The request; the target is path and query, the connection's own fields are gone. */
    RequestHead request();

    /** Its body. */
    HttpBody body();

    /** Whether it asks for a WebSocket. */
    boolean webSocket();

    /** Sends an answer before the last one. */
    void interim(AnswerHead head) throws IOException;

    /** Sends the answer to its end. */
    void answer(AnswerHead head, HttpBody body) throws IOException;

    /** Sends 101; the connection is what both sides make of it from now on. */
    Duplex tunnel(AnswerHead head) throws IOException;

    /** Whether the last answer began. */
    boolean answered();

    /** The answer cannot be brought to its end, and the program must see that. */
    void abort();
}
