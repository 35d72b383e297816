package dev.caisson.egress;

import dev.caisson.policy.Destination;
import dev.caisson.policy.EgressPolicy;
import dev.caisson.policy.HttpPath;
import dev.caisson.policy.HttpRequestLine;
import dev.caisson.policy.Registry;
import dev.caisson.policy.Scheme;
import dev.caisson.policy.Verdict;
import java.net.URI;
import java.time.Clock;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Judges what is asked of registries of packages and of the hosts where their files are. Safe for
 * use by several threads; what it learns is kept with the sandbox.
 */
final class PackageGate implements RequestGate {
    private static final String KIND = "package";
    private static final Set<String> READING = Set.of("GET", "HEAD");
    // An answer must be whole and about this moment: only then it can be judged.
    private static final List<String> CONDITIONS =
            List.of(
                    "range",
                    "if-range",
                    "if-none-match",
                    "if-modified-since",
                    "if-match",
                    "if-unmodified-since");

    private final Clock clock;

    PackageGate(Clock clock) {
        this.clock = clock;
    }

    // One request, read.
    private record Request(
            Session session,
            FileAddress at,
            HttpRequestLine line,
            Map<String, List<String>> changes) {
        EgressPolicy policy() {
            return session.policy();
        }
    }

    @Override
    public Optional<Gated> judge(
            Session session, Destination.Named to, HttpRequestLine line, String target) {
        EgressPolicy policy = session.policy();
        List<Registry> here =
                policy.registryAddresses().stream()
                        .filter(one -> one.host().equals(to.host()) && one.port() == to.port())
                        .filter(one -> one.scheme() == line.scheme())
                        .toList();
        boolean files = session.files().opens(to, policy) && !allowed(policy, to);
        if (here.isEmpty() && !session.files().opens(to, policy)) {
            return Optional.empty();
        }
        // A scope of npm and its name are one segment as npm writes them.
        String plain = target.replace("%2f", "/").replace("%2F", "/");
        Optional<FileAddress> at = FileAddress.of(line.scheme(), to, plain);
        Optional<LearnedFile> known = at.flatMap(address -> session.files().find(address, policy));
        if (known.isEmpty() && here.isEmpty() && !files) {
            return Optional.empty();
        }
        if (!READING.contains(line.method())) {
            return Optional.of(publish(line));
        }
        if (at.isEmpty()) {
            return Optional.of(elsewhere());
        }
        Map<String, List<String>> changes = new LinkedHashMap<>();
        CONDITIONS.forEach(name -> changes.put(name, List.of()));
        Request request = new Request(session, at.get(), line, changes);
        return Optional.of(
                known.isPresent() ? file(request, known.get()) : registry(request, here));
    }

    private static boolean allowed(EgressPolicy policy, Destination to) {
        return policy.connect(to).verdict().answer() == Verdict.Answer.ALLOW;
    }

    private Gated registry(Request request, List<Registry> here) {
        String path = request.at.target();
        int mark = path.indexOf('?');
        String plain = mark < 0 ? path : path.substring(0, mark);
        Optional<Registry> found =
                here.stream()
                        .filter(one -> below(one, plain))
                        .max(Comparator.comparingInt(one -> one.path().length()));
        if (found.isEmpty()) {
            return elsewhere();
        }
        Registry registry = found.get();
        int from = registry.path().equals("/") ? 1 : registry.path().length() + 1;
        return switch (PackagePaths.read(registry.ecosystem(), plain.substring(from))) {
            case Asked.Nothing nothing -> elsewhere();
            case Asked.Common common -> yes(registry.ecosystem(), request, Optional.empty());
            case Asked.Index index -> index(request, registry, index.name());
            case Asked.File file ->
                    file(
                            request,
                            new LearnedFile(
                                    registry,
                                    file.name(),
                                    file.version(),
                                    Map.of(),
                                    Optional.empty(),
                                    file.installed(),
                                    0));
        };
    }

    private static boolean below(Registry registry, String path) {
        String start = registry.path().equals("/") ? "/" : registry.path() + "/";
        return HttpPath.normal(start).filter(path::startsWith).isPresent();
    }

