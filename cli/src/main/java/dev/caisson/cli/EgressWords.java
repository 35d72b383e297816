package dev.caisson.cli;

import dev.caisson.api.CaissonException;
import dev.caisson.policy.Cidr;
import dev.caisson.policy.EgressLint;
import dev.caisson.policy.EgressPolicy;
import dev.caisson.v1.EgressJson;
import dev.caisson.v1.EgressRule;
import dev.caisson.v1.FindingJson;
import dev.caisson.v1.Json;
import dev.caisson.v1.PackageRule;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Makes a document of the words of a command line. */
final class EgressWords {
    private static final List<String> SCHEMES = List.of("https", "http", "tls", "tcp");
    private static final Pattern ADDRESS =
            Pattern.compile("[0-9.]+/|\\[?[0-9A-Fa-f]*:[0-9A-Fa-f:.]*");
    private static final Pattern RULE = Pattern.compile("egress\\.allow\\[([0-9]+)]");

    private EgressWords() {}

    static String document(List<String> allow, List<String> packages, List<String> secrets) {
        return Json.write(json(allow, packages, secrets));
    }

    /** The document of a file, with secrets besides those that it names. */
    static String document(Main main, String file, List<String> secrets) {
        EgressJson json = PolicyFile.egress(main, file);
        EgressPolicy.of(List.of(json));
        List<String> all =
                Stream.concat(json.secrets().stream(), secrets.stream()).distinct().toList();
        return Json.write(
                new EgressJson(
                        json.version(),
                        json.mode(),
                        json.allow(),
                        json.deny(),
                        json.limits(),
                        all,
                        json.packages()));
    }

    /** Says what {@code policy check} calls an error; whoever wrote it may still mean it. */
    static void warn(Streams streams, String document) {
        for (FindingJson finding : EgressLint.of(Json.read(document, EgressJson.class))) {
            if (finding.level().equals("error")) {
                streams.say(Clean.text("warning: " + finding.message() + " " + finding.remedy()));
            }
        }
    }

    /**
     * The document.
     *
     * @throws CaissonException {@link dev.caisson.api.ErrorCode#INVALID} that names the option
     */
    static EgressJson json(List<String> allow, List<String> packages, List<String> secrets) {
        EgressJson json =
                new EgressJson(
                        1,
                        null,
                        allow.stream().map(EgressWords::rule).toList(),
                        List.of(),
                        null,
                        secrets.stream().distinct().toList(),
                        packages(packages));
        try {
            EgressPolicy.of(List.of(json));
        } catch (CaissonException e) {
            throw wrong(e, allow);
        }
        return json;
    }

    /** In the words of this command line: nobody wrote a field or counted rules. */
    private static CaissonException wrong(CaissonException e, List<String> allow) {
        String field = e.details().getOrDefault("field", "");
        String option = option(field);
        Matcher rule = RULE.matcher(field);
        String word = rule.lookingAt() ? allow.get(Integer.parseInt(rule.group(1))) : "";
        String message =
                e.message()
                        .replaceFirst("^The policy's egress[^ :]*: ", "")
                        .replaceFirst(
                                "^The policy's egress[^ ]* cannot be ('.*')", "$1 is not valid");
        String said = word.isEmpty() || message.contains("'" + word + "'") ? "" : word + ": ";
        CaissonException wrong = wrong(option, said + message);
        if (field.endsWith(".host")) {
            return wrong.withRemedy(
                    "Write one host, *.example.org or ADDRESS:PORT; --allow may be repeated.");
        }
        return Explain.remedy(e).isEmpty() ? wrong : wrong.withRemedy(e.remedy());
    }

    private static String option(String field) {
        return field.startsWith("egress.packages")
                ? "--packages"
                : field.startsWith("egress.secrets") ? "--secret" : "--allow";
    }

