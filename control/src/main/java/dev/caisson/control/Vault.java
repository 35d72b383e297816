package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.util.Base64;
import javax.crypto.Cipher;
import javax.crypto.Mac;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * The server key: encrypts what must be kept and never returned (AES-256-GCM, the purpose as
 * associated data), and derives tokens (HMAC-SHA-256). Thread-safe.
 */
public final class Vault {
    private static final int KEY_BYTES = 32;
    private static final int NONCE_BYTES = 12;
    private static final int TAG_BITS = 128;
    private static final SecureRandom RANDOM = new SecureRandom();

    private final SecretKeySpec cipherKey;
    private final SecretKeySpec tokenKey;

    /**
     * A vault of a key of 32 bytes, which is copied.
     *
     * @throws CaissonException {@link ErrorCode#INVALID} for another length
     */
    public Vault(byte[] key) {
        if (key.length != KEY_BYTES) {
            throw CaissonException.invalid("key", "The server key has 32 bytes.");
        }
        tokenKey = new SecretKeySpec(key, "HmacSHA256");
        cipherKey = new SecretKeySpec(hmac("caisson encrypt v1"), "AES");
    }

    /** A new server key. */
    public static byte[] newKey() {
        byte[] key = new byte[KEY_BYTES];
        RANDOM.nextBytes(key);
        return key;
    }

    String seal(String purpose, String clear) {
        return seal(purpose, clear.getBytes(StandardCharsets.UTF_8));
    }

    /** The same of bytes, which the caller clears. */
    String seal(String purpose, byte[] clear) {
        byte[] nonce = new byte[NONCE_BYTES];
        RANDOM.nextBytes(nonce);
        try {
            Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
            cipher.init(Cipher.ENCRYPT_MODE, cipherKey, new GCMParameterSpec(TAG_BITS, nonce));
            cipher.updateAAD(purpose.getBytes(StandardCharsets.UTF_8));
            byte[] text = cipher.doFinal(clear);
            byte[] all = new byte[NONCE_BYTES + text.length];
            System.arraycopy(nonce, 0, all, 0, NONCE_BYTES);
            System.arraycopy(text, 0, all, NONCE_BYTES, text.length);
            return Base64.getEncoder().encodeToString(all);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("AES-GCM is part of every Java.", e);
        }
    }

    /**
     * The clear text.
     *
     * @throws CaissonException {@link ErrorCode#INTERNAL} when it was sealed with another key or
     *     for another purpose
     */
    String open(String purpose, String sealed) {
        return new String(openBytes(purpose, sealed), StandardCharsets.UTF_8);
    }

    /** How many bytes were sealed. */
    static int length(String sealed) {
        return Base64.getDecoder().decode(sealed).length - NONCE_BYTES - TAG_BITS / Byte.SIZE;
    }

    /** The same as bytes, which the caller clears after use. */
    byte[] openBytes(String purpose, String sealed) {
        byte[] all = Base64.getDecoder().decode(sealed);
        try {
            Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
            cipher.init(
                    Cipher.DECRYPT_MODE,
                    cipherKey,
                    new GCMParameterSpec(TAG_BITS, all, 0, NONCE_BYTES));
            cipher.updateAAD(purpose.getBytes(StandardCharsets.UTF_8));
            return cipher.doFinal(all, NONCE_BYTES, all.length - NONCE_BYTES);
        } catch (GeneralSecurityException | IllegalArgumentException e) {
            throw CaissonException.of(
                            ErrorCode.INTERNAL,
                            "What is stored encrypted cannot be read with this server key.",
                            e)
                    .withRemedy("Start with the key that the data was written with.");
        }
    }

    /** HMAC-SHA-256 of a text, for tokens; begin the text with its purpose. */
    public byte[] hmac(String text) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(tokenKey);
            return mac.doFinal(text.getBytes(StandardCharsets.UTF_8));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("HmacSHA256 is part of every Java.", e);
        }
    }
}
