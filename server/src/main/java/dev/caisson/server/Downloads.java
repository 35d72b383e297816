package dev.caisson.server;

import dev.caisson.api.CaissonException;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Heads of answers that are files: never shown by a browser, always saved. */
final class Downloads {
    private static final Pattern RANGE = Pattern.compile("bytes=([0-9]{0,18})-([0-9]{0,18})");

    private Downloads() {}

    /** A part of a file: from offset, that many bytes. */
    record Part(long offset, long length) {}

    static void head(Exchange x, String path, String contentType) {
        x.response.setStatus(200);
        x.response
                .getHeaders()
                .put("Content-Type", contentType)
                .put("Content-Disposition", disposition(path));
    }

    /** RFC 6266, with the name as RFC 8187 has it. */
    static String disposition(String path) {
        String name = path.substring(path.lastIndexOf('/') + 1);
        StringBuilder plain = new StringBuilder();
        StringBuilder full = new StringBuilder();
        for (byte b : name.getBytes(StandardCharsets.UTF_8)) {
            char c = (char) (b & 0xFF);
            boolean safe =
                    c < 0x80 && (Character.isLetterOrDigit(c) || c == '.' || c == '-' || c == '_');
            plain.append(safe ? c : '_');
            if (safe) {
                full.append(c);
            } else {
                full.append('%').append(HexFormat.of().withUpperCase().toHexDigits(b));
            }
        }
        String shown = plain.isEmpty() ? "file" : plain.toString();
        return "attachment; filename=\"" + shown + "\"; filename*=UTF-8''" + full;
    }

    /**
     * The one range that is asked for; several, or a malformed one, are as if there were none (RFC
     * 9110, 14.2).
     */
    static Optional<Part> range(Exchange x, long size) {
        Optional<String> header = x.header("Range");
        if (header.isEmpty() || x.header("If-Range").isPresent()) {
            return Optional.empty();
        }
        Matcher range = RANGE.matcher(header.get());
        if (!range.matches() || range.group(1).isEmpty() && range.group(2).isEmpty()) {
            return Optional.empty();
        }
        if (range.group(1).isEmpty()) {
            long last = Math.min(Long.parseLong(range.group(2)), size);
            return satisfied(size - last, last, size);
        }
        long from = Long.parseLong(range.group(1));
        long to = range.group(2).isEmpty() ? size - 1 : Long.parseLong(range.group(2));
        if (!range.group(2).isEmpty() && to < from) {
            return Optional.empty();
        }
        return satisfied(from, Math.min(to, size - 1) - from + 1, size);
    }

    private static Optional<Part> satisfied(long offset, long length, long size) {
        if (length <= 0 || offset >= size) {
            throw new Refusal(
                            416,
                            CaissonException.invalid("Range", "The file is not as long as that.")
                                    .withDetail("current", Long.toString(size)))
                    .with("Content-Range", "bytes */" + size);
        }
        return Optional.of(new Part(offset, length));
    }
}
