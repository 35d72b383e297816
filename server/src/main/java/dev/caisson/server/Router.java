package dev.caisson.server;

import dev.caisson.api.CaissonException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Finds the route of a path by exact segments; a literal comes before a parameter. */
final class Router {
    /** Characters of a signed link, which must fit into the first line of a request. */
    static final int MAX_TOKEN = 6000;

    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,127}");
    private static final Pattern OBJECT = Pattern.compile("[a-z]{2}[a-z0-9]{20}");
    private static final Pattern KEY = Pattern.compile("[0-9a-f]{8}");
    private static final Pattern TOKEN = Pattern.compile("[A-Za-z0-9_.-]{1," + MAX_TOKEN + "}");

    private final Node root = new Node();

    /** A place in the tree of paths. */
    private static final class Node {
        final Map<String, Node> literals = new LinkedHashMap<>();
        final Map<String, Route> routes = new TreeMap<>();
        @Nullable Node parameter;
        String name = "";
        boolean rest;
    }

    /** A path that is known, with what is in it; the route is null for another method. */
    record Match(@Nullable Route route, Map<String, String> parameters, String allow) {
        Match {
            parameters = Map.copyOf(parameters);
        }
    }

    Router(List<Route> routes) {
        for (Route route : routes) {
            add(route);
        }
    }

    private void add(Route route) {
        Node node = root;
        for (String part : route.path.substring(1).split("/", -1)) {
            node = child(node, part);
        }
        if (node.routes.put(route.method, route) != null) {
            throw new IllegalStateException("There are two routes " + route.name());
        }
    }

    private static Node child(Node node, String part) {
        if (!part.startsWith("{")) {
            return node.literals.computeIfAbsent(part, any -> new Node());
        }
        boolean rest = part.endsWith("...}");
        String name = part.substring(1, part.length() - (rest ? 4 : 1));
        Node child = node.parameter;
        if (child == null) {
            child = new Node();
            child.name = name;
            child.rest = rest;
            node.parameter = child;
        } else if (!child.name.equals(name)) {
            throw new IllegalStateException("One place has two names: " + part);
        }
        return child;
    }

    /** Null: no route has that path. HEAD is a GET. */
    @Nullable Match match(String method, List<String> segments) {
        Map<String, String> parameters = new LinkedHashMap<>();
        Node node = root;
        for (int i = 0; i < segments.size(); i++) {
            String segment = segments.get(i);
            Node literal = node.literals.get(segment);
            Node parameter = node.parameter;
            if (literal != null) {
                node = literal;
            } else if (parameter == null) {
                return null;
            } else {
                node = parameter;
                if (parameter.rest) {
                    parameters.put(
                            parameter.name, String.join("/", segments.subList(i, segments.size())));
                    break;
                }
                parameters.put(parameter.name, segment);
            }
        }
        if (node.routes.isEmpty()) {
            return null;
        }
        Route route = node.routes.get(method.equals("HEAD") ? "GET" : method);
        return new Match(route, parameters, allow(node));
    }

    private static String allow(Node node) {
        String methods = String.join(", ", node.routes.keySet());
        return node.routes.containsKey("GET") ? methods + ", HEAD" : methods;
    }

    /** Refuses ids that cannot be one. */
    static void checkIds(Route route, Map<String, String> parameters) {
        parameters.forEach((name, value) -> {
            Pattern pattern =
                    switch (name) {
                        case "exec", "run", "approval", "webhook" -> OBJECT;
                        case "key" -> KEY;
                        case "token" -> TOKEN;
                        case "path" -> null;
                        default -> NAME;
                    };
            if (pattern != null && !pattern.matcher(value).matches()) {
                throw CaissonException.invalid(name, "The path names no valid " + name + ".");
            }
        });
        if (parameters.containsKey("port") && !validPort(parameters.get("port"))) {
            throw CaissonException.invalid("port", "A port is a number from 1 to 65535.");
        }
    }

    private static boolean validPort(@Nullable String text) {
        return text != null && text.matches("[1-9][0-9]{0,4}") && Integer.parseInt(text) <= 65_535;
    }
}
