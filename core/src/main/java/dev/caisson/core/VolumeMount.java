package dev.caisson.core;

/**
 * A volume in a sandbox. One sandbox may write to a volume, or many may read it.
 *
 * @param volume id
 * @param path absolute, inside; a folder of its own is made
 * @param readOnly whether the sandbox only reads
 */
public record VolumeMount(String volume, String path, boolean readOnly) {}
