/**
 * Hostile behaviours, each a test with a positive control. {@code conformance/README.md} lists them
 * by the ids of the catalogue.
 */
@NullMarked
package dev.caisson.conformance;

import org.jspecify.annotations.NullMarked;