    private PackageRules rules(Request request, String ecosystem) {
        return new PackageRules(ecosystem, request.policy().packages(ecosystem));
    }

    private Gated index(Request request, Registry registry, String name) {
        PackageRules rules = rules(request, registry.ecosystem());
        Optional<Verdict> no = rules.name(name);
        if (no.isPresent()) {
            return no(registry.ecosystem() + ":" + name, no.get());
        }
        boolean json = acceptsJson(request.line);
        if (registry.ecosystem().equals("pypi")) {
            request.changes.put("accept", List.of(PypiIndex.JSON + ", text/html;q=0.1"));
        } else if (rules.needsTime()) {
            // The short form of npm's index has no times.
            request.changes.put("accept", List.of("application/json"));
        }
        PackageIndex index =
                new PackageIndex(
                        registry,
                        base(request.at),
                        name,
                        rules,
                        request.session.files(),
                        clock.instant());
        return new Gated(
                KIND,
                allow(registry.ecosystem()),
                Optional.of(new IndexAnswer(index, json)),
                registry.ecosystem() + ":" + name,
                request.changes,
                Optional.empty());
    }

    private static boolean acceptsJson(HttpRequestLine line) {
        return HttpHeaders.words(line.headers(), "accept").stream()
                .anyMatch(word -> word.startsWith(PypiIndex.JSON));
    }

    private static URI base(FileAddress at) {
        String start = at.scheme() == Scheme.HTTPS ? "https://" : "http://";
        return URI.create(start + at.to() + at.target());
    }

    private Gated file(Request request, LearnedFile file) {
        String ecosystem = file.registry().ecosystem();
        PackageRules rules = rules(request, ecosystem);
        // Maven's files tell their time themselves, when they come.
        boolean later = ecosystem.equals("maven") || !file.installed();
        Optional<Verdict> no =
                later && rules.needsTime()
                        ? rules.version(
                                file.name(),
                                file.version(),
                                Optional.of(java.time.Instant.EPOCH),
                                clock.instant())
                        : rules.version(
                                file.name(), file.version(), file.published(), clock.instant());
        if (no.isPresent()) {
            Gated denied = no(file.subject(), no.get());
            boolean unknown = ecosystem.equals("npm") && file.published().isEmpty();
            return unknown && rules.needsTime() ? afterItsIndex(denied, file) : denied;
        }
        return new Gated(
                KIND,
                allow(ecosystem),
                Optional.of(new PackageFile(request.session, request.at, file, rules, clock)),
                file.subject(),
                request.changes,
                Optional.empty());
    }

    // With a lock file npm asks for tarballs alone, and only the index knows how old they are.
    private static Gated afterItsIndex(Gated denied, LearnedFile file) {
        String path = file.registry().path();
        String index = (path.equals("/") ? "/" : path + "/") + file.name().replace("/", "%2f");
        return new Gated(
                KIND,
                denied.verdict(),
                Optional.empty(),
                denied.subject(),
                Map.of(),
                Optional.of(index));
    }

    private static Gated publish(HttpRequestLine line) {
        boolean audit = line.path().contains("/-/npm/v1/security/");
        return no(
                "",
                audit
                        ? PackageRules.no(
                                "package audit",
                                "Nothing is sent to a registry; audit from outside of the"
                                        + " sandbox, or with --no-audit not at all.")
                        : PackageRules.no(
                                "package publish",
                                "A registry is only read from; publish from outside of the"
                                        + " sandbox."));
    }

    private static Gated elsewhere() {
        return no(
                "",
                PackageRules.no(
                        "package path",
                        "Only packages' indexes are read here, and the files that they name. Use"
                                + " the package manager, with the registry that the policy"
                                + " names."));
    }

    private static Gated no(String subject, Verdict verdict) {
        return new Gated(KIND, verdict, Optional.empty(), subject, Map.of(), Optional.empty());
    }

    private static Gated yes(String ecosystem, Request request, Optional<AnswerFilter> filter) {
        return new Gated(KIND, allow(ecosystem), filter, "", request.changes, Optional.empty());
    }

    private static Verdict allow(String ecosystem) {
        return new Verdict(Verdict.Answer.ALLOW, "packages " + ecosystem, "");
    }
}
