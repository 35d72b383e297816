package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.EventType;
import dev.caisson.core.Ids;
import dev.caisson.v1.ApprovalJson;
import dev.caisson.v1.ApprovalRule;
import dev.caisson.v1.DecisionRequest;
import dev.caisson.v1.ExecRequest;
import dev.caisson.v1.Json;
import dev.caisson.v1.Page;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Requests that wait for a person. The key that asked can never decide, nor can one whose secret
 * the asker may know ({@link Lineage}). An answer that is remembered is the row of the approval
 * itself, found by a hash of what was asked: together with the session, or with the version of the
 * policy, so that a change of the policy withdraws it. Thread-safe.
 */
final class Approvals implements ApprovalService {
    private static final String NOUN = "approvals";
    private static final String WAITING = "waiting";
    private static final String APPROVED = "approved";
    private static final String DENIED = "denied";
    private static final String EXPIRED = "expired";
    private static final String WITHDRAWN = "withdrawn";
    private static final String REMEMBERED = "remembered";
    private static final int MAX_WAITING = 1000;
    private static final Set<String> REMEMBER = Set.of("once", "session", "policy");

    private final Ledger ledger;
    private final Cursors cursors;

    /** What waits on this server. */
    private final Map<String, CompletableFuture<Boolean>> waiting = new ConcurrentHashMap<>();

    Approvals(Ledger ledger, Cursors cursors) {
        this.ledger = ledger;
        this.cursors = cursors;
    }

    /** A request that waits; the decision is false for no, expired and withdrawn. */
    record Pending(String id, CompletableFuture<Boolean> decision) {}

    /** What is asked. */
    private record Question(
            String kind,
            String subject,
            Map<String, String> details,
            String onceMore,
            String always) {}

    /**
     * Asks when the policy says so and no remembered answer fits; durable when this returns. A
     * remembered no is an answer too: then the decision is there already.
     */
    Optional<Pending> exec(
            Caller caller, EffectivePolicy policy, Ledger.Subject about, Command asked) {
        ExecRequest request = asked.request();
        String user = asked.user();
        List<ApprovalRule> rules = Asking.about(policy.ask(), request, user);
        if (rules.isEmpty()) {
            return Optional.empty(); // what follows holds all that was asked once more
        }
        String command = request.command();
        String line = command == null ? Json.write(request.argv()) : command;
        Map<String, String> details = new TreeMap<>();
        details.put(command == null ? "argv" : "command", line);
        details.put("user", Asking.user(user));
        details.put("cwd", Asking.folder(request));
        // The same command does something else with these; values may be secrets and are not shown.
        if (!asked.env().isEmpty()) {
            details.put("env", Asking.shown(String.join(" ", new TreeSet<>(asked.env().keySet()))));
        }
        if (!request.secrets().isEmpty()) {
            details.put("secrets", Asking.shown(String.join(" ", request.secrets())));
        }
        String input = request.input();
        if (input != null) {
            details.put("input", Asking.shown(input));
        }
        Execs.Origin origin = asked.origin();
        String code = origin == null ? null : origin.code();
        if (code != null) {
            details.put("code", Asking.shown(code));
        }
        String files = origin == null ? "" : origin.files().get();
        if (!files.isEmpty() && !files.equals(Execs.NO_FILES)) {
            details.put("files", "sha256 " + files);
        }
        String subject = command == null ? String.join(" ", request.argv()) : command;
        String unseen =
                Json.write(
                        List.of(
                                new TreeMap<>(asked.env()),
                                input == null ? "" : input,
                                code == null ? "" : code,
                                files));
        return ask(caller, policy, about, rules, new Matter(Asking.EXEC, subject, details, unseen));
    }

    /**
     * A command that somebody wants to run.
     *
     * @param user inside, as asked
     * @param origin of a run's command: what it runs counts as well
     * @param env that it gets from the request and from its sandbox
     */
    record Command(
            ExecRequest request,
            String user,
            Execs.@Nullable Origin origin,
            Map<String, String> env) {}

