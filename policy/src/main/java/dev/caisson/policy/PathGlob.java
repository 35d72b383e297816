package dev.caisson.policy;

import java.util.List;

/**
 * A pattern of paths: {@code *} stands for any part of one segment, a segment <code>**</code> for
 * any number of them. Never backtracks further than to the last star, so a match takes at most the
 * product of both lengths, whoever wrote them; patterns are short.
 */
final class PathGlob {
    private static final int MAX = 256;
    private static final String ANY = "**";

    private final String text;
    private final List<String> parts;

    private PathGlob(String text, List<String> parts) {
        this.text = text;
        this.parts = parts;
    }

    static PathGlob of(String field, String text) {
        boolean fit = text.length() <= MAX && HttpPath.pattern(text).isPresent();
        List<String> parts = fit ? split(HttpPath.pattern(text).orElseThrow()) : List.of();
        if (!fit || parts.stream().anyMatch(part -> part.contains(ANY) && !part.equals(ANY))) {
            throw Wrong.field(
                    field,
                    text,
                    "an absolute path without query, '//', '.', '..' and escaped separators, with"
                            + " * in a segment and ** as a segment, up to "
                            + MAX
                            + " characters");
        }
        return new PathGlob(text, parts);
    }

    private static List<String> split(String path) {
        return List.of(path.substring(1).split("/", -1));
    }

    /** Whether it fits a path in its normal form. */
    boolean matches(String path) {
        List<String> given = split(path);
        int part = 0;
        int segment = 0;
        int star = -1;
        int resume = 0;
        while (segment < given.size()) {
            if (part < parts.size() && parts.get(part).equals(ANY)) {
                star = part++;
                resume = segment;
            } else if (part < parts.size() && fits(parts.get(part), given.get(segment))) {
                part++;
                segment++;
            } else if (star >= 0) {
                part = star + 1;
                segment = ++resume;
            } else {
                return false;
            }
        }
        while (part < parts.size() && parts.get(part).equals(ANY)) {
            part++;
        }
        return part == parts.size();
    }

    private static boolean fits(String pattern, String segment) {
        int p = 0;
        int s = 0;
        int star = -1;
        int resume = 0;
        while (s < segment.length()) {
            if (p < pattern.length() && pattern.charAt(p) == '*') {
                star = p++;
                resume = s;
            } else if (p < pattern.length() && pattern.charAt(p) == segment.charAt(s)) {
                p++;
                s++;
            } else if (star >= 0) {
                p = star + 1;
                s = ++resume;
            } else {
                return false;
            }
        }
        while (p < pattern.length() && pattern.charAt(p) == '*') {
            p++;
        }
        return p == pattern.length();
    }

    @Override
    public String toString() {
        return text;
    }
}
