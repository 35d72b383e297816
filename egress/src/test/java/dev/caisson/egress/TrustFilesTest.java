package dev.caisson.egress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.policy.HostName;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.time.Clock;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TrustFilesTest {
    private final SandboxAuthority authority = new SandboxAuthority("sb1", Clock.systemUTC());
    private final TestCa host = new TestCa();
    @TempDir private Path folder;

    @Test
    void bundlesHoldTheHostsAuthoritiesAndOurs() throws Exception {
        Map<String, byte[]> files = files();
        assertThat(read(file(files, "/etc/ssl/certs/ca-certificates.crt")))
                .containsExactly(host.certificate(), authority.certificates().getFirst());
        assertThat(read(file(files, "/etc/caisson/bundle.pem"))).hasSize(2);
        assertThat(read(file(files, "/etc/caisson/ca.pem")))
                .containsExactlyElementsOf(authority.certificates());
        assertThat(files.keySet()).allMatch(path -> path.startsWith("/etc/"));
    }

    @Test
    void javaTrustsALeafByTheStore() throws Exception {
        KeyStore store = KeyStore.getInstance("JKS");
        try (InputStream in =
                new ByteArrayInputStream(file(files(), "/etc/ssl/certs/java/cacerts"))) {
            store.load(in, "changeit".toCharArray());
        }
        TrustManagerFactory factory = TrustManagerFactory.getInstance("PKIX");
        factory.init(store);
        X509TrustManager trust = (X509TrustManager) factory.getTrustManagers()[0];
        assertThat(trust.getAcceptedIssuers()).hasSize(2);
        trust.checkServerTrusted(
                authority
                        .leaf(HostName.of("a.example.org"))
                        .chain()
                        .toArray(X509Certificate[]::new),
                "ECDHE_ECDSA");
    }

    @Test
    void aSecondSandboxCostsLittle() throws Exception {
        TrustFiles trust = TrustFiles.of(TrustFiles.HOST_BUNDLES);
        for (int i = 0; i < 30; i++) {
            trust.files(authority.certificates());
        }
        long start = System.nanoTime();
        for (int i = 0; i < 10; i++) {
            trust.files(authority.certificates());
        }
        // The aim is 5 ms; the bound is wide because the machine is shared.
        System.err.println("trust files: " + (System.nanoTime() - start) / 10_000 + " us");
        assertThat((System.nanoTime() - start) / 10).isLessThan(100_000_000);
    }

    @Test
    void aHostWithoutABundleTrustsOursOnly() throws Exception {
        TrustFiles trust = TrustFiles.of(List.of(folder.resolve("none")));
        assertThat(trust.files(authority.certificates())).hasSizeGreaterThan(5);
    }

    @Test
    void tellsJavaOnlyWhenItsStoreCannotBeReplaced() throws Exception {
        Path store = Files.createDirectories(folder.resolve("jdk/lib/security"));
        assertThat(TrustFiles.javaOptionNeeded(folder)).isFalse();
        Files.writeString(store.resolve("cacerts"), "x");
        assertThat(TrustFiles.javaOptionNeeded(folder)).isTrue();
        assertThat(TrustFiles.env(true)).containsKey("JAVA_TOOL_OPTIONS");
        assertThat(TrustFiles.env(false))
                .doesNotContainKey("JAVA_TOOL_OPTIONS")
                .containsEntry("NODE_EXTRA_CA_CERTS", "/etc/caisson/ca.pem")
                .containsEntry("PIP_CERT", "/etc/caisson/bundle.pem");
    }

    private Map<String, byte[]> files() throws Exception {
        Path bundle = folder.resolve("bundle.crt");
        Files.writeString(bundle, SandboxAuthority.pem(host.certificate()).strip());
        return TrustFiles.of(List.of(bundle)).files(authority.certificates()).stream()
                .collect(
                        Collectors.toMap(
                                TrustFiles.TrustFile::path, TrustFiles.TrustFile::content));
    }

    private static byte[] file(Map<String, byte[]> files, String path) {
        return java.util.Objects.requireNonNull(files.get(path), path);
    }

    private static List<X509Certificate> read(byte[] pem) throws Exception {
        return CertificateFactory.getInstance("X.509")
                .generateCertificates(
                        new ByteArrayInputStream(
                                new String(pem, StandardCharsets.US_ASCII)
                                        .getBytes(StandardCharsets.US_ASCII)))
                .stream()
                .map(X509Certificate.class::cast)
                .toList();
    }
}
