package dev.caisson.mcp;

import dev.caisson.api.Caisson;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.FileInfo;
import dev.caisson.api.Sandbox;
import dev.caisson.api.SandboxSpec;
import dev.caisson.v1.ApprovalJson;
import dev.caisson.v1.ExecRequest;
import dev.caisson.v1.FileJson;
import dev.caisson.v1.Page;
import dev.caisson.v1.ResultFileJson;
import dev.caisson.v1.ResultJson;
import dev.caisson.v1.RunRequest;
import dev.caisson.v1.SandboxJson;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The tools on the Java API: the embedded library, or the client of a remote server. There are no
 * approvals here. Closing it ends what it runs and leaves the {@link Caisson} open, whose opener
 * closes it.
 */
public final class CaissonBackend implements Backend {
    private static final Duration DEFAULT_LIFE = Duration.ofHours(1);

    private final Caisson caisson;
    private final Works works = new Works();
    private final Map<String, Life> lives = new ConcurrentHashMap<>();

    private record Life(Instant createdAt, Instant endsAt) {}

    /** On a library that stays open at least as long. */
    public CaissonBackend(Caisson caisson) {
        this.caisson = caisson;
    }

    @Override
    public SandboxJson create(
            @Nullable String name, Map<String, String> labels, @Nullable Duration timeout) {
        Duration life = timeout == null ? DEFAULT_LIFE : timeout;
        SandboxSpec spec = SandboxSpec.defaults().withLabels(labels).withMaxLife(life);
        Sandbox made = caisson.create(name == null ? spec : spec.withName(name));
        Instant now = Instant.now();
        lives.keySet().retainAll(caisson.sandboxes().stream().map(Sandbox::id).toList());
        lives.put(made.id(), new Life(now, now.plus(life)));
        return form(made);
    }

    private SandboxJson form(Sandbox sandbox) {
        Life life = lives.get(sandbox.id());
        return life == null
                ? CaissonForms.sandbox(sandbox, Instant.EPOCH, null)
                : CaissonForms.sandbox(sandbox, life.createdAt(), life.endsAt());
    }

    /** One page: the cursor is not used. */
    @Override
    public Page<SandboxJson> list(Map<String, String> labels, int limit, @Nullable String cursor) {
        List<Sandbox> all = new ArrayList<>(caisson.sandboxes());
        List<SandboxJson> items =
                all.reversed().stream()
                        .filter(one ->
                                one.spec().labels().entrySet().containsAll(labels.entrySet()))
                        .limit(limit)
                        .map(this::form)
                        .toList();
        return new Page<>(items, null);
    }

    @Override
    public void delete(String sandbox) {
        find(sandbox).close();
    }

    private Sandbox find(String sandbox) {
        return caisson.sandboxes().stream()
                .filter(one ->
                        one.id().equals(sandbox)
                                || one.spec().name().filter(sandbox::equals).isPresent())
                .findFirst()
                .orElseThrow(() ->
                        CaissonException.of(
                                        ErrorCode.NOT_FOUND,
                                        "There is no living sandbox '" + sandbox + "'.")
                                .withRemedy("Make one with create_sandbox."));
    }

    @Override
    public Work run(RunRequest request) {
        return works.keep(LocalRuns.start(caisson, request));
    }

    @Override
    public Work start(String sandbox, ExecRequest request) {
        return works.keep(LocalRuns.start(find(sandbox), request));
    }

    @Override
    public Work work(String id) {
        return works.find(id);
    }

    @Override
    public FileJson stat(String sandbox, String path) {
        FileInfo info =
                find(sandbox)
                        .files()
                        .stat(path)
                        .orElseThrow(() ->
                                CaissonException.of(
                                        ErrorCode.NOT_FOUND, "There is no file '" + path + "'."));
        return CaissonForms.file(info, "");
    }

    @Override
    public List<FileJson> list(String sandbox, String path, boolean recursive) {
        Sandbox found = find(sandbox);
        List<FileInfo> infos = recursive ? found.files().listTree(path) : found.files().list(path);
        return infos.stream().map(info -> CaissonForms.file(info, path)).toList();
    }

    @Override
    public byte[] read(String sandbox, String path, long offset, int length) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        find(sandbox).files().read(path, offset, length, bytes);
        return bytes.toByteArray();
    }

    @Override
    public FileJson write(String sandbox, String path, byte[] content, int mode) {
        find(sandbox).files().write(path, new ByteArrayInputStream(content), mode);
        return stat(sandbox, path);
    }

    @Override
    public void remove(String sandbox, String path, boolean recursive) {
        Sandbox found = find(sandbox);
        if (recursive) {
            found.files().removeTree(path);
        } else {
            found.files().remove(path);
        }
    }

    /** Files up to 64 KiB, for as long as the run is among the last ones. */
    @Override
    public byte[] runFile(String run, String path, int limit) {
        ResultJson result = works.find(run).status().result();
        String data =
                result == null
                        ? null
                        : result.files().stream()
                                .filter(file -> same(file, path))
                                .map(ResultFileJson::data)
                                .filter(java.util.Objects::nonNull)
                                .findFirst()
                                .orElse(null);
        if (data == null) {
            throw CaissonException.of(
                            ErrorCode.NOT_FOUND,
                            "The file '" + path + "' of " + run + " is not kept.")
                    .withRemedy("Make a sandbox with create_sandbox, and run in it.");
        }
        return Base64.getDecoder().decode(data);
    }

    private static boolean same(ResultFileJson file, String path) {
        return file.path().equals(path) || ("/work/" + file.path()).equals(path);
    }

    @Override
    public Optional<ApprovalJson> approval(String id) {
        return Optional.empty();
    }

    @Override
    public boolean decides() {
        return false;
    }

    @Override
    public void decide(String approval, boolean approve) {
        throw CaissonException.of(ErrorCode.POLICY_DENIED, "There are no approvals here.");
    }

    @Override
    public void close() {
        works.close();
    }
}
