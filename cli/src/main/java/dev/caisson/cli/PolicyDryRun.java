package dev.caisson.cli;

import dev.caisson.api.CaissonException;
import dev.caisson.client.ServiceClient;
import dev.caisson.policy.EgressExplain;
import dev.caisson.policy.EgressPolicy;
import dev.caisson.policy.EgressTarget;
import dev.caisson.policy.Verdict;
import dev.caisson.v1.EventJson;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code caisson policy dry-run}: what a policy would have said of what was done. */
@Command(
        name = "dry-run",
        description =
                "Says what a policy would have refused, or newly allowed, of the connections that a"
                    + " server remembers. Exit status 0: nothing that was done would be refused; 1:"
                    + " something.",
        sortOptions = false,
        footer = {"", "Example:", "  caisson policy dry-run egress.yaml --sandbox build"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class PolicyDryRun extends ServerCommand {
    private static final int PAGE = 200;
    private static final int MAX_SHOWN = 1000;

    @Parameters(paramLabel = "FILE", description = "JSON or YAML; - for standard input")
    private String file;

    @Option(names = "--sandbox", paramLabel = "ID", description = "of one sandbox")
    private @Nullable String sandbox;

    @Option(names = "--after", paramLabel = "SEQ", description = "only events behind it (0)")
    private long after;

    @Option(
            names = "--limit",
            paramLabel = "N",
            defaultValue = "10000",
            description = "events to look at of each type (${DEFAULT-VALUE})")
    private int limit;

    /**
     * What would be different.
     *
     * @param was {@code allowed} or {@code denied}
     * @param wouldBe {@code allow, observe, ask, deny}
     * @param times how often it was done
     */
    record Change(
            String target, String was, String wouldBe, long times, String rule, String remedy) {}

    private final Map<String, Change> changes = new LinkedHashMap<>();
    private long seen;
    private long unread;

    @Override
    int run(ServiceClient client, Printer printer) {
        EgressPolicy policy = EgressPolicy.of(List.of(PolicyFile.egress(main(), file)));
        for (String type : List.of("egress.allowed", "egress.denied")) {
            read(client, policy, type);
        }
        List<Change> all = new ArrayList<>(changes.values());
        printer.list(
                all,
                List.of("TARGET", "WAS", "WOULD BE", "TIMES", "RULE", "REMEDY"),
                one ->
                        new @Nullable Object[] {
                            one.target(),
                            one.was(),
                            one.wouldBe(),
                            one.times(),
                            one.rule(),
                            one.remedy()
                        });
        printer.say(seen + " events looked at" + (unread == 0 ? "" : ", " + unread + " unclear"));
        return all.stream().anyMatch(one -> one.was().equals("allowed")) ? PolicyCommand.NO : 0;
    }

    private void read(ServiceClient client, EgressPolicy policy, String type) {
        long position = after;
        for (int left = limit; left > 0; ) {
            List<EventJson> page =
                    client.events().list(position, Math.min(PAGE, left), sandbox, type);
            if (page.isEmpty()) {
                return;
            }
            for (EventJson event : page) {
                seen++;
                position = Math.max(position, event.seq());
                judge(policy, event.data(), type.substring("egress.".length()));
            }
            left -= page.size();
        }
    }

    private void judge(EgressPolicy policy, Map<String, Object> data, String was) {
        Optional<EgressTarget> target = target(data);
        if (target.isEmpty()) {
            unread++;
            return;
        }
        Verdict verdict = EgressExplain.of(policy, target.get()).verdict();
        if (verdict.passes() == was.equals("allowed")) {
            return;
        }
        String text =
                target.get()
                                .request()
                                .map(line -> line.method() + " " + line.path() + " at ")
                                .orElse("")
                        + target.get().to();
        Change before = changes.get(was + " " + text);
        if (before != null || changes.size() < MAX_SHOWN) {
            changes.put(
                    was + " " + text,
                    new Change(
                            text,
                            was,
                            verdict.answer().name().toLowerCase(Locale.ROOT),
                            before == null ? 1 : before.times() + 1,
                            verdict.rule(),
                            verdict.remedy()));
        }
    }

    /** What an event is about; empty where it does not say. */
    private static Optional<EgressTarget> target(Map<String, Object> data) {
        String host = word(data, "host");
        String port = word(data, "port");
        String scheme = word(data, "scheme");
        String method = word(data, "method");
        String path = word(data, "path");
        String place = (host.indexOf(':') >= 0 ? "[" + host + "]" : host) + ":" + port;
        boolean http = scheme.equals("https") || scheme.equals("http");
        boolean request = http && !method.isEmpty() && path.startsWith("/");
        try {
            return Optional.of(
                    EgressTarget.of(
                            request ? method + " " + scheme + "://" + place + path : place));
        } catch (CaissonException e) {
            return Optional.empty();
        }
    }

    private static String word(Map<String, Object> data, String name) {
        Object value = data.get(name);
        return value == null ? "" : value.toString();
    }
}