    /** The same for another kind, for instance a port. */
    Optional<Pending> other(
            Caller caller,
            EffectivePolicy policy,
            Ledger.Subject about,
            String kind,
            String subject,
            Map<String, String> details) {
        List<ApprovalRule> rules = Asking.about(policy.ask(), kind, subject);
        return ask(caller, policy, about, rules, new Matter(kind, subject, details, ""));
    }

    /**
     * A destination that no rule of the way out allows: asked whether or not a rule asks about it.
     */
    Optional<Pending> destination(
            Caller caller,
            EffectivePolicy policy,
            Ledger.Subject about,
            String target,
            Map<String, String> details) {
        List<ApprovalRule> rules = Asking.about(policy.ask(), Asking.DESTINATION, target);
        return ask(
                caller,
                policy,
                about,
                rules.isEmpty() ? Asking.ANY_DESTINATION : rules,
                new Matter(Asking.DESTINATION, target, details, ""));
    }

    /** What is asked; the last part counts when answers are remembered, and is not shown. */
    private record Matter(
            String kind, String subject, Map<String, String> details, String unseen) {}

    private Optional<Pending> ask(
            Caller caller,
            EffectivePolicy policy,
            Ledger.Subject about,
            List<ApprovalRule> rules,
            Matter matter) {
        if (rules.isEmpty()) {
            return Optional.empty();
        }
        String asked =
                Json.write(
                        List.of(
                                matter.kind(),
                                rules,
                                matter.subject(),
                                new TreeMap<>(matter.details()),
                                matter.unseen()));
        String life = String.valueOf(about.session() == null ? about.sandbox() : about.session());
        Question question =
                new Question(
                        matter.kind(),
                        Asking.shown(matter.subject()),
                        matter.details(),
                        Credentials.sha256("session\n" + life + "\n" + asked),
                        Credentials.sha256("policy\n" + policy.version() + "\n" + asked));
        Row answered = ledger.read(tx -> remembered(tx, about.tenant(), question)).orElse(null);
        if (answered == null) {
            return Optional.of(request(caller, policy, about, question));
        }
        return answered.state().equals(APPROVED)
                ? Optional.empty()
                : Optional.of(new Pending(answered.id(), CompletableFuture.completedFuture(false)));
    }

    /** How many this server waits for. */
    int waiting() {
        return waiting.size();
    }

    private static Optional<Row> remembered(Store.Tx tx, String tenant, Question question) {
        Query of = Query.of(tenant).withStates(APPROVED, DENIED).withPage(null, 1);
        return tx
                .list(Kind.APPROVAL, of.withLabels(Map.of(REMEMBERED, question.onceMore())))
                .stream()
                .findFirst()
                .or(() ->
                        tx
                                .list(
                                        Kind.APPROVAL,
                                        of.withLabels(Map.of(REMEMBERED, question.always())))
                                .stream()
                                .findFirst());
    }

    private Pending request(
            Caller caller, EffectivePolicy policy, Ledger.Subject about, Question question) {
        Row row = row(caller, policy, about, question);
        CompletableFuture<Boolean> decision = new CompletableFuture<>();
        waiting.put(row.id(), decision);
        boolean written = false;
        try {
            ledger.write(tx -> insert(tx, caller, about, row));
            written = true;
        } finally {
            if (!written) {
                waiting.remove(row.id());
            }
        }
        return new Pending(row.id(), decision);
    }

    private Row row(
            Caller caller, EffectivePolicy policy, Ledger.Subject about, Question question) {
        ApprovalDoc doc =
                new ApprovalDoc(
                        question.kind(),
                        about.session(),
                        about.exec(),
                        question.subject(),
                        question.details(),
                        caller.keyId(),
                        question.onceMore(),
                        question.always(),
                        null,
                        null,
                        null);
        Instant now = ledger.now();
        return new Row(
                Ids.next(Ids.Kind.APPROVAL),
                about.tenant(),
                about.sandbox(),
                null,
                WAITING,
                ledger.store().node(),
                now,
                now.plus(policy.approvalTimeout()),
                Map.of(),
                1,
                Json.write(doc));
    }

