package dev.caisson.client;

import dev.caisson.api.CaissonException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.util.Collection;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** Trusts the certificates of a file, and no others. */
final class Certificates {
    private Certificates() {}

    static SSLContext trusting(Path file) {
        try (InputStream pem = Files.newInputStream(file)) {
            Collection<? extends Certificate> given =
                    CertificateFactory.getInstance("X.509").generateCertificates(pem);
            if (given.isEmpty()) {
                throw unusable(file, "it holds no certificate", null);
            }
            KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
            store.load(null, null);
            int number = 0;
            for (Certificate certificate : given) {
                store.setCertificateEntry("ca-" + number++, certificate);
            }
            TrustManagerFactory trust =
                    TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            trust.init(store);
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(null, trust.getTrustManagers(), null);
            return context;
        } catch (IOException | GeneralSecurityException e) {
            throw unusable(file, String.valueOf(e.getMessage()), e);
        }
    }

    private static CaissonException unusable(
            Path file, String why, @org.jspecify.annotations.Nullable Throwable cause) {
        String message =
                "The file of trusted certificates " + file + " cannot be used: " + why + ".";
        return (cause == null
                        ? CaissonException.invalid("caFile", message)
                        : CaissonException.of(dev.caisson.api.ErrorCode.INVALID, message, cause)
                                .withDetail("field", "caFile"))
                .withRemedy("Give a PEM file with the certificate of the authority.");
    }
}
