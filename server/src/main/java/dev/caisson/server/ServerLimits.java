package dev.caisson.server;

import java.time.Duration;

/**
 * How much of what a client may take.
 *
 * @param bodyBytes longest JSON body
 * @param runBodyBytes longest JSON body of a run, whose files are in it
 * @param bodyTime longest time for a JSON body to come
 * @param minBytesPerSecond slowest upload, measured while the server waits for it
 * @param headerTime longest time for the head of a request to come
 * @param idleTime a connection without traffic is closed after that
 * @param connections at once; further ones get a 503
 * @param keepalive between items of a quiet stream
 * @param longestWait a request with {@code mode=wait} answers 202 after that
 */
public record ServerLimits(
        int bodyBytes,
        int runBodyBytes,
        Duration bodyTime,
        long minBytesPerSecond,
        Duration headerTime,
        Duration idleTime,
        int connections,
        Duration keepalive,
        Duration longestWait) {
    /** 8 MiB, 64 MiB for runs; 30 s; 256 bytes a second; 5,000 connections. */
    public static final ServerLimits DEFAULTS =
            new ServerLimits(
                    8 << 20,
                    64 << 20,
                    Duration.ofSeconds(30),
                    256,
                    Duration.ofSeconds(15),
                    Duration.ofSeconds(30),
                    5_000,
                    Duration.ofSeconds(15),
                    Duration.ofHours(1));

    /** How many of the connections may take their time: streams, WebSockets, requests that wait. */
    int streams() {
        return Math.max(1, connections - connections / 4);
    }

    /** The same with other times for heads, bodies and idle connections. */
    public ServerLimits withTimes(Duration head, Duration body, Duration idle) {
        return new ServerLimits(
                bodyBytes,
                runBodyBytes,
                body,
                minBytesPerSecond,
                head,
                idle,
                connections,
                keepalive,
                longestWait);
    }

    /** The same with another most of connections. */
    public ServerLimits withConnections(int most) {
        return new ServerLimits(
                bodyBytes,
                runBodyBytes,
                bodyTime,
                minBytesPerSecond,
                headerTime,
                idleTime,
                most,
                keepalive,
                longestWait);
    }

    /** The same with another time between keepalives, and another longest wait. */
    public ServerLimits withWaits(Duration newKeepalive, Duration newLongestWait) {
        return new ServerLimits(
                bodyBytes,
                runBodyBytes,
                bodyTime,
                minBytesPerSecond,
                headerTime,
                idleTime,
                connections,
                newKeepalive,
                newLongestWait);
    }
}
