package dev.caisson.core;

import dev.caisson.api.ExecResult;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Recognises why a program failed where that is plain, and says what to do. The words come from
 * inside: data, not truth.
 */
public final class Hints {
    private static final int LAST = 4096;
    private static final String NAME = "['\"]?([A-Za-z0-9_@][A-Za-z0-9_.@/:-]{0,127})";

    private record Rule(Pattern pattern, String what) {}

    private static final List<Rule> RULES =
            List.of(
                    new Rule(
                            Pattern.compile("ModuleNotFoundError: No module named " + NAME),
                            "Python module"),
                    new Rule(
                            Pattern.compile("Cannot find (?:module|package) " + NAME),
                            "Node.js module"),
                    new Rule(
                            Pattern.compile("Can't locate ([A-Za-z0-9_/]{1,128}\\.pm)"),
                            "Perl module"),
                    new Rule(Pattern.compile("cannot load such file -- " + NAME), "Ruby library"),
                    new Rule(
                            Pattern.compile("there is no package called .([A-Za-z0-9.]{1,64})"),
                            "R package"),
                    new Rule(
                            Pattern.compile("error: package ([A-Za-z0-9_.]{1,128}) does not exist"),
                            "Java package"));

    /** What programs say where there is no network at all. */
    private static final Pattern NO_NETWORK =
            Pattern.compile(
                    "Network is unreachable|[Cc]ould not resolve host|EAI_AGAIN|ENETUNREACH"
                            + "|Temporary failure in name resolution|UnknownHostException");

    private Hints() {}

    /**
     * The hint for a run.
     *
     * @param wayOut whether the sandbox has one; where it has, refusals say what to do
     */
    static String of(
            ExecResult result,
            String stderrTail,
            Optional<Interpreters.Language> language,
            boolean wayOut) {
        if (result.succeeded()) {
            return "";
        }
        String text = stderrTail.isEmpty() ? result.stderr().text() : stderrTail;
        String hint = language.isEmpty() ? "" : ofText(text);
        return hint.isEmpty() && !wayOut && NO_NETWORK.matcher(end(text)).find()
                ? "The sandbox has no network. Allow the hosts that the program needs (on the"
                        + " command line: --allow HOST)."
                : hint;
    }

    private static String end(String text) {
        return text.substring(Math.max(0, text.length() - LAST));
    }

    /** What to do about a failed program of a known language; empty when that is not plain. */
    public static String ofText(String stderr) {
        String end = end(stderr);
        for (Rule rule : RULES) {
            Matcher matcher = rule.pattern().matcher(end);
            if (matcher.find()) {
                return "The "
                        + rule.what()
                        + " '"
                        + matcher.group(1)
                        + "' is not there in the sandbox. Copy it in beside the script, install it"
                        + " for all on the host, below /usr, or allow its package and install it"
                        + " inside.";
            }
        }
        return "";
    }
}
