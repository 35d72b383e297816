package dev.caisson.policy;

import dev.caisson.v1.EgressJson;
import dev.caisson.v1.EgressRule;
import dev.caisson.v1.FindingJson;
import dev.caisson.v1.PackageRule;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Looks at a valid document for what it opens and does not say. */
public final class EgressLint {
    private static final List<String> LEVELS = List.of("error", "warning", "note");

    private final List<FindingJson> findings = new ArrayList<>();

    private EgressLint() {}

    /**
     * What is to be said of a document, the worst first.
     *
     * @throws dev.caisson.api.CaissonException {@link dev.caisson.api.ErrorCode#INVALID} when it is
     *     not valid
     */
    public static List<FindingJson> of(EgressJson document) {
        EgressPolicy.of(List.of(document));
        EgressLint lint = new EgressLint();
        lint.mode(document);
        for (int i = 0; i < document.allow().size(); i++) {
            String field = "egress.allow[" + i + "]";
            EgressRule rule = document.allow().get(i);
            if (rule.host() != null) {
                lint.host(field, rule, HostPattern.of(field, rule.host()));
            }
            if (rule.cidr() != null) {
                boolean named = document.allow().stream().anyMatch(other -> other.host() != null);
                lint.range(field, rule, Cidr.parse(rule.cidr()), named);
            }
            lint.tls(field, rule);
        }
        lint.undone(document);
        document.packages().forEach(lint::packages);
        lint.findings.sort(Comparator.comparingInt(finding -> LEVELS.indexOf(finding.level())));
        return List.copyOf(lint.findings);
    }

    private void add(String level, String field, String message, String remedy) {
        findings.add(new FindingJson(level, field, message, remedy));
    }

    private void mode(EgressJson document) {
        if ("observe".equals(document.mode())) {
            add(
                    "error",
                    "egress.mode",
                    "In the mode observe everything on the internet can be reached.",
                    "Use it to learn what is needed, then write the rules and use enforce.");
        }
        if (document.allowsNothing() && !document.secrets().isEmpty()) {
            add(
                    "warning",
                    "egress.secrets",
                    "Secrets are allowed and no destination is: they cannot be used.",
                    "Allow the hosts that they are bound to.");
        }
    }

    private void host(String field, EgressRule rule, HostPattern pattern) {
        String at = field + ".host";
        if (pattern.below() && pattern.name().value().indexOf('.') < 0) {
            add(
                    "error",
                    at,
                    "Anyone can register a name below ." + pattern.name() + ".",
                    "Name the hosts that are needed.");
        } else if (KnownHosts.rented(pattern)) {
            add(
                    "warning",
                    at,
                    "Anyone can rent a name that " + pattern + " matches, and take data there.",
                    "Name the one host that is needed.");
        }
        if (KnownHosts.files(pattern)) {
            add(
                    "warning",
                    at,
                    "Anyone can keep files or messages at " + pattern + ".",
                    "Allow paths of your own only, with http rules and the methods GET and HEAD.");
        }
        if (KnownHosts.doh(pattern)) {
            add(
                    "warning",
                    at,
                    pattern + " answers DNS over HTTPS: data leaves in the names asked for.",
                    "Leave it out; names are resolved by the gateway.");
        }
        if (HostPattern.metadata(pattern.name())) {
            add(
                    "error",
                    at,
                    pattern + " is a metadata service, which gives out credentials of the host.",
                    "Leave it out, and use a secret for what is needed.");
        }
        schemes(field, rule);
    }

    private void schemes(String field, EgressRule rule) {
        if (rule.schemes().contains("tcp")) {
            add(
                    "warning",
                    field + ".schemes",
                    "With tcp any bytes go to the host, and to whatever it passes them on to.",
                    "Use https or tls where the protocol is in TLS.");
        }
        if (rule.schemes().contains("http")) {
            add(
                    "warning",
                    field + ".schemes",
                    "http is in the clear: what is sent can be read and changed on its way.",
                    "Use https.");
        }
    }

