package dev.caisson.mcp;

import dev.caisson.v1.ErrorJson;
import dev.caisson.v1.OutputJson;
import dev.caisson.v1.ResultFileJson;
import dev.caisson.v1.ResultJson;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** Makes results of commands what a model reads: bounded, and with what to do about the rest. */
final class ExecResults {
    private static final int MAX_IMAGES = 4;
    private static final int SHOWN_FILES = 200;

    private ExecResults() {}

    /** One that was left to run. */
    static ToolResult running(Work work) {
        Work.Status status = work.status();
        String say = "It runs as " + work.id() + ": read with get_output, end with stop.";
        return ToolResult.of(head(work, status)).says(say);
    }

    /** One that ended, or could not run. */
    static ToolResult ended(
            Work work, Work.Status status, List<ResultFileJson> changed, int shown) {
        ObjectNode form = head(work, status);
        ResultJson result = status.result();
        if (result == null) {
            return unfinished(work, status, form);
        }
        List<ResultFileJson> files = changed.isEmpty() ? result.files() : changed;
        merge(form, result, files, shown);
        ToolResult answer = ToolResult.of(form).says(summary(work, result));
        output(answer, work, "stdout", result.stdout(), shown);
        output(answer, work, "stderr", result.stderr(), shown);
        names(answer, files);
        images(answer, result, files);
        return answer;
    }

    private static ToolResult unfinished(Work work, Work.Status status, ObjectNode form) {
        ErrorJson error = status.error();
        if (error != null) {
            return ToolResult.failed(error, form);
        }
        if (!status.over()) {
            return ToolResult.of(form).says(work.id() + " is " + status.state() + ".");
        }
        return ToolResult.of(form).says(work.id() + " is over; there is no result.");
    }

    private static ObjectNode head(Work work, Work.Status status) {
        ObjectNode form = Rpc.object().put("id", work.id()).put("state", status.state());
        if (status.sandbox() != null) {
            form.put("sandbox", status.sandbox());
        }
        if (status.approval() != null) {
            form.put("approval", status.approval());
        }
        return form;
    }

    /** The API's result, with output and files cut to what is shown. */
    private static void merge(
            ObjectNode form, ResultJson result, List<ResultFileJson> files, int shown) {
        ObjectNode whole = Rpc.tree(result);
        for (Map.Entry<String, JsonNode> field : whole.properties()) {
            form.set(field.getKey(), field.getValue());
        }
        form.set("stdout", Rpc.tree(cut(result.stdout(), shown)));
        form.set("stderr", Rpc.tree(cut(result.stderr(), shown)));
        var items = form.putArray("files");
        for (ResultFileJson file : files.subList(0, Math.min(SHOWN_FILES, files.size()))) {
            ObjectNode item = Rpc.tree(file);
            item.remove("data");
            items.add(item);
        }
    }

    private static OutputJson cut(OutputJson output, int shown) {
        String data = Texts.head(output.data(), shown);
        if (data.length() == output.data().length()) {
            return output;
        }
        boolean text = output.encoding().equals("text");
        String kept = text ? data : data.substring(0, data.length() & ~3);
        long bytes = text ? data.getBytes(StandardCharsets.UTF_8).length : kept.length() / 4L * 3;
        return new OutputJson(
                output.encoding(), kept, output.totalBytes(), true, output.totalBytes() - bytes);
    }

    private static String summary(Work work, ResultJson result) {
        StringBuilder text = new StringBuilder();
        Integer exitCode = result.exitCode();
        Integer signal = result.signal();
        if (exitCode != null) {
            text.append("Exit status ").append(exitCode);
        } else if (signal != null) {
            text.append("Ended by signal ").append(signal);
        } else {
            text.append("Ended");
        }
        text.append(" (").append(result.reason()).append(") after ");
        text.append(result.usage().wallMillis()).append(" ms; id ").append(work.id()).append('.');
        if (!result.limitsHit().isEmpty()) {
            text.append(" Limits met: ").append(String.join(", ", result.limitsHit())).append('.');
        }
        result.denied()
                .forEach(denied ->
                        text.append("\nDenied ")
                                .append(Words.plain(denied.kind() + " " + denied.target()))
                                .append(": ")
                                .append(denied.remedy()));
        String hint = result.hint();
        if (hint != null && !hint.isEmpty()) {
            text.append("\nHint: ").append(Words.plain(hint));
        }
        if (result.stdout().totalBytes() == 0 && result.stderr().totalBytes() == 0) {
            text.append("\nIt wrote nothing.");
        }
        return text.toString();
    }

