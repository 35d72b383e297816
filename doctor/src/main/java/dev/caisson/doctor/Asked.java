package dev.caisson.doctor;

import java.nio.file.Path;

/**
 * What is looked at.
 *
 * @param launcher its socket
 * @param state folder of the launcher
 * @param data folder of the server
 * @param natives folder of launcher and agent
 */
public record Asked(Path launcher, Path state, Path data, Path natives) {}
