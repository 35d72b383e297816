package dev.caisson.core;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.SandboxSecret;
import dev.caisson.redact.Redactor;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * The secrets of one sandbox that no server keeps: they are put to the gateway before it begins and
 * dropped at its end. Used by one thread.
 */
final class LocalSecrets {
    private static final int PLACEHOLDER_BYTES = 16;
    private static final SecureRandom RANDOM = new SecureRandom();

    private final List<SandboxSecret> secrets;
    private final List<SecretUse> uses = new ArrayList<>();
    private final Map<String, String> env = new HashMap<>();

    LocalSecrets(List<SandboxSecret> secrets) {
        this.secrets = secrets;
        for (SandboxSecret secret : secrets) {
            byte[] random = new byte[PLACEHOLDER_BYTES];
            RANDOM.nextBytes(random);
            String placeholder = "csp_" + HexFormat.of().formatHex(random);
            uses.add(new SecretUse(Ids.next(Ids.Kind.SECRET), placeholder));
            secret.env().ifPresent(variable -> env.put(variable, placeholder));
        }
    }

    /** Variables of the sandbox with the placeholders. */
    Map<String, String> over(Map<String, String> own) {
        if (env.isEmpty()) {
            return own;
        }
        Map<String, String> all = new HashMap<>(env);
        all.putAll(own);
        return all;
    }

    /** Puts them, for a sandbox that is made next. */
    void open(Engine engine, String sandbox, String tenant) {
        if (secrets.isEmpty()) {
            return;
        }
        EgressGateway gateway = engine.gateway(EgressListener.NONE, EgressListener.ONLY_NEW);
        for (int i = 0; i < secrets.size(); i++) {
            SandboxSecret secret = secrets.get(i);
            byte[] value = secret.value();
            gateway.putSecret(
                    uses.get(i).secret(),
                    tenant,
                    secret.name(),
                    secret.spec().getBytes(StandardCharsets.UTF_8),
                    value);
            Arrays.fill(value, (byte) 0);
        }
        gateway.useSecrets(sandbox, uses);
    }

    /** What is taken out of the sandbox's output. */
    Redactor redactor() {
        return secrets.isEmpty()
                ? Redactor.NONE
                : Redactor.of(secrets.stream().flatMap(LocalSecrets::hidden).toList());
    }

    /**
     * The value, and what stands behind a colon: some slots take it apart, and it is secret alone.
     */
    private static Stream<byte[]> hidden(SandboxSecret secret) {
        byte[] value = secret.value();
        String text = new String(value, StandardCharsets.ISO_8859_1);
        return Stream.concat(
                Stream.of(value),
                Arrays.stream(text.split(":", 3))
                        .skip(1)
                        .map(part -> part.getBytes(StandardCharsets.ISO_8859_1)));
    }

    /** Takes them back; a gateway that is away has none any more. */
    void close(Engine engine) {
        if (secrets.isEmpty()) {
            return;
        }
        try {
            EgressGateway gateway = engine.gateway(EgressListener.NONE, EgressListener.ONLY_NEW);
            uses.forEach(use -> gateway.dropSecret(use.secret()));
        } catch (CaissonException e) {
            if (e.code() != ErrorCode.LAUNCHER_UNAVAILABLE) {
                throw e;
            }
        }
    }
}
