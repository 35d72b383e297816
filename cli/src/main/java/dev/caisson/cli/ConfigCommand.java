package dev.caisson.cli;

import dev.caisson.serve.Setting;
import dev.caisson.serve.Settings;
import java.util.Arrays;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code caisson config}: how a server on this machine is configured. */
@Command(
        name = "config",
        description =
                "How 'caisson serve' is configured here: options over environment over"
                        + " caisson.yaml over defaults.",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {ConfigCommand.Show.class, ConfigCommand.Check.class},
        footer = {"", "Example:", "  caisson config show --set listen=0.0.0.0:3900"})
final class ConfigCommand extends Group {

    /** A setting as it is shown. */
    record Shown(String name, String value, String source, String variable, String description) {}

    /** Shows all settings. */
    @Command(
            name = "show",
            description = "Shows every setting: its value, where it came from, what it is for.",
            sortOptions = false)
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Show extends LocalCommand {
        @Mixin private ServeOptions options;

        @Override
        public Integer call() {
            Settings settings = options.settings();
            List<Shown> all =
                    Arrays.stream(Setting.values()).map(one -> shown(settings, one)).toList();
            printer()
                    .list(
                            all,
                            List.of("SETTING", "VALUE", "SOURCE", "DESCRIPTION"),
                            one ->
                                    new Object[] {
                                        one.name(), one.value(), one.source(), one.description()
                                    });
            return 0;
        }

        private static Shown shown(Settings settings, Setting setting) {
            Settings.Given given = settings.given(setting);
            return new Shown(
                    setting.key(),
                    given.value(),
                    given.source(),
                    setting.variable(),
                    setting.what());
        }
    }

    /** Finds what is wrong. */
    @Command(
            name = "check",
            description =
                    "Finds what would keep a server from starting with this configuration; says"
                            + " nothing when that is nothing.",
            sortOptions = false)
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Check extends LocalCommand {
        @Mixin private ServeOptions options;

        @Override
        public Integer call() {
            options.settings().checkFiles();
            return 0;
        }
    }
}
