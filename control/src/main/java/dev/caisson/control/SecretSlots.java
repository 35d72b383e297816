package dev.caisson.control;

import dev.caisson.v1.SecretSlot;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** What the slot of a binding may say: exactly the fields of its kind. */
final class SecretSlots {
    private static final int MAX_FORMAT = 256;
    private static final int MAX_URL = 2048;
    private static final int MAX_SCOPES = 32;

    /** Fields by kind. */
    private static final Map<String, Set<String>> FIELDS =
            Map.of(
                    "header", Set.of("name", "format"),
                    "basic", Set.of("user"),
                    "query", Set.of("name"),
                    "git", Set.of("user", "push"),
                    "sigv4", Set.of("region", "service"),
                    "oauth", Set.of("tokenUrl", "scopes"));

    /** RFC 9110, 5.6.2. */
    private static final Pattern TOKEN = Pattern.compile("[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}");

    /** Headers that frame a message, choose its receiver, or end at the next hop. */
    private static final Set<String> FORBIDDEN =
            Set.of(
                    "host",
                    "connection",
                    "proxy-connection",
                    "keep-alive",
                    "te",
                    "trailer",
                    "transfer-encoding",
                    "upgrade",
                    "content-length",
                    "content-type",
                    "content-encoding",
                    "expect",
                    "http2-settings",
                    "proxy-authenticate",
                    "proxy-authorization",
                    "accept-encoding",
                    "date",
                    "via",
                    "alt-used");

    private static final Pattern FORMAT = Pattern.compile("[ -~]*");
    private static final Pattern PARAMETER = Pattern.compile("[A-Za-z0-9._~-]{1,128}");
    private static final Pattern USER = Pattern.compile("[!-~&&[^:]]{1,256}");
    private static final Pattern REGION = Pattern.compile("[a-z0-9-]{1,64}");

    /** RFC 6749, 3.3. */
    private static final Pattern SCOPE = Pattern.compile("[!#-\\[\\]-~]{1,256}");

    private SecretSlots() {}

    static void check(String field, @Nullable SecretSlot slot) {
        if (slot == null) {
            throw SecretRules.wrong(field, "A binding needs a slot.");
        }
        Set<String> allowed = FIELDS.get(String.valueOf(slot.kind()));
        if (allowed == null) {
            throw SecretRules.wrong(field + ".kind", "It is none of the kinds.")
                    .withDetail("allowed", String.join(", ", new TreeSet<>(FIELDS.keySet())));
        }
        for (String given : given(slot)) {
            if (!allowed.contains(given)) {
                throw SecretRules.wrong(
                        field + "." + given, "A slot of the kind " + slot.kind() + " has none.");
            }
        }
        switch (slot.kind()) {
            case "header" -> header(field, slot);
            case "query" -> needed(field + ".name", slot.name(), PARAMETER);
            case "sigv4" -> {
                needed(field + ".region", slot.region(), REGION);
                needed(field + ".service", slot.service(), REGION);
            }
            case "oauth" -> oauth(field, slot);
            default -> {
                if (slot.user() != null) {
                    needed(field + ".user", slot.user(), USER);
                }
            }
        }
    }

    private static Set<String> given(SecretSlot slot) {
        Set<String> given = new TreeSet<>();
        add(given, "name", slot.name());
        add(given, "format", slot.format());
        add(given, "user", slot.user());
        add(given, "region", slot.region());
        add(given, "service", slot.service());
        add(given, "tokenUrl", slot.tokenUrl());
        add(given, "scopes", slot.scopes().isEmpty() ? null : slot.scopes());
        add(given, "push", slot.push());
        return given;
    }

    private static void add(Set<String> given, String name, @Nullable Object value) {
        if (value != null) {
            given.add(name);
        }
    }

    private static void header(String field, SecretSlot slot) {
        if (slot.name() != null) {
            needed(field + ".name", slot.name(), TOKEN);
            if (FORBIDDEN.contains(slot.name().toLowerCase(Locale.ROOT))) {
                throw SecretRules.wrong(
                        field + ".name", "No secret is put into the header " + slot.name() + ".");
            }
        }
        String format = slot.format();
        if (format != null) {
            int at = format.indexOf("{}");
            boolean once = at >= 0 && format.indexOf("{}", at + 2) < 0;
            if (!once
                    || format.length() > MAX_FORMAT
                    || !FORMAT.matcher(format).matches()
                    || !format.equals(format.strip())) {
                throw SecretRules.wrong(
                        field + ".format",
                        "It is ASCII with {} exactly once, for the value, at most "
                                + MAX_FORMAT
                                + " characters, without blanks around it.");
            }
        }
    }

    private static void oauth(String field, SecretSlot slot) {
        String where = field + ".tokenUrl";
        String text = Objects.requireNonNullElse(slot.tokenUrl(), "");
        URI url;
        try {
            url = new URI(text);
        } catch (URISyntaxException e) {
            throw SecretRules.wrong(where, "It is not a URL.");
        }
        if (!"https".equalsIgnoreCase(url.getScheme())
                || url.getHost() == null
                || url.getRawUserInfo() != null
                || url.getRawFragment() != null
                || text.length() > MAX_URL
                || !text.equals(url.toASCIIString())) {
            throw SecretRules.wrong(
                    where, "It is an absolute https URL in ASCII, without user and fragment.");
        }
        SecretRules.host(where, url.getHost());
        if (slot.scopes().size() > MAX_SCOPES
                || !slot.scopes().stream().allMatch(scope -> SCOPE.matcher(scope).matches())) {
            throw SecretRules.wrong(
                    field + ".scopes", "There are at most " + MAX_SCOPES + ", without blanks.");
        }
    }

    private static void needed(String field, @Nullable String text, Pattern form) {
        if (text == null || !form.matcher(text).matches()) {
            throw SecretRules.wrong(field, "It is " + form.pattern() + ".");
        }
    }
}
