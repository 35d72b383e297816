package dev.caisson.mcp;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.control.Caller;
import dev.caisson.control.Control;
import dev.caisson.control.Listing;
import dev.caisson.v1.ApprovalJson;
import dev.caisson.v1.DecisionRequest;
import dev.caisson.v1.ExecRequest;
import dev.caisson.v1.FileJson;
import dev.caisson.v1.Page;
import dev.caisson.v1.RunRequest;
import dev.caisson.v1.SandboxJson;
import dev.caisson.v1.SandboxRequest;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The tools on the service, for one caller. Closing it leaves the service open. */
public final class ControlBackend implements Backend {
    private static final Set<String> LIVING =
            Set.of("creating", "running", "pausing", "paused", "resuming", "snapshotting");

    private final Control control;
    private final Caller caller;
    private final @Nullable Caller approver;

    /** For a caller; nobody decides approvals through the session. */
    public ControlBackend(Control control, Caller caller) {
        this(control, caller, null);
    }

    private ControlBackend(Control control, Caller caller, @Nullable Caller approver) {
        this.control = control;
        this.caller = caller;
        this.approver = approver;
    }

    /**
     * The same with the credential by which the session's user decides approvals.
     *
     * @throws CaissonException {@link ErrorCode#POLICY_DENIED} when it may not, is the key that
     *     asks, or is of another tenant
     */
    public ControlBackend withApprover(Caller newApprover) {
        if (newApprover.keyId().equals(caller.keyId())
                || !newApprover.tenant().equals(caller.tenant())) {
            throw CaissonException.of(
                            ErrorCode.POLICY_DENIED,
                            "The approver's key must be another key of the same tenant.")
                    .withRemedy(
                            "Give the setting mcp.approverKeyFile a key that may write approvals.");
        }
        control.require(newApprover, "approvals:write");
        return new ControlBackend(control, caller, newApprover);
    }

    @Override
    public SandboxJson create(
            @Nullable String name, Map<String, String> labels, @Nullable Duration timeout) {
        SandboxRequest request =
                new SandboxRequest(
                        name,
                        null,
                        labels,
                        null,
                        null,
                        null,
                        null,
                        null,
                        Map.of(),
                        timeout == null ? null : timeout.toMillis(),
                        null,
                        null,
                        null,
                        null,
                        null,
                        List.of(),
                        true,
                        null,
                        null,
                        null,
                        List.of());
        return control.sandboxes().create(caller, request).sandbox();
    }

    @Override
    public Page<SandboxJson> list(Map<String, String> labels, int limit, @Nullable String cursor) {
        return control.sandboxes().list(caller, new Listing(limit, cursor, LIVING, labels, null));
    }

    @Override
    public void delete(String sandbox) {
        control.sandboxes().delete(caller, sandbox);
    }

    @Override
    public Work run(RunRequest request) {
        return new ControlRun(control, caller, control.runs().start(caller, request));
    }

    @Override
    public Work start(String sandbox, ExecRequest request) {
        return new ControlExec(control, caller, control.execs().start(caller, sandbox, request));
    }

    @Override
    public Work work(String id) {
        return id.startsWith("rn")
                ? new ControlRun(control, caller, control.runs().find(caller, id))
                : new ControlExec(control, caller, control.execs().find(caller, id));
    }

    @Override
    public FileJson stat(String sandbox, String path) {
        return control.files().stat(caller, sandbox, path);
    }

    @Override
    public List<FileJson> list(String sandbox, String path, boolean recursive) {
        return control.files().list(caller, sandbox, path, recursive);
    }

    @Override
    public byte[] read(String sandbox, String path, long offset, int length) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try {
            control.files().read(caller, sandbox, path, offset, length, bytes);
        } catch (IOException e) {
            throw broken(path, e);
        }
        return bytes.toByteArray();
    }

    @Override
    public FileJson write(String sandbox, String path, byte[] content, int mode) {
        try {
            ByteArrayInputStream in = new ByteArrayInputStream(content);
            return control.files().write(caller, sandbox, path, in, mode);
        } catch (IOException e) {
            throw broken(path, e);
        }
    }

    @Override
    public void remove(String sandbox, String path, boolean recursive) {
        control.files().delete(caller, sandbox, path, recursive);
    }

    @Override
    public byte[] runFile(String run, String path, int limit) {
        try (InputStream in = control.runs().open(caller, run, path)) {
            byte[] content = in.readNBytes(limit + 1);
            if (content.length > limit) {
                throw CaissonException.of(
                                ErrorCode.TOO_LARGE, "The file is larger than " + limit + " bytes.")
                        .withRemedy("Use a sandbox that lives on, and read parts of it.");
            }
            return content;
        } catch (IOException e) {
            throw broken(path, e);
        }
    }

    private static CaissonException broken(String path, IOException cause) {
        return CaissonException.of(
                ErrorCode.ENGINE_FAILED, "The file '" + path + "' could not be moved.", cause);
    }

    @Override
    public Optional<ApprovalJson> approval(String id) {
        Caller reader = approver == null ? caller : approver;
        try {
            return Optional.of(control.approvals().find(reader, id));
        } catch (CaissonException e) {
            if (e.code() == ErrorCode.POLICY_DENIED || e.code() == ErrorCode.NOT_FOUND) {
                return Optional.empty();
            }
            throw e;
        }
    }

    @Override
    public boolean decides() {
        return approver != null;
    }

    @Override
    public void decide(String approval, boolean approve) {
        Caller decider = approver;
        if (decider == null) {
            throw CaissonException.of(
                            ErrorCode.POLICY_DENIED, "The key that asked can never approve.")
                    .withRemedy("Decide with another key: POST /v1/approvals/{id}/decide.");
        }
        control.requireStill(decider);
        control.approvals().decide(decider, approval, new DecisionRequest(approve, "once"));
    }

    @Override
    public void close() {}
}
