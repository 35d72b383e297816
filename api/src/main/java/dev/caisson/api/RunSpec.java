package dev.caisson.api;

import java.io.InputStream;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * A whole life in one call: create, put files, exec, collect, destroy.
 *
 * @param program what to run
 * @param arguments added to the program's own
 * @param sandbox where to run it; its limits hold the timeout and the output limit
 * @param files copied in before
 * @param out a folder on the host that receives new and changed files of /work; made when missing
 * @param outLimit bytes that all collected files together may have; default 1 GiB
 * @param stdin read to its end while the program runs; the caller closes it. Empty: end of file at
 *     once
 * @param workdir working directory, default {@code /work}
 * @param capture whether output is kept for the result
 * @param listFiles whether new and changed files are listed in the result; implied by {@code out}
 * @param inlineFiles whether files up to 64 KiB come with their content
 */
public record RunSpec(
        Program program,
        List<String> arguments,
        SandboxSpec sandbox,
        List<HostFile> files,
        Optional<Path> out,
        ByteSize outLimit,
        Optional<InputStream> stdin,
        String workdir,
        boolean capture,
        boolean listFiles,
        boolean inlineFiles) {

    /** That program with every default. */
    public static RunSpec of(Program program) {
        return new RunSpec(
                program,
                List.of(),
                SandboxSpec.defaults(),
                List.of(),
                Optional.empty(),
                ByteSize.ofGib(1),
                Optional.empty(),
                "/work",
                true,
                true,
                false);
    }

    /** A script of the host; its language is told by its extension. */
    public static RunSpec script(Path script) {
        return of(new Program.Script(script));
    }

    /** Code as text, for instance {@code code("python", "print(1)")}. */
    public static RunSpec code(String language, String text) {
        return of(new Program.Code(language, text));
    }

    /** A command that is there inside. */
    public static RunSpec command(String... argv) {
        return of(new Program.Command(List.of(argv)));
    }

    /** Copies the collections. */
    public RunSpec {
        arguments = List.copyOf(arguments);
        files = List.copyOf(files);
        if (!workdir.startsWith("/") || workdir.indexOf('\0') >= 0) {
            throw CaissonException.invalid(
                    "workdir", "The working directory '" + workdir + "' is not absolute.");
        }
    }

    /** The same with another program. */
    public RunSpec withProgram(Program newProgram) {
        Draft draft = new Draft(this);
        draft.program = newProgram;
        return draft.spec();
    }

    /** The same with another arguments. */
    public RunSpec withArguments(List<String> newArguments) {
        Draft draft = new Draft(this);
        draft.arguments = newArguments;
        return draft.spec();
    }

    /** The same with another sandbox. */
    public RunSpec withSandbox(SandboxSpec newSandbox) {
        Draft draft = new Draft(this);
        draft.sandbox = newSandbox;
        return draft.spec();
    }

    /** The same with another list of files to copy in. */
    public RunSpec withFiles(List<HostFile> newFiles) {
        Draft draft = new Draft(this);
        draft.files = newFiles;
        return draft.spec();
    }

    /** The same with another target folder. */
    public RunSpec withOut(Path newOut) {
        Draft draft = new Draft(this);
        draft.out = Optional.of(newOut);
        return draft.spec();
    }

    /** The same with another byte limit of collected files. */
    public RunSpec withOutLimit(ByteSize newOutLimit) {
        Draft draft = new Draft(this);
        draft.outLimit = newOutLimit;
        return draft.spec();
    }

    /** The same with another standard input. */
    public RunSpec withStdin(InputStream newStdin) {
        Draft draft = new Draft(this);
        draft.stdin = Optional.of(newStdin);
        return draft.spec();
    }

    /** The same with another working directory. */
    public RunSpec withWorkdir(String newWorkdir) {
        Draft draft = new Draft(this);
        draft.workdir = newWorkdir;
        return draft.spec();
    }

    /** The same with another choice of capturing. */
    public RunSpec withCapture(boolean newCapture) {
        Draft draft = new Draft(this);
        draft.capture = newCapture;
        return draft.spec();
    }

    /** The same with another choice of listing files. */
    public RunSpec withListFiles(boolean newListFiles) {
        Draft draft = new Draft(this);
        draft.listFiles = newListFiles;
        return draft.spec();
    }

    /** The same with another choice of inline files. */
    public RunSpec withInlineFiles(boolean newInlineFiles) {
        Draft draft = new Draft(this);
        draft.inlineFiles = newInlineFiles;
        return draft.spec();
    }

    /** A copy of which one field is set. */
    private static final class Draft {
        private Program program;
        private List<String> arguments;
        private SandboxSpec sandbox;
        private List<HostFile> files;
        private Optional<Path> out;
        private ByteSize outLimit;
        private Optional<InputStream> stdin;
        private String workdir;
        private boolean capture;
        private boolean listFiles;
        private boolean inlineFiles;

        Draft(RunSpec spec) {
            program = spec.program;
            arguments = spec.arguments;
            sandbox = spec.sandbox;
            files = spec.files;
            out = spec.out;
            outLimit = spec.outLimit;
            stdin = spec.stdin;
            workdir = spec.workdir;
            capture = spec.capture;
            listFiles = spec.listFiles;
            inlineFiles = spec.inlineFiles;
        }

        RunSpec spec() {
            return new RunSpec(
                    program,
                    arguments,
                    sandbox,
                    files,
                    out,
                    outLimit,
                    stdin,
                    workdir,
                    capture,
                    listFiles,
                    inlineFiles);
        }
    }
}
