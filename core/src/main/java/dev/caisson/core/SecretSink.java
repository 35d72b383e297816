package dev.caisson.core;

import java.util.List;

/**
 * Where secrets go that requests of sandboxes are to get: the gateway of this host. What is said
 * here is in force there within a second. Safe for use by several threads.
 *
 * <p>Each method throws {@link dev.caisson.api.CaissonException} when the gateway does not take it;
 * after it was away it is told everything again.
 */
public interface SecretSink {
    /**
     * A secret, or its new value; replaces what was put under that id.
     *
     * @param spec JSON of {@code v1.SecretSpec}; its {@code requests} and {@code bytes} are what is
     *     left of them, so counting begins anew
     * @param value not to be kept: it is overwritten when this returns
     */
    void putSecret(String secret, String tenant, String name, byte[] spec, byte[] value);

    /** No request gets it any more; nothing when it is not there. */
    void dropSecret(String secret);

    /**
     * All that a sandbox may use from now on, each put before; replaces what was said of it. Said
     * before the sandbox begins, and again when it changes; {@code NOT_FOUND} says that the sandbox
     * is gone.
     */
    void useSecrets(String sandbox, List<SecretUse> uses);

    /** Where there is no gateway: nothing can use a secret. */
    static SecretSink none() {
        return new SecretSink() {
            @Override
            public void putSecret(
                    String secret, String tenant, String name, byte[] spec, byte[] value) {}

            @Override
            public void dropSecret(String secret) {}

            @Override
            public void useSecrets(String sandbox, List<SecretUse> uses) {}
        };
    }
}
