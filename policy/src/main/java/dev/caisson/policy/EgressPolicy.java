package dev.caisson.policy;

import dev.caisson.v1.EgressJson;
import dev.caisson.v1.PackageRule;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;

/**
 * The policy of a sandbox's way out: one or more documents, each of which must allow what is done.
 * Immutable, so safe for use by several threads. Decides by what it is given alone; it resolves
 * nothing.
 */
public final class EgressPolicy {
    private static final int MAX_LAYERS = 8;

    private final List<EgressJson> documents;
    private final List<Layer> layers;
    private final Registries registries;

    private EgressPolicy(List<EgressJson> documents, List<Layer> layers, Registries registries) {
        this.documents = documents;
        this.layers = layers;
        this.registries = registries;
    }

    /**
     * Compiles documents.
     *
     * @param layers at least one, the tenant's first
     * @throws dev.caisson.api.CaissonException {@link dev.caisson.api.ErrorCode#INVALID} with the
     *     field that nobody understands
     */
    public static EgressPolicy of(List<EgressJson> layers) {
        return of(layers, Map.of());
    }

    /**
     * Compiles documents on a host that has registries of its own.
     *
     * @param layers at least one, the tenant's first
     * @param registries addresses by ecosystem, where no document names one
     * @throws dev.caisson.api.CaissonException {@link dev.caisson.api.ErrorCode#INVALID} with the
     *     field that nobody understands
     */
    public static EgressPolicy of(List<EgressJson> layers, Map<String, List<String>> registries) {
        if (layers.isEmpty() || layers.size() > MAX_LAYERS) {
            throw Wrong.field("egress", layers.size() + " layers", "1 to " + MAX_LAYERS);
        }
        List<Layer> compiled = new ArrayList<>();
        for (int i = 0; i < layers.size(); i++) {
            DocumentRules.check(layers.get(i));
            compiled.add(new Layer(i, layers.get(i)));
        }
        return new EgressPolicy(
                List.copyOf(layers), List.copyOf(compiled), new Registries(layers, registries));
    }

    /** Whether nothing can be reached: the sandbox needs no way out. */
    public boolean isClosed() {
        return documents.stream().anyMatch(EgressJson::allowsNothing);
    }

    /**
     * Whether some connections are terminated, so that programs inside need the authority: for
     * rules of requests, packages and credentials.
     */
    public boolean terminates() {
        return !isClosed()
                && (layers.stream().anyMatch(Layer::terminates)
                        || !ecosystems().isEmpty()
                        || !secrets().isEmpty());
    }

    /** Whether a name may be looked up: some port of it may be connected to. */
    public Verdict name(HostName name) {
        if (registries.has(name)) {
            Destination.Named any = new Destination.Named(name, Ports.MAX);
            return refused(any).orElseGet(() -> packages(any));
        }
        return worst(layer -> layer.name(name));
    }

    /** Whether a connection may be made. Of a name nothing is looked up before. */
    public ConnectVerdict connect(Destination to) {
        Set<Scheme> registry = EnumSet.noneOf(Scheme.class);
        for (Registry at : registries.of(to)) {
            if (at.port() == to.port()) {
                registry.add(at.scheme());
            }
        }
        if (!registry.isEmpty()) {
            return refused(to)
                    .map(no -> new ConnectVerdict(no, Set.of(), false, false, false))
                    .orElseGet(
                            () -> new ConnectVerdict(packages(to), registry, true, false, false));
        }
        ConnectVerdict all = layers.getFirst().connect(to);
        for (Layer layer : layers.subList(1, layers.size())) {
            all = Both.of(all, layer.connect(to));
        }
        return all;
    }

    /**
     * Whether an address that a name was resolved to, or a literal, may be connected to: public
     * ones, and those that a rule's range names for that port. The mode does not matter.
     */
    public Verdict address(Destination to, IpAddress address) {
        return address(to, address, false);
    }

    /**
     * The same of a host that has no rule of its own.
     *
     * @param told whether something else speaks of it, as the index of a registry does; registries
     *     themselves always do
     */
    public Verdict address(Destination to, IpAddress address, boolean told) {
        boolean registry = !registries.of(to).isEmpty();
        return worst(layer -> layer.address(to, address, told || registry));
    }

    /** Whether a request may be made on a connection that {@link #connect} allows. */
    public Verdict request(Destination to, HttpRequestLine request) {
        List<Registry> at = registries.of(to);
        if (!at.isEmpty()) {
            Optional<Verdict> no = refused(to);
            if (no.isPresent()) {
                return no.get();
            }
            if (!request.method().equals("GET") && !request.method().equals("HEAD")) {
                return new Verdict(
                        Verdict.Answer.DENY,
                        packages(to).rule() + " read only",
                        "A registry is only read from; publish from outside of the sandbox.");
            }
            if (at.stream()
                    .anyMatch(one -> one.port() == to.port() && one.scheme() == request.scheme())) {
                return packages(to);
            }
        }
        return worst(layer -> layer.request(to, request));
    }

    /** What a document denies whatever else holds, by its own {@code deny}; empty: none does. */
    public Optional<Verdict> refused(Destination to) {
        return layers.stream().flatMap(layer -> layer.refusal(to).stream()).findFirst();
    }

    private Verdict packages(Destination to) {
        Set<String> names = new LinkedHashSet<>();
        registries.of(to).forEach(registry -> names.add(registry.ecosystem()));
        return new Verdict(Verdict.Answer.ALLOW, "packages " + String.join(", ", names), "");
    }

    private Verdict worst(Function<Layer, Verdict> ask) {
        Verdict worst = ask.apply(layers.getFirst());
        for (Layer layer : layers.subList(1, layers.size())) {
            worst = Both.worse(worst, ask.apply(layer));
        }
        return worst;
    }

    /** Limits: the least of all documents. */
    public EgressCaps caps() {
        return LeastCaps.of(documents);
    }

    /** Names of the secrets that may be used: those that all documents name. */
    public Set<String> secrets() {
        Set<String> names = new LinkedHashSet<>(documents.getFirst().secrets());
        documents.forEach(layer -> names.retainAll(layer.secrets()));
        return Set.copyOf(names);
    }

    /**
     * Rules of an ecosystem's packages, one of each document that has any; empty: none may be
     * installed, because a document has no rule.
     */
    public List<PackageRule> packages(String ecosystem) {
        return registries.rules(ecosystem);
    }

    /** The ecosystems from which something may be installed. */
    public Set<String> ecosystems() {
        return Set.copyOf(registries.ecosystems());
    }

    /**
     * Hosts of registries, by what {@link PackageRule#registry} says, with their ecosystem; the
     * first one where a host serves several.
     */
    public Map<HostName, String> registries() {
        Map<HostName, String> hosts = new LinkedHashMap<>();
        registries.all().forEach(at -> hosts.putIfAbsent(at.host(), at.ecosystem()));
        return hosts;
    }

    /** Addresses of registries: a host may serve several ecosystems, each below a path. */
    public List<Registry> registryAddresses() {
        return registries.all();
    }
}
