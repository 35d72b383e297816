package dev.caisson.core;

import com.google.protobuf.ByteString;
import java.io.IOException;
import java.nio.channels.SocketChannel;
import org.jspecify.annotations.Nullable;

/**
 * A connection on which the agent answers, possibly behind one frame of somebody who passed it on.
 *
 * @param channel blocking; whoever asked for the link closes it
 * @param doorkeeper reads the frame in front of the agent's; null when there is none
 */
public record DataLink(SocketChannel channel, @Nullable Doorkeeper doorkeeper) {

    /** Reads the frame in front of the agent's. */
    @FunctionalInterface
    public interface Doorkeeper {
        /** Returns when the connection was passed on, throws when it was refused. */
        void admit(ByteString frame) throws IOException;
    }
}
