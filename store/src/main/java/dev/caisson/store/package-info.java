/**
 * The {@link dev.caisson.control.Store} over SQL. One thread per store writes: works that wait
 * share one transaction, each in its savepoint. {@code docs/store.md} has the schema and what is
 * promised.
 */
@NullMarked
package dev.caisson.store;

import org.jspecify.annotations.NullMarked;