    private boolean insert(Store.Tx tx, Caller caller, Ledger.Subject about, Row row) {
        Query others = Query.of(row.tenant()).withStates(WAITING);
        if (tx.count(Kind.APPROVAL, others) >= MAX_WAITING) {
            throw CaissonException.of(
                            ErrorCode.QUOTA_EXCEEDED,
                            "There are " + MAX_WAITING + " approvals waiting already.")
                    .withRemedy("Decide those first.")
                    .withDetail("limit", "approvals")
                    .withDetail("allowed", Integer.toString(MAX_WAITING));
        }
        tx.insert(Kind.APPROVAL, row);
        Map<String, Object> data = Map.of("approval", row.id());
        ledger.event(tx, caller, EventType.APPROVAL_REQUESTED, about, "policy", data);
        return true;
    }

    @Override
    public ApprovalJson find(Caller caller, String id) {
        Access.require(caller, "approvals:read");
        return form(ledger.read(tx -> Rows.require(tx, Kind.APPROVAL, caller.tenant(), id)));
    }

    @Override
    public Page<ApprovalJson> list(Caller caller, Listing listing) {
        Access.require(caller, "approvals:read");
        Query query = cursors.page(Query.of(caller.tenant()), listing, NOUN);
        List<Row> rows = ledger.read(tx -> tx.list(Kind.APPROVAL, query));
        return cursors.answer(rows, query, listing, NOUN, Approvals::form);
    }

    private static ApprovalDoc doc(Row row) {
        return Json.read(row.body(), ApprovalDoc.class);
    }

    private static ApprovalJson form(Row row) {
        return doc(row).form(row);
    }

    @Override
    public ApprovalJson decide(Caller caller, String id, DecisionRequest decision) {
        Access.require(caller, "approvals:write");
        String remember = decision.remember() == null ? "once" : decision.remember();
        if (!REMEMBER.contains(remember)) {
            throw CaissonException.invalid("remember", "'" + remember + "' is no time.")
                    .withDetail("allowed", "once, session, policy");
        }
        Row decided;
        try {
            decided = ledger.write(tx -> decide(tx, caller, id, decision.approve(), remember));
        } catch (CaissonException e) {
            if (e.code() == ErrorCode.PRECONDITION_FAILED) {
                // Somebody else decided at the same moment.
                throw over(id, "decided");
            }
            throw e;
        }
        complete(id, decision.approve());
        return form(decided);
    }

    private Row decide(Store.Tx tx, Caller caller, String id, boolean approve, String remember) {
        Row row = Rows.require(tx, Kind.APPROVAL, caller.tenant(), id);
        ApprovalDoc doc = doc(row);
        mayDecide(tx, caller, doc);
        Instant now = ledger.now();
        if (!row.state().equals(WAITING)) {
            throw over(id, row.state());
        }
        if (row.due() != null && !now.isBefore(row.due())) {
            throw over(id, EXPIRED);
        }
        String state = approve ? APPROVED : DENIED;
        Row next = Rows.with(row, state, row.due(), doc.decided(caller.keyId(), now, remember));
        switch (remember) {
            case "session" -> next = Rows.withLabels(next, Map.of(REMEMBERED, doc.onceMore()));
            case "policy" -> next = Rows.withLabels(next, Map.of(REMEMBERED, doc.always()));
            default -> {}
        }
        Map<String, Object> data = Map.of("approval", id, "remember", remember);
        ledger.event(tx, caller, EventType.APPROVAL_DECIDED, about(row, doc), state, data);
        return tx.update(Kind.APPROVAL, next);
    }

    private static void mayDecide(Store.Tx tx, Caller caller, ApprovalDoc doc) {
        boolean role = caller.role() == Role.ADMIN || caller.role() == Role.OPERATOR;
        if (!role || caller.keyId().equals(doc.requestedBy())) {
            throw CaissonException.of(
                            ErrorCode.POLICY_DENIED,
                            role
                                    ? "The key that asked cannot decide."
                                    : "A key of this role decides no approvals.")
                    .withRemedy("Decide with another admin's or operator's key.");
        }
        if (Lineage.of(tx, caller.keyId()).contains(doc.requestedBy())) {
            throw CaissonException.of(
                            ErrorCode.POLICY_DENIED,
                            "Who asked has made or rotated this key, or one that did.")
                    .withRemedy(
                            "Decide with a key that the asker has neither made nor rotated, such"
                                    + " as the one that made the asker's.");
        }
    }

