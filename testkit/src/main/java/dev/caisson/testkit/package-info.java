/** Hand-written fakes of the native programs; for tests only. */
@NullMarked
package dev.caisson.testkit;

import org.jspecify.annotations.NullMarked;
