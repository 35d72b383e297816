package dev.caisson.api;

/**
 * A Linux user inside a sandbox.
 *
 * @param name of the user
 * @param uid inside
 * @param gid inside
 * @param home folder, mode 0700
 */
public record UserInfo(String name, int uid, int gid, String home) {}
