package dev.caisson.egress;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;

/** Sees the answer to one request, before the program inside does. Used by one thread. */
interface AnswerFilter {
    /**
     * The answer begins.
     *
     * @param headers values by lower-case name; may be changed
     * @throws DeniedException nothing of it passes; the program gets 403
     */
    Plan begin(int status, Map<String, List<String>> headers) throws DeniedException;

    /** What is done with the body. */
    sealed interface Plan {}

    /** It passes. */
    record Pass() implements Plan {}

    /** It passes while somebody looks on. */
    non-sealed interface Tap extends Plan {
        /** The next bytes, as the server sent them. */
        void bytes(ByteBuffer bytes);

        /**
         * That was all. The last piece was not passed on yet.
         *
         * @throws DeniedException the program never gets the last piece, but a broken connection
         */
        void end() throws DeniedException;
    }

    /**
     * It is read whole, content codings taken off, and replaced.
     *
     * @param maxBytes a longer one is refused with 502; at most 64 MiB
     */
    record Rewrite(int maxBytes, Change change) implements Plan {
        static final int MOST = 64 << 20;

        /** Checks the limit. */
        public Rewrite {
            if (maxBytes < 1 || maxBytes > MOST) {
                throw new IllegalArgumentException("maxBytes: " + maxBytes);
            }
        }
    }

    /** Makes another body of the whole one. */
    interface Change {
        /**
         * Makes it; the same array when nothing is changed.
         *
         * @throws DeniedException nothing of it passes; the program gets 403
         */
        byte[] apply(byte[] whole) throws DeniedException;
    }
}
