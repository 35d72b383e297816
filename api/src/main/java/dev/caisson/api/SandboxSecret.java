package dev.caisson.api;

import java.util.Arrays;
import java.util.Optional;

/**
 * A secret that requests of a sandbox get on their way out, where there is no server that keeps it.
 * The sandbox sees a placeholder only.
 *
 * @param name as policy documents name it
 * @param spec where it goes: JSON, as docs/secrets.md says
 * @param env variable inside that holds the placeholder
 * @param value copied, as is what the accessor gives
 */
@SuppressWarnings("ArrayRecordComponent") // copied in and out, and compared by what is in it
public record SandboxSecret(String name, String spec, Optional<String> env, byte[] value) {
    /** Copies the value. */
    public SandboxSecret {
        value = value.clone();
    }

    @Override
    public byte[] value() {
        return value.clone();
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof SandboxSecret secret
                && name.equals(secret.name)
                && spec.equals(secret.spec)
                && env.equals(secret.env)
                && Arrays.equals(value, secret.value);
    }

    @Override
    public int hashCode() {
        return name.hashCode();
    }

    /** Without the value. */
    @Override
    public String toString() {
        return "SandboxSecret[" + name + "]";
    }
}
