package dev.caisson.control;

import dev.caisson.v1.ApprovalRule;
import dev.caisson.v1.ExecRequest;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Which rules ask about what. A help to people, not a boundary: a program can be started by another
 * name, or by another program.
 */
final class Asking {
    static final String EXEC = "exec";
    static final String DESTINATION = "destination";
    static final List<ApprovalRule> ANY_DESTINATION =
            List.of(new ApprovalRule(DESTINATION, List.of(), List.of(), List.of()));
    static final String USUAL_USER = "sandbox";
    static final String USUAL_FOLDER = "/work";

    private static final int MAX_SUBJECT = 2000;

    private Asking() {}

    /** The rules that ask about an exec. */
    static List<ApprovalRule> about(List<ApprovalRule> ask, ExecRequest request, String user) {
        List<ApprovalRule> rules = new ArrayList<>();
        for (ApprovalRule rule : ask) {
            if (rule.kind().equals(EXEC)
                    && (rule.users().isEmpty() || rule.users().contains(user(user)))
                    && (rule.commands().isEmpty() || begins(rule.commands(), words(request)))
                    && (rule.paths().isEmpty() || lies(rule.paths(), request))) {
                rules.add(rule);
            }
        }
        return rules;
    }

    /** The rules that ask about something else; users and paths say nothing about it. */
    static List<ApprovalRule> about(List<ApprovalRule> ask, String kind, String subject) {
        List<String> words = split(subject);
        return ask.stream()
                .filter(rule -> rule.kind().equals(kind))
                .filter(rule -> rule.commands().isEmpty() || begins(rule.commands(), words))
                .toList();
    }

    static String user(@Nullable String user) {
        return user == null || user.isEmpty() ? USUAL_USER : user;
    }

    static String folder(ExecRequest request) {
        String cwd = request.cwd();
        return cwd == null ? USUAL_FOLDER : resolve(USUAL_FOLDER, cwd);
    }

    static List<String> words(ExecRequest request) {
        String command = request.command();
        return split(command == null ? String.join(" ", request.argv()) : command);
    }

    private static List<String> split(String text) {
        String line = text.strip();
        return line.isEmpty() ? List.of() : List.of(line.split("\\s+"));
    }

    /** By whole words; the program also without its folder. */
    private static boolean begins(List<String> prefixes, List<String> words) {
        if (words.isEmpty()) {
            return false;
        }
        List<String> bare = new ArrayList<>(words);
        bare.set(0, words.getFirst().substring(words.getFirst().lastIndexOf('/') + 1));
        for (String prefix : prefixes) {
            List<String> wanted = split(prefix);
            if (begins(wanted, words, wanted.size()) || begins(wanted, bare, wanted.size())) {
                return true;
            }
        }
        return false;
    }

    private static boolean begins(List<String> wanted, List<String> words, int size) {
        return words.size() >= size && words.subList(0, size).equals(wanted);
    }

    private static boolean lies(List<String> paths, ExecRequest request) {
        String folder = folder(request);
        List<String> words = request.command() == null ? request.argv() : words(request);
        String program =
                words.isEmpty() || words.getFirst().indexOf('/') < 0
                        ? folder
                        : resolve(folder, words.getFirst());
        return paths.stream().anyMatch(path -> below(path, program) || below(path, folder));
    }

    private static boolean below(String path, String place) {
        String top = resolve("/", path);
        return top.equals("/") || place.equals(top) || place.startsWith(top + "/");
    }

    /** By its text; links are not followed. */
    private static String resolve(String folder, String path) {
        Deque<String> parts = new ArrayDeque<>();
        String whole = path.startsWith("/") ? path : folder + "/" + path;
        for (String part : whole.split("/", -1)) {
            if (part.equals("..")) {
                parts.pollLast();
            } else if (!part.isEmpty() && !part.equals(".")) {
                parts.addLast(part);
            }
        }
        return "/" + String.join("/", parts);
    }

    /** As a person is shown it: nothing that moves, hides or looks like something else. */
    static String shown(String text) {
        StringBuilder shown = new StringBuilder();
        text.codePoints()
                .limit(MAX_SUBJECT)
                .forEach(c -> {
                    if ((c >= ' ' && c < 0x7f) || Character.isLetterOrDigit(c)) {
                        shown.appendCodePoint(c);
                    } else {
                        shown.append(String.format(Locale.ROOT, "\\u{%x}", c));
                    }
                });
        long more = text.codePoints().count() - MAX_SUBJECT;
        return more > 0 ? shown + " … and " + more + " characters more" : shown.toString();
    }
}