    /** {@code HOST}, {@code HOST:PORT}, {@code SCHEME://HOST[:PORT]}; a host, *.suffix or range. */
    private static EgressRule rule(String word) {
        int slashes = word.indexOf("://");
        String scheme = slashes < 0 ? "" : word.substring(0, slashes);
        String place = slashes < 0 ? word : word.substring(slashes + 3);
        if (slashes >= 0 && !SCHEMES.contains(scheme)) {
            throw wrong("--allow", "'" + word + "' begins with none of " + SCHEMES + ".");
        }
        boolean path = place.indexOf('/') >= 0;
        if (path && (slashes >= 0 || !ADDRESS.matcher(place).lookingAt())) {
            throw wrong("--allow", "'" + word + "' has a path, and this names hosts only.")
                    .withRemedy("Write " + word.substring(0, word.indexOf('/', slashes + 3)) + ".");
        }
        if (place.indexOf('*') >= 0 && !place.startsWith("*.")) {
            throw wrong("--allow", "'" + word + "' has a star, which stands only before a suffix.")
                    .withRemedy("Name the hosts, or write *.example.org for all below it.");
        }
        int colon = place.lastIndexOf(':');
        boolean bracket = place.startsWith("[");
        boolean port =
                colon >= 0
                        && (bracket
                                ? place.indexOf(']') == colon - 1
                                : place.indexOf(':') == colon);
        String host = port ? place.substring(0, colon) : place;
        List<Integer> ports = port ? List.of(port(word, place.substring(colon + 1))) : List.of();
        String plain = bracket && host.endsWith("]") ? host.substring(1, host.length() - 1) : host;
        return rule(plain, ports, scheme);
    }

    private static EgressRule rule(String host, List<Integer> ports, String scheme) {
        boolean range = range(host);
        boolean anyBytes = scheme.equals("tcp") || (range && scheme.isEmpty());
        if (anyBytes && ports.isEmpty() && !host.isEmpty()) {
            String shown = host.indexOf(':') < 0 ? host : "[" + host + "]";
            throw wrong("--allow", "'" + host + "' needs a port.")
                    .withRemedy("Write it behind a colon, for example " + shown + ":5432.");
        }
        List<String> schemes = scheme.isEmpty() ? schemes(ports, range) : List.of(scheme);
        return new EgressRule(
                range ? null : host,
                range ? host : null,
                ports,
                schemes,
                List.of(),
                null,
                null,
                null);
    }

    /**
     * What is spoken on a port where nobody says: nothing but TLS and HTTP have one of their own.
     */
    private static List<String> schemes(List<Integer> ports, boolean range) {
        if (range || ports.isEmpty()) {
            return List.of();
        }
        return switch (ports.getFirst()) {
            case 443 -> List.of("https");
            case 80 -> List.of("http");
            default -> List.of("tcp");
        };
    }

    private static boolean range(String host) {
        try {
            Cidr.parse(host);
            return true;
        } catch (CaissonException e) {
            if (ADDRESS.matcher(host).lookingAt() && host.indexOf('/') >= 0) {
                throw wrong("--allow", e.message()).withRemedy(e.remedy());
            }
            return false;
        }
    }

    private static int port(String word, String text) {
        try {
            int port = Integer.parseInt(text);
            if (port > 0 && port <= 65_535 && text.equals(Integer.toString(port))) {
                return port;
            }
        } catch (NumberFormatException e) {
            // Told below.
        }
        throw wrong("--allow", "'" + word + "' does not end with a port of 1 to 65535.");
    }

    /** {@code pypi:a,b} several times; an ecosystem alone: any package. */
    private static Map<String, PackageRule> packages(List<String> words) {
        Map<String, List<String>> names = new LinkedHashMap<>();
        for (String word : words) {
            int colon = word.indexOf(':');
            String ecosystem = colon < 0 ? word : word.substring(0, colon);
            List<String> more =
                    colon < 0 ? List.of() : List.of(word.substring(colon + 1).split(",", -1));
            if (more.contains("")) {
                throw wrong("--packages", "'" + word + "' has a name without letters.");
            }
            List<String> before = names.get(ecosystem);
            if (before != null && (before.isEmpty() || more.isEmpty())) {
                throw wrong("--packages", "Either any package of " + ecosystem + " or names.");
            }
            names.computeIfAbsent(ecosystem, key -> new ArrayList<>()).addAll(more);
        }
        Map<String, PackageRule> packages = new LinkedHashMap<>();
        names.forEach((ecosystem, some) ->
                packages.put(ecosystem, new PackageRule(null, some, List.of(), null, Map.of())));
        return packages;
    }

    private static CaissonException wrong(String option, String message) {
        return CaissonException.invalid(option, option + ": " + message)
                .withRemedy(
                        "For example: --allow api.example.org --allow db.example.org:5432"
                                + " --packages pypi:requests --secret token");
    }
}
