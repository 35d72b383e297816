package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.EventType;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.PtySize;
import dev.caisson.core.HostedExec;
import dev.caisson.core.Ids;
import dev.caisson.core.Room;
import dev.caisson.v1.ExecJson;
import dev.caisson.v1.ExecRequest;
import dev.caisson.v1.OutputJson;
import dev.caisson.v1.Page;
import dev.caisson.v1.PtyJson;
import dev.caisson.v1.ResultJson;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Commands. Thread-safe. */
final class Execs implements ExecService {
    private static final long KEEPALIVE_MILLIS = 15_000;
    private static final int BUFFER = 32 << 10;

    /** Digest of a run's files where there are none. */
    static final String NO_FILES = HexFormat.of().formatHex(Credentials.sha256().digest());

    private final Parts parts;
    private final Uses uses;
    private final Consumer<Caller> still;
    private final ConcurrentHashMap<String, RunningExec> running = new ConcurrentHashMap<>();
    private final ExecPlaces places;

    /**
     * None yet.
     *
     * @param still refuses a caller whose key or tenant is not good any more
     */
    Execs(Parts parts, Uses uses, Consumer<Caller> still) {
        this.parts = parts;
        this.uses = uses;
        this.still = still;
        this.places = new ExecPlaces(parts);
    }

    // ---- starting

    @Override
    public ExecJson start(Caller caller, String sandbox, ExecRequest request) {
        Access.require(caller, "execs:write");
        return begin(caller, sandbox, request, null).doc().form(null);
    }

    @Override
    public void settle(Caller caller, String id) {
        Access.require(caller, "execs:write");
        RunningExec here = known(caller, id).running();
        if (here == null) {
            return;
        }
        try {
            here.start().settle();
        } catch (RuntimeException e) {
            here.kill();
            throw e;
        }
    }

    /** Starts a command of a run, or of nobody. */
    RunningExec begin(Caller caller, String sandbox, ExecRequest request, @Nullable Origin origin) {
        Turns.Turn turn = places.turn(caller.tenant());
        boolean begun = false;
        try (Uses.Use use = uses.of(caller, sandbox)) {
            RunningExec exec = begin(caller, use.box(), request, origin, turn);
            begun = true;
            return exec;
        } finally {
            if (!begun) {
                turn.done();
            }
        }
    }

    @SuppressWarnings("FutureReturnValueIgnored") // it never fails
    private RunningExec begin(
            Caller caller, Box box, ExecRequest request, @Nullable Origin origin, Turns.Turn turn) {
        EffectivePolicy policy = parts.policies().effective(caller, box.doc().policy);
        Map<String, String> own = parts.secrets().ofExec(policy, box, request);
        ExecSpec spec = ExecSpecs.spec(request, box, policy, parts.secrets().env(box, own));
        ExecDoc doc = ExecDoc.fresh(caller, box, request, spec);
        doc.secrets = own.isEmpty() ? null : own;
        if (origin != null) {
            doc.run = origin.run();
            doc.language = origin.language();
        }
        RunningExec exec = new RunningExec(parts, box, doc, log(doc), places.take(caller.tenant()));
        exec.turn(turn);
        box.begun.add(
                doc.id,
                now(),
                created -> {
                    doc.createdAt = created;
                    known(exec);
                });
        Room held = Room.detached();
        held.owner(doc.tenant);
        exec.end().whenComplete((last, failure) -> held.close());
        boolean begun = false;
        try {
            // It is kept until somebody has said yes and the program has read it.
            held.take(request.input() == null ? 0 : 2L * request.input().length());
            Map<String, String> asked = parts.secrets().asked(spec.env(), exec);
            Optional<Approvals.Pending> pending =
                    parts.approvals()
                            .exec(
                                    caller,
                                    policy,
                                    doc.subject(),
                                    new Approvals.Command(request, doc.user, origin, asked));
            if (pending.isPresent()) {
                waitForApproval(caller, exec, spec, request, pending.get());
                turn.done();
            } else {
                launch(caller, exec, spec, request);
            }
            begun = true;
            return exec;
        } finally {
            if (!begun) {
                exec.abandon();
            }
        }
    }

    /**
     * Whose exec it is.
     *
     * @param code that the command runs, for those who approve
     * @param files a digest of what else was put there for it
     */
    record Origin(
            String run, @Nullable String language, @Nullable String code, Supplier<String> files) {}

    private OutputLog log(ExecDoc doc) {
        return new OutputLog(
                folder(doc.sandbox),
                doc.id,
                Captures.headBytes(doc.outputLimit),
                parts.config().logPerExec().bytes());
    }

