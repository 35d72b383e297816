package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.core.EgressGateway;
import dev.caisson.core.EgressListener.Question;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks people about destinations that no rule allows, in the mode {@code ask}. Whatever goes wrong
 * on the way is a no. Thread-safe.
 */
final class Destinations {
    private static final Logger LOG = LoggerFactory.getLogger(Destinations.class);

    private final Policies policies;
    private final Boxes boxes;
    private final Approvals approvals;

    Destinations(Policies policies, Boxes boxes, Approvals approvals) {
        this.policies = policies;
        this.boxes = boxes;
        this.approvals = approvals;
    }

    /** Asks, waits and tells the gateway. */
    void ask(Question question, EgressGateway gateway) {
        boolean allow = false;
        try {
            Box box = boxes.of(question.sandbox()).orElse(null);
            allow = box != null && allowed(box, question);
        } catch (CaissonException e) {
            LOG.atInfo()
                    .addKeyValue("sandbox", question.sandbox())
                    .addKeyValue("cause", e.message())
                    .log("nobody could be asked about a destination: refused");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        gateway.decide(question.number(), allow, allow);
    }

    private boolean allowed(Box box, Question question) throws InterruptedException {
        SandboxDoc doc = box.doc();
        Caller caller =
                new Caller(
                        doc.tenant,
                        doc.keyId,
                        "sandbox " + box.id,
                        Role.AGENT,
                        Set.of(),
                        doc.keyPolicy,
                        false,
                        Map.of(),
                        null,
                        Proof.NONE);
        EffectivePolicy policy = policies.effective(caller, doc.policy);
        Ledger.Subject about = Ledger.Subject.sandbox(doc.tenant, box.id, doc.session);
        Approvals.Pending pending =
                approvals
                        .destination(
                                caller,
                                policy,
                                about,
                                question.target(),
                                Map.of("rule", question.rule()))
                        .orElse(null);
        if (pending == null) {
            return true; // remembered
        }
        try {
            return pending.decision()
                    .get(policy.approvalTimeout().toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException | TimeoutException e) {
            return false;
        }
    }
}
