package dev.caisson.cli;

import java.util.List;
import picocli.CommandLine.Command;

/** {@code caisson shell}: a shell in a sandbox, on this terminal. */
@Command(
        name = "shell",
        customSynopsis = "caisson shell [options] ID [COMMAND [ARGS...]]",
        description = "Opens a shell in a sandbox, on this terminal.",
        footer = {
            "",
            "Example:",
            "  caisson shell build",
            "",
            "~. at the beginning of a line leaves the shell running."
        })
final class ShellCommand extends ExecCommand {
    @Override
    List<String> otherwise() {
        return List.of("/bin/sh", "-c", "command -v bash >/dev/null && exec bash -l; exec sh -l");
    }

    @Override
    boolean wantsTerminal() {
        return true;
    }
}