    private static CaissonException over(String id, String state) {
        return CaissonException.of(
                        ErrorCode.INVALID_STATE,
                        "The approval " + id + " is not waiting any more: " + state + ".")
                .withDetail("current", state);
    }

    private static Ledger.Subject about(Row row, ApprovalDoc doc) {
        return new Ledger.Subject(row.tenant(), row.parent(), doc.session(), doc.exec(), null);
    }

    private void complete(String id, boolean approved) {
        CompletableFuture<Boolean> decision = waiting.remove(id);
        if (decision != null) {
            decision.complete(approved);
        }
    }

    /** What was asked is not wanted any more: its exec was killed, its sandbox ended. */
    void withdraw(String id) {
        close(id, WITHDRAWN, "withdrawn");
        complete(id, false);
    }

    private void close(String id, String state, String reason) {
        try {
            ledger.write(tx -> close(tx, id, state, reason));
        } catch (CaissonException e) {
            // Somebody decided at the same moment.
            if (e.code() != ErrorCode.PRECONDITION_FAILED) {
                throw e;
            }
        }
    }

    private boolean close(Store.Tx tx, String id, String state, String reason) {
        Row row = tx.find(Kind.APPROVAL, id).orElse(null);
        if (row == null || !row.state().equals(WAITING)) {
            return false;
        }
        ApprovalDoc doc = doc(row);
        tx.update(Kind.APPROVAL, Rows.with(row, state, row.due(), doc));
        Map<String, Object> data = Map.of("approval", id);
        ledger.event(tx, EventType.APPROVAL_EXPIRED, about(row, doc), reason, data);
        return true;
    }

    /** What an earlier process of this node asked: nothing waits for the answer any more. */
    void start() {
        Query left = Query.ALL.withNode(ledger.store().node()).withStates(WAITING);
        for (Row row : ledger.read(tx -> tx.list(Kind.APPROVAL, left))) {
            if (!waiting.containsKey(row.id())) {
                close(row.id(), EXPIRED, "server_restarted");
            }
        }
    }

    /**
     * Says no where nobody answered in time, and hears what other servers were told; a timer calls
     * it each second.
     */
    void expire(Instant now) {
        Query late = Query.ALL.withStates(WAITING).withDueBefore(now.plusMillis(1));
        for (Row row : ledger.read(tx -> tx.list(Kind.APPROVAL, late))) {
            close(row.id(), EXPIRED, "timeout");
        }
        if (!waiting.isEmpty()) {
            Map<String, String> states = ledger.read(this::states);
            states.forEach((id, state) -> {
                if (!state.equals(WAITING)) {
                    complete(id, state.equals(APPROVED));
                }
            });
        }
    }

    private Map<String, String> states(Store.Tx tx) {
        Map<String, String> states = new LinkedHashMap<>();
        for (String id : waiting.keySet()) {
            @Nullable Row row = tx.find(Kind.APPROVAL, id).orElse(null);
            if (row != null) {
                states.put(id, row.state());
            }
        }
        return states;
    }

    /**
     * Deletes what was answered before, but what is remembered; a timer calls it.
     *
     * @return how many
     */
    long purge(Instant before) {
        Query over =
                Query.ALL
                        .withStates(APPROVED, DENIED, EXPIRED, WITHDRAWN)
                        .withDueBefore(before)
                        .withPage(null, 1000);
        return ledger.write(tx -> {
            long gone = 0;
            for (Row row : tx.list(Kind.APPROVAL, over)) {
                if (!"policy".equals(doc(row).remember())) {
                    gone += tx.delete(Kind.APPROVAL, row.id()) ? 1 : 0;
                }
            }
            return gone;
        });
    }
}
