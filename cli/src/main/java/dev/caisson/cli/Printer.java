package dev.caisson.cli;

import dev.caisson.v1.Json;
import dev.caisson.v1.Page;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** Shows what a server answered: tables for people, tabs for scripts, JSON for programs. */
final class Printer {
    private static final int FALLBACK_WIDTH = 100;

    private final Main main;
    private final boolean json;

    Printer(Main main, boolean json) {
        this.main = main;
        this.json = json;
    }

    boolean json() {
        return json;
    }

    /** A row of cells for an item. */
    interface Row<T> extends Function<T, @Nullable Object[]> {}

    /** A list, in the API's list form with JSON. */
    <T> void list(List<T> items, List<String> heads, Row<T> row) {
        if (json) {
            line(Json.write(new Page<>(items, null)));
            return;
        }
        Table table = new Table(heads.toArray(String[]::new));
        items.forEach(item -> table.row(row.apply(item)));
        main.streams().print(table.text(width()));
    }

    /** One object, whole. */
    void object(Object form) {
        if (json) {
            line(Json.write(form));
            return;
        }
        Table table = new Table("FIELD", "VALUE");
        flatten(table, "", Json.LENIENT.valueToTree(form));
        main.streams().print(table.text(width()));
    }

    /** One object; people get a word about it, for example its id. */
    void made(Object form, String word) {
        line(json ? Json.write(form) : Clean.text(word));
    }

    /** An item of a stream as one line. */
    void item(Object form, @Nullable Object... cells) {
        if (json) {
            line(Json.write(form));
            return;
        }
        StringBuilder text = new StringBuilder();
        for (Object cell : cells) {
            text.append(text.isEmpty() ? "" : "\t")
                    .append(cell == null ? "" : Clean.text(cell.toString()));
        }
        line(text.toString());
    }

    /** Says something that only people want to know. */
    void say(String line) {
        if (!json) {
            main.streams().say(Clean.text(line));
        }
    }

    private void line(String text) {
        main.streams().print(text + "\n");
    }

    private static void flatten(Table table, String name, JsonNode node) {
        if (node.isObject()) {
            for (Map.Entry<String, JsonNode> field : node.properties()) {
                flatten(
                        table,
                        name.isEmpty() ? field.getKey() : name + "." + field.getKey(),
                        field.getValue());
            }
        } else if (node.isArray()) {
            int index = 0;
            for (JsonNode element : node) {
                flatten(table, name + "[" + index++ + "]", element);
            }
        } else if (!node.isNull()) {
            table.row(name, node.asString());
        }
    }

    /** The width of the terminal; 0 when there is none. */
    int width() {
        if (!main.streams().outIsTerminal()) {
            return 0;
        }
        try {
            int told = Integer.parseInt(main.env().getOrDefault("COLUMNS", "0"));
            return told > 0 ? told : Tty.size().map(size -> size.cols()).orElse(FALLBACK_WIDTH);
        } catch (NumberFormatException e) {
            return FALLBACK_WIDTH;
        }
    }
}
