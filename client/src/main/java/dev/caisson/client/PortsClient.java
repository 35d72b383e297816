package dev.caisson.client;

import dev.caisson.api.Tunnel;
import dev.caisson.v1.LinkJson;
import dev.caisson.v1.PortJson;
import dev.caisson.v1.PortLinkJson;
import dev.caisson.v1.PortLinkRequest;
import dev.caisson.v1.PortRequest;
import java.util.List;
import java.util.Map;

/** Ports of sandboxes. */
public final class PortsClient {
    private final Http http;

    PortsClient(Http http) {
        this.http = http;
    }

    /** Opens a port to clients. */
    public PortJson open(String sandbox, PortRequest request) {
        return http.read(
                Call.create("v1", "sandboxes", sandbox, "ports").json(request), PortJson.class);
    }

    /** The open ones. */
    public List<PortJson> list(String sandbox) {
        return http.items(Call.get("v1", "sandboxes", sandbox, "ports"), PortJson.class);
    }

    /** Closes one; what is connected is cut. */
    public void close(String sandbox, int port) {
        http.run(Call.delete("v1", "sandboxes", sandbox, "ports", Integer.toString(port)));
    }

    /** Connects to a port inside, opened or not; the caller closes the tunnel. */
    public Tunnel dial(String sandbox, int port) {
        return RemoteTunnel.open(http, sandbox, port);
    }

    /** A one-time ticket for a browser's WebSocket to a port. */
    public LinkJson ticket(String sandbox, int port) {
        return http.read(
                Call.post("v1", "sandboxes", sandbox, "ports", Integer.toString(port), "tickets")
                        .json(Map.of()),
                LinkJson.class);
    }

    /** A link that lets one browser in to an open port, once. */
    public PortLinkJson link(String sandbox, int port, PortLinkRequest request) {
        return http.read(
                Call.post("v1", "sandboxes", sandbox, "ports", Integer.toString(port), "links")
                        .json(request),
                PortLinkJson.class);
    }
}
