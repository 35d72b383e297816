package dev.caisson.redact;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CredentialLookTest {
    /** Put together here, so that no scanner takes this file for a leak. */
    private static String of(String prefix, int more) {
        return prefix + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA".repeat(3).substring(0, more);
    }

    @ParameterizedTest
    @CsvSource({
        "ghp_,36,a GitHub token", "github_pat_,40,a GitHub token", "glpat-,20,a GitLab token",
        "xoxb-,24,a Slack token", "sk-,40,an API key", "sk_live_,24,a Stripe key",
        "npm_,36,an npm token", "pypi-,60,a PyPI token", "hf_,34,a Hugging Face token"
    })
    void knowsHowIssuersWriteThem(String prefix, int more, String look) {
        assertThat(CredentialLook.of("X", of(prefix, more))).contains(look);
        assertThat(CredentialLook.of("X", prefix)).isEmpty();
    }

    @Test
    void knowsKeysTokensAndAddressesByTheirForm() {
        assertThat(CredentialLook.of("X", "AKIA" + "ABCDEFGH12345678")).contains("an AWS key");
        assertThat(CredentialLook.of("X", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln"))
                .contains("a JSON Web Token");
        assertThat(CredentialLook.of("X", "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n"))
                .contains("a private key");
        assertThat(CredentialLook.of("X", "postgres://me:pass@db:5432/x"))
                .contains("an address with a password");
        assertThat(CredentialLook.of("X", "Bearer abcdefgh1234")).isPresent();
    }

    @ParameterizedTest
    @CsvSource({
        "API_TOKEN,correcthorse",
        "db-password,correcthorse",
        "MY_SECRET,correcthorse",
        "SERVICE_KEY,correcthorse",
        "X,aB3dE5gH7jK9mN1pQ2rS4tU6"
    })
    void looksAtNamesAndAtRandomness(String name, String value) {
        assertThat(CredentialLook.of(name, value)).isPresent();
    }

    @ParameterizedTest
    @CsvSource({
        "PATH,/usr/local/bin:/usr/bin",
        "LANG,C.UTF-8",
        "NODE_ENV,production",
        "TOKEN,short",
        "TOKEN_FILE,/run/secrets/token",
        "SSH_KEY,/home/me/.ssh/id",
        "PUBLIC_KEY,AAAAB3Nza",
        "COMMIT,3f786850e387550fdab836ed7e6dc881de23001b",
        "KEY_LENGTH,4096409640964096",
        "ID,123e4567-e89b-12d3-a456-426614174000",
        "URL,https://example.org/a/b?c=d",
        "JAVA_OPTS,-Xmx512m",
        "NAME,my-application-name-production-eu",
        "KEYBOARD,something-long"
    })
    void leavesOrdinaryValuesAlone(String name, String value) {
        assertThat(CredentialLook.of(name, value)).isEmpty();
    }

    @Test
    void isQuickWhateverTheValue() {
        for (String part : new String[] {"a", "a:", "-----BEGIN ", "eyJ", "eyJa.", "x://", "gl-"}) {
            String value = part.repeat(16_000 / part.length());
            Assertions.assertTimeoutPreemptively(
                    Duration.ofSeconds(2), () -> CredentialLook.of(value, value));
        }
        assertThat(CredentialLook.of("X", "a".repeat(1 << 20))).isEmpty();
    }
}
