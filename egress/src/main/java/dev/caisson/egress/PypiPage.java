package dev.caisson.egress;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * The links of a page of HTML, and nothing else of it. What is written is made anew, so that no
 * program can read it in another way than it was judged by.
 *
 * @param base what links are relative to; empty: the page itself
 */
record PypiPage(String base, List<Link> links) {
    private static final int MAX_ATTRIBUTES = 16;
    private static final int MAX_VALUE = 4096;
    private static final int MAX_ESCAPE = 10;
    private static final List<String> KEPT =
            List.of(
                    "href",
                    "data-requires-python",
                    "data-yanked",
                    "data-core-metadata",
                    "data-dist-info-metadata");
    private static final Map<String, String> ENTITIES =
            Map.of("amp", "&", "lt", "<", "gt", ">", "quot", "\"", "apos", "'");

    /** A link with its attributes by lower-case name. */
    record Link(Map<String, String> attributes, String text) {
        Link {
            attributes = new LinkedHashMap<>(attributes);
        }

        String address() {
            String href = attributes.getOrDefault("href", "");
            int hash = href.indexOf('#');
            return hash < 0 ? href : href.substring(0, hash);
        }

        String fragment() {
            String href = attributes.getOrDefault("href", "");
            int hash = href.indexOf('#');
            return hash < 0 ? "" : href.substring(hash + 1);
        }

        /** Of the metadata beside the file; empty: there is none. */
        Optional<Map<String, String>> metadataHash() {
            String value =
                    attributes.getOrDefault(
                            "data-core-metadata",
                            attributes.getOrDefault("data-dist-info-metadata", "false"));
            if (value.equals("false")) {
                return Optional.empty();
            }
            Map<String, String> hashes = new HashMap<>();
            PypiIndex.hash(hashes, value);
            return Optional.of(hashes);
        }
    }

    /** Reads a page once, from its start to its end. */
    static PypiPage parse(String html) {
        List<Link> links = new ArrayList<>();
        String base = "";
        int at = html.indexOf('<');
        while (at >= 0) {
            Tag tag = Tag.at(html, at);
            if (tag.name.equals("a")) {
                int end = html.indexOf('<', tag.end);
                String text = html.substring(tag.end, end < 0 ? html.length() : end);
                links.add(new Link(tag.attributes, unescape(text.strip())));
            } else if (tag.name.equals("base") && base.isEmpty()) {
                base = tag.attributes.getOrDefault("href", "");
            }
            at = html.indexOf('<', tag.end);
        }
        return new PypiPage(base, links);
    }

    /** A page with these links. */
    static String write(String title, String base, List<Link> links) {
        StringBuilder html = new StringBuilder("<!DOCTYPE html>\n<html><head>");
        html.append("<meta name=\"pypi:repository-version\" content=\"1.0\">");
        if (!base.isEmpty()) {
            html.append("<base href=\"").append(escape(base)).append("\">");
        }
        html.append("<title>").append(escape(title)).append("</title></head><body>\n");
        for (Link link : links) {
            html.append("<a");
            for (String name : KEPT) {
                String value = link.attributes.get(name);
                if (value != null) {
                    html.append(' ').append(name).append("=\"").append(escape(value)).append('"');
                }
            }
            html.append('>').append(escape(link.text)).append("</a><br>\n");
        }
        return html.append("</body></html>\n").toString();
    }

    private static String escape(String text) {
        return text.replace("&", "&amp;")
                .replace("<", "&lt;")
                .replace(">", "&gt;")
                .replace("\"", "&quot;");
    }

    /** Takes the escapes of a text off that indexes use. */
    static String unescape(String text) {
        int at = text.indexOf('&');
        if (at < 0) {
            return text;
        }
        StringBuilder plain = new StringBuilder(text.length());
        int from = 0;
        while (at >= 0) {
            plain.append(text, from, at);
            // No further than an escape is long: a text may be all of signs that begin one.
            int end = text.indexOf(';', at, Math.min(text.length(), at + MAX_ESCAPE));
            String letter = end < 0 ? "" : entity(text.substring(at + 1, end));
            plain.append(letter.isEmpty() ? "&" : letter);
            from = letter.isEmpty() ? at + 1 : end + 1;
            at = text.indexOf('&', from);
        }
        return plain.append(text, from, text.length()).toString();
    }

    private static String entity(String name) {
        if (!name.startsWith("#")) {
            return ENTITIES.getOrDefault(name, "");
        }
        try {
            boolean hex = name.startsWith("#x") || name.startsWith("#X");
            int point = Integer.parseInt(name.substring(hex ? 2 : 1), hex ? 16 : 10);
            return Character.isValidCodePoint(point) && point > 0 ? Character.toString(point) : "";
        } catch (NumberFormatException e) {
            return "";
        }
    }

    // A tag from its bracket to behind its end; what is no tag ends behind the bracket.
    private record Tag(String name, Map<String, String> attributes, int end) {
        static Tag at(String html, int start) {
            int at = start + 1;
            int from = at;
            while (at < html.length() && Character.isLetterOrDigit(html.charAt(at))) {
                at++;
            }
            String name = html.substring(from, Math.min(at, from + 8)).toLowerCase(Locale.ROOT);
            Map<String, String> attributes = new LinkedHashMap<>();
            if (!name.equals("a") && !name.equals("base")) {
                return new Tag("", attributes, at);
            }
            while (at < html.length() && html.charAt(at) != '>' && html.charAt(at) != '<') {
                at = attribute(html, at, attributes);
            }
            boolean closed = at < html.length() && html.charAt(at) == '>';
            return new Tag(closed ? name : "", attributes, closed ? at + 1 : at);
        }

        private static int attribute(String html, int start, Map<String, String> attributes) {
            int at = start;
            while (at < html.length() && "=> \t\r\n/<".indexOf(html.charAt(at)) < 0) {
                at++;
            }
            if (at == start) {
                return html.charAt(at) == '>' || html.charAt(at) == '<' ? at : at + 1;
            }
            String name = html.substring(start, at).toLowerCase(Locale.ROOT);
            String value = "";
            if (at < html.length() && html.charAt(at) == '=') {
                char quote = at + 1 < html.length() ? html.charAt(at + 1) : '>';
                boolean quoted = quote == '"' || quote == '\'';
                int from = quoted ? at + 2 : at + 1;
                int end = from;
                while (end < html.length() && !ends(html.charAt(end), quoted, quote)) {
                    end++;
                }
                value = html.substring(from, end);
                at = quoted ? Math.min(end + 1, html.length()) : end;
            }
            if (attributes.size() < MAX_ATTRIBUTES && value.length() <= MAX_VALUE) {
                attributes.putIfAbsent(name, unescape(value));
            }
            return at;
        }

        private static boolean ends(char c, boolean quoted, char quote) {
            return quoted ? c == quote : c == '>' || c <= ' ';
        }
    }
}
