package dev.caisson.egress;

import dev.caisson.policy.HostName;
import java.math.BigInteger;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.SecureRandom;
import java.security.cert.X509Certificate;
import java.security.spec.ECGenParameterSpec;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import org.bouncycastle.asn1.x500.X500Name;
import org.bouncycastle.asn1.x500.X500NameBuilder;
import org.bouncycastle.asn1.x500.style.BCStyle;
import org.bouncycastle.asn1.x509.BasicConstraints;
import org.bouncycastle.asn1.x509.ExtendedKeyUsage;
import org.bouncycastle.asn1.x509.Extension;
import org.bouncycastle.asn1.x509.GeneralName;
import org.bouncycastle.asn1.x509.GeneralNames;
import org.bouncycastle.asn1.x509.KeyPurposeId;
import org.bouncycastle.asn1.x509.KeyUsage;
import org.bouncycastle.cert.CertIOException;
import org.bouncycastle.cert.jcajce.JcaX509CertificateConverter;
import org.bouncycastle.cert.jcajce.JcaX509ExtensionUtils;
import org.bouncycastle.cert.jcajce.JcaX509v3CertificateBuilder;
import org.bouncycastle.operator.OperatorCreationException;
import org.bouncycastle.operator.jcajce.JcaContentSignerBuilder;
import org.jspecify.annotations.Nullable;

/**
 * The certificate authority of one sandbox. Its keys are in memory only and are dropped by {@link
 * #close}. A certificate lives for a day. From its half on the next one is in {@link #pem} too, so
 * that programs that start then trust both; leaves are signed by the old one until its last hour.
 * Safe for use by several threads.
 */
final class SandboxAuthority implements Authority, AutoCloseable {
    private static final Duration LIFE = Duration.ofHours(24);
    // Clocks inside may be behind. Part of the life.
    private static final Duration BACKDATED = Duration.ofHours(1);
    private static final Duration LAST = Duration.ofHours(1);
    private static final Duration LEAF_RESERVE = Duration.ofMinutes(10);
    private static final int MAX_LEAVES = 200;
    private static final int MAX_COMMON_NAME = 64;
    private static final SecureRandom RANDOM = new SecureRandom();

    private final String sandbox;
    private final Clock clock;
    private final ReentrantLock lock = new ReentrantLock();
    // Guarded by lock: the issuers that are trusted, oldest first, and the leaves of the signing
    // one. An issuer without a key is of a life before this one.
    private final List<Issuer> issuers = new ArrayList<>();
    private final Map<HostName, Leaf> leaves =
            new LinkedHashMap<>(16, 0.75f, true) {
                private static final long serialVersionUID = 1;

                @Override
                protected boolean removeEldestEntry(Map.Entry<HostName, Leaf> eldest) {
                    return size() > MAX_LEAVES;
                }
            };
    private @Nullable KeyPair leafKeys;

    private record Issuer(@Nullable KeyPair keys, X509Certificate certificate) {
        Instant end() {
            return certificate.getNotAfter().toInstant();
        }

        @Override
        public String toString() {
            return "Issuer";
        }
    }

    /** An authority of a sandbox that is new. */
    SandboxAuthority(String sandbox, Clock clock) {
        this(sandbox, clock, List.of());
    }

    /**
     * An authority of a sandbox that was restored: new, with those of its former life trusted on.
     *
     * @param former certificates that programs inside may still show to one another
     */
    SandboxAuthority(String sandbox, Clock clock, List<X509Certificate> former) {
        this.sandbox = sandbox;
        this.clock = clock;
        former.forEach(certificate -> issuers.add(new Issuer(null, certificate)));
        this.leafKeys = keyPair();
        issuers.add(issue());
    }

    /**
     * Makes the next certificate when it is due and forgets those that ended; cheap, to be called
     * each minute or so.
     *
     * @return whether {@link #pem} is another now, so that the sandbox must be told
     */
    boolean renew() {
        lock.lock();
        try {
            if (leafKeys == null) {
                return false;
            }
            Instant now = clock.instant();
            boolean changed = issuers.removeIf(issuer -> issuer.end().isBefore(now));
            if (issuers.isEmpty()
                    || issuers.getLast().end().minus(LIFE.dividedBy(2)).isBefore(now)) {
                issuers.add(issue());
                changed = true;
            }
            return changed;
        } finally {
            lock.unlock();
        }
    }

    /** An authority for the sandbox's next life, which trusts on what this one is trusted for. */
    SandboxAuthority successor() {
        return new SandboxAuthority(sandbox, clock, certificates());
    }

