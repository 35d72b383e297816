package dev.caisson.mcp;

import static dev.caisson.mcp.Arguments.required;

import dev.caisson.v1.FileJson;
import java.util.List;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** The tools for files. Paths are given and answered as the API has them: {@code %25} for %. */
final class FileTools {
    private static final int SHOWN_ENTRIES = 500;
    private static final int DEFAULT_LENGTH = 64 << 10;
    private static final int MAX_LENGTH = 1 << 20;

    private final Backend backend;

    FileTools(Backend backend) {
        this.backend = backend;
    }

    ToolResult write(Call call, ObjectNode given) {
        Arguments.WriteFile asked = Arguments.read(given, Arguments.WriteFile.class);
        int mode = Boolean.TRUE.equals(asked.executable()) ? 0755 : 0644;
        FileJson file =
                backend.write(
                        required("sandbox", asked.sandbox()),
                        required("path", asked.path()),
                        asked.content(),
                        mode);
        return ToolResult.of(Rpc.tree(file)).says("Wrote " + file.size() + " bytes.");
    }

    ToolResult read(Call call, ObjectNode given) {
        Arguments.ReadFile asked = Arguments.read(given, Arguments.ReadFile.class);
        String path = required("path", asked.path());
        long offset = asked.offset() == null ? 0 : asked.offset();
        int length = asked.length() == null ? DEFAULT_LENGTH : asked.length();
        String run = asked.run();
        if (run != null) {
            byte[] whole = backend.runFile(run, path, MAX_LENGTH);
            if (!asked.raw() && !Texts.image(whole).isEmpty()) {
                return image(path, whole, whole.length);
            }
            int from = (int) Math.min(offset, whole.length);
            int to = (int) Math.min((long) from + length, whole.length);
            byte[] part = java.util.Arrays.copyOfRange(whole, from, to);
            return piece(path, whole.length, from, part, asked.raw());
        }
        String sandbox = required("sandbox", asked.sandbox());
        FileJson file = backend.stat(sandbox, path);
        byte[] part = backend.read(sandbox, path, offset, length);
        boolean image = !asked.raw() && offset == 0 && !Texts.image(part).isEmpty();
        if (image && part.length < file.size() && file.size() <= MAX_LENGTH) {
            part = backend.read(sandbox, path, 0, MAX_LENGTH);
        }
        return image && part.length >= file.size()
                ? image(path, part, file.size())
                : piece(path, file.size(), offset, part, asked.raw());
    }

    private static ToolResult image(String path, byte[] content, long size) {
        ObjectNode form = Rpc.object().put("path", path).put("type", "regular").put("size", size);
        return ToolResult.of(form)
                .says("An image of " + size + " bytes.")
                .shows(Texts.image(content), Texts.base64(content).data(), "file");
    }

    private static ToolResult piece(String path, long size, long offset, byte[] part, boolean raw) {
        Texts.Piece piece = raw ? Texts.base64(part) : Texts.piece(part);
        long from = offset + piece.skipped();
        long next = from + piece.bytes();
        ObjectNode form = Rpc.object().put("path", path).put("type", "regular").put("size", size);
        form.put("offset", from).put("nextOffset", next);
        form.put("encoding", piece.encoding()).put("data", piece.data());
        String more =
                next < size
                        ? " " + (size - next) + " more: read_file with offset " + next + "."
                        : "";
        return ToolResult.of(form)
                .says("Bytes " + from + " to " + next + " of " + size + "." + more)
                .quotes("file, " + piece.encoding(), piece.data(), "file");
    }

    ToolResult list(Call call, ObjectNode given) {
        Arguments.ListFiles asked = Arguments.read(given, Arguments.ListFiles.class);
        String path = asked.path() == null ? "/work" : asked.path();
        List<FileJson> all =
                backend.list(
                        required("sandbox", asked.sandbox()),
                        path,
                        Boolean.TRUE.equals(asked.recursive()));
        List<FileJson> shown = all.stream().limit(SHOWN_ENTRIES).toList();
        ObjectNode form = Rpc.object().put("total", all.size());
        ArrayNode items = form.putArray("items");
        StringBuilder names = new StringBuilder();
        for (FileJson file : shown) {
            items.add(Rpc.tree(file));
            names.append(String.format("%-9s %10d  ", file.type(), file.size()))
                    .append(file.path())
                    .append('\n');
        }
        String left =
                shown.size() < all.size()
                        ? " The first " + shown.size() + " are here; list a folder below."
                        : "";
        ToolResult result = ToolResult.of(form).says(all.size() + " entries." + left);
        return shown.isEmpty() ? result : result.quotes("names", names.toString(), "names");
    }

    ToolResult delete(Call call, ObjectNode given) {
        Arguments.DeleteFile asked = Arguments.read(given, Arguments.DeleteFile.class);
        String path = required("path", asked.path());
        backend.remove(
                required("sandbox", asked.sandbox()), path, Boolean.TRUE.equals(asked.recursive()));
        return ToolResult.of(Rpc.object().put("deleted", path)).says("Deleted.");
    }
}
