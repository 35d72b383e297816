/**
 * Sandboxes for code that nobody has read yet.
 *
 * <p>Start with {@link dev.caisson.api.Caisson#open()}; {@link dev.caisson.api.Sandbox} is one
 * isolated machine-like environment, {@link dev.caisson.api.Exec} one command inside it. Unless a
 * type says otherwise, interfaces are safe for use by several threads, records are immutable, no
 * method accepts or returns null, sizes are bytes and times UTC. Failures are {@link
 * dev.caisson.api.CaissonException} with a closed {@link dev.caisson.api.ErrorCode}.
 */
@NullMarked
package dev.caisson.api;

import org.jspecify.annotations.NullMarked;
