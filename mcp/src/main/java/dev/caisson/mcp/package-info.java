/**
 * The Model Context Protocol: sessions that know no transport, standard input and output, and
 * Streamable HTTP without a server of its own.
 *
 * @see <a href="https://modelcontextprotocol.io/specification">the specification</a>
 */
@NullMarked
package dev.caisson.mcp;

import org.jspecify.annotations.NullMarked;
