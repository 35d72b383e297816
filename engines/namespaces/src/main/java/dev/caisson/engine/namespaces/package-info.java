/** Sandboxes of own namespaces on the host's kernel, made by the launcher; {@code docs/wire.md} has its protocol. */
@NullMarked
package dev.caisson.engine.namespaces;

import org.jspecify.annotations.NullMarked;
