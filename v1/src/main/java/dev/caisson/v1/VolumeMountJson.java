package dev.caisson.v1;

/**
 * A volume in a sandbox.
 *
 * @param volume id or name
 * @param path absolute, inside
 * @param readOnly one writer or many readers
 */
public record VolumeMountJson(String volume, String path, boolean readOnly) {}
