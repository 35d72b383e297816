package dev.caisson.policy;

import dev.caisson.v1.EgressJson;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** One document, compiled. */
final class Layer {
    private final String prefix;
    private final Mode mode;
    private final HostIndex hosts;
    private final List<RangeRule> ranges;
    private final DenyList deny;
    private final boolean terminates;

    /**
     * Compiles a document.
     *
     * @param number of the document; the first one's rules are named without it
     */
    Layer(int number, EgressJson json) {
        prefix = number == 0 ? "" : "layer[" + number + "] ";
        mode = DocumentRules.mode(json.mode());
        RuleReader reader = new RuleReader();
        for (int i = 0; i < json.allow().size(); i++) {
            reader.read(i, "egress.allow[" + i + "]", json.allow().get(i));
        }
        hosts = new HostIndex(reader.hosts());
        ranges = List.copyOf(reader.ranges());
        deny = new DenyList(json.deny());
        terminates = reader.hosts().stream().anyMatch(rule -> rule.opening().terminate());
    }

    boolean terminates() {
        return terminates;
    }

    /** The document's word against a destination, whatever its rules allow. */
    Optional<Verdict> refusal(Destination to) {
        return deny.of(to)
                .map(item -> denied(item, "Do without " + to + ": it is denied by name."));
    }

    Verdict name(HostName name) {
        Optional<String> denied = deny.of(name);
        if (denied.isPresent()) {
            return denied(denied.get(), "Do without " + name + ": it is denied by name.");
        }
        List<HostRule> rules = hosts.of(name);
        return rules.isEmpty()
                ? unmatched(name, Remedy.host(name))
                : allowed(rules.getFirst().text());
    }

    ConnectVerdict connect(Destination to) {
        Optional<Verdict> refusal = refusal(to);
        if (refusal.isPresent()) {
            return closed(refusal.get());
        }
        return switch (to) {
            case Destination.Named named -> connect(named);
            case Destination.Literal literal -> connect(literal);
        };
    }

    private ConnectVerdict connect(Destination.Named to) {
        Set<Scheme> schemes = EnumSet.noneOf(Scheme.class);
        Gates gates = new Gates();
        String first = "";
        for (HostRule rule : hosts.of(to.host())) {
            Set<Scheme> spoken = rule.opening().schemes(to.port());
            if (!spoken.isEmpty()) {
                first = first.isEmpty() ? rule.text() : first;
                schemes.addAll(spoken);
                gates.add(rule.opening());
            }
        }
        return schemes.isEmpty()
                ? open(unmatched(to.host(), Remedy.connect(to)), to.port())
                : gates.verdict(allowed(first), schemes);
    }

    private ConnectVerdict connect(Destination.Literal to) {
        Set<Scheme> schemes = EnumSet.noneOf(Scheme.class);
        Gates gates = new Gates();
        String first = "";
        for (RangeRule rule : ranges) {
            Set<Scheme> spoken = rule.opening().schemes(to.port());
            if (!spoken.isEmpty() && rule.names(to.address())) {
                first = first.isEmpty() ? rule.text() : first;
                schemes.addAll(spoken);
                gates.add(rule.opening());
            }
        }
        if (!schemes.isEmpty()) {
            return gates.verdict(allowed(first), schemes);
        }
        AddressKind kind = to.address().kind();
        return kind == AddressKind.PUBLIC
                ? open(unmatched(Remedy.connect(to)), to.port())
                : closed(denied(Remedy.rule(kind), Remedy.connect(to)));
    }

    Verdict address(Destination to, IpAddress address, boolean named) {
        Optional<String> denied = deny.of(address);
        if (denied.isPresent()) {
            return denied(denied.get(), "Do without " + to + ": its address is denied.");
        }
        AddressKind kind = address.kind();
        if (kind == AddressKind.PUBLIC) {
            return allowed(Remedy.rule(kind));
        }
        boolean told = named || !(to instanceof Destination.Named host) || tells(host);
        for (RangeRule rule : ranges) {
            if (told && !rule.opening().schemes(to.port()).isEmpty() && rule.names(address)) {
                return allowed(rule.text());
            }
        }
        return denied(Remedy.rule(kind), Remedy.address(to, address));
    }

    /** Whether a rule speaks of that name and port; the mode does not. */
    private boolean tells(Destination.Named to) {
        return hosts.of(to.host()).stream()
                .anyMatch(rule -> !rule.opening().schemes(to.port()).isEmpty());
    }

    Verdict request(Destination to, HttpRequestLine request) {
        Optional<Verdict> refusal = refusal(to);
        if (refusal.isPresent()) {
            return refusal.get();
        }
        return switch (to) {
            case Destination.Named named -> request(named, request);
            case Destination.Literal literal -> literal(literal, request);
        };
    }

    private Verdict request(Destination.Named to, HttpRequestLine request) {
        Optional<String> path = HttpPath.normal(request.path());
        String near = "";
        for (HostRule rule : hosts.of(to.host())) {
            if (!rule.opening().carries(to.port(), request.scheme())) {
                continue;
            }
            List<HttpMatcher> http = rule.opening().http();
            if (http.isEmpty()) {
                return allowed(rule.text());
            }
            near = rule.text() + " http default";
            for (int i = 0; i < http.size(); i++) {
                if (http.get(i).matches(request, path)) {
                    String text = rule.text() + " http[" + i + "]";
                    return http.get(i).allows()
                            ? allowed(text)
                            : denied(text, Remedy.request(to, request, path.isPresent()));
                }
            }
        }
        String remedy = Remedy.request(to, request, path.isPresent());
        return near.isEmpty()
                ? unmatched(to.host(), remedy)
                : new Verdict(mode.answer(), prefix + near, remedy(remedy));
    }

    private Verdict literal(Destination.Literal to, HttpRequestLine request) {
        return ranges.stream()
                .filter(rule -> rule.opening().carries(to.port(), request.scheme()))
                .filter(rule -> rule.names(to.address()))
                .findFirst()
                .map(rule -> allowed(rule.text()))
                .orElseGet(() -> connect(to).verdict());
    }

    // ---- verdicts

    private Verdict allowed(String rule) {
        return new Verdict(Verdict.Answer.ALLOW, prefix + rule, "");
    }

    private Verdict denied(String rule, String remedy) {
        return new Verdict(Verdict.Answer.DENY, prefix + rule, remedy);
    }

    /** The mode decides, but never for a metadata service. */
    private Verdict unmatched(HostName host, String remedy) {
        return HostPattern.metadata(host)
                ? denied(Remedy.rule(AddressKind.METADATA), remedy)
                : unmatched(remedy);
    }

    private Verdict unmatched(String remedy) {
        return new Verdict(mode.answer(), prefix + "default", remedy(remedy));
    }

    private String remedy(String remedy) {
        return mode == Mode.OBSERVE ? "" : remedy;
    }

    private static ConnectVerdict closed(Verdict verdict) {
        return new ConnectVerdict(verdict, Set.of(), false, false, false);
    }

    /** What may be spoken where the mode decides: anything when observed, the usual when asked. */
    private static ConnectVerdict open(Verdict verdict, int port) {
        return switch (verdict.answer()) {
            case OBSERVE -> new ConnectVerdict(verdict, Set.of(Scheme.TCP), false, true, true);
            case ASK ->
                    new ConnectVerdict(
                            verdict,
                            Set.of(
                                    switch (port) {
                                        case 443 -> Scheme.TLS;
                                        case 80 -> Scheme.HTTP;
                                        default -> Scheme.TCP;
                                    }),
                            false,
                            false,
                            false);
            case ALLOW, DENY -> closed(verdict);
        };
    }
}
