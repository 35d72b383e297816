package dev.caisson.cli;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.v1.ErrorJson;
import dev.caisson.v1.StreamItem;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Shows the items of a stream: output as it is, or all of them as lines of JSON. */
final class Items {
    private final Streams streams;
    private final Printer printer;

    Items(Streams streams, Printer printer) {
        this.streams = streams;
        this.printer = printer;
    }

    void show(StreamItem item) {
        if (printer.json()) {
            printer.item(item);
            return;
        }
        switch (String.valueOf(item.type())) {
            case "stdout", "pty" -> write(streams.out(), bytes(item));
            case "stderr" -> write(streams.err(), bytes(item));
            case "gap" -> streams.say(item.bytes() + " bytes of output are gone");
            case "error" -> throw failure(item.error());
            default -> {
                // What happened beside the output.
            }
        }
    }

    private static CaissonException failure(@Nullable ErrorJson error) {
        return error == null
                ? CaissonException.of(ErrorCode.ENGINE_FAILED, "The stream broke off.")
                : CaissonException.of(ErrorCode.of(error.code()), error.message())
                        .withRemedy(Objects.requireNonNullElse(error.remedy(), ""));
    }

    private static byte[] bytes(StreamItem item) {
        String text = item.text();
        String base64 = item.base64();
        if (text != null) {
            return text.getBytes(StandardCharsets.UTF_8);
        }
        return base64 == null ? new byte[0] : java.util.Base64.getDecoder().decode(base64);
    }

    private void write(OutputStream target, byte[] bytes) {
        try {
            target.write(bytes);
        } catch (IOException e) {
            throw new ReaderGone(e);
        }
    }
}
