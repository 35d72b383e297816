package dev.caisson.mcp;

import java.io.InputStream;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A request as the server got it.
 *
 * @param method upper case
 * @param header the first value of a header, whatever the case of its name; null: absent
 * @param body read to a limit, not closed
 */
public record HttpRequest(
        String method, Function<String, @Nullable String> header, InputStream body) {}
