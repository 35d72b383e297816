package dev.caisson.conformance;

import java.io.IOException;
import java.math.BigInteger;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.SecureRandom;
import java.security.cert.Certificate;
import java.security.cert.X509Certificate;
import java.security.spec.ECGenParameterSpec;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.Date;
import java.util.List;
import org.bouncycastle.asn1.x500.X500Name;
import org.bouncycastle.asn1.x509.BasicConstraints;
import org.bouncycastle.asn1.x509.Extension;
import org.bouncycastle.asn1.x509.GeneralName;
import org.bouncycastle.asn1.x509.GeneralNames;
import org.bouncycastle.cert.CertIOException;
import org.bouncycastle.cert.jcajce.JcaX509CertificateConverter;
import org.bouncycastle.cert.jcajce.JcaX509v3CertificateBuilder;
import org.bouncycastle.operator.OperatorCreationException;
import org.bouncycastle.operator.jcajce.JcaContentSignerBuilder;

/** An authority of the tests' own, which the gateway is told to trust. */
final class TestAuthority {
    /** Of the key stores that it gives. */
    static final char[] PASSWORD = "loopback".toCharArray();

    private static final String NAME = "CN=Conformance CA";

    private final KeyPair keys = keyPair();
    private final X509Certificate certificate = sign(NAME, keys, List.of(), Duration.ofDays(1));

    /** Its certificate, as programs read it. */
    String pem() {
        return pem(certificate);
    }

    private static String pem(X509Certificate certificate) {
        try {
            return "-----BEGIN CERTIFICATE-----\n"
                    + Base64.getMimeEncoder().encodeToString(certificate.getEncoded())
                    + "\n-----END CERTIFICATE-----\n";
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    /** A server's key and certificate for hosts. */
    KeyStore server(String... hosts) {
        KeyPair own = keyPair();
        return store(
                own.getPrivate(), sign("CN=" + hosts[0], own, List.of(hosts), Duration.ofHours(1)));
    }

    /** One whose time is over. */
    KeyStore expired(String host) {
        KeyPair own = keyPair();
        return store(
                own.getPrivate(), sign("CN=" + host, own, List.of(host), Duration.ofHours(-1)));
    }

    private static KeyStore store(PrivateKey key, X509Certificate leaf) {
        try {
            KeyStore store = KeyStore.getInstance("PKCS12");
            store.load(null, null);
            store.setKeyEntry("server", key, PASSWORD, new Certificate[] {leaf});
            return store;
        } catch (GeneralSecurityException | IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private X509Certificate sign(String subject, KeyPair own, List<String> hosts, Duration life) {
        Instant now = Instant.now();
        try {
            JcaX509v3CertificateBuilder builder =
                    new JcaX509v3CertificateBuilder(
                            new X500Name(NAME),
                            new BigInteger(64, new SecureRandom()),
                            Date.from(now.minus(Duration.ofDays(2))),
                            Date.from(now.plus(life)),
                            new X500Name(subject),
                            own.getPublic());
            if (hosts.isEmpty()) {
                builder.addExtension(Extension.basicConstraints, true, new BasicConstraints(0));
            } else {
                GeneralName[] names =
                        hosts.stream()
                                .map(host -> new GeneralName(GeneralName.dNSName, host))
                                .toArray(GeneralName[]::new);
                builder.addExtension(
                        Extension.subjectAlternativeName, false, new GeneralNames(names));
            }
            return new JcaX509CertificateConverter()
                    .getCertificate(
                            builder.build(
                                    new JcaContentSignerBuilder("SHA256withECDSA")
                                            .build(keys.getPrivate())));
        } catch (GeneralSecurityException | CertIOException | OperatorCreationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static KeyPair keyPair() {
        try {
            KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
            generator.initialize(new ECGenParameterSpec("secp256r1"));
            return generator.generateKeyPair();
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }
}
