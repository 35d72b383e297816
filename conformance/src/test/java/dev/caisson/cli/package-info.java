/** A way for the tests of the service into the command line, which is no API. */
@NullMarked
package dev.caisson.cli;

import org.jspecify.annotations.NullMarked;
