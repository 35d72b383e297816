/** Puts the service together: store, engines, control, HTTP. */
@NullMarked
package dev.caisson.serve;

import org.jspecify.annotations.NullMarked;
