package dev.caisson.api;

import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The way out of a sandbox. What it does not allow is closed.
 *
 * @param documents JSON texts of policy documents (docs/egress-policy.md); what each of them allows
 *     is allowed, and none allow nothing
 */
public record EgressSpec(List<String> documents) {
    private static final Pattern HOST = Pattern.compile("(\\*\\.)?[A-Za-z0-9_.-]{1,253}");
    private static final EgressSpec CLOSED = new EgressSpec(List.of());

    /** Copies the list. */
    public EgressSpec {
        documents = List.copyOf(documents);
    }

    /** Nothing can be reached. */
    public static EgressSpec closed() {
        return CLOSED;
    }

    /**
     * HTTPS to these hosts, and nothing else.
     *
     * @param hosts names, or {@code *.suffix} for every name below it; none: closed
     * @throws CaissonException {@link ErrorCode#INVALID} for what cannot be a name
     */
    public static EgressSpec allow(String... hosts) {
        for (String host : hosts) {
            if (!HOST.matcher(host).matches()) {
                throw CaissonException.invalid("egress", "'" + host + "' is not a host name.");
            }
        }
        if (hosts.length == 0) {
            return CLOSED;
        }
        return of(
                Arrays.stream(hosts)
                        .map(host -> "{\"host\":\"" + host + "\"}")
                        .collect(Collectors.joining(",", "{\"allow\":[", "]}")));
    }

    /** As a policy document says. */
    public static EgressSpec of(String document) {
        return new EgressSpec(List.of(document));
    }

    /** Whether the sandbox has no way out at all. */
    public boolean isClosed() {
        return documents.isEmpty();
    }
}
