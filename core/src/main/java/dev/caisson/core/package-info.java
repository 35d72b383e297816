/**
 * The domain of Caisson. {@link dev.caisson.core.EngineCaisson} is the public API over a list of {@link
 * dev.caisson.core.Engine}s; everything between a sandbox and its agent is written once here, against the protocol of
 * {@code docs/wire.md}, and works on every tier.
 */
@NullMarked
package dev.caisson.core;

import org.jspecify.annotations.NullMarked;
