/** Decisions about the way out of sandboxes. */
@NullMarked
package dev.caisson.policy;

import org.jspecify.annotations.NullMarked;