    private static void output(
            ToolResult answer, Work work, String stream, OutputJson output, int shown) {
        if (output.totalBytes() == 0) {
            return;
        }
        boolean text = output.encoding().equals("text");
        String what = stream + ", " + output.totalBytes() + " bytes" + (text ? "" : " in base64");
        String data = output.data();
        if (data.length() <= shown && !output.truncated()) {
            answer.quotes(what, data, stream);
            return;
        }
        String head = Texts.head(data, shown / 2 & ~3);
        String tail = text && data.length() > shown ? Texts.tail(data, shown / 2) : "";
        boolean whole = data.length() <= shown;
        String kept = whole ? data : head;
        long bytes = text ? kept.getBytes(StandardCharsets.UTF_8).length : kept.length() / 4L * 3;
        answer.quotes(what + ", its beginning", kept, stream);
        if (!tail.isEmpty()) {
            String end = output.truncated() ? ", the end of what was kept" : ", its end";
            answer.quotes(what + end, tail, stream);
        }
        answer.says(
                "Something of "
                        + stream
                        + " is left out here. Read on with get_output, id "
                        + work.id()
                        + ", stream "
                        + stream
                        + ", offset "
                        + bytes
                        + ", or let the command write to a file and look at parts of it.");
    }

    private static void names(ToolResult answer, List<ResultFileJson> files) {
        if (files.isEmpty()) {
            return;
        }
        StringBuilder names = new StringBuilder();
        for (ResultFileJson file : files.subList(0, Math.min(SHOWN_FILES, files.size()))) {
            names.append(file.path()).append("  ").append(file.type()).append("  ");
            names.append(file.size()).append('\n');
        }
        if (files.size() > SHOWN_FILES) {
            names.append("and ").append(files.size() - SHOWN_FILES).append(" more\n");
        }
        answer.quotes("new and changed files below /work", names.toString(), "names");
    }

    private static void images(ToolResult answer, ResultJson result, List<ResultFileJson> files) {
        int left = MAX_IMAGES;
        for (Map<String, String> bundle : result.results()) {
            String data = bundle.get("image/png");
            left -= data != null && left > 0 && image(answer, data, "result") ? 1 : 0;
        }
        for (ResultFileJson file : files) {
            String data = file.data();
            left -= data != null && left > 0 && image(answer, data, "file") ? 1 : 0;
        }
    }

    private static boolean image(ToolResult answer, String base64, String source) {
        byte[] content;
        try {
            content = Base64.getDecoder().decode(base64);
        } catch (IllegalArgumentException e) {
            return false;
        }
        String mime = Texts.image(content);
        if (mime.isEmpty() || content.length > WorkFiles.INLINE_BYTES) {
            return false;
        }
        answer.shows(mime, base64, source);
        return true;
    }

    /** A part of an output. */
    static ToolResult piece(Work work, Work.Status status, Work.Piece part, boolean stderr) {
        Texts.Piece piece = Texts.piece(part.bytes());
        long from = part.offset() + piece.skipped();
        long next = from + piece.bytes();
        String stream = stderr ? "stderr" : "stdout";
        ObjectNode form = head(work, status).put("stream", stream);
        form.put("encoding", piece.encoding()).put("data", piece.data());
        form.put("offset", from).put("nextOffset", next);
        StringBuilder text = new StringBuilder().append(work.id()).append(" is ");
        text.append(status.state());
        ResultJson result = status.result();
        if (result != null) {
            form.put("reason", result.reason());
            text.append(" (").append(result.reason());
            if (result.exitCode() != null) {
                form.put("exitCode", result.exitCode());
                text.append(", exit status ").append(result.exitCode());
            }
            if (result.signal() != null) {
                form.put("signal", result.signal());
            }
            text.append(')');
        }
        text.append(". Bytes ").append(from).append(" to ").append(next);
        text.append(" of ")
                .append(stream)
                .append("; read on with offset ")
                .append(next)
                .append('.');
        ToolResult answer = ToolResult.of(form).says(text.toString());
        return piece.bytes() == 0
                ? answer
                : answer.quotes(stream + ", " + piece.encoding(), piece.data(), stream);
    }
}
