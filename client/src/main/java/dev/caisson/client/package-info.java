/**
 * The client of a Caisson server.
 *
 * <p>{@link dev.caisson.client.RemoteCaisson} is the Java API over a server; {@link
 * dev.caisson.client.ServiceClient} has a method per route of {@code docs/rest.md}. Everything is
 * safe for use by several threads unless a type says otherwise. What fails is a {@link
 * dev.caisson.api.CaissonException}; a server that cannot be reached or that breaks the protocol is
 * {@link dev.caisson.api.ErrorCode#ENGINE_FAILED}.
 */
@NullMarked
package dev.caisson.client;

import org.jspecify.annotations.NullMarked;
