package dev.caisson.cli;

import dev.caisson.api.UserInfo;
import dev.caisson.client.ServiceClient;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code caisson users}: Linux users of a sandbox. */
@Command(
        name = "users",
        description = "Linux users of a sandbox, private to one another.",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {UsersCommand.Add.class})
final class UsersCommand extends Group {

    /** Makes a Linux user in a sandbox. */
    @Command(
            name = "add",
            description =
                    "Makes a Linux user in a sandbox and prints its name, uid and home. Commands"
                            + " run as it with: caisson exec --user NAME",
            sortOptions = false,
            footer = {"", "Example:", "  caisson users add build alice"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Add extends ServerCommand {
        @Parameters(index = "0", paramLabel = "ID", description = "id or name of a sandbox")
        private String id;

        @Parameters(
                index = "1",
                paramLabel = "NAME",
                description = "[a-z_][a-z0-9_-]*, at most 32 characters")
        private String name;

        /** As the API says it. */
        record Made(String name, int uid, int gid, String home) {}

        @Override
        int run(ServiceClient client, Printer printer) {
            UserInfo user = client.sandboxes().addUser(id, name);
            printer.item(
                    new Made(user.name(), user.uid(), user.gid(), user.home()),
                    user.name(),
                    user.uid(),
                    user.home());
            return 0;
        }
    }
}
