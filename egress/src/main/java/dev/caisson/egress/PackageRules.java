package dev.caisson.egress;

import dev.caisson.policy.Verdict;
import dev.caisson.v1.PackageRule;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** The rules of all documents for the packages of an ecosystem: each must allow. Immutable. */
final class PackageRules {
    private final String ecosystem;
    private final List<Document> documents;

    private record Document(
            List<Words> allow, List<Words> deny, long minAgeMillis, Map<String, String> hashes) {}

    // name, name@version or, as a beginning, prefix*
    private record Words(String text, boolean prefix) {
        boolean matches(String name, String version) {
            return prefix
                    ? (name + "@" + version).startsWith(text)
                    : text.equals(name) || text.equals(name + "@" + version);
        }

        boolean wholly(String name) {
            return prefix ? name.startsWith(text) : text.equals(name);
        }

        boolean partly(String name) {
            return wholly(name) || text.startsWith(name + "@");
        }
    }

    PackageRules(String ecosystem, List<PackageRule> rules) {
        this.ecosystem = ecosystem;
        this.documents = rules.stream().map(this::document).toList();
    }

    private Document document(PackageRule rule) {
        Map<String, String> hashes = new java.util.HashMap<>();
        rule.hashes()
                .forEach((name, hash) -> hashes.put(form(name), hash.toLowerCase(Locale.ROOT)));
        Long age = rule.minAgeMillis();
        return new Document(
                rule.allow().stream().map(this::words).toList(),
                rule.deny().stream().map(this::words).toList(),
                age == null ? 0 : age,
                hashes);
    }

    private Words words(String word) {
        boolean prefix = word.endsWith("*");
        return new Words(form(prefix ? word.substring(0, word.length() - 1) : word), prefix);
    }

    private String form(String word) {
        int at = word.lastIndexOf('@');
        return at < 1
                ? PackageNames.normal(ecosystem, word)
                : PackageNames.normal(ecosystem, word.substring(0, at)) + word.substring(at);
    }

    /** Why no version of a package may be installed; empty: some may. */
    Optional<Verdict> name(String name) {
        if (documents.isEmpty()) {
            return Optional.of(notAllowed(name));
        }
        for (Document one : documents) {
            if (one.deny.stream().anyMatch(words -> words.wholly(name))) {
                return Optional.of(denied(name));
            }
            if (!one.allow.isEmpty() && one.allow.stream().noneMatch(words -> words.partly(name))) {
                return Optional.of(notAllowed(name));
            }
        }
        return Optional.empty();
    }

    /** Why a version may not be installed; empty: it may. */
    Optional<Verdict> version(
            String name, String version, Optional<Instant> published, Instant now) {
        String whole = name + "@" + version;
        Optional<Verdict> no = name(name);
        if (no.isPresent()) {
            return no;
        }
        for (Document one : documents) {
            if (one.deny.stream().anyMatch(words -> words.matches(name, version))) {
                return Optional.of(denied(whole));
            }
            if (!one.allow.isEmpty()
                    && one.allow.stream().noneMatch(words -> words.matches(name, version))) {
                return Optional.of(notAllowed(whole));
            }
            if (one.minAgeMillis > 0) {
                no = tooYoung(whole, published, Duration.ofMillis(one.minAgeMillis), now);
                if (no.isPresent()) {
                    return no;
                }
            }
        }
        return Optional.empty();
    }

    private Optional<Verdict> tooYoung(
            String whole, Optional<Instant> published, Duration least, Instant now) {
        if (published.isEmpty()) {
            return Optional.of(
                    no(
                            "package age",
                            "It is not known when "
                                    + whole
                                    + " was published, and the policy asks for "
                                    + least
                                    + ". "
                                    + (ecosystem.equals("debian")
                                            ? "Debian's indexes do not say so: ask for a rule"
                                                    + " without minAgeMillis."
                                            : "Ask the registry's index for the package first, or"
                                                    + " ask for a rule without minAgeMillis.")));
        }
        return published.get().plus(least).isAfter(now)
                ? Optional.of(
                        no(
                                "package age",
                                whole
                                        + " was published at "
                                        + published.get()
                                        + ", and the policy asks for "
                                        + least
                                        + ". Use an older version."))
                : Optional.empty();
    }

    /** Whether a version's time of publishing counts. */
    boolean needsTime() {
        return documents.stream().anyMatch(one -> one.minAgeMillis > 0);
    }

    /** The hashes that a version must have: {@code algorithm:hex}, one of each document. */
    List<String> pinned(String name, String version) {
        List<String> pinned = new ArrayList<>();
        for (Document one : documents) {
            String hash = one.hashes.get(name + "@" + version);
            if (hash != null) {
                pinned.add(hash);
            }
        }
        return pinned;
    }

    /** Whether what an index says of a file's hashes is against a pinned one. */
    boolean pinnedOtherwise(String name, String version, Map<String, String> hashes) {
        return pinned(name, version).stream()
                .anyMatch(pin -> {
                    int colon = pin.indexOf(':');
                    String given = hashes.get(pin.substring(0, colon));
                    return given != null && !pin.endsWith(":" + given);
                });
    }

    private Verdict denied(String what) {
        return no("package deny", "Use another package than " + what + ": the policy denies it.");
    }

    private Verdict notAllowed(String what) {
        return no(
                "package allow",
                "Check the name, or ask for a rule of packages."
                        + ecosystem
                        + " that allows "
                        + what
                        + ".");
    }

    static Verdict no(String rule, String remedy) {
        return new Verdict(Verdict.Answer.DENY, rule, remedy);
    }
}
