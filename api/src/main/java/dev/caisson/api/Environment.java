package dev.caisson.api;

import java.util.Map;

/** Checks environment variables. */
final class Environment {
    private Environment() {}

    static void check(Map<String, String> env) {
        env.forEach((name, value) -> {
            if (name.isEmpty() || name.indexOf('=') >= 0 || name.indexOf('\0') >= 0) {
                throw CaissonException.invalid(
                        "env", "'" + name + "' is not the name of an environment variable.");
            }
            if (value.indexOf('\0') >= 0) {
                throw CaissonException.invalid(
                        "env", "The value of " + name + " holds a NUL character.");
            }
        });
    }
}
