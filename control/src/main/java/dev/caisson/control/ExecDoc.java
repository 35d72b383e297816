package dev.caisson.control;

import com.fasterxml.jackson.annotation.JsonAutoDetect;
import dev.caisson.api.ByteSize;
import dev.caisson.api.ExecSpec;
import dev.caisson.core.Ids;
import dev.caisson.v1.ErrorJson;
import dev.caisson.v1.ExecJson;
import dev.caisson.v1.ExecRequest;
import dev.caisson.v1.Json;
import dev.caisson.v1.ResultJson;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** An exec as it is stored. Not changed once other threads can see it: a copy takes its place. */
@JsonAutoDetect(fieldVisibility = JsonAutoDetect.Visibility.ANY)
final class ExecDoc {
    static final String STARTING = "starting";
    static final String WAITING = "waiting_approval";
    static final String RUNNING = "running";
    static final String ENDED = "ended";
    static final String FAILED = "failed";

    String id = "";
    String tenant = "";
    String sandbox = "";
    String session = "";
    @Nullable String run;
    String state = STARTING;
    List<String> argv = List.of();
    String cwd = "";
    String user = "";
    boolean pty;
    boolean stdin;
    @Nullable Long pid;
    Instant createdAt = Instant.EPOCH;
    @Nullable Instant endedAt;
    @Nullable ResultJson result; // its output is made from the log
    @Nullable ErrorJson error;
    @Nullable String approval;
    String keyId = "";
    long outputLimit;
    long outputBytes;
    @Nullable String log; // base64: the whole log, when it is small
    @Nullable String keeper; // server with the files of the log, when it is not
    long @Nullable [] written; // by descriptor, also of what is not kept any more
    @Nullable Map<String, String> secrets; // of its own, as those of a sandbox
    @Nullable String language; // of a run's code, for hints

    static ExecDoc of(Row row) {
        return Json.read(row.body(), ExecDoc.class);
    }

    /** One that is to be started in a sandbox. */
    static ExecDoc fresh(Caller caller, Box box, ExecRequest request, ExecSpec spec) {
        ExecDoc doc = new ExecDoc();
        doc.id = Ids.next(Ids.Kind.EXEC);
        doc.tenant = box.tenant;
        doc.sandbox = box.id;
        doc.session = box.doc().session;
        doc.argv = spec.argv();
        doc.cwd = spec.cwd();
        doc.user = request.user() == null ? "sandbox" : spec.user().label();
        doc.pty = spec.pty().isPresent();
        doc.stdin = spec.stdin();
        doc.keyId = caller.keyId();
        doc.outputLimit = spec.outputLimit().map(ByteSize::bytes).orElse(0L);
        return doc;
    }

    Row row(long version, @Nullable String node, @Nullable Instant due) {
        return new Row(
                id,
                tenant,
                sandbox,
                null,
                state,
                node,
                createdAt,
                due,
                java.util.Map.of(),
                version,
                Json.write(this));
    }

    /** A copy to change. */
    ExecDoc copy() {
        ExecDoc copy = new ExecDoc();
        copy.id = id;
        copy.tenant = tenant;
        copy.sandbox = sandbox;
        copy.session = session;
        copy.run = run;
        copy.state = state;
        copy.argv = argv;
        copy.cwd = cwd;
        copy.user = user;
        copy.pty = pty;
        copy.stdin = stdin;
        copy.pid = pid;
        copy.createdAt = createdAt;
        copy.endedAt = endedAt;
        copy.result = result;
        copy.error = error;
        copy.approval = approval;
        copy.keyId = keyId;
        copy.outputLimit = outputLimit;
        copy.outputBytes = outputBytes;
        copy.log = log;
        copy.keeper = keeper;
        copy.written = written;
        copy.language = language;
        copy.secrets = secrets;
        return copy;
    }

    boolean over() {
        return state.equals(ENDED) || state.equals(FAILED);
    }

    Ledger.Subject subject() {
        return new Ledger.Subject(tenant, sandbox, session, id, run);
    }

    ExecJson form(@Nullable ResultJson told) {
        return new ExecJson(
                id, sandbox, session, state, argv, cwd, user, pty, pid, createdAt, endedAt, told,
                error, approval);
    }
}
