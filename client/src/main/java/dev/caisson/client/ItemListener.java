package dev.caisson.client;

import dev.caisson.v1.StreamItem;

/** Takes the items of a stream, one at a time, in order. */
@FunctionalInterface
public interface ItemListener {
    /** One item; what it throws ends the stream. */
    void item(StreamItem item);
}
