/** The API in one process. */
@NullMarked
package dev.caisson.embedded;

import org.jspecify.annotations.NullMarked;
