package dev.caisson.server;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;
import java.util.List;

/** The page of all routes: no script, nothing from elsewhere, its one style named by its hash. */
final class DocsPage {
    private static final String STYLE =
            "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0"
                    + " 1rem}code{font:14px ui-monospace,monospace}dt{margin-top:1rem}"
                    + "dd{margin:0 0 0 1.5rem}.s{color:#666}";

    static final String CSP =
            "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none';"
                    + " style-src 'sha256-"
                    + hash()
                    + "'";

    private DocsPage() {}

    private static String hash() {
        try {
            byte[] hash =
                    MessageDigest.getInstance("SHA-256")
                            .digest(STYLE.getBytes(StandardCharsets.UTF_8));
            return Base64.getEncoder().encodeToString(hash);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("Every JDK has SHA-256.", e);
        }
    }

    static String of(List<Route> routes) {
        StringBuilder page = new StringBuilder();
        page.append("<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">")
                .append("<title>Caisson: routes</title><style>")
                .append(STYLE)
                .append("</style><h1>Caisson</h1><p>Forms: <code>/v1/openapi.json</code></p><dl>");
        for (Route route : routes) {
            page.append("<dt><code>")
                    .append(escaped(route.name()))
                    .append("</code> <span class=\"s\">")
                    .append(escaped(route.scope))
                    .append("</span></dt><dd>")
                    .append(escaped(route.doc));
            route.query.forEach((name, meaning) ->
                    page.append("<br><code>")
                            .append(escaped(name))
                            .append("</code> ")
                            .append(escaped(meaning)));
            page.append("</dd>");
        }
        return page.append("</dl></html>").toString();
    }

    private static String escaped(String text) {
        return text.replace("&", "&amp;")
                .replace("<", "&lt;")
                .replace(">", "&gt;")
                .replace("\"", "&quot;");
    }
}
