package dev.caisson.cli;

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

    /** The version of the jar, which the build writes into its manifest. */
    private static String version() {
        String version = VersionCommand.class.getPackage().getImplementationVersion();
        return version == null ? "of a build folder" : version;
    }
}
