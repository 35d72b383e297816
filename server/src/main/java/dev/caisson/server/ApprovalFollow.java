package dev.caisson.server;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.control.ApprovalService;
import dev.caisson.control.Caller;
import dev.caisson.control.Listing;
import dev.caisson.v1.ApprovalJson;
import dev.caisson.v1.Page;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Approvals as they come and change: the newest of a list, and all that wait, however many newer
 * ones there are. Of one thread.
 */
final class ApprovalFollow {
    private static final String WAITING = "waiting";
    private static final int PAGE = 200;

    /** Of many more than may wait: a look has an end. */
    private static final int MAX_PAGES = 50;

    private final ApprovalService approvals;
    private final Caller caller;
    private final Listing listing;

    /** What was told of those that are still looked at. */
    private Map<String, String> told = new HashMap<>();

    ApprovalFollow(ApprovalService approvals, Caller caller, Listing listing) {
        this.approvals = approvals;
        this.caller = caller;
        this.listing = listing;
    }

    /** What is new or has changed since the last time; the oldest first. */
    List<ApprovalJson> news() {
        Map<String, ApprovalJson> now = new TreeMap<>();
        approvals.list(caller, listing).items().forEach(one -> now.put(one.id(), one));
        if (wanted(WAITING)) {
            waiting(now);
        }
        for (Map.Entry<String, String> before : told.entrySet()) {
            if (before.getValue().equals(WAITING) && !now.containsKey(before.getKey())) {
                ApprovalJson one = found(before.getKey());
                if (one != null && wanted(one.state())) {
                    now.put(one.id(), one); // decided, behind newer ones
                }
            }
        }
        List<ApprovalJson> news =
                now.values().stream()
                        .filter(one -> !one.state().equals(told.get(one.id())))
                        .sorted(
                                Comparator.comparing(ApprovalJson::createdAt)
                                        .thenComparing(ApprovalJson::id))
                        .toList();
        Map<String, String> next = new HashMap<>();
        now.values().forEach(one -> next.put(one.id(), one.state()));
        told = next;
        return news;
    }

    private boolean wanted(String state) {
        return listing.states().isEmpty() || listing.states().contains(state);
    }

    /** Adds all that wait, page after page. */
    private void waiting(Map<String, ApprovalJson> now) {
        String cursor = null;
        int pages = 0;
        do {
            Page<ApprovalJson> page =
                    approvals.list(
                            caller,
                            new Listing(
                                    PAGE,
                                    cursor,
                                    Set.of(WAITING),
                                    listing.labels(),
                                    listing.name()));
            page.items().forEach(one -> now.put(one.id(), one));
            cursor = page.nextCursor();
        } while (cursor != null && ++pages < MAX_PAGES);
    }

    private @Nullable ApprovalJson found(String id) {
        try {
            return approvals.find(caller, id);
        } catch (CaissonException e) {
            if (e.code() == ErrorCode.NOT_FOUND) {
                return null; // deleted since
            }
            throw e;
        }
    }
}
