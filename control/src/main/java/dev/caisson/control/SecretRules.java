package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.policy.HostName;
import dev.caisson.v1.SecretBinding;
import dev.caisson.v1.SecretSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** What a secret's spec may say. Its texts become parts of requests, so each has a narrow form. */
final class SecretRules {
    private static final int MAX_BINDINGS = 32;
    private static final int MAX_METHODS = 16;
    private static final int MAX_PATH = 1024;
    private static final int MAX_PER_MINUTE = 1_000_000;
    private static final Pattern METHOD = Pattern.compile("[A-Z]{1,20}");
    private static final Pattern ENV = Pattern.compile("[A-Za-z_][A-Za-z0-9_]{0,127}");

    /** Visible ASCII without what would end or double a path. */
    private static final Pattern PATH = Pattern.compile("/[!-~&&[^?#\\\\]]*");

    /** Ways to write a path that servers read differently. */
    private static final Pattern AMBIGUOUS =
            Pattern.compile("//|/\\.{1,2}(?:/|$)|%(?:2[ef]|5c|00)", Pattern.CASE_INSENSITIVE);

    private SecretRules() {}

    /**
     * Checks a spec.
     *
     * @return the same with its host names in their one form
     * @throws CaissonException {@link dev.caisson.api.ErrorCode#INVALID} that names the field
     */
    static SecretSpec checked(@Nullable SecretSpec spec) {
        if (spec == null || spec.bindings().isEmpty()) {
            throw wrong("spec.bindings", "A secret has at least one binding.");
        }
        if (spec.bindings().size() > MAX_BINDINGS) {
            throw wrong("spec.bindings", "A secret has at most " + MAX_BINDINGS + " bindings.");
        }
        String env = spec.env();
        if (env != null && !ENV.matcher(env).matches()) {
            throw wrong("spec.env", "A variable is [A-Za-z_][A-Za-z0-9_]{0,127}.");
        }
        Integer rate = spec.requestsPerMinute();
        if (rate != null && (rate < 1 || rate > MAX_PER_MINUTE)) {
            throw wrong("spec.requestsPerMinute", "It is 1 to " + MAX_PER_MINUTE + ".");
        }
        positive("spec.requests", spec.requests());
        positive("spec.bytes", spec.bytes());
        List<SecretBinding> bindings = new ArrayList<>();
        for (int i = 0; i < spec.bindings().size(); i++) {
            bindings.add(binding("spec.bindings[" + i + "]", spec.bindings().get(i), bindings));
        }
        return new SecretSpec(bindings, env, rate, spec.requests(), spec.bytes());
    }

    private static void positive(String field, @Nullable Long number) {
        if (number != null && number < 1) {
            throw wrong(field, "It is at least 1.");
        }
    }

    private static SecretBinding binding(
            String field, @Nullable SecretBinding given, List<SecretBinding> before) {
        if (given == null) {
            throw wrong(field, "A binding is an object.");
        }
        Integer port = given.port();
        if (port != null && (port < 1 || port > 65_535)) {
            throw wrong(field + ".port", "A port is 1 to 65535.");
        }
        List<String> methods = given.methods();
        if (methods.size() > MAX_METHODS
                || !methods.stream().allMatch(method -> METHOD.matcher(method).matches())) {
            throw wrong(
                    field + ".methods",
                    "There are at most " + MAX_METHODS + " methods, in upper case.");
        }
        path(field + ".path", given.path());
        SecretSlots.check(field + ".slot", given.slot());
        SecretBinding binding =
                new SecretBinding(
                        host(field + ".host", given.host()),
                        port,
                        methods,
                        given.path(),
                        given.slot());
        if (before.stream().anyMatch(other -> same(other, binding))) {
            throw wrong(field, "Another binding has the same requests; then neither is put in.");
        }
        return binding;
    }

    private static boolean same(SecretBinding one, SecretBinding other) {
        return one.host().equals(other.host())
                && port(one) == port(other)
                && Set.copyOf(one.methods()).equals(Set.copyOf(other.methods()))
                && Objects.equals(one.path(), other.path());
    }

    private static int port(SecretBinding binding) {
        Integer port = binding.port();
        return port == null ? 443 : port;
    }

    private static void path(String field, @Nullable String path) {
        if (path == null) {
            return;
        }
        if (path.length() > MAX_PATH
                || !PATH.matcher(path).matches()
                || AMBIGUOUS.matcher(path).find()) {
            throw wrong(
                    field,
                    "A path begins with a slash and is visible ASCII without query, '//', '.' and"
                            + " '..' segments and escaped slashes, at most "
                            + MAX_PATH
                            + " characters.");
        }
    }

    /** An exact name: below a suffix anyone may be. */
    static String host(String field, @Nullable String host) {
        if (host == null || host.indexOf('*') >= 0) {
            throw wrong(field, "A secret is bound to an exact host name.")
                    .withRemedy("Write one binding for each host.");
        }
        try {
            return HostName.of(host).value();
        } catch (CaissonException e) {
            throw CaissonException.invalid(field, e.message()).withRemedy(e.remedy());
        }
    }

    static CaissonException wrong(String field, String why) {
        return CaissonException.invalid(field, "The secret's " + field + " is wrong: " + why)
                .withRemedy("See docs/secrets.md for what each field may hold.");
    }
}
