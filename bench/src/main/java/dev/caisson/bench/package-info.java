/**
 * The program {@code bench/run}: measures Caisson beside its peers. See {@code bench/README.md}.
 */
@NullMarked
package dev.caisson.bench;

import org.jspecify.annotations.NullMarked;
