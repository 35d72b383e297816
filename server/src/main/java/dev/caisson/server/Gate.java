package dev.caisson.server;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.control.Caller;
import dev.caisson.control.Control;
import java.net.InetAddress;
import java.net.URI;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.eclipse.jetty.server.Request;
import org.jspecify.annotations.Nullable;

/** Decides from the head of a request whether it is meant for this server, and who asks. */
final class Gate {
    private static final Set<String> LOOPBACK =
            Set.of("localhost", "127.0.0.1", "[::1]", "::1", "[0:0:0:0:0:0:0:1]");
    private static final Pattern KEY =
            Pattern.compile("(caisson_|e2b_).{0,200}|[0-9a-fA-F]{40}", Pattern.DOTALL);
    private static final Pattern BEARER = Pattern.compile("(?i)bearer +([!-~]{1,8192})");
    private static final Pattern TRACE =
            Pattern.compile("[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?");
    private static final Pattern TENANT = Pattern.compile("[A-Za-z0-9][A-Za-z0-9-]{0,63}");
    private static final int MAX_CLAIM = 200;

    private final Control control;
    private final ServerSettings settings;
    private final String ownAddress;

    Gate(Control control, ServerSettings settings) {
        this.control = control;
        this.settings = settings;
        InetAddress address = settings.address().getAddress();
        this.ownAddress =
                address == null || address.isAnyLocalAddress()
                        ? "localhost"
                        : address.getHostAddress().toLowerCase(Locale.ROOT);
    }

    /** Against DNS rebinding: only names that are ours. */
    void checkHost(Request request) {
        String host = request.getHttpURI().getHost();
        if (host == null || !ours(host)) {
            throw new Refusal(
                    421,
                    CaissonException.invalid("Host", "This server has another name.")
                            .withRemedy("Use its name, or add this one to its allowed hosts."));
        }
    }

    private boolean ours(String host) {
        String name = host.toLowerCase(Locale.ROOT);
        return LOOPBACK.contains(name)
                || name.equals(ownAddress)
                || name.equals("[" + ownAddress + "]")
                || settings.hosts().contains(name);
    }

    /** A browser's page of another origin may not even ask. */
    void checkOrigin(Request request) {
        Optional<String> origin = Exchange.header(request, "Origin");
        if (origin.isPresent()
                && !settings.origins().contains(origin.get())
                && !sameOrigin(origin.get(), request)) {
            throw Refusal.of(
                    CaissonException.of(
                                    ErrorCode.POLICY_DENIED,
                                    "Pages of this origin may not use this server.")
                            .withRemedy("Add the origin to the server's allowed origins."));
        }
    }

    private static boolean sameOrigin(String origin, Request request) {
        try {
            URI uri = URI.create(origin);
            return uri.getHost() != null
                    && uri.getScheme().equals(request.isSecure() ? "https" : "http")
                    && uri.getRawAuthority().equalsIgnoreCase(request.getHttpURI().getAuthority());
        } catch (IllegalArgumentException e) {
            return false;
        }
    }

    /**
     * Who asks, by key or token.
     *
     * @return empty: there is no credential at all
     */
    Optional<Caller> caller(Request request) {
        int bearers = request.getHeaders().getFields("Authorization").size();
        int keys = request.getHeaders().getFields("X-API-KEY").size();
        if (bearers + keys == 0) {
            return Optional.empty();
        }
        if (bearers + keys > 1) {
            throw Refusal.unauthenticated();
        }
        try {
            return Optional.of(
                    bearers == 1
                            ? bearer(request.getHeaders().get("Authorization"))
                            : key(request.getHeaders().get("X-API-KEY")));
        } catch (CaissonException e) {
            if (e.code() == ErrorCode.UNAUTHENTICATED) {
                throw Refusal.unauthenticated();
            }
            throw e;
        }
    }

    private Caller bearer(@Nullable String header) {
        Matcher bearer = BEARER.matcher(header == null ? "" : header);
        if (!bearer.matches()) {
            throw Refusal.unauthenticated();
        }
        String credential = bearer.group(1);
        return KEY.matcher(credential).matches()
                ? control.authenticate(credential)
                : control.authenticateToken(credential);
    }

    private Caller key(@Nullable String header) {
        if (header == null || !KEY.matcher(header).matches()) {
            throw Refusal.unauthenticated();
        }
        return control.authenticate(header);
    }

    /** The caller with what came along: tenant to act for, agent, task, trace. */
    Caller dressed(Caller caller, Request request) {
        Map<String, String> claimed = new LinkedHashMap<>(caller.claimed());
        claim(request, "Caisson-Agent").ifPresent(agent -> claimed.put("agent", agent));
        claim(request, "Caisson-Task").ifPresent(task -> claimed.put("task", task));
        String trace = trace(request);
        Caller dressed = caller.with(claimed, trace);
        Optional<String> tenant = Exchange.header(request, "Caisson-Tenant");
        if (tenant.isEmpty()) {
            return dressed;
        }
        if (!TENANT.matcher(tenant.get()).matches()) {
            throw CaissonException.invalid("Caisson-Tenant", "This names no valid tenant.");
        }
        return control.actFor(dressed, tenant.get()).with(claimed, trace);
    }

    private static Optional<String> claim(Request request, String name) {
        Optional<String> value = Exchange.header(request, name);
        if (value.isPresent() && value.get().length() > MAX_CLAIM) {
            throw CaissonException.invalid(name, "The header '" + name + "' is too long.")
                    .withDetail("limit", name)
                    .withDetail("allowed", Integer.toString(MAX_CLAIM));
        }
        return value;
    }

    /** The W3C trace id; what is malformed is as if it were absent, as the recommendation asks. */
    private static @Nullable String trace(Request request) {
        String header = request.getHeaders().get("traceparent");
        Matcher trace = TRACE.matcher(header == null ? "" : header);
        if (!trace.matches() || trace.group(1).equals("0".repeat(32))) {
            return null;
        }
        return trace.group(1);
    }
}
