package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.v1.Page;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Instant;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Opaque, signed places in lists, bound to the tenant and the noun. */
final class Cursors {
    private static final int TAG_BYTES = 12;
    private static final int MAX_LIMIT = 200;

    private final Vault vault;

    Cursors(Vault vault) {
        this.vault = vault;
    }

    /** The query of a page; asks for one more than the limit, so that the end is known. */
    Query page(Query query, Listing listing, String noun) {
        if (listing.limit() < 1 || listing.limit() > MAX_LIMIT) {
            throw CaissonException.invalid("limit", "A page has 1 to 200 items.")
                    .withDetail("allowed", "1 to 200");
        }
        Query narrowed =
                query.withLabels(listing.labels())
                        .withPage(
                                read(listing.cursor(), String.valueOf(query.tenant()), noun),
                                listing.limit() + 1);
        if (!listing.states().isEmpty()) {
            narrowed = narrowed.withStates(listing.states().toArray(String[]::new));
        }
        return listing.name() == null ? narrowed : narrowed.withName(listing.name());
    }

    /** The page of rows that {@link #page} asked for. */
    <T> Page<T> answer(
            List<Row> rows, Query query, Listing listing, String noun, Function<Row, T> form) {
        boolean more = rows.size() > listing.limit();
        List<Row> shown = more ? rows.subList(0, listing.limit()) : rows;
        String next = more ? write(shown.getLast(), String.valueOf(query.tenant()), noun) : null;
        return new Page<>(shown.stream().map(form).toList(), next);
    }

    private String write(Row last, String tenant, String noun) {
        String place = last.created().toEpochMilli() + "/" + last.id();
        byte[] text = place.getBytes(StandardCharsets.UTF_8);
        byte[] all = Arrays.copyOf(tag(place, tenant, noun), TAG_BYTES + text.length);
        System.arraycopy(text, 0, all, TAG_BYTES, text.length);
        return Base64.getUrlEncoder().withoutPadding().encodeToString(all);
    }

    private Query.@Nullable Place read(@Nullable String cursor, String tenant, String noun) {
        if (cursor == null) {
            return null;
        }
        try {
            byte[] all = Base64.getUrlDecoder().decode(cursor);
            if (all.length > TAG_BYTES) {
                String place =
                        new String(all, TAG_BYTES, all.length - TAG_BYTES, StandardCharsets.UTF_8);
                if (MessageDigest.isEqual(
                        tag(place, tenant, noun), Arrays.copyOf(all, TAG_BYTES))) {
                    int slash = place.indexOf('/');
                    return new Query.Place(
                            Instant.ofEpochMilli(Long.parseLong(place.substring(0, slash))),
                            place.substring(slash + 1));
                }
            }
        } catch (IllegalArgumentException e) {
            // Not one of ours: told below.
        }
        throw CaissonException.invalid("cursor", "This cursor is not one of this list.")
                .withRemedy("Begin the list again without a cursor.");
    }

    private byte[] tag(String place, String tenant, String noun) {
        return Arrays.copyOf(
                vault.hmac("cursor\n" + noun + "\n" + tenant + "\n" + place), TAG_BYTES);
    }
}
