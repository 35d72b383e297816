package dev.caisson.cli;

import java.lang.module.ModuleDescriptor;
import picocli.CommandLine.Command;
import picocli.CommandLine.ParentCommand;

/** {@code caisson version}. */
@Command(name = "version", description = "Prints the version.")
final class VersionCommand implements Runnable {
    @ParentCommand
    @SuppressWarnings("NullAway.Init") // picocli sets it
    private Main main;

    @Override
    public void run() {
        main.streams().print("caisson " + version() + " on Java " + Runtime.version() + "\n");
    }

    /** The version of the module, which the build writes into it. */
    private static String version() {
        ModuleDescriptor descriptor = VersionCommand.class.getModule().getDescriptor();
        return descriptor == null ? "unknown" : descriptor.rawVersion().orElse("unknown");
    }
}
