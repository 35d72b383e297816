/** A complete agent loop in one file. */
@NullMarked
package dev.caisson.example.agent;

import org.jspecify.annotations.NullMarked;
