package dev.caisson.egress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.caisson.policy.HostName;
import java.security.cert.X509Certificate;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.List;
import org.junit.jupiter.api.Test;

class SandboxAuthorityTest {
    private static final HostName HOST = HostName.of("api.example.org");
    private final Ticking clock = new Ticking();
    private final SandboxAuthority authority = new SandboxAuthority("sbabc", clock);

    @Test
    void aNextLifeHasAnotherKeyAndTheFormerOneIsTrustedOn() {
        SandboxAuthority former = new SandboxAuthority("sb1", Clock.systemUTC());
        SandboxAuthority next = former.successor();
        assertThat(next.certificates()).containsAll(former.certificates()).hasSize(2);
        assertThat(next.leaf(HostName.of("a.test")).chain().getLast())
                .isNotEqualTo(former.certificates().getFirst());
    }

    @Test
    void livesForADayAndSignsNoAuthority() {
        X509Certificate root = authority.certificates().getFirst();
        assertThat(root.getSubjectX500Principal().getName()).isEqualTo("CN=Caisson sandbox sbabc");
        assertThat(root.getBasicConstraints()).isZero();
        assertThat(
                        Duration.between(
                                root.getNotBefore().toInstant(), root.getNotAfter().toInstant()))
                .isLessThanOrEqualTo(Duration.ofHours(24));
        assertThat(root.getNotBefore().toInstant()).isBefore(clock.instant());
        assertThat(root.getKeyUsage()[5]).isTrue();
    }

    @Test
    void certifiesAHostOnceAndNoLongerThanItLives() throws Exception {
        Authority.Leaf leaf = authority.leaf(HOST);
        X509Certificate own = leaf.chain().getFirst();
        X509Certificate root = authority.certificates().getFirst();
        own.verify(root.getPublicKey());
        assertThat(own.getBasicConstraints()).isEqualTo(-1);
        assertThat(own.getSubjectAlternativeNames()).containsExactly(List.of(2, "api.example.org"));
        assertThat(own.getNotAfter()).isEqualTo(root.getNotAfter());
        assertThat(authority.leaf(HOST)).isSameAs(leaf);
        assertThat(authority.leaf(HostName.of("b.example.org")).chain().getFirst())
                .extracting(X509Certificate::getSerialNumber)
                .isNotEqualTo(own.getSerialNumber());
        assertThat(leaf.toString()).isEqualTo("Leaf");
    }

    @Test
    void isTrustedTwiceBeforeItSignsAnew() {
        X509Certificate first = authority.certificates().getFirst();
        assertThat(authority.renew()).isFalse();
        clock.forward(Duration.ofHours(12));
        assertThat(authority.renew()).isTrue();
        assertThat(authority.renew()).isFalse();
        assertThat(authority.certificates()).hasSize(2).startsWith(first);
        assertThat(authority.pem().split("BEGIN CERTIFICATE", -1)).hasSize(3);
        assertThat(authority.leaf(HOST).chain().getLast()).isEqualTo(first);
        clock.forward(Duration.ofMinutes(10 * 60 + 30));
        assertThat(authority.leaf(HOST).chain().getLast())
                .isEqualTo(authority.certificates().get(1));
        clock.forward(Duration.ofHours(1));
        assertThat(authority.renew()).isTrue();
        assertThat(authority.certificates()).doesNotContain(first);
    }

    @Test
    void aRestoredSandboxHasAnotherOneAndTrustsTheFormer() {
        SandboxAuthority restored = new SandboxAuthority("sbabc", clock, authority.certificates());
        assertThat(restored.certificates())
                .hasSize(2)
                .startsWith(authority.certificates().getFirst());
        assertThat(restored.leaf(HOST).chain().getLast())
                .isEqualTo(restored.certificates().getLast());
    }

    @Test
    void certifiesNothingWhenItIsClosed() {
        authority.leaf(HOST);
        authority.close();
        assertThatIllegalStateException().isThrownBy(() -> authority.leaf(HOST));
        assertThat(authority.pem()).isEmpty();
        assertThat(authority.renew()).isFalse();
    }

    @Test
    void keepsFewLeaves() {
        Authority.Leaf first = authority.leaf(HOST);
        for (int i = 0; i < 200; i++) {
            authority.leaf(HostName.of("h" + i + ".example.org"));
        }
        assertThat(authority.leaf(HOST)).isNotSameAs(first);
    }

    private static final class Ticking extends Clock {
        private Instant now = Instant.parse("2026-01-01T00:00:00Z");

        void forward(Duration by) {
            now = now.plus(by);
        }

        @Override
        public ZoneId getZone() {
            return ZoneOffset.UTC;
        }

        @Override
        public Clock withZone(ZoneId zone) {
            return this;
        }

        @Override
        public Instant instant() {
            return now;
        }
    }
}
