package dev.caisson.egress;

import dev.caisson.policy.Destination;
import dev.caisson.policy.HttpRequestLine;
import dev.caisson.policy.Verdict;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Judges requests to destinations that it knows better than the rules of requests do, such as
 * registries of packages. Safe for use by several threads.
 */
interface RequestGate {
    /**
     * Judges a request, before anything is connected to.
     *
     * @param target path and query, as sent
     * @return empty: this destination is not its business, and the policy decides
     */
    Optional<Gated> judge(
            Session session, Destination.Named to, HttpRequestLine request, String target);

    /**
     * What a gate says.
     *
     * @param kind of a denial: {@code egress, package, secret}
     * @param verdict whether the request may be made; the policy is not asked any more
     * @param filter sees the answer; empty: it passes as it is
     * @param subject what a denial is about, for people; empty: the request itself
     * @param headers set in the request that is forwarded, by lower-case name; an empty list takes
     *     a field away
     * @param first path and query of what the gateway itself asks the same server for, as this
     *     request would, before it is judged again: then more is known
     */
    record Gated(
            String kind,
            Verdict verdict,
            Optional<AnswerFilter> filter,
            String subject,
            Map<String, List<String>> headers,
            Optional<String> first) {
        /** Leaves the request as it is. */
        Gated(String kind, Verdict verdict, Optional<AnswerFilter> filter) {
            this(kind, verdict, filter, "", Map.of(), Optional.empty());
        }
    }
}
