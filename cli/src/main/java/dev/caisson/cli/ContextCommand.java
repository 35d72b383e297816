package dev.caisson.cli;

import java.nio.file.Path;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code caisson context}: the servers that were logged in to. */
@Command(
        name = "context",
        description = "The servers that 'caisson login' remembered.",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {ContextCommand.Ls.class, ContextCommand.Use.class, ContextCommand.Rm.class},
        footer = {"", "Example:", "  caisson context use work"})
final class ContextCommand extends Group {

    /** What the commands below share. */
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    abstract static class OnFile implements Callable<Integer> {
        @Spec private CommandSpec spec;

        Main main() {
            return (Main) spec.root().userObject();
        }

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
            Table table = new Table("USED", "NAME", "URL", "TENANT");
            new TreeMap<>(contexts.contexts())
                    .forEach((name, context) ->
                            table.row(
                                    name.equals(contexts.current()) ? "*" : "",
                                    name,
                                    context.url(),
                                    context.tenant()));
            main().streams().print(table.text(new Printer(main(), false).width()));
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
