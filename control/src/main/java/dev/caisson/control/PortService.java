package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Tunnel;
import dev.caisson.v1.PortJson;
import dev.caisson.v1.PortLinkJson;
import dev.caisson.v1.PortLinkRequest;
import dev.caisson.v1.PortRequest;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;

/** Ports inside sandboxes. */
public interface PortService {
    /** Where on a port's own host links are followed; what follows in a path is the link. */
    String LINKS = "/.caisson/links/";

    /**
     * Opens a port to clients: with a token, or to all where the policy allows that. One that is
     * open so already keeps its token.
     */
    PortJson open(Caller caller, String sandbox, PortRequest request);

    /** The open ones, with their tokens for those who may open them. */
    List<PortJson> list(Caller caller, String sandbox);

    /** Closes it; what is connected is cut, and its token is void. */
    void close(Caller caller, String sandbox, int port);

    /**
     * A link that lets one browser in to an open port.
     *
     * @throws CaissonException {@link ErrorCode#NOT_FOUND} when it is not open, {@link
     *     ErrorCode#INVALID} for a path that may lead elsewhere
     */
    PortLinkJson link(Caller caller, String sandbox, int port, PortLinkRequest request);

    /**
     * What a browser gets that has followed a link.
     *
     * @param pass for {@link PortVisitor}
     * @param life of the pass
     * @param path where it goes on: of the port, beginning with one slash
     */
    record Entry(String pass, Duration life, String path) {}

    /**
     * Follows a link, once.
     *
     * @throws CaissonException {@link ErrorCode#NOT_FOUND}, {@link ErrorCode#UNAUTHENTICATED}
     */
    Entry enter(String sandbox, int port, String link);

    /** Connects to a port; for the sandbox's own tenant any port may be dialled. */
    Tunnel dial(Caller caller, String sandbox, int port);

    /**
     * Connects for the proxy.
     *
     * @param admission told the tenant of a visitor who may, before anything is dialled; what it
     *     throws is the answer
     * @throws CaissonException {@link ErrorCode#NOT_FOUND}, {@link ErrorCode#UNAUTHENTICATED}
     */
    Tunnel dialPublic(String sandbox, int port, PortVisitor visitor, Consumer<String> admission);
}
