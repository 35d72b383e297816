/** The program {@code caisson}. Nothing here is public API but its command line and its JSON. */
@NullMarked
package dev.caisson.cli;

import org.jspecify.annotations.NullMarked;
