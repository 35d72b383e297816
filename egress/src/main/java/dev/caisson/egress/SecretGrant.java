package dev.caisson.egress;

import dev.caisson.v1.SecretSpec;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;

/**
 * A secret that one sandbox may use.
 *
 * @param id of the secret
 * @param name of the secret in its tenant
 * @param spec where it goes
 * @param value the secret itself; copied
 * @param placeholder what stands for it inside: {@code csp_} and 32 hexadecimal digits
 */
@SuppressWarnings("ArrayRecordComponent") // Copied, and compared by what is in it.
record SecretGrant(String id, String name, SecretSpec spec, byte[] value, String placeholder) {
    /** Copies the value. */
    SecretGrant {
        value = value.clone();
    }

    @Override
    public byte[] value() {
        return value.clone();
    }

    /** The value as text. */
    String text() {
        return new String(value, StandardCharsets.UTF_8);
    }

    /**
     * What must not be seen: the value, and its secret parts where a slot takes it apart, since
     * those come back alone.
     */
    List<byte[]> hidden() {
        List<byte[]> all = new ArrayList<>();
        all.add(value.clone());
        boolean apart =
                spec.bindings().stream()
                        .map(binding -> binding.slot())
                        .anyMatch(slot ->
                                slot.kind().equals("sigv4")
                                        || slot.kind().equals("oauth")
                                        || (slot.user() == null
                                                && Set.of("basic", "git").contains(slot.kind())));
        if (apart) {
            String[] parts = text().split(":", 3);
            for (int i = 1; i < parts.length; i++) {
                all.add(parts[i].getBytes(StandardCharsets.UTF_8));
            }
        }
        return all;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof SecretGrant grant
                && id.equals(grant.id)
                && name.equals(grant.name)
                && spec.equals(grant.spec)
                && placeholder.equals(grant.placeholder)
                && Arrays.equals(value, grant.value);
    }

    @Override
    public int hashCode() {
        return id.hashCode();
    }

    @Override
    public String toString() {
        return "SecretGrant[" + id + "]";
    }
}