    /** {@code named}: there are hosts, for whose private addresses a range may stand. */
    private void range(String field, EgressRule rule, Cidr range, boolean named) {
        String at = field + ".cidr";
        if (range.bits() < (range.base().isV4() ? 96 + 8 : 32)) {
            add(
                    "error",
                    at,
                    range + " is a large part of the internet.",
                    "Name hosts, or the ranges that are needed.");
        }
        special(at, range, AddressKind.METADATA, "a metadata service");
        special(at, range, AddressKind.LOOPBACK, "this host itself");
        boolean server = rule.schemes().contains("https") || rule.schemes().contains("tls");
        if (server && !named && !Boolean.TRUE.equals(rule.noSni())) {
            add(
                    "warning",
                    field + ".schemes",
                    "TLS to an address has no server name, and is refused without noSni.",
                    "Use a host, or set noSni.");
        }
    }

    private void special(String at, Cidr range, AddressKind kind, String what) {
        for (Cidr block : AddressTable.ofKind(kind)) {
            boolean named =
                    block.covers(range) && (kind != AddressKind.METADATA || range.bits() == 128);
            if (named) {
                add("error", at, range + " is " + what + ".", "Leave it out.");
                return;
            }
            if (range.covers(block) || block.covers(range)) {
                add(
                        "note",
                        at,
                        range + " does not open " + block + " (" + what + ").",
                        "Nothing, unless it was meant to.");
                return;
            }
        }
    }

    private void tls(String field, EgressRule rule) {
        if (Boolean.TRUE.equals(rule.noSni())) {
            add(
                    "warning",
                    field + ".noSni",
                    "Without a server name only the address says where TLS goes; a host may share"
                            + " it with others.",
                    "Leave it out unless a client cannot send a name.");
        }
        if (rule.ech() != null) {
            add(
                    "warning",
                    field + ".ech",
                    "The outer name alone is judged: the inner one may be another site of the same"
                            + " provider (domain fronting).",
                    "Leave it out, or terminate TLS.");
        }
    }

    /** Rules add up, so one that judges requests means nothing beside one that does not. */
    private void undone(EgressJson document) {
        RuleReader reader = new RuleReader();
        for (int i = 0; i < document.allow().size(); i++) {
            reader.read(i, "egress.allow[" + i + "]", document.allow().get(i));
        }
        for (HostRule judging : reader.hosts()) {
            if (judging.opening().http().isEmpty()) {
                continue;
            }
            reader.hosts().stream()
                    .filter(other -> undoes(other, judging))
                    .findFirst()
                    .ifPresent(other ->
                            add(
                                    "warning",
                                    "egress.allow[" + judging.index() + "].http",
                                    other.text() + " allows requests that these rules do not.",
                                    "Give that rule http as well, or other hosts or ports."));
            reader.ranges().stream()
                    .filter(range -> passes(range.opening(), judging.opening()))
                    .findFirst()
                    .ifPresent(range ->
                            add(
                                    "warning",
                                    "egress.allow[" + range.index() + "].schemes",
                                    "Where "
                                            + judging.pattern()
                                            + " has an address in "
                                            + range.range()
                                            + ", requests to that address go past its http rules.",
                                    "Give the range the schemes [https], without noSni."));
        }
    }

    /** Whether a literal address can be spoken to where requests by name are judged. */
    private static boolean passes(Opening range, Opening judging) {
        return judging.ports().keySet().stream()
                .flatMap(port -> range.schemes(port).stream())
                .anyMatch(scheme -> scheme == Scheme.TCP || scheme == Scheme.HTTP || range.noSni());
    }

    private static boolean undoes(HostRule other, HostRule judging) {
        return other.opening().http().isEmpty()
                && other.pattern().covers(judging.pattern())
                && judging.opening().ports().entrySet().stream()
                        .anyMatch(port ->
                                port.getValue().stream()
                                        .anyMatch(scheme ->
                                                other.opening().carries(port.getKey(), scheme)));
    }

    private void packages(String ecosystem, PackageRule rule) {
        String field = "egress.packages." + ecosystem;
        String registry = rule.registry();
        if (registry != null && registry.startsWith("http:") && !ecosystem.equals("debian")) {
            add(
                    "warning",
                    field + ".registry",
                    "The registry is asked in the clear: packages can be changed on their way.",
                    "Use https.");
        }
        if (rule.allow().isEmpty() && rule.minAgeMillis() == null && rule.hashes().isEmpty()) {
            add(
                    "note",
                    field,
                    "Any package may be installed, also one that was published a minute ago.",
                    "Set minAgeMillis, or allow names.");
        }
    }
}
