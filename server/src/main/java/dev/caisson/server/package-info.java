/**
 * HTTP on top of {@code control}: one table of routes, from which requests are served and the
 * OpenAPI document is made. Knows no SQL and no engine.
 */
@NullMarked
package dev.caisson.server;

import org.jspecify.annotations.NullMarked;