    @Override
    public Leaf leaf(HostName host) {
        lock.lock();
        try {
            KeyPair keys = leafKeys;
            if (keys == null) {
                throw new IllegalStateException("The authority of " + sandbox + " is closed.");
            }
            renew();
            Issuer issuer = signer();
            Leaf known = leaves.get(host);
            if (known != null
                    && known.chain().getLast().equals(issuer.certificate)
                    && known.chain()
                            .getFirst()
                            .getNotAfter()
                            .toInstant()
                            .minus(LEAF_RESERVE)
                            .isAfter(clock.instant())) {
                return known;
            }
            Leaf leaf =
                    new Leaf(
                            keys.getPrivate(),
                            List.of(sign(issuer, host, keys), issuer.certificate));
            leaves.put(host, leaf);
            return leaf;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public String pem() {
        StringBuilder text = new StringBuilder();
        certificates().forEach(certificate -> text.append(pem(certificate)));
        return text.toString();
    }

    /** The certificates that programs inside trust, oldest first. */
    List<X509Certificate> certificates() {
        lock.lock();
        try {
            return issuers.stream().map(Issuer::certificate).toList();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void close() {
        lock.lock();
        try {
            leafKeys = null;
            leaves.clear();
            issuers.clear();
        } finally {
            lock.unlock();
        }
    }

    static String pem(X509Certificate certificate) {
        try {
            return "-----BEGIN CERTIFICATE-----\n"
                    + Base64.getMimeEncoder(64, new byte[] {'\n'})
                            .encodeToString(certificate.getEncoded())
                    + "\n-----END CERTIFICATE-----\n";
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("A certificate cannot be encoded.", e);
        }
    }

    // The oldest one that has a key and more than its last hour.
    private Issuer signer() {
        Instant least = clock.instant().plus(LAST);
        for (Issuer issuer : issuers) {
            if (issuer.keys != null && issuer.end().isAfter(least)) {
                return issuer;
            }
        }
        return issuers.getLast();
    }

    private Issuer issue() {
        KeyPair keys = keyPair();
        X500Name name = name("Caisson sandbox " + sandbox);
        try {
            JcaX509ExtensionUtils ids = new JcaX509ExtensionUtils();
            JcaX509v3CertificateBuilder builder = builder(name, name, keys, ends());
            builder.addExtension(Extension.basicConstraints, true, new BasicConstraints(0));
            builder.addExtension(
                    Extension.keyUsage,
                    true,
                    new KeyUsage(KeyUsage.keyCertSign | KeyUsage.cRLSign));
            builder.addExtension(
                    Extension.subjectKeyIdentifier,
                    false,
                    ids.createSubjectKeyIdentifier(keys.getPublic()));
            return new Issuer(keys, signed(builder, keys));
        } catch (GeneralSecurityException | CertIOException e) {
            throw new IllegalStateException("No authority for " + sandbox + ".", e);
        }
    }

    private X509Certificate sign(Issuer issuer, HostName host, KeyPair keys) {
        KeyPair signing = issuer.keys;
        if (signing == null) {
            throw new IllegalStateException("No key for " + sandbox + ".");
        }
        try {
            JcaX509ExtensionUtils ids = new JcaX509ExtensionUtils();
            X500Name subject =
                    host.value().length() <= MAX_COMMON_NAME
                            ? name(host.value())
                            : new X500Name("O=Caisson");
            JcaX509v3CertificateBuilder builder =
                    builder(
                            X500Name.getInstance(
                                    issuer.certificate.getSubjectX500Principal().getEncoded()),
                            subject,
                            keys,
                            issuer.end());
            builder.addExtension(Extension.basicConstraints, true, new BasicConstraints(false));
            builder.addExtension(Extension.keyUsage, true, new KeyUsage(KeyUsage.digitalSignature));
            builder.addExtension(
                    Extension.extendedKeyUsage,
                    false,
                    new ExtendedKeyUsage(KeyPurposeId.id_kp_serverAuth));
            builder.addExtension(
                    Extension.subjectAlternativeName,
                    false,
                    new GeneralNames(new GeneralName(GeneralName.dNSName, host.value())));
            builder.addExtension(
                    Extension.subjectKeyIdentifier,
                    false,
                    ids.createSubjectKeyIdentifier(keys.getPublic()));
            builder.addExtension(
                    Extension.authorityKeyIdentifier,
                    false,
                    ids.createAuthorityKeyIdentifier(signing.getPublic()));
            return signed(builder, signing);
        } catch (GeneralSecurityException | CertIOException e) {
            throw new IllegalStateException("No certificate for " + host + ".", e);
        }
    }

    private JcaX509v3CertificateBuilder builder(
            X500Name issuer, X500Name subject, KeyPair keys, Instant end) {
        return new JcaX509v3CertificateBuilder(
                issuer,
                new BigInteger(127, RANDOM).add(BigInteger.ONE),
                Date.from(clock.instant().minus(BACKDATED)),
                Date.from(end),
                subject,
                keys.getPublic());
    }

    private Instant ends() {
        return clock.instant().plus(LIFE).minus(BACKDATED);
    }

    private static X509Certificate signed(JcaX509v3CertificateBuilder builder, KeyPair keys)
            throws GeneralSecurityException {
        try {
            return new JcaX509CertificateConverter()
                    .getCertificate(
                            builder.build(
                                    new JcaContentSignerBuilder("SHA256withECDSA")
                                            .build(keys.getPrivate())));
        } catch (OperatorCreationException e) {
            throw new GeneralSecurityException(e);
        }
    }

    private static X500Name name(String common) {
        return new X500NameBuilder(BCStyle.INSTANCE).addRDN(BCStyle.CN, common).build();
    }

    private static KeyPair keyPair() {
        try {
            KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
            generator.initialize(new ECGenParameterSpec("secp256r1"), RANDOM);
            return generator.generateKeyPair();
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("This Java has no P-256.", e);
        }
    }
}
