package dev.caisson.cli;

import dev.caisson.doctor.Asked;
import dev.caisson.doctor.Doctor;
import dev.caisson.doctor.Finding;
import dev.caisson.serve.Setting;
import java.nio.file.Path;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code caisson doctor}: whether this machine has what is needed. */
@Command(
        name = "doctor",
        description =
                "Looks whether this machine has what Caisson needs, and says what to do where it"
                        + " has not. Changes nothing. Exit status 1: something is missing.",
        sortOptions = false,
        footer = {"", "Example:", "  sudo caisson doctor"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class DoctorCommand extends LocalCommand {
    @Mixin private ServeOptions options;

    @Option(
            names = "--state",
            paramLabel = "DIR",
            defaultValue = "/var/lib/caisson",
            description = "folder of the launcher; default ${DEFAULT-VALUE}")
    private Path state;

    @Option(names = "--bad", description = "only what is not well")
    private boolean onlyBad;

    @Override
    public Integer call() {
        Asked asked =
                new Asked(
                        path(Setting.LAUNCHER_SOCKET),
                        state,
                        path(Setting.DATA),
                        Path.of(System.getProperty("caisson.native.dir", "/nowhere")));
        List<Finding> all = Doctor.examine(asked);
        List<Finding> shown =
                all.stream().filter(one -> !onlyBad || one.state() != Finding.State.OK).toList();
        printer()
                .list(
                        shown.stream().map(Shown::of).toList(),
                        List.of("STATE", "WHAT", "FOUND", "WHAT TO DO"),
                        one -> new Object[] {one.state(), one.name(), one.found(), one.remedy()});
        return all.stream().anyMatch(one -> one.state() == Finding.State.MISSING) ? 1 : 0;
    }

    /** As it is printed. */
    record Shown(String name, String state, String found, String remedy) {
        static Shown of(Finding one) {
            return new Shown(one.name(), one.state().toString(), one.found(), one.remedy());
        }
    }

    private Path path(Setting setting) {
        return Path.of(options.settings().given(setting).value()).toAbsolutePath();
    }
}
