package dev.caisson.serve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.interfaces.ECPublicKey;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The local authority and what it signs; that a server speaks with it is in LiveServerTest. */
@Timeout(240)
class LocalTlsTest {
    @TempDir private Path folder;

    private Settings settings() {
        return Settings.read(
                Optional.empty(), Map.of(), Map.of(Setting.DATA, folder.resolve("d").toString()));
    }

    private static X509Certificate certificate(String file) throws Exception {
        try (InputStream input = Files.newInputStream(Path.of(file))) {
            return (X509Certificate)
                    CertificateFactory.getInstance("X.509").generateCertificate(input);
        }
    }

    @Test
    void signsNamesWithAnAuthorityThatStays() throws Exception {
        LocalTls.Made made = LocalTls.make(settings(), List.of("box.example", "192.0.2.7"));
        X509Certificate authority = certificate(made.authority());
        X509Certificate server = certificate(made.certificate());

        server.verify(authority.getPublicKey());
        assertThat(authority.getBasicConstraints()).isZero();
        assertThat(server.getBasicConstraints()).isEqualTo(-1);
        assertThat(server.getExtendedKeyUsage()).containsExactly("1.3.6.1.5.5.7.3.1");
        assertThat(((ECPublicKey) server.getPublicKey()).getParams().getOrder().bitLength())
                .isEqualTo(256);
        assertThat(
                        server.getSubjectAlternativeNames().stream()
                                .map(name -> String.valueOf(name.get(1))))
                .contains("localhost", "127.0.0.1", "box.example", "192.0.2.7");
        for (String name : List.of("ca.key", "server.key", "server.crt")) {
            assertThat(
                            PosixFilePermissions.toString(
                                    Files.getPosixFilePermissions(
                                            Path.of(made.key()).resolveSibling(name))))
                    .isEqualTo("rw-------");
        }

        LocalTls.make(settings(), List.of("other.example"));
        assertThat(certificate(made.authority())).isEqualTo(authority);
        X509Certificate fresh = certificate(made.certificate());
        fresh.verify(authority.getPublicKey());
        assertThat(fresh).isNotEqualTo(server);
        try (var left = Files.list(Path.of(made.key()).getParent())) {
            assertThat(left).hasSize(4);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "a b", "x,dns:y", "-storepass", "a/b", "ü.example"})
    void refusesWhatIsNoName(String name) {
        assertThatThrownBy(() -> LocalTls.make(settings(), List.of(name)))
                .hasMessageContaining("neither");
    }
}
