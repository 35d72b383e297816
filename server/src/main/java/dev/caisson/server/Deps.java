package dev.caisson.server;

import dev.caisson.control.Control;

/**
 * What the routes stand on.
 *
 * @param control the service
 * @param settings how it is reached
 * @param signed for links
 * @param tickets for WebSockets
 * @param metrics counts
 * @param streams waits and streams of requests
 */
record Deps(
        Control control,
        ServerSettings settings,
        Signed signed,
        Tickets tickets,
        Metrics metrics,
        Streams streams) {}
