package dev.caisson.mcp;

import tools.jackson.databind.node.ObjectNode;

/**
 * Where the messages that belong to one message of the client go. Called from several threads, one
 * call at a time is not promised; does not throw when the client is gone.
 */
public interface Outbox {
    /** A message for the client. */
    void send(ObjectNode message);

    /** Nothing more comes for that message: it was answered, or cancelled. */
    default void done() {}
}
