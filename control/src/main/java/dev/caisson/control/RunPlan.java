package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.core.Interpreters;
import dev.caisson.v1.InputFileJson;
import dev.caisson.v1.RunRequest;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a run does.
 *
 * @param commands to try in order
 * @param language of its code; null: it has none
 * @param script path of the code inside
 */
record RunPlan(
        List<List<String>> commands, Interpreters.@Nullable Language language, String script) {

    /** Of a request, whose files are checked as well. */
    static RunPlan of(RunRequest request) {
        int given =
                (request.code() == null ? 0 : 1)
                        + (request.command() == null ? 0 : 1)
                        + (request.argv().isEmpty() ? 0 : 1);
        if (given != 1) {
            throw CaissonException.invalid("code", "Give exactly one of code, command and argv.");
        }
        if (request.code() == null) {
            List<String> argv =
                    request.command() == null
                            ? request.argv()
                            : List.of("/bin/sh", "-c", request.command());
            return new RunPlan(List.of(argv), null, "");
        }
        if (request.language() == null) {
            throw CaissonException.invalid("language", "Code needs its language.")
                    .withDetail("allowed", Interpreters.names());
        }
        Interpreters.Language language = Interpreters.ofName(request.language());
        String script = "/work/main." + language.extension();
        List<List<String>> commands = new ArrayList<>();
        for (List<String> command : language.commands()) {
            List<String> argv = new ArrayList<>(command);
            argv.add(script);
            argv.addAll(request.arguments());
            commands.add(List.copyOf(argv));
        }
        return new RunPlan(commands, language, script);
    }

    /** The bytes of a file that goes in. */
    static byte[] content(InputFileJson file) {
        String text = file.text();
        String base64 = file.base64();
        if ((text == null) == (base64 == null)) {
            throw CaissonException.invalid("files", "A file has text or base64.");
        }
        try {
            return text == null
                    ? Base64.getDecoder().decode(base64)
                    : text.getBytes(StandardCharsets.UTF_8);
        } catch (IllegalArgumentException e) {
            throw CaissonException.invalid("files", "The base64 of a file is damaged.");
        }
    }
}
