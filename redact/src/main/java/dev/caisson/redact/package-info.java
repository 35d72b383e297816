/** Takes secrets out of streams of bytes. */
@NullMarked
package dev.caisson.redact;

import org.jspecify.annotations.NullMarked;
