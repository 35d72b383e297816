package dev.caisson.redact;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Tells whether a variable looks like a credential, by its name and its value. A guess for a
 * warning: it may be wrong either way, and nothing is refused because of it.
 */
public final class CredentialLook {
    private static final int MAX_LOOKED_AT = 16 << 10;
    private static final int SHORTEST_NAMED = 8;
    private static final int SHORTEST_RANDOM = 20;
    private static final double RANDOM_BITS = 3.8; // per character; words have less

    private record Known(String look, Pattern pattern) {
        Known(String look, String pattern) {
            this(look, Pattern.compile(pattern, Pattern.DOTALL));
        }
    }

    /** How the issuers write them. */
    private static final List<Known> KNOWN =
            List.of(
                    new Known("a private key", "\\s*-----BEGIN [A-Z ]*PRIVATE KEY-----.*"),
                    new Known("an AWS key", "(AKIA|ASIA)[A-Z0-9]{16}"),
                    new Known("a GitHub token", "(gh[pousr]_|github_pat_)[A-Za-z0-9_]{20,}"),
                    new Known("a GitLab token", "gl[a-z]{2,8}-[A-Za-z0-9_.-]{20,}"),
                    new Known("a Slack token", "xox[a-z]-[A-Za-z0-9-]{10,}"),
                    new Known("a Stripe key", "[sr]k_(live|test)_[A-Za-z0-9]{16,}"),
                    new Known("an API key", "sk-[A-Za-z0-9_-]{20,}"),
                    new Known("a Google key", "(AIza[A-Za-z0-9_-]{35}|ya29\\.[A-Za-z0-9_-]{20,})"),
                    new Known("an npm token", "npm_[A-Za-z0-9]{30,}"),
                    new Known("a PyPI token", "pypi-[A-Za-z0-9_-]{30,}"),
                    new Known("a SendGrid key", "SG\\.[A-Za-z0-9_-]{16,}\\.[A-Za-z0-9_-]{16,}"),
                    new Known("a Hugging Face token", "hf_[A-Za-z0-9]{30,}"),
                    new Known(
                            "a JSON Web Token",
                            "eyJ[A-Za-z0-9_-]{8,}\\.[A-Za-z0-9_-]{8,}\\.[A-Za-z0-9_-]*"),
                    new Known(
                            "an Authorization header", "(?i)(bearer|basic) [A-Za-z0-9+/=._-]{8,}"),
                    new Known(
                            "an address with a password",
                            "[a-z][a-z0-9+.-]*://[^/@:\\s]*:[^/@\\s]+@.*"));

    private static final Set<String> SECRET_WORDS =
            Set.of(
                    "TOKEN",
                    "SECRET",
                    "PASSWORD",
                    "PASSWD",
                    "PASSPHRASE",
                    "PWD",
                    "APIKEY",
                    "KEY",
                    "CREDENTIAL",
                    "CREDENTIALS");

    /** A name that ends with one of these is about a secret, and does not hold it. */
    private static final Set<String> ABOUT =
            Set.of(
                    "PATH", "FILE", "DIR", "URL", "URI", "NAME", "ID", "TYPE", "LENGTH", "SIZE",
                    "COUNT", "TTL", "TIMEOUT", "ENABLED", "HELPER");

    private static final Pattern ONE_WORD = Pattern.compile("[A-Za-z0-9+/=_.~-]+");
    private static final Pattern HEX = Pattern.compile("[0-9a-fA-F-]+");
    private static final Pattern HARMLESS = Pattern.compile("[0-9.]+|[./~].*|[a-z]+://.*");

    private CredentialLook() {}

    /**
     * What a variable looks like, in words that say nothing of its value; empty when it looks like
     * nothing of the kind.
     */
    public static Optional<String> of(String name, String value) {
        if (value.length() > MAX_LOOKED_AT) {
            return Optional.empty();
        }
        for (Known known : KNOWN) {
            if (known.pattern().matcher(value).matches()) {
                return Optional.of(known.look());
            }
        }
        if (value.length() >= SHORTEST_NAMED
                && isNamedSo(name)
                && !HARMLESS.matcher(value).matches()) {
            return Optional.of("a credential, by its name");
        }
        return isRandom(value)
                ? Optional.of("a credential, since it looks random")
                : Optional.empty();
    }

    private static boolean isNamedSo(String name) {
        List<String> words = Arrays.asList(name.toUpperCase(Locale.ROOT).split("[_.-]+", -1));
        return !ABOUT.contains(words.getLast())
                && !words.contains("PUBLIC")
                && words.stream().anyMatch(SECRET_WORDS::contains);
    }

    /** Not of hexadecimal digits alone: those are mostly hashes and ids. */
    private static boolean isRandom(String value) {
        return value.length() >= SHORTEST_RANDOM
                && ONE_WORD.matcher(value).matches()
                && !HEX.matcher(value).matches()
                && !HARMLESS.matcher(value).matches()
                && value.chars().anyMatch(Character::isDigit)
                && value.chars().anyMatch(Character::isUpperCase)
                && value.chars().anyMatch(Character::isLowerCase)
                && bitsPerCharacter(value) >= RANDOM_BITS;
    }

    /** Shannon's entropy of the characters' frequencies. */
    private static double bitsPerCharacter(String value) {
        int[] counts = new int[128];
        value.chars().forEach(c -> counts[c]++);
        double bits = 0;
        for (int count : counts) {
            if (count > 0) {
                double share = (double) count / value.length();
                bits -= share * Math.log(share) / Math.log(2);
            }
        }
        return bits;
    }
}
