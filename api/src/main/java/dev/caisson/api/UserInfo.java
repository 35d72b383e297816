package dev.caisson.api;

/**
 * A user of a sandbox, as the sandbox tells it.
 *
 * @param name {@code [a-z_][a-z0-9_-]{0,31}}
 * @param uid inside
 * @param gid of its own group, inside
 * @param home absolute, escaped as in {@link ResultFile}; mode 0700
 * @param shell absolute, escaped
 */
public record UserInfo(String name, int uid, int gid, String home, String shell) {}
