package dev.caisson.policy;

import dev.caisson.v1.EgressJson;
import dev.caisson.v1.EgressLimits;
import dev.caisson.v1.PackageRule;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Bounds and words of a document, but for its rules that allow hosts and ranges. */
final class DocumentRules {
    static final List<String> ECOSYSTEMS = List.of("pypi", "npm", "maven", "debian");

    private static final int MAX_RULES = 256;
    private static final int MAX_SECRETS = 64;
    private static final int MAX_PACKAGES = 1000;
    private static final int MAX_REQUESTS = 1024;
    private static final long MAX_AGE = 3650L * 24 * 3600 * 1000;
    private static final Pattern SECRET = Pattern.compile("[A-Za-z0-9_][A-Za-z0-9._-]{0,62}");
    private static final Pattern PACKAGE =
            Pattern.compile("[A-Za-z0-9@._/+:~!-]{0,254}[A-Za-z0-9*._+~-]");
    private static final Map<String, Integer> DIGITS =
            Map.of("sha256", 64, "sha384", 96, "sha512", 128);

    private DocumentRules() {}

    static Mode mode(@Nullable String word) {
        return switch (word) {
            case null -> Mode.ENFORCE;
            case "enforce" -> Mode.ENFORCE;
            case "observe" -> Mode.OBSERVE;
            case "ask" -> Mode.ASK;
            default -> throw Wrong.field("egress.mode", word, "enforce, observe, ask");
        };
    }

    static void check(EgressJson json) {
        Integer version = json.version();
        if (version != null && version != 1) {
            throw Wrong.field("egress.version", version.toString(), "1");
        }
        Wrong.few("egress.allow", json.allow(), MAX_RULES);
        Wrong.few("egress.deny", json.deny(), MAX_RULES);
        Wrong.few("egress.secrets", json.secrets(), MAX_SECRETS);
        int requests = json.allow().stream().mapToInt(rule -> rule.http().size()).sum();
        if (requests > MAX_REQUESTS) {
            throw Wrong.field("egress.allow.http", requests + " rules", "at most " + MAX_REQUESTS);
        }
        for (String secret : json.secrets()) {
            if (!SECRET.matcher(secret).matches()) {
                throw Wrong.field("egress.secrets", secret, SECRET.pattern());
            }
        }
        limits(json.limits());
        json.packages().forEach(DocumentRules::packages);
    }

    private static void limits(@Nullable EgressLimits limits) {
        if (limits != null) {
            within("bytes", limits.bytes(), Long.MAX_VALUE);
            within("bytesPerSecond", limits.bytesPerSecond(), Long.MAX_VALUE);
            within("connections", limits.connections(), 65_536);
            within("connectionsPerSecond", limits.connectionsPerSecond(), 100_000);
            within("dnsQueriesPerMinute", limits.dnsQueriesPerMinute(), 1_000_000);
        }
    }

    private static void within(String field, @Nullable Number given, long most) {
        if (given != null && (given.longValue() < 1 || given.longValue() > most)) {
            throw Wrong.field("egress.limits." + field, given.toString(), "1 to " + most);
        }
    }

    private static void packages(String ecosystem, PackageRule rule) {
        String field = "egress.packages." + Wrong.printable(ecosystem);
        if (!ECOSYSTEMS.contains(ecosystem)) {
            throw Wrong.field("egress.packages", ecosystem, String.join(", ", ECOSYSTEMS));
        }
        if (rule.registry() != null) {
            Registry.of(ecosystem, rule.registry());
        }
        names(field + ".allow", rule.allow());
        names(field + ".deny", rule.deny());
        Long age = rule.minAgeMillis();
        if (age != null && (age < 0 || age > MAX_AGE)) {
            throw Wrong.field(field + ".minAgeMillis", age.toString(), "0 to " + MAX_AGE);
        }
        names(field + ".hashes", rule.hashes().keySet());
        rule.hashes().forEach((name, hash) -> hash(field + ".hashes", name, hash));
    }

    private static void names(String field, Collection<String> names) {
        Wrong.few(field, names, MAX_PACKAGES);
        for (String name : names) {
            int star = name.indexOf('*');
            boolean prefix = star < 0 || star == name.length() - 1;
            if (name.length() > 255 || !prefix || !PACKAGE.matcher(name).matches()) {
                throw Wrong.field(field, name, "name, name@version or prefix*");
            }
        }
    }

    private static void hash(String field, String name, String hash) {
        int colon = hash.indexOf(':');
        Integer digits = colon < 0 ? null : DIGITS.get(hash.substring(0, colon));
        boolean fit =
                digits != null
                        && hash.length() == colon + 1 + digits
                        && hash.chars().skip(colon + 1).allMatch(c -> Hex.value((char) c) >= 0);
        if (!fit || name.lastIndexOf('@') < 1 || name.endsWith("*")) {
            throw Wrong.field(
                    field,
                    name + "=" + hash,
                    "sha256, sha384 or sha512, a colon and hex digits, by name@version");
        }
    }
}
