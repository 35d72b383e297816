/** The egress gateway: the only way out of a sandbox. */
@NullMarked
package dev.caisson.egress;

import org.jspecify.annotations.NullMarked;
