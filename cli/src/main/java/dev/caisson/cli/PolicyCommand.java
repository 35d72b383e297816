package dev.caisson.cli;

import dev.caisson.client.ServiceClient;
import dev.caisson.policy.EgressExplain;
import dev.caisson.policy.EgressLint;
import dev.caisson.policy.EgressPolicy;
import dev.caisson.policy.EgressTarget;
import dev.caisson.policy.IpAddress;
import dev.caisson.policy.Verdict;
import dev.caisson.v1.EgressJson;
import dev.caisson.v1.FindingJson;
import dev.caisson.v1.PolicyCheckJson;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code caisson policy}: what a policy of the way out says. */
@Command(
        name = "policy",
        description = "What a policy of the way out says; 'policies' stores them.",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {PolicyCommand.Check.class, PolicyCommand.Explain.class, PolicyDryRun.class})
final class PolicyCommand extends Group {
    /** It does not do what it should. */
    static final int NO = 1;

    /** Finds what is wrong or was perhaps not meant. */
    @Command(
            name = "check",
            description =
                    "Finds what is wrong with a policy, or perhaps not meant. Exit status 0:"
                            + " nothing worse than a warning; 1: an error; 125: not valid. Needs no"
                            + " server.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson policy check egress.yaml"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Check extends LocalCommand {
        @Parameters(paramLabel = "FILE", description = "JSON or YAML; - for standard input")
        private String file;

        @Option(names = "--strict", description = "a warning is an error")
        private boolean strict;

        @Override
        public Integer call() {
            List<FindingJson> findings = EgressLint.of(PolicyFile.egress(main(), file));
            Printer printer = printer();
            if (printer.json()) {
                printer.object(new PolicyCheckJson(findings));
            } else {
                findings.forEach(one ->
                        printer.item(one, one.level(), one.field(), one.message(), one.remedy()));
            }
            return findings.stream().anyMatch(this::fails) ? NO : 0;
        }

        private boolean fails(FindingJson finding) {
            return finding.level().equals("error") || (strict && finding.level().equals("warning"));
        }
    }

    /**
     * One step as it is shown.
     *
     * @param answer lower case
     */
    record Shown(String step, String target, String answer, String rule, String remedy) {
        static Shown of(EgressExplain.Step step) {
            Verdict verdict = step.verdict();
            return new Shown(
                    step.what(),
                    step.target(),
                    verdict.answer().name().toLowerCase(Locale.ROOT),
                    verdict.rule(),
                    verdict.remedy());
        }
    }

    /** Says step by step what becomes of a connection or a request. */
    @Command(
            name = "explain",
            description =
                    "Says step by step what becomes of a connection or request: by a file, by what"
                        + " holds for a sandbox, or by the tenant's policy. Exit status 0: it may"
                        + " be; 1: not, or only when somebody approves it.",
            sortOptions = false,
            footer = {
                "",
                "Examples:",
                "  caisson policy explain https://api.example.org/v1 --policy egress.yaml",
                "  caisson policy explain 'POST https://api.example.org/v1' --sandbox build",
                "  caisson policy explain db.example.org:5432 --address 10.0.0.5 --tenant"
            })
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Explain extends ServerCommand {
        @Parameters(
                paramLabel = "TARGET",
                description = "[METHOD ]https://HOST/PATH, HOST[:PORT] or ADDRESS[:PORT]")
        private String target;

        @Option(names = "--policy", paramLabel = "FILE", description = "a file; needs no server")
        private @Nullable String file;

        @Option(names = "--sandbox", paramLabel = "ID", description = "what holds for a sandbox")
        private @Nullable String sandbox;

        @Option(names = "--tenant", description = "the tenant's own policy (where nothing is said)")
        private boolean tenant;

        @Option(
                names = "--address",
                paramLabel = "ADDRESS",
                description = "what the name leads to, repeatable")
        private @Nullable List<String> addresses;

        @Override
        public Integer call() {
            int sources = (file == null ? 0 : 1) + (sandbox == null ? 0 : 1) + (tenant ? 1 : 0);
            if (sources > 1) {
                throw wrong("Give one of --policy, --sandbox and --tenant.");
            }
            return file == null
                    ? super.call()
                    : explain(List.of(PolicyFile.egress(main(), file)), printer());
        }

        @Override
        int run(ServiceClient client, Printer printer) {
            if (sandbox != null) {
                return explain(client.policies().egress(sandbox).layers(), printer);
            }
            EgressJson own = client.policies().find("default").egress();
            return explain(List.of(own == null ? EgressJson.closed() : own), printer);
        }

        private int explain(List<EgressJson> layers, Printer printer) {
            EgressExplain explained =
                    EgressExplain.of(
                            EgressPolicy.of(layers),
                            EgressTarget.of(target),
                            (addresses == null ? List.<String>of() : addresses)
                                    .stream().map(IpAddress::parse).toList());
            printer.list(
                    explained.steps().stream().map(Shown::of).toList(),
                    List.of("STEP", "TARGET", "ANSWER", "RULE", "REMEDY"),
                    step ->
                            new @Nullable Object[] {
                                step.step(),
                                step.target(),
                                step.answer(),
                                step.rule(),
                                step.remedy()
                            });
            return explained.verdict().passes() ? 0 : NO;
        }
    }
}
