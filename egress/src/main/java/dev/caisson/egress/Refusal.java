package dev.caisson.egress;

import dev.caisson.policy.Verdict;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The gateway's own answer in the place of the server's: short text for whoever reads it inside.
 *
 * @param status of the answer
 * @param rule that says no; empty: something else went wrong
 * @param text for people
 */
record Refusal(int status, Optional<String> rule, String text) {
    static Refusal denied(Verdict verdict) {
        return new Refusal(
                403,
                Optional.of(verdict.rule()),
                "Refused by the sandbox's egress policy.\nrule: "
                        + verdict.rule()
                        + "\nremedy: "
                        + verdict.remedy()
                        + "\n");
    }

    static Refusal failed(int status, String why) {
        return new Refusal(status, Optional.empty(), "The sandbox's egress gateway: " + why + "\n");
    }

    AnswerHead head() {
        Map<String, List<String>> headers = new LinkedHashMap<>();
        HttpHeaders.set(headers, "content-type", "text/plain; charset=utf-8");
        HttpHeaders.set(headers, "content-length", Integer.toString(bytes().length));
        HttpHeaders.set(headers, "cache-control", "no-store");
        rule.ifPresent(r -> HttpHeaders.set(headers, "caisson-denied", printable(r)));
        return new AnswerHead(status, headers);
    }

    HttpBody body() {
        return Bodies.of(bytes());
    }

    private byte[] bytes() {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String printable(String text) {
        return text.replaceAll("[^ -~]", "?");
    }
}
