package dev.caisson.cli;

import dev.caisson.client.Query;
import dev.caisson.client.ServiceClient;
import dev.caisson.v1.ApprovalJson;
import dev.caisson.v1.DecisionRequest;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code caisson approvals}: what waits for a person. */
@Command(
        name = "approvals",
        description = "What waits for a person.",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {
            ApprovalsCommand.Ls.class,
            ApprovalsCommand.Watch.class,
            ApprovalsCommand.Approve.class,
            ApprovalsCommand.Deny.class
        })
final class ApprovalsCommand extends Group {

    /** Lists approvals, newest first. */
    @Command(
            name = "ls",
            description = "Lists approvals, newest first.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson approvals ls"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Ls extends ServerCommand {
        static final List<String> HEADS =
                List.of("ID", "STATE", "KIND", "SANDBOX", "SUBJECT", "EXPIRES");

        @Option(names = "--state", paramLabel = "STATE", description = "only those in it (waiting)")
        private String state = "waiting";

        @Option(
                names = {"-a", "--all"},
                description = "in any state")
        private boolean all;

        @Override
        int run(ServiceClient client, Printer printer) {
            printer.list(
                    ServiceClient.all(
                            all ? Query.LARGE : Query.LARGE.with("state", state),
                            client.approvals()::list),
                    HEADS,
                    Ls::cells);
            return 0;
        }

        static @Nullable Object[] cells(ApprovalJson item) {
            return new @Nullable Object[] {
                item.id(),
                item.state(),
                item.kind(),
                item.sandbox(),
                item.subject(),
                item.expiresAt()
            };
        }
    }

    /** Shows approvals as they come and change, until it is interrupted. */
    @Command(
            name = "watch",
            description = "Shows approvals as they come and change, until it is interrupted.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson approvals watch"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Watch extends ServerCommand {
        @Override
        int run(ServiceClient client, Printer printer) {
            client.approvals().follow(item -> printer.item(item, Ls.cells(item)));
            return 0;
        }
    }

    /** Says yes. */
    @Command(
            name = "approve",
            description = "Says yes.",
            sortOptions = false,
            footer = {
                "",
                "Example:",
                "  caisson approvals approve ap0123456789abcdefghij --remember session"
            })
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Approve extends ServerCommand {
        @Option(
                names = "--remember",
                paramLabel = "once|session|policy",
                description = "for how long (once)")
        private @Nullable String remember;

        @Parameters(paramLabel = "ID", description = "of the approval")
        private String id;

        @Override
        int run(ServiceClient client, Printer printer) {
            ApprovalJson now = client.approvals().decide(id, new DecisionRequest(true, remember));
            printer.made(now, now.state());
            return 0;
        }
    }

    /** Says no. */
    @Command(
            name = "deny",
            description = "Says no.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson approvals deny ap0123456789abcdefghij"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Deny extends ServerCommand {
        @Option(
                names = "--remember",
                paramLabel = "once|session|policy",
                description = "for how long (once)")
        private @Nullable String remember;

        @Parameters(paramLabel = "ID", description = "of the approval")
        private String id;

        @Override
        int run(ServiceClient client, Printer printer) {
            ApprovalJson now = client.approvals().decide(id, new DecisionRequest(false, remember));
            printer.made(now, now.state());
            return 0;
        }
    }
}