    private Path folder(String sandbox) {
        return parts.config().data().resolve("output").resolve(sandbox);
    }

    private void launch(Caller caller, RunningExec exec, ExecSpec spec, ExecRequest request) {
        ExecDoc doc = exec.doc();
        Row row = doc.row(1, parts.node(), null);
        Instant at = parts.ledger().now();
        Map<String, Object> data =
                exec.box().redacted(Map.of("argv", doc.argv, "cwd", doc.cwd, "user", doc.user));
        EventType type = EventType.EXEC_STARTED;
        Ledger.Act making = Answers.making(doc.id);
        exec.start()
                .begin(
                        tx -> {
                            making.run(tx);
                            parts.ledger().event(tx, caller, at, type, doc.subject(), "", data);
                        },
                        row);
        try {
            parts.secrets().during(exec);
            HostedExec hosted = exec.box().hosted().start(exec.id, spec, exec);
            exec.hosted(hosted);
            feed(hosted, request);
        } catch (CaissonException e) {
            exec.failed(e);
            throw e;
        } catch (RuntimeException e) {
            exec.failed(CaissonException.of(ErrorCode.INTERNAL, "It could not be started.", e));
            throw e;
        }
    }

    private static void feed(HostedExec hosted, ExecRequest request) {
        String input = request.input();
        if (input == null) {
            return;
        }
        Thread.ofVirtual()
                .name("caisson-input-" + hosted.id())
                .start(() -> {
                    try (OutputStream stdin = hosted.stdin()) {
                        stdin.write(input.getBytes(StandardCharsets.UTF_8));
                    } catch (IOException | CaissonException e) {
                        // The program does not want it, or is gone.
                    }
                });
    }

    @SuppressWarnings("FutureReturnValueIgnored") // both come to an end by themselves
    private void waitForApproval(
            Caller caller,
            RunningExec exec,
            ExecSpec spec,
            ExecRequest request,
            Approvals.Pending pending) {
        exec.change(doc -> {
            doc.state = ExecDoc.WAITING;
            doc.approval = pending.id();
        });
        exec.end().whenComplete((last, failure) -> parts.approvals().withdraw(pending.id()));
        Row row = exec.doc().row(1, parts.node(), null);
        Ledger.Act making = Answers.making(exec.id);
        parts.ledger()
                .act(tx -> {
                    ExecRows.put(tx, row);
                    making.run(tx);
                });
        pending.decision()
                .whenComplete((yes, failure) ->
                        Thread.ofVirtual()
                                .name("caisson-approved-" + exec.id)
                                .start(() ->
                                        decided(
                                                caller,
                                                exec,
                                                spec,
                                                request,
                                                Boolean.TRUE.equals(yes))));
    }

    private void decided(
            Caller caller, RunningExec exec, ExecSpec spec, ExecRequest request, boolean yes) {
        if (!yes) {
            exec.failed(
                    CaissonException.of(ErrorCode.POLICY_DENIED, "The command was not approved.")
                            .withRemedy("Ask the person who decides, or run another command."));
            return;
        }
        if (!exec.approved()) {
            return;
        }
        try {
            still.accept(caller); // a day may have passed
            launch(caller, exec, spec, request);
        } catch (CaissonException e) {
            exec.failed(e); // if launch has not
        }
    }

    // ---- asking

    @Override
    public ExecJson find(Caller caller, String id) {
        Access.require(caller, "execs:read");
        return form(known(caller, id));
    }

    private ExecJson form(Known known) {
        ExecDoc doc = known.doc();
        return doc.form(known.doc().over() ? withOutput(known) : null);
    }

    /** What is known of an exec: running here, or by its row. */
    private record Known(ExecDoc doc, @Nullable RunningExec running) {}

    /** The same; one that is not over must be of this server. */
    private Known here(Caller caller, String id) {
        Known known = known(caller, id);
        if (known.running() == null && !known.doc().over()) {
            parts.boxes().living(caller, known.doc().sandbox); // says where it is
            // It came to its end since the first look, or its server is being replaced.
            Known again = known(caller, id);
            if (again.running() == null && !again.doc().over()) {
                throw CaissonException.of(
                        ErrorCode.INVALID_STATE, "The exec " + id + " is not of this server.");
            }
            return again;
        }
        return known;
    }

    private Known known(Caller caller, String id) {
        RunningExec here = running.get(id);
        if (here != null && here.doc().tenant.equals(caller.tenant())) {
            return new Known(here.doc(), here);
        }
        Row row =
                Ids.matches(Ids.Kind.EXEC, id)
                        ? parts.ledger().read(tx -> tx.find(Kind.EXEC, id)).orElse(null)
                        : null;
        if (row == null || !row.tenant().equals(caller.tenant())) {
            throw CaissonException.of(
                    ErrorCode.NOT_FOUND, "There is no exec '" + Boxes.shown(id) + "'.");
        }
        return new Known(ExecDoc.of(row), null);
    }

