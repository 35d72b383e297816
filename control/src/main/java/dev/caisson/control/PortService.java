package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Tunnel;
import dev.caisson.v1.PortJson;
import dev.caisson.v1.PortRequest;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Ports inside sandboxes. */
public interface PortService {
    /** Opens a port to clients: with a token, or to all where the policy allows that. */
    PortJson open(Caller caller, String sandbox, PortRequest request);

    /** The open ones. */
    List<PortJson> list(Caller caller, String sandbox);

    /** Closes it; what is connected is cut. */
    void close(Caller caller, String sandbox, int port);

    /** Connects to a port; for the sandbox's own tenant any port may be dialled. */
    Tunnel dial(Caller caller, String sandbox, int port);

    /**
     * Connects for the proxy.
     *
     * @param token as presented; null: none
     * @param admission told the tenant of a visitor who may, before anything is dialled; what it
     *     throws is the answer
     * @throws CaissonException {@link ErrorCode#NOT_FOUND}, {@link ErrorCode#UNAUTHENTICATED}
     */
    Tunnel dialPublic(String sandbox, int port, @Nullable String token, Consumer<String> admission);
}
