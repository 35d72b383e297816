package dev.caisson.redact;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Consumer;

/** The same as the redactor, slow and obvious: reads everything at once, in four ways. */
final class Reference {
    private static final int PLAIN = -1;

    private Reference() {}

    /** The bytes with what is found replaced. */
    static byte[] redact(Collection<byte[]> secrets, byte[] all) {
        Set<String> forms = new HashSet<>();
        secrets.forEach(secret -> forms.addAll(Forms.of(secret)));
        boolean[] gone = new boolean[all.length];
        boolean[] joined = new boolean[all.length + 1]; // with the byte before, in one place
        for (int kind = PLAIN; kind < Escape.KINDS; kind++) {
            mark(forms, all, kind, gone, joined);
        }
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (int i = 0; i < all.length; i++) {
            if (!gone[i]) {
                out.write(all[i]);
            } else if (i == 0 || !gone[i - 1] || !joined[i]) {
                out.writeBytes(Redactor.REPLACEMENT.getBytes(StandardCharsets.US_ASCII));
            }
        }
        return out.toByteArray();
    }

    private static void mark(
            Set<String> forms, byte[] all, int kind, boolean[] gone, boolean[] joined) {
        StringBuilder text = new StringBuilder();
        int[] starts = new int[all.length + 1];
        int[] ends = new int[all.length + 1];
        Escape escape = new Escape();
        boolean broken = false;
        for (int i = 0; i < all.length; ) {
            int length =
                    kind >= 0 && Escape.kind(all[i]) == kind ? escape.read(all, i, all.length) : 0;
            int count = length > 0 ? escape.count() : 1;
            length = Math.max(1, length);
            if (count == 0 && broken) {
                starts[text.length()] = i;
                ends[text.length()] = i + length;
                text.append('\uFFFF'); // an empty line
            }
            broken = count == 0;
            for (int k = 0; k < count; k++) {
                starts[text.length()] = i;
                ends[text.length()] = i + length;
                byte b = length == 1 ? all[i] : escape.meaning(k);
                text.append((char) (b & 0xFF));
            }
            i += length;
        }
        for (String form : forms) {
            for (int at = text.indexOf(form); at >= 0; at = text.indexOf(form, at + 1)) {
                int end = ends[at + form.length() - 1];
                for (int i = starts[at]; i < end; i++) {
                    gone[i] = true;
                    joined[i] |= i > starts[at];
                }
            }
        }
    }

    /** What a stream makes of parts that are cut at some places. */
    static byte[] streamed(Redactor redactor, byte[] all, int... cuts) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        Consumer<ByteBuffer> append =
                buffer -> {
                    byte[] part = new byte[buffer.remaining()];
                    buffer.get(part);
                    out.writeBytes(part);
                };
        Redactor.Stream stream = redactor.stream();
        int from = 0;
        for (int cut : cuts) {
            stream.write(ByteBuffer.wrap(all, from, cut - from), append);
            from = cut;
        }
        stream.write(ByteBuffer.wrap(all, from, all.length - from), append);
        stream.flush(append);
        return out.toByteArray();
    }
}
