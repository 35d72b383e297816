package dev.caisson.core;

import com.google.protobuf.ByteString;
import dev.caisson.redact.Redactor;
import java.nio.ByteBuffer;
import java.util.function.Supplier;

/**
 * A part of a file as it is without its secrets. Offset and length count in what is left, so the
 * file is read from its beginning: a secret cannot be read in pieces. One thread.
 */
final class RedactedFile {
    private final Redactor.Stream stream;
    private long skip;
    private long left;
    private ByteString ready = ByteString.EMPTY;
    private boolean ended;

    /**
     * A part of a file.
     *
     * @param length bytes at most; 0: to its end
     */
    RedactedFile(Redactor redactor, long offset, long length) {
        this.stream = redactor.stream();
        this.skip = offset;
        this.left = length == 0 ? Long.MAX_VALUE : length;
    }

    /**
     * The next bytes, empty at the end.
     *
     * @param source the file's next bytes, empty at its end
     */
    ByteString next(Supplier<ByteString> source) {
        ready = ByteString.EMPTY;
        while (ready.isEmpty() && left > 0 && !ended) {
            ByteString data = source.get();
            if (data.isEmpty()) {
                ended = true;
                stream.flush(this::take);
            } else {
                stream.write(data.asReadOnlyByteBuffer(), this::take);
            }
        }
        return ready;
    }

    private void take(ByteBuffer part) {
        int skipped = (int) Math.min(skip, part.remaining());
        skip -= skipped;
        part.position(part.position() + skipped);
        int taken = (int) Math.min(left, part.remaining());
        left -= taken;
        ready = ready.concat(ByteString.copyFrom(part.slice(part.position(), taken)));
    }

    long found() {
        return stream.found();
    }
}
