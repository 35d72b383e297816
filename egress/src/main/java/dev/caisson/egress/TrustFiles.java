package dev.caisson.egress;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.bouncycastle.asn1.ASN1ObjectIdentifier;
import org.bouncycastle.asn1.DERBMPString;
import org.bouncycastle.asn1.nist.NISTObjectIdentifiers;
import org.bouncycastle.asn1.pkcs.PKCSObjectIdentifiers;
import org.bouncycastle.asn1.x509.AlgorithmIdentifier;
import org.bouncycastle.asn1.x509.KeyPurposeId;
import org.bouncycastle.crypto.digests.SHA256Digest;
import org.bouncycastle.pkcs.PKCS12PfxPduBuilder;
import org.bouncycastle.pkcs.PKCS12SafeBag;
import org.bouncycastle.pkcs.PKCSException;
import org.bouncycastle.pkcs.bc.BcPKCS12MacCalculatorBuilder;
import org.bouncycastle.pkcs.jcajce.JcaPKCS12SafeBagBuilder;

/**
 * What programs inside need to trust the sandbox's own authority beside those of the host: bundles
 * where distributions have them, a trust store for Java, and the variables of programs that look
 * nowhere else. The host's bundle is read once; a sandbox costs little. Immutable.
 */
final class TrustFiles {
    /** Bundles of distributions, the most common first. */
    static final List<Path> HOST_BUNDLES =
            List.of(
                    Path.of("/etc/ssl/certs/ca-certificates.crt"),
                    Path.of("/etc/pki/tls/certs/ca-bundle.crt"),
                    Path.of("/etc/ssl/ca-bundle.pem"),
                    Path.of("/etc/ssl/cert.pem"));

    private static final String OWN = "/etc/caisson/ca.pem";
    private static final String BUNDLE = "/etc/caisson/bundle.pem";
    // Debian and Alpine; Red Hat's two; openSUSE; OpenSSL's own default, BSDs and Alpine.
    private static final List<String> BUNDLES =
            List.of(
                    BUNDLE,
                    "/etc/ssl/certs/ca-certificates.crt",
                    "/etc/pki/tls/certs/ca-bundle.crt",
                    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
                    "/etc/ssl/ca-bundle.pem",
                    "/etc/ssl/cert.pem");
    // Where the cacerts of Debian's and Temurin's packages, Red Hat's and Alpine's lead.
    private static final List<String> JAVA_STORES =
            List.of(
                    "/etc/caisson/cacerts",
                    "/etc/ssl/certs/java/cacerts",
                    "/etc/ssl/certs/adoptium/cacerts",
                    "/etc/pki/java/cacerts",
                    "/etc/pki/ca-trust/extracted/java/cacerts");
    private static final char[] PASSWORD = "changeit".toCharArray();
    private static final int MAC_ITERATIONS = 1000;
    // Oracle's attribute of an entry that is trusted; without it Java sees no such entry.
    private static final ASN1ObjectIdentifier TRUSTED =
            new ASN1ObjectIdentifier("2.16.840.1.113894.746875.1.1");

    private final byte[] bundle;
    private final List<PKCS12SafeBag> bags;

    /**
     * A file to be put there.
     *
     * @param path absolute
     * @param content its bytes
     */
    @SuppressWarnings("ArrayRecordComponent") // Compared by what is in it.
    record TrustFile(String path, byte[] content) {
        @Override
        public boolean equals(Object other) {
            return other instanceof TrustFile file
                    && path.equals(file.path)
                    && java.util.Arrays.equals(content, file.content);
        }

        @Override
        public int hashCode() {
            return path.hashCode();
        }

        @Override
        public String toString() {
            return path;
        }
    }

    private TrustFiles(byte[] bundle, List<PKCS12SafeBag> bags) {
        this.bundle = bundle;
        this.bags = List.copyOf(bags);
    }

    /** Reads the host's bundle: the first of these that is there; none: only ours is trusted. */
    static TrustFiles of(List<Path> bundles) throws IOException {
        byte[] bytes = new byte[0];
        for (Path candidate : bundles) {
            if (Files.isRegularFile(candidate)) {
                bytes = Files.readAllBytes(candidate);
                break;
            }
        }
        List<PKCS12SafeBag> bags = new ArrayList<>();
        for (X509Certificate certificate : certificates(bytes)) {
            bags.add(bag(certificate, "host" + bags.size()));
        }
        return new TrustFiles(bytes, bags);
    }

