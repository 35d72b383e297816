package dev.caisson.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.control.ApprovalService;
import dev.caisson.control.Caller;
import dev.caisson.control.Listing;
import dev.caisson.control.Role;
import dev.caisson.v1.ApprovalJson;
import dev.caisson.v1.DecisionRequest;
import dev.caisson.v1.Page;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class ApprovalFollowTest {
    private static final Caller CALLER = FakeControl.caller("alpha", Role.OPERATOR);

    /** A list in memory, newest first, in pages. */
    private static final class Asked implements ApprovalService {
        final List<ApprovalJson> all = new ArrayList<>();
        int longest;

        void add(int number, String state) {
            all.add(
                    new ApprovalJson(
                            "ap%04d".formatted(number),
                            "alpha",
                            "exec",
                            state,
                            null,
                            null,
                            "rm",
                            Map.of(),
                            "key",
                            Instant.EPOCH.plusSeconds(number),
                            Instant.EPOCH,
                            null,
                            null,
                            null));
        }

        void set(int number, String state) {
            all.removeIf(one -> one.id().equals("ap%04d".formatted(number)));
            if (!state.isEmpty()) {
                add(number, state);
            }
        }

        @Override
        public ApprovalJson find(Caller caller, String id) {
            return all.stream()
                    .filter(one -> one.id().equals(id))
                    .findFirst()
                    .orElseThrow(() -> CaissonException.of(ErrorCode.NOT_FOUND, "None."));
        }

        @Override
        public Page<ApprovalJson> list(Caller caller, Listing listing) {
            longest = Math.max(longest, listing.limit());
            List<ApprovalJson> found =
                    all.stream()
                            .filter(one ->
                                    listing.states().isEmpty()
                                            || listing.states().contains(one.state()))
                            .sorted((a, b) -> b.id().compareTo(a.id()))
                            .toList();
            int from = listing.cursor() == null ? 0 : Integer.parseInt(listing.cursor());
            int to = Math.min(found.size(), from + listing.limit());
            return new Page<>(
                    found.subList(from, to), to < found.size() ? Integer.toString(to) : null);
        }

        @Override
        public ApprovalJson decide(Caller caller, String id, DecisionRequest decision) {
            throw new UnsupportedOperationException();
        }
    }

    private final Asked asked = new Asked();

    private ApprovalFollow follow(String... states) {
        return new ApprovalFollow(
                asked, CALLER, new Listing(50, null, Set.of(states), Map.of(), null));
    }

    private static List<String> told(ApprovalFollow follow) {
        return follow.news().stream().map(one -> one.id() + " " + one.state()).toList();
    }

    @Test
    void tellsAllThatWaitHoweverMany() {
        for (int i = 0; i < 1000; i++) {
            asked.add(i, "waiting");
        }
        for (int i = 1000; i < 1100; i++) {
            asked.add(i, "approved");
        }
        ApprovalFollow follow = follow();
        List<String> first = told(follow);
        assertThat(first).hasSize(1050).startsWith("ap0000 waiting", "ap0001 waiting");
        assertThat(first).endsWith("ap1098 approved", "ap1099 approved");
        assertThat(first).doesNotContain("ap1049 approved"); // over long ago
        assertThat(told(follow)).isEmpty();
        assertThat(asked.longest).isEqualTo(200);
    }

    @Test
    void tellsWhatBecomesOfThoseBehindNewerOnes() {
        for (int i = 0; i < 300; i++) {
            asked.add(i, "waiting");
        }
        ApprovalFollow follow = follow();
        told(follow);
        asked.set(7, "denied");
        asked.set(8, ""); // deleted
        asked.add(300, "waiting");
        asked.set(299, "approved");
        assertThat(told(follow))
                .containsExactly("ap0007 denied", "ap0299 approved", "ap0300 waiting");
        assertThat(told(follow)).isEmpty();
    }

    @Test
    void heedsTheStatesThatAreAsked() {
        asked.add(1, "waiting");
        asked.add(2, "approved");
        ApprovalFollow waiting = follow("waiting");
        ApprovalFollow over = follow("approved", "denied");
        assertThat(told(waiting)).containsExactly("ap0001 waiting");
        assertThat(told(over)).containsExactly("ap0002 approved");
        asked.set(1, "denied");
        assertThat(told(waiting)).isEmpty();
        assertThat(told(over)).containsExactly("ap0001 denied");
    }
}