    private @Nullable ResultJson withOutput(Known known) {
        ExecDoc doc = known.doc();
        if (doc.result == null) {
            return null;
        }
        RunningExec here = known.running();
        List<OutputJson> output =
                Captures.of(here == null ? logOf(doc) : here.log, doc.pty, doc.outputLimit);
        return Forms.with(doc.result, output.get(0), output.get(1));
    }

    /** The log of one that is over; refused when another server keeps it. */
    private OutputLog logOf(ExecDoc doc) {
        if (doc.log != null) {
            return OutputLog.of(folder(doc.sandbox), doc.id, Base64.getDecoder().decode(doc.log));
        }
        if (doc.keeper != null && !doc.keeper.equals(parts.node())) {
            throw parts.boxes().elsewhere("output of the exec", doc.id, doc.keeper);
        }
        OutputLog log = recovered(doc);
        log.complete(doc.written);
        return log;
    }

    @Override
    public Page<ExecJson> list(Caller caller, String sandbox, Listing listing) {
        Access.require(caller, "execs:read");
        Row row = parts.boxes().row(caller, sandbox);
        Query query = Query.of(caller.tenant()).withParent(row.id());
        Query page = parts.cursors().page(query, listing, "execs");
        return parts.cursors()
                .answer(
                        parts.ledger().read(tx -> tx.list(Kind.EXEC, page)),
                        query,
                        listing,
                        "execs",
                        found -> current(ExecDoc.of(found)).form(null));
    }

    private ExecDoc current(ExecDoc stored) {
        RunningExec here = running.get(stored.id);
        return here == null ? stored : here.doc();
    }

    @Override
    public Optional<ExecJson> await(Caller caller, String id, Duration longest) {
        Access.require(caller, "execs:read");
        Known known = here(caller, id);
        RunningExec here = known.running();
        if (here == null) {
            return Optional.of(form(known));
        }
        try {
            ExecDoc last = here.end().get(longest.toMillis(), TimeUnit.MILLISECONDS);
            return Optional.of(form(new Known(last, here)));
        } catch (TimeoutException e) {
            return Optional.empty();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw CaissonException.of(ErrorCode.CANCELLED, "Interrupted while waiting.", e);
        } catch (ExecutionException e) {
            here.last(); // throws why
            throw new IllegalStateException("An exec whose end failed has ended.", e);
        }
    }

    @Override
    public void follow(Caller caller, String id, @Nullable String after, Follower follower)
            throws IOException {
        Access.require(caller, "execs:read");
        follow(here(caller, id), after, follower);
    }

    /** The same for the run or the log that the exec belongs to, whose reader may see it. */
    void followOwn(Caller caller, String id, @Nullable String after, Follower follower)
            throws IOException {
        follow(here(caller, id), after, follower);
    }

    /** The captured output of an exec that ended: stdout, stderr. */
    List<OutputJson> result(ExecDoc doc) {
        RunningExec here = running.get(doc.id);
        return Captures.of(here == null ? logOf(doc) : here.log, doc.pty, doc.outputLimit);
    }

    private void follow(Known known, @Nullable String after, Follower follower) throws IOException {
        ExecDoc doc = known.doc();
        RunningExec here = known.running();
        OutputLog log = here == null ? logOf(doc) : here.log;
        Streamer streamer = new Streamer(doc.sandbox, doc.id, doc.run, after, follower);
        if (here != null) {
            here.box().begin(now());
        }
        try {
            records(log, streamer, here);
            ExecDoc last = here == null ? doc : here.doc();
            streamer.finish(log.totals(), now());
            streamer.exit(told(last, here), now());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("Interrupted while following " + doc.id + ".", e);
        } finally {
            if (here != null) {
                here.box().end(now());
            }
        }
    }

    /** What runs in a sandbox here, with the times when it was asked for. */
    Map<String, Instant> runningIn(String sandbox) {
        return running.values().stream()
                .map(RunningExec::doc)
                .filter(doc -> doc.sandbox.equals(sandbox))
                .collect(Collectors.toMap(doc -> doc.id, doc -> doc.createdAt));
    }

