package dev.caisson.bench;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.HttpURLConnection;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.OptionalDouble;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Requests that prepare what is measured; each on a connection of its own, so that nothing is left
 * open. Never used for what is timed.
 */
final class Api {
    private static final int MILLIS = 60_000;

    private final int port;
    private final String tenant;
    private String key = "";

    Api(int port) {
        this(port, "", "");
    }

    private Api(int port, String tenant, String key) {
        this.port = port;
        this.tenant = tenant;
        this.key = key;
    }

    void key(String newKey) {
        key = newKey;
    }

    String key() {
        return key;
    }

    int port() {
        return port;
    }

    /** The same with another key, or, with the key of this one, for another tenant. */
    Api as(String otherTenant, String otherKey) {
        return new Api(port, otherTenant, otherKey);
    }

    /** Whether it takes requests. */
    boolean ready() {
        try {
            HttpURLConnection connection = open("GET", "/readyz");
            return connection.getResponseCode() == 200;
        } catch (IOException e) {
            return false;
        }
    }

    String get(String path) {
        return call("GET", path, "");
    }

    String post(String path, String body) {
        return call("POST", path, body);
    }

    void delete(String path) {
        call("DELETE", path, "");
    }

    private HttpURLConnection open(String method, String path) throws IOException {
        HttpURLConnection connection =
                (HttpURLConnection)
                        URI.create("http://127.0.0.1:" + port + path).toURL().openConnection();
        connection.setRequestMethod(method);
        connection.setConnectTimeout(MILLIS);
        connection.setReadTimeout(MILLIS);
        if (!key.isEmpty()) {
            connection.setRequestProperty("Authorization", "Bearer " + key);
        }
        if (!tenant.isEmpty()) {
            connection.setRequestProperty("Caisson-Tenant", tenant);
        }
        return connection;
    }

    private String call(String method, String path, String body) {
        try {
            HttpURLConnection connection = open(method, path);
            if (!body.isEmpty()) {
                connection.setRequestProperty("Content-Type", "application/json");
                connection.setDoOutput(true);
                connection.getOutputStream().write(body.getBytes(StandardCharsets.UTF_8));
            }
            int status = connection.getResponseCode();
            InputStream in =
                    status < 400 ? connection.getInputStream() : connection.getErrorStream();
            String answer = in == null ? "" : new String(in.readAllBytes(), StandardCharsets.UTF_8);
            if (status >= 300) {
                throw new IllegalStateException(
                        method + " " + path + " was answered " + status + ": " + answer);
            }
            return answer;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The first member of that name that is a string. */
    static String text(String json, String member) {
        Matcher matcher =
                Pattern.compile("\"" + Pattern.quote(member) + "\":\"([^\"]*)\"").matcher(json);
        if (!matcher.find()) {
            throw new IllegalStateException("There is no " + member + " in " + json);
        }
        return matcher.group(1);
    }

    /** The first member of that name that is a number. */
    static long number(String json, String member) {
        Matcher matcher =
                Pattern.compile("\"" + Pattern.quote(member) + "\":([0-9]+)").matcher(json);
        if (!matcher.find()) {
            throw new IllegalStateException("There is no " + member + " in " + json);
        }
        return Long.parseLong(matcher.group(1));
    }

    /** A sample of {@code /metrics}, by name and labels as they are written there. */
    static OptionalDouble metric(String metrics, String sample) {
        return metrics.lines()
                .filter(line -> line.startsWith(sample + " "))
                .mapToDouble(line -> Double.parseDouble(line.substring(sample.length() + 1)))
                .findFirst();
    }
}
