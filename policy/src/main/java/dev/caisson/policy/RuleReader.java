package dev.caisson.policy;

import dev.caisson.api.CaissonException;
import dev.caisson.v1.EgressRule;
import dev.caisson.v1.HttpRule;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/** Compiles the rules that allow, and refuses those that nobody understands. */
final class RuleReader {
    private static final int MAX_PORTS = 64;
    private static final int MAX_HTTP = 64;

    private final List<HostRule> hosts = new ArrayList<>();
    private final List<RangeRule> ranges = new ArrayList<>();

    List<HostRule> hosts() {
        return hosts;
    }

    List<RangeRule> ranges() {
        return ranges;
    }

    void read(int index, String field, EgressRule rule) {
        String host = rule.host();
        String cidr = rule.cidr();
        if (host != null && cidr == null) {
            HostPattern pattern = HostPattern.of(field + ".host", host);
            hosts.add(new HostRule(index, pattern, opening(field, rule, Scheme.HTTPS)));
        } else if (cidr != null && host == null) {
            ranges.add(new RangeRule(index, range(field + ".cidr", cidr), literal(field, rule)));
        } else {
            throw Wrong.field(
                    field,
                    host == null ? "neither host nor cidr" : "host and cidr",
                    "either host or cidr");
        }
    }

    static Cidr range(String field, String text) {
        try {
            return Cidr.parse(text);
        } catch (CaissonException e) {
            throw Wrong.in(field, e);
        }
    }

    /** Requests are judged by the name that they are for, and an address has none. */
    private static Opening literal(String field, EgressRule rule) {
        Opening opening = opening(field, rule, Scheme.TCP);
        if (opening.terminate()) {
            throw Wrong.field(field, "http or terminate with cidr", "them with a host");
        }
        return opening;
    }

    private static Opening opening(String field, EgressRule rule, Scheme standard) {
        Set<Scheme> schemes = schemes(field + ".schemes", rule.schemes(), standard);
        boolean terminate = Boolean.TRUE.equals(rule.terminate());
        boolean opaque = schemes.contains(Scheme.TCP) || schemes.contains(Scheme.TLS);
        if (opaque && (terminate || !rule.http().isEmpty())) {
            throw Wrong.field(
                    field + ".schemes",
                    String.join(", ", rule.schemes()),
                    "https or http alone where requests are judged or TLS is terminated");
        }
        if (terminate && !schemes.contains(Scheme.HTTPS)) {
            throw Wrong.field(field + ".terminate", "true", "it with the scheme https");
        }
        String ech = rule.ech();
        if (ech != null && !ech.equals("outer-sni")) {
            throw Wrong.field(field + ".ech", ech, "outer-sni");
        }
        return new Opening(
                ports(field + ".ports", rule.ports(), schemes),
                http(field + ".http", rule.http()),
                terminate || !rule.http().isEmpty(),
                ech != null,
                Boolean.TRUE.equals(rule.noSni()));
    }

    private static Set<Scheme> schemes(String field, List<String> words, Scheme standard) {
        Wrong.few(field, words, Scheme.values().length);
        Set<Scheme> schemes = EnumSet.noneOf(Scheme.class);
        for (String word : words) {
            schemes.add(
                    Arrays.stream(Scheme.values())
                            .filter(scheme -> scheme.name().toLowerCase(Locale.ROOT).equals(word))
                            .findFirst()
                            .orElseThrow(() -> Wrong.field(field, word, "https, http, tls, tcp")));
        }
        return schemes.isEmpty() ? Set.of(standard) : schemes;
    }

    private static Map<Integer, Set<Scheme>> ports(
            String field, List<Integer> given, Set<Scheme> schemes) {
        Wrong.few(field, given, MAX_PORTS);
        Map<Integer, Set<Scheme>> ports = new HashMap<>();
        for (int port : given) {
            if (port < 1 || port > Ports.MAX) {
                throw Wrong.field(field, Integer.toString(port), "1 to 65535");
            }
            ports.put(port, Set.copyOf(schemes));
        }
        if (ports.isEmpty()) {
            for (Scheme scheme : schemes) {
                ports.computeIfAbsent(standard(field, scheme), port -> EnumSet.noneOf(Scheme.class))
                        .add(scheme);
            }
        }
        return ports;
    }

    private static int standard(String field, Scheme scheme) {
        return switch (scheme) {
            case HTTPS, TLS -> 443;
            case HTTP -> 80;
            case TCP -> throw Wrong.field(field, "none", "the ports: the scheme tcp has none");
        };
    }

    private static List<HttpMatcher> http(String field, List<HttpRule> rules) {
        Wrong.few(field, rules, MAX_HTTP);
        List<HttpMatcher> matchers = new ArrayList<>();
        for (int i = 0; i < rules.size(); i++) {
            matchers.add(HttpMatcher.of(field + "[" + i + "]", rules.get(i)));
        }
        return matchers;
    }
}
