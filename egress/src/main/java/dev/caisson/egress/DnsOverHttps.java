package dev.caisson.egress;

import dev.caisson.policy.HttpRequestLine;
import dev.caisson.policy.Verdict;
import java.util.List;
import java.util.Locale;

/**
 * DNS in HTTP (RFC 8484) carries anything anywhere past the rules of names; it needs a rule of
 * requests.
 */
final class DnsOverHttps {
    private DnsOverHttps() {}

    /**
     * Refuses a request that is a DNS query.
     *
     * @param verdict what allowed the request: the rule's text names a path when it is a rule of
     *     requests
     */
    static void check(HttpRequestLine request, Verdict verdict) throws DeniedException {
        boolean dns = false;
        for (String name : List.of("content-type", "accept")) {
            for (String value : request.headers().getOrDefault(name, List.of())) {
                dns |= value.toLowerCase(Locale.ROOT).contains("application/dns-message");
            }
        }
        if (dns && !verdict.rule().contains("http[")) {
            throw new DeniedException(
                    new Verdict(
                            Verdict.Answer.DENY,
                            "dns over https",
                            "Use the sandbox's own resolver, or ask for a rule of requests that"
                                    + " names this path."));
        }
    }
}
