/** The JSON forms of {@code /v1}: records that server, client, MCP and store share. */
@NullMarked
package dev.caisson.v1;

import org.jspecify.annotations.NullMarked;
