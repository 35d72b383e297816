package dev.caisson.egress;

import dev.caisson.v1.SecretSpec;

/**
 * A secret that a sandbox may use, as far as the gateway has it.
 *
 * @param id of the secret
 * @param name in its tenant
 * @param spec where it goes
 * @param value its bytes, not copied: they are cleared when the secret is replaced or dropped;
 *     empty when the gateway was restarted and nobody has put it again
 * @param placeholder what stands for it inside
 */
record HeldSecret(String id, String name, SecretSpec spec, byte[] value, String placeholder) {
    boolean isMissing() {
        return value.length == 0;
    }

    @Override
    public String toString() {
        return "secret " + id;
    }
}
