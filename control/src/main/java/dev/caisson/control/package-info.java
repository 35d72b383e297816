/**
 * The domain of the service: who may do what with which sandbox, what is kept, what it costs. Knows
 * no HTTP and no SQL; {@code server}, {@code mcp} and the facades stand on it, {@code store}
 * beneath.
 */
@NullMarked
package dev.caisson.control;

import org.jspecify.annotations.NullMarked;
