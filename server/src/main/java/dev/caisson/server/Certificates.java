package dev.caisson.server;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.attribute.FileTime;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.concurrent.atomic.AtomicReference;
import org.eclipse.jetty.util.ssl.SslContextFactory;

/** TLS from PEM files. */
final class Certificates {
    private Certificates() {}

    static SslContextFactory.Server factory(ServerTls tls) {
        SslContextFactory.Server factory = new SslContextFactory.Server();
        factory.setKeyStore(load(tls));
        factory.setKeyStorePassword("");
        factory.setIncludeProtocols("TLSv1.3", "TLSv1.2");
        factory.setSniRequired(false);
        return factory;
    }

    /** Loads again what has changed; called now and then. */
    static Runnable reloader(ServerTls tls, SslContextFactory.Server factory) {
        AtomicReference<FileTime> known = new AtomicReference<>(changed(tls));
        return () -> {
            FileTime now = changed(tls);
            if (!now.equals(known.getAndSet(now))) {
                try {
                    factory.reload(reloaded -> reloaded.setKeyStore(load(tls)));
                } catch (Exception e) {
                    throw CaissonException.of(
                            ErrorCode.INVALID, "The new TLS files cannot be used.", e);
                }
            }
        };
    }

    private static FileTime changed(ServerTls tls) {
        try {
            FileTime certificate = Files.getLastModifiedTime(tls.certificate());
            FileTime key = Files.getLastModifiedTime(tls.key());
            return certificate.compareTo(key) > 0 ? certificate : key;
        } catch (IOException e) {
            return FileTime.fromMillis(0);
        }
    }

    private static KeyStore load(ServerTls tls) {
        try {
            Certificate[] chain =
                    CertificateFactory.getInstance("X.509")
                            .generateCertificates(
                                    new ByteArrayInputStream(Files.readAllBytes(tls.certificate())))
                            .toArray(Certificate[]::new);
            KeyStore store = KeyStore.getInstance("PKCS12");
            store.load(null, null);
            store.setKeyEntry("server", key(tls), new char[0], chain);
            return store;
        } catch (IOException | GeneralSecurityException | IllegalArgumentException e) {
            throw CaissonException.of(
                            ErrorCode.INVALID, "The TLS certificate or its key cannot be read.", e)
                    .withRemedy("Both must be PEM; the key PKCS #8 without a password.");
        }
    }

    private static PrivateKey key(ServerTls tls) throws IOException, GeneralSecurityException {
        String pem = Files.readString(tls.key(), StandardCharsets.US_ASCII);
        String body =
                pem.replaceAll("(?s).*-----BEGIN PRIVATE KEY-----", "")
                        .replaceAll("(?s)-----END PRIVATE KEY-----.*", "");
        PKCS8EncodedKeySpec spec = new PKCS8EncodedKeySpec(Base64.getMimeDecoder().decode(body));
        for (String algorithm : new String[] {"EC", "RSA", "Ed25519"}) {
            try {
                return KeyFactory.getInstance(algorithm).generatePrivate(spec);
            } catch (GeneralSecurityException e) {
                // Not of that kind: the next one is tried.
            }
        }
        throw new GeneralSecurityException("The key is of no known kind.");
    }
}