    /** Tells what is kept of an exec by now, without waiting. */
    void kept(Caller caller, String id, @Nullable String after, Follower follower)
            throws IOException {
        Known known = known(caller, id);
        ExecDoc doc = known.doc();
        RunningExec here = known.running();
        OutputLog log = here == null ? logOf(doc) : here.log;
        Streamer streamer = new Streamer(doc.sandbox, doc.id, doc.run, after, follower);
        log.visit(record -> {
            streamer.record(record);
            return true;
        });
        if (doc.over()) {
            streamer.finish(log.totals(), now());
            streamer.exit(told(doc, here), now());
        }
    }

    private ExecDoc told(ExecDoc last, @Nullable RunningExec here) {
        if (last.result == null) {
            return last;
        }
        ExecDoc copy = new ExecDoc();
        copy.id = last.id;
        copy.error = last.error;
        copy.result = withOutput(new Known(last, here));
        return copy;
    }

    private void records(OutputLog log, Streamer streamer, @Nullable RunningExec here)
            throws IOException, InterruptedException {
        OutputLog.Reader reader = log.reader();
        while (true) {
            OutputRecord record = reader.next(KEEPALIVE_MILLIS);
            if (record != null) {
                streamer.record(record);
            } else if (reader.ended()) {
                if (here != null) {
                    here.last();
                }
                return;
            } else {
                streamer.keepalive(now());
            }
        }
    }

    private Instant now() {
        return parts.ledger().now();
    }

    // ---- telling

    private RunningExec live(Caller caller, String id) {
        Access.require(caller, "execs:write");
        Known known = here(caller, id);
        RunningExec here = known.running();
        if (here == null) {
            throw CaissonException.of(
                    ErrorCode.INVALID_STATE, "The exec " + id + " is not running.");
        }
        return here;
    }

    private static HostedExec hosted(RunningExec exec) {
        HostedExec hosted = exec.hosted();
        if (hosted == null) {
            throw CaissonException.of(
                            ErrorCode.INVALID_STATE, "The exec " + exec.id + " has not begun.")
                    .withDetail("current", exec.doc().state);
        }
        return hosted;
    }

    @Override
    public void input(Caller caller, String id, InputStream data, boolean eof) throws IOException {
        RunningExec exec = live(caller, id);
        uses.requireRoot(caller, exec.box());
        OutputStream stdin = hosted(exec).stdin();
        byte[] buffer = new byte[BUFFER];
        ReentrantLock turn = exec.input(); // of one client at a time
        turn.lock();
        try {
            for (int read = data.read(buffer); read >= 0; read = data.read(buffer)) {
                stdin.write(buffer, 0, read);
            }
            stdin.flush();
            if (eof) {
                stdin.close();
            }
        } finally {
            turn.unlock();
        }
        exec.box().touch(now());
    }

    @Override
    public void signal(Caller caller, String id, int signal, boolean whole) {
        RunningExec exec = live(caller, id);
        hosted(exec).signal(signal, whole);
        exec.start().write();
        parts.ledger()
                .actSoon(tx -> {
                    parts.ledger()
                            .event(
                                    tx,
                                    caller,
                                    EventType.EXEC_SIGNALLED,
                                    exec.doc().subject(),
                                    "",
                                    Map.of("signal", (long) signal));
                });
    }

    @Override
    public ExecJson kill(Caller caller, String id) {
        Access.require(caller, "execs:write");
        Known known = here(caller, id);
        RunningExec here = known.running();
        if (here == null) {
            return form(known);
        }
        here.kill();
        return await(caller, id, Duration.ofSeconds(10)).orElseGet(() -> form(known));
    }

    @Override
    public void resize(Caller caller, String id, PtyJson size) {
        RunningExec exec = live(caller, id);
        PtySize checked = new PtySize(size.rows(), size.cols());
        hosted(exec).resize(checked.rows(), checked.cols());
    }

    /** Takes up an exec that an earlier server started. */
    void adopt(RunningExec exec) {
        known(exec);
        parts.secrets().adopt(exec);
        exec.box().begun.adopt(exec.id, exec.doc().createdAt);
    }

    @SuppressWarnings("FutureReturnValueIgnored") // whatever the end was
    private void known(RunningExec exec) {
        running.put(exec.id, exec);
        exec.box().execs.put(exec.id, exec);
        exec.end().whenComplete((last, failure) -> running.remove(exec.id, exec));
    }

    int count() {
        return running.size();
    }

    /** Where commands run. */
    ExecPlaces places() {
        return places;
    }

    /** The log of an exec that is found again. */
    OutputLog recovered(ExecDoc doc) {
        return OutputLog.recover(
                folder(doc.sandbox),
                doc.id,
                Captures.headBytes(doc.outputLimit),
                parts.config().logPerExec().bytes());
    }
}
