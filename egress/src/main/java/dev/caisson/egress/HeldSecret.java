package dev.caisson.egress;

import dev.caisson.v1.SecretSpec;

/** A secret that a sandbox may use, as far as the gateway has it. */
final class HeldSecret {
    private final String id;
    private final String name;
    private final SecretSpec spec;
    private final byte[] value;
    private final String placeholder;

    HeldSecret(String id, String name, SecretSpec spec, byte[] value, String placeholder) {
        this.id = id;
        this.name = name;
        this.spec = spec;
        this.value = value;
        this.placeholder = placeholder;
    }

    /** Id of the secret. */
    String id() {
        return id;
    }

    /** Its name in its tenant. */
    String name() {
        return name;
    }

    /** Where it goes. */
    SecretSpec spec() {
        return spec;
    }

    /**
     * Its bytes, not a copy: they are cleared when the secret is replaced or dropped. Empty when
     * the gateway was restarted and nobody has put it again.
     */
    byte[] value() {
        return value;
    }

    /** What stands for it inside. */
    String placeholder() {
        return placeholder;
    }

    boolean isMissing() {
        return value.length == 0;
    }

    @Override
    public String toString() {
        return "secret " + id;
    }
}
