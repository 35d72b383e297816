package dev.caisson.cli;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code caisson context}: the servers that were logged in to. */
@Command(
        name = "context",
        description = "The servers that 'caisson login' remembered.",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {ContextCommand.Ls.class, ContextCommand.Use.class, ContextCommand.Rm.class},
        footer = {"", "Example:", "  caisson context use work"})
final class ContextCommand extends Group {

    /** One as it is listed: without its key. */
    record Shown(boolean used, String name, String url, @Nullable String tenant) {}

    /** What the commands below share. */
    abstract static class OnFile extends LocalCommand {
        Path file() {
            return Contexts.file(main().env());
        }
    }

    /** Lists them. */
    @Command(name = "ls", description = "Lists them; the one in use has a star.")
    static final class Ls extends OnFile {
        @Override
        public Integer call() {
            Contexts contexts = Contexts.load(file());
            List<Shown> all = new ArrayList<>();
            new TreeMap<>(contexts.contexts())
                    .forEach((name, context) ->
                            all.add(
                                    new Shown(
                                            name.equals(contexts.current()),
                                            name,
                                            context.url(),
                                            context.tenant())));
            printer()
                    .list(
                            all,
                            List.of("USED", "NAME", "URL", "TENANT"),
                            one ->
                                    new @Nullable Object[] {
                                        one.used() ? "*" : "", one.name(), one.url(), one.tenant()
                                    });
            return 0;
        }
    }

    /** Uses one. */
    @Command(name = "use", description = "Uses that one from now on.")
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Use extends OnFile {
        @Parameters(paramLabel = "NAME", description = "of 'caisson context ls'")
        private String name;

        @Override
        public Integer call() {
            Contexts.load(file()).using(name).save(file());
            return 0;
        }
    }

    /** Forgets one. */
    @Command(name = "rm", description = "Forgets that one and its key; the key stays valid.")
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Rm extends OnFile {
        @Parameters(paramLabel = "NAME", description = "of 'caisson context ls'")
        private String name;

        @Override
        public Integer call() {
            Contexts.load(file()).without(name).save(file());
            return 0;
        }
    }
}
