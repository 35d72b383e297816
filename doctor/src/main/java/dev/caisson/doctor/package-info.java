/** Looks at a host: what Caisson needs of it and what is missing. */
@org.jspecify.annotations.NullMarked
package dev.caisson.doctor;
