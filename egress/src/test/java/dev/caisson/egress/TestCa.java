package dev.caisson.egress;

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
import java.util.Date;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.bouncycastle.asn1.x500.X500Name;
import org.bouncycastle.asn1.x509.BasicConstraints;
import org.bouncycastle.asn1.x509.Extension;
import org.bouncycastle.asn1.x509.GeneralName;
import org.bouncycastle.asn1.x509.GeneralNames;
import org.bouncycastle.cert.jcajce.JcaX509CertificateConverter;
import org.bouncycastle.cert.jcajce.JcaX509v3CertificateBuilder;
import org.bouncycastle.operator.jcajce.JcaContentSignerBuilder;

/** An authority that servers of tests are certified by. */
final class TestCa {
    private static final char[] NONE = new char[0];

    private final KeyPair keys = keyPair();
    private final X509Certificate certificate;

    TestCa() {
        Instant now = Instant.now();
        this.certificate =
                certificate(
                        new X500Name("CN=Test CA"),
                        keys,
                        "CN=Test CA",
                        keys,
                        List.of(),
                        now.minus(Duration.ofDays(1)),
                        now.plus(Duration.ofDays(1)));
    }

    X509Certificate certificate() {
        return certificate;
    }

    /** A server's TLS for hosts, valid until then. */
    SSLContext server(Instant until, String... hosts) {
        KeyPair own = keyPair();
        X509Certificate leaf =
                certificate(
                        new X500Name("CN=Test CA"),
                        keys,
                        "CN=" + hosts[0],
                        own,
                        List.of(hosts),
                        until.minus(Duration.ofDays(2)),
                        until);
        return context(own.getPrivate(), leaf);
    }

    SSLContext server(String... hosts) {
        return server(Instant.now().plus(Duration.ofHours(1)), hosts);
    }

    /** A server that certifies itself. */
    static SSLContext selfSigned(String host) {
        KeyPair own = keyPair();
        Instant now = Instant.now();
        return context(
                own.getPrivate(),
                certificate(
                        new X500Name("CN=" + host),
                        own,
                        "CN=" + host,
                        own,
                        List.of(host),
                        now.minus(Duration.ofDays(1)),
                        now.plus(Duration.ofDays(1))));
    }

    /** A client that trusts these. */
    static SSLContext client(List<X509Certificate> trusted) {
        try {
            KeyStore store = KeyStore.getInstance("PKCS12");
            store.load(null, null);
            for (int i = 0; i < trusted.size(); i++) {
                store.setCertificateEntry("t" + i, trusted.get(i));
            }
            TrustManagerFactory trust = TrustManagerFactory.getInstance("PKIX");
            trust.init(store);
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(null, trust.getTrustManagers(), null);
            return context;
        } catch (GeneralSecurityException | java.io.IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static SSLContext context(PrivateKey key, X509Certificate leaf) {
        try {
            KeyStore store = KeyStore.getInstance("PKCS12");
            store.load(null, null);
            store.setKeyEntry("server", key, NONE, new Certificate[] {leaf});
            KeyManagerFactory managers = KeyManagerFactory.getInstance("PKIX");
            managers.init(store, NONE);
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(managers.getKeyManagers(), null, null);
            return context;
        } catch (GeneralSecurityException | java.io.IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static X509Certificate certificate(
            X500Name issuer,
            KeyPair signing,
            String subject,
            KeyPair own,
            List<String> hosts,
            Instant from,
            Instant until) {
        try {
            JcaX509v3CertificateBuilder builder =
                    new JcaX509v3CertificateBuilder(
                            issuer,
                            new BigInteger(64, new SecureRandom()),
                            Date.from(from),
                            Date.from(until),
                            new X500Name(subject),
                            own.getPublic());
            if (hosts.isEmpty()) {
                builder.addExtension(Extension.basicConstraints, true, new BasicConstraints(0));
            } else {
                builder.addExtension(
                        Extension.subjectAlternativeName,
                        false,
                        new GeneralNames(
                                hosts.stream()
                                        .map(host -> new GeneralName(GeneralName.dNSName, host))
                                        .toArray(GeneralName[]::new)));
            }
            return new JcaX509CertificateConverter()
                    .getCertificate(
                            builder.build(
                                    new JcaContentSignerBuilder("SHA256withECDSA")
                                            .build(signing.getPrivate())));
        } catch (Exception e) {
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
