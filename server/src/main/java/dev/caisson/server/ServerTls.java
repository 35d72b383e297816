package dev.caisson.server;

import java.nio.file.Path;

/**
 * Where the server's certificate is. Read again when a file changes.
 *
 * @param certificate PEM, the chain from the server's own on
 * @param key PEM, PKCS #8, not encrypted
 */
public record ServerTls(Path certificate, Path key) {}
