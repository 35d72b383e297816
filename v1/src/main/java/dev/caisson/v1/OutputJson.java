package dev.caisson.v1;

/**
 * Captured output: {@code text} when it is UTF-8, else {@code base64}.
 *
 * @param encoding {@code text} or {@code base64}
 * @param data the captured part
 * @param totalBytes written
 * @param truncated whether something is missing
 * @param droppedBytes missing bytes
 */
public record OutputJson(
        String encoding, String data, long totalBytes, boolean truncated, long droppedBytes) {}
