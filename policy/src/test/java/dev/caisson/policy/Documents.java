package dev.caisson.policy;

import dev.caisson.v1.EgressJson;
import dev.caisson.v1.EgressRule;
import dev.caisson.v1.HttpRule;
import dev.caisson.v1.Json;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** Documents and questions of tests. */
final class Documents {
    private Documents() {}

    /** Of JSON with single quotes. */
    static EgressJson document(String json) {
        return Json.request(
                json.replace('\'', '"').getBytes(StandardCharsets.UTF_8), EgressJson.class);
    }

    static EgressPolicy policy(String... documents) {
        return EgressPolicy.of(Arrays.stream(documents).map(Documents::document).toList());
    }

    /** One that allows these hosts by https. */
    static EgressPolicy hosts(String... hosts) {
        return EgressPolicy.of(
                List.of(
                        new EgressJson(
                                null,
                                null,
                                Arrays.stream(hosts).map(EgressRule::https).toList(),
                                List.of(),
                                null,
                                List.of(),
                                Map.of())));
    }

    /** Requests of one host are judged by these rules. */
    static EgressPolicy requests(String host, HttpRule... rules) {
        EgressRule rule =
                new EgressRule(host, null, List.of(), List.of(), List.of(rules), null, null, null);
        return EgressPolicy.of(
                List.of(
                        new EgressJson(
                                null, null, List.of(rule), List.of(), null, List.of(), Map.of())));
    }

    static Destination to(String host, int port) {
        return new Destination.Named(HostName.of(host), port);
    }

    static Destination at(String address, int port) {
        return new Destination.Literal(IpAddress.parse(address), port);
    }

    static HttpRequestLine https(String method, String path) {
        return new HttpRequestLine(Scheme.HTTPS, method, path, Map.of());
    }
}
