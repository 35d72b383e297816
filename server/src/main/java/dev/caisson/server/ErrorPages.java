package dev.caisson.server;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.v1.Json;
import java.nio.ByteBuffer;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.handler.ErrorHandler;
import org.eclipse.jetty.util.Callback;
import org.jspecify.annotations.Nullable;

/** What HTTP itself refuses, before a route is asked, as the one error object. */
final class ErrorPages extends ErrorHandler {
    @Override
    public boolean errorPageForMethod(String method) {
        return true;
    }

    @Override
    protected void generateResponse(
            Request request,
            Response response,
            int status,
            @Nullable String message,
            @Nullable Throwable cause,
            Callback callback) {
        String id = RequestIds.next();
        Secure.headers(request, response, id);
        byte[] body = Json.bytes(new Forms.ErrorBody(Failures.json(error(status), id)));
        response.setStatus(status);
        response.getHeaders()
                .put("Content-Type", "application/json")
                .put("Content-Length", body.length)
                .put("Connection", "close");
        response.write(true, ByteBuffer.wrap(body), callback);
    }

    private static CaissonException error(int status) {
        return switch (status) {
            case 408 -> CaissonException.of(ErrorCode.TIMEOUT, "The request came too slowly.");
            case 413, 414, 431 ->
                    CaissonException.of(
                            ErrorCode.TOO_LARGE,
                            status == 431
                                    ? "The head of the request is too large."
                                    : "The request is too large.");
            case 404 -> CaissonException.of(ErrorCode.NOT_FOUND, "There is no such route.");
            default ->
                    status < 500
                            ? CaissonException.invalid(
                                    "request", "The request is not valid HTTP for this server.")
                            : CaissonException.of(
                                    ErrorCode.INTERNAL, "Something failed inside the server.");
        };
    }
}
