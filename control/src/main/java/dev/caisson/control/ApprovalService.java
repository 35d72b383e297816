package dev.caisson.control;

import dev.caisson.v1.ApprovalJson;
import dev.caisson.v1.DecisionRequest;
import dev.caisson.v1.Page;

/**
 * Requests that wait for a person. The key that asked can never decide, nor can one that it has
 * made or rotated.
 */
public interface ApprovalService {
    /** One. */
    ApprovalJson find(Caller caller, String id);

    /** Newest first. */
    Page<ApprovalJson> list(Caller caller, Listing listing);

    /** Decides; an approval that is not waiting any more is an invalid state. */
    ApprovalJson decide(Caller caller, String id, DecisionRequest decision);
}