    /**
     * The files of one sandbox.
     *
     * @param own its authority's certificates
     */
    List<TrustFile> files(Collection<X509Certificate> own) throws IOException {
        StringBuilder pem = new StringBuilder();
        own.forEach(certificate -> pem.append(SandboxAuthority.pem(certificate)));
        byte[] ours = pem.toString().getBytes(StandardCharsets.US_ASCII);
        ByteArrayOutputStream all = new ByteArrayOutputStream(bundle.length + ours.length + 1);
        all.writeBytes(bundle);
        if (bundle.length > 0 && bundle[bundle.length - 1] != '\n') {
            all.write('\n');
        }
        all.writeBytes(ours);
        byte[] together = all.toByteArray();
        byte[] store = store(own);
        List<TrustFile> files = new ArrayList<>();
        files.add(new TrustFile(OWN, ours));
        BUNDLES.forEach(path -> files.add(new TrustFile(path, together)));
        JAVA_STORES.forEach(path -> files.add(new TrustFile(path, store)));
        return files;
    }

    /**
     * Variables for programs inside.
     *
     * @param javaOption a Java inside keeps its cacerts where no file can be put, so that it must
     *     be told; it then prints a line about that
     */
    static Map<String, String> env(boolean javaOption) {
        Map<String, String> env = new LinkedHashMap<>();
        // These add to what the program trusts.
        env.put("NODE_EXTRA_CA_CERTS", OWN);
        env.put("DENO_CERT", OWN);
        // These replace it.
        for (String name :
                List.of(
                        "SSL_CERT_FILE",
                        "REQUESTS_CA_BUNDLE",
                        "PIP_CERT",
                        "CURL_CA_BUNDLE",
                        "GIT_SSL_CAINFO",
                        "CARGO_HTTP_CAINFO",
                        "AWS_CA_BUNDLE",
                        "npm_config_cafile",
                        "NIX_SSL_CERT_FILE",
                        "COMPOSER_CAFILE",
                        "BUNDLE_SSL_CA_CERT",
                        "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",
                        "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
                        "PERL_LWP_SSL_CA_FILE",
                        "HEX_CACERTS_PATH")) {
            env.put(name, BUNDLE);
        }
        env.put("UV_SYSTEM_CERTS", "true");
        env.put("UV_NATIVE_TLS", "true");
        if (javaOption) {
            env.put("JAVA_TOOL_OPTIONS", "-Djavax.net.ssl.trustStore=" + JAVA_STORES.getFirst());
        }
        return env;
    }

    /**
     * Whether some Java beneath a folder such as {@code /usr/lib/jvm} keeps its cacerts elsewhere
     * than where {@link #files} puts them.
     */
    static boolean javaOptionNeeded(Path machines) throws IOException {
        if (!Files.isDirectory(machines)) {
            return false;
        }
        try (var homes = Files.newDirectoryStream(machines)) {
            for (Path home : homes) {
                for (String place : List.of("lib/security/cacerts", "jre/lib/security/cacerts")) {
                    Path cacerts = home.resolve(place);
                    if (Files.exists(cacerts)
                            && !JAVA_STORES.contains(cacerts.toRealPath().toString())) {
                        return true;
                    }
                }
            }
        }
        return false;
    }

    // Java's own writer would encrypt each certificate and stretch the password for a hundred
    // milliseconds; certificates are no secret.
    private byte[] store(Collection<X509Certificate> own) throws IOException {
        try {
            PKCS12PfxPduBuilder builder = new PKCS12PfxPduBuilder();
            List<PKCS12SafeBag> all = new ArrayList<>(bags);
            for (X509Certificate certificate : own) {
                all.add(bag(certificate, "caisson" + all.size()));
            }
            for (PKCS12SafeBag bag : all) {
                builder.addData(bag);
            }
            return builder.build(
                            new BcPKCS12MacCalculatorBuilder(
                                            new SHA256Digest(),
                                            new AlgorithmIdentifier(
                                                    NISTObjectIdentifiers.id_sha256))
                                    .setIterationCount(MAC_ITERATIONS),
                            PASSWORD)
                    .getEncoded();
        } catch (PKCSException e) {
            throw new IOException("No trust store can be made.", e);
        }
    }

    private static PKCS12SafeBag bag(X509Certificate certificate, String alias) throws IOException {
        return new JcaPKCS12SafeBagBuilder(certificate)
                .addBagAttribute(
                        PKCSObjectIdentifiers.pkcs_9_at_friendlyName, new DERBMPString(alias))
                .addBagAttribute(TRUSTED, KeyPurposeId.anyExtendedKeyUsage.toOID())
                .build();
    }

    private static Collection<X509Certificate> certificates(byte[] pem) throws IOException {
        try {
            return CertificateFactory.getInstance("X.509")
                    .generateCertificates(new ByteArrayInputStream(pem))
                    .stream()
                    .map(X509Certificate.class::cast)
                    .toList();
        } catch (GeneralSecurityException e) {
            throw new IOException("The host's bundle of certificates cannot be read.", e);
        }
    }
}
