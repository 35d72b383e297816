package dev.caisson.client;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.ExecResult;
import dev.caisson.api.FileType;
import dev.caisson.api.Program;
import dev.caisson.api.ResultFile;
import dev.caisson.api.RunListener;
import dev.caisson.api.RunResult;
import dev.caisson.api.RunSpec;
import dev.caisson.api.Tier;
import dev.caisson.v1.ResultJson;
import dev.caisson.v1.RunJson;
import dev.caisson.v1.StreamItem;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** One run on a server: sends it, follows it, brings its files. One thread. */
final class RemoteRun {
    private static final long PROGRESS_NANOS = 100_000_000;

    private final ServiceClient client;
    private final RunSpec spec;
    private final RunListener listener;
    private final Set<String> running;
    private boolean toldSandbox;
    private long lastProgress = System.nanoTime();

    /**
     * A run.
     *
     * @param running ids of runs that are ended when their Caisson is closed
     */
    RemoteRun(ServiceClient client, RunSpec spec, RunListener listener, Set<String> running) {
        this.client = client;
        this.spec = spec;
        this.listener = listener;
        this.running = running;
    }

    RunResult run() {
        String id = client.runs().start(RunRequests.of(spec)).id();
        running.add(id);
        boolean over = false;
        try {
            long keep = spec.capture() ? spec.sandbox().limits().outputLimit().bytes() : -1;
            ExecItems items = new ExecItems(listener, keep);
            client.runs().following(id).run(item -> take(item, items), () -> {});
            over = true;
            return result(id, items);
        } finally {
            running.remove(id);
            if (!over) {
                end(client, id);
            }
        }
    }

    private boolean take(StreamItem item, ExecItems items) {
        String sandbox = item.sandbox();
        if (sandbox != null && !toldSandbox) {
            toldSandbox = true;
            tell(sandbox);
        }
        return items.take(item);
    }

    private void tell(String sandbox) {
        try {
            listener.sandboxStarted(
                    new RemoteSandbox(
                            client.http(), client.sandboxes().find(sandbox), spec.sandbox()));
        } catch (CaissonException e) {
            // A key may run and not look at sandboxes; it is told by the result.
        }
    }

    private RunResult result(String id, ExecItems items) {
        ExecResult result = items.result().orElseThrow(Failures::cancelled);
        ResultJson told = items.told().orElseThrow(Failures::cancelled);
        RunJson run = client.runs().find(id);
        @Nullable ResultJson kept = run.result();
        // The record of the run has the files also where the stream does not.
        ResultJson whole = kept != null && told.files().isEmpty() ? kept : told;
        List<ResultFile> files = Results.exec(whole).files();
        return new RunResult(
                id,
                Objects.requireNonNullElse(run.sandbox(), ""),
                Objects.requireNonNullElse(run.session(), ""),
                Tier.of(String.valueOf(run.tier())),
                Objects.requireNonNullElse(run.engine(), ""),
                result.withFiles(spec.out().isPresent() ? bring(id, files) : files),
                argv(),
                Objects.requireNonNullElse(whole.hint(), ""));
    }

    private List<String> argv() {
        List<String> words = new ArrayList<>();
        switch (spec.program()) {
            case Program.Command command -> words.addAll(command.argv());
            case Program.Script script -> words.add(script.file().toString());
            case Program.Code code -> words.add(code.language());
        }
        words.addAll(spec.arguments());
        return words;
    }

    private List<ResultFile> bring(String id, List<ResultFile> told) {
        Path target = spec.out().orElseThrow();
        long total = told.stream().mapToLong(ResultFile::size).sum();
        Map<String, ResultFile> came = new HashMap<>();
        if (told.stream().anyMatch(file -> file.type() == FileType.REGULAR)
                || told.stream().anyMatch(file -> file.type() == FileType.DIRECTORY)) {
            List<ResultFile> landed =
                    client.runs().get(id, target, spec.outLimit(), bytes -> progress(bytes, total));
            landed.forEach(file -> came.put(trim(file.path()), file));
        }
        return told.stream().map(file -> merged(file, came.get(trim(file.path())))).toList();
    }

    private static String trim(String path) {
        String from = path.startsWith("./") ? path.substring(2) : path;
        return from.endsWith("/") ? from.substring(0, from.length() - 1) : from;
    }

    private void progress(long bytes, long total) {
        long now = System.nanoTime();
        if (now - lastProgress > PROGRESS_NANOS) {
            lastProgress = now;
            listener.copiedOut(bytes, Math.max(bytes, total));
        }
    }

    /** What the server says about a file, with what became of it here. */
    private static ResultFile merged(ResultFile told, @Nullable ResultFile came) {
        String note = told.note().isEmpty() && came != null ? came.note() : told.note();
        return new ResultFile(
                told.path(),
                told.type(),
                told.size(),
                told.sha256(),
                told.mode(),
                came != null && came.collected(),
                told.content(),
                note.isEmpty() && came == null ? "it was not in the archive" : note);
    }

    /** Ends a run; it is over soon anyway when the server cannot be reached. */
    static void end(ServiceClient client, String id) {
        boolean interrupted = Thread.interrupted();
        try {
            client.runs().delete(id);
        } catch (CaissonException e) {
            // Its own time limit ends it.
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    static CaissonException cannot(String what, String remedy) {
        return CaissonException.of(ErrorCode.UNSUPPORTED, what).withRemedy(remedy);
    }
}
