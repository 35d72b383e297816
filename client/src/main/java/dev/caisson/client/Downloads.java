package dev.caisson.client;

import java.io.IOException;
import java.io.OutputStream;
import java.util.function.LongConsumer;

/** Copies bodies of answers to streams, and tells a broken one from a whole one. */
final class Downloads {
    private Downloads() {}

    /** Copies a body; returns its bytes. */
    static long copy(Http http, Call call, OutputStream target) {
        return copy(http, call, target, bytes -> {});
    }

    static long copy(Http http, Call call, OutputStream target, LongConsumer progress) {
        try (Answer answer = open(http, call)) {
            byte[] chunk = new byte[64 << 10];
            long bytes = 0;
            while (true) {
                int count = read(http, answer, chunk);
                if (count < 0) {
                    return whole(answer, bytes);
                }
                write(target, chunk, count);
                bytes += count;
                progress.accept(bytes);
            }
        }
    }

    /** Opens a body of bytes. */
    static Answer open(Http http, Call call) {
        Answer answer = http.open(call.header("Accept", "*/*"));
        if (!answer.endIsTold()) {
            answer.close();
            throw Failures.malformed("a body whose end cannot be told from a break", null);
        }
        return answer;
    }

    private static int read(Http http, Answer answer, byte[] chunk) {
        try {
            return answer.stream().read(chunk);
        } catch (IOException e) {
            throw Failures.broken(http.config().url(), e);
        }
    }

    private static long whole(Answer answer, long bytes) {
        if (answer.length().orElse(bytes) != bytes) {
            throw Failures.malformed("a body of another length than announced", null);
        }
        return bytes;
    }

    private static void write(OutputStream target, byte[] chunk, int count) {
        try {
            target.write(chunk, 0, count);
        } catch (IOException e) {
            throw new java.io.UncheckedIOException("the target cannot be written", e);
        }
    }
}
