package dev.caisson.cli;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Rows for people, aligned and cut to the width of the terminal, or for programs: separated by
 * tabs, without heads. Every cell is cleaned.
 */
final class Table {
    private static final int GAP = 2;
    private static final int NARROWEST = 6;

    private final List<String> heads;
    private final List<List<String>> rows = new ArrayList<>();

    Table(String... heads) {
        this.heads = List.of(heads);
    }

    /** One row; what is null is empty. */
    Table row(@Nullable Object... cells) {
        rows.add(
                Arrays.stream(cells)
                        .map(cell -> cell == null ? "" : Clean.text(cell.toString()))
                        .toList());
        return this;
    }

    /**
     * The whole of it.
     *
     * @param width of the terminal; 0: there is none
     */
    String text(int width) {
        StringBuilder text = new StringBuilder();
        if (width <= 0) {
            rows.forEach(row -> text.append(String.join("\t", row)).append('\n'));
            return text.toString();
        }
        int[] widths = widths(width);
        line(text, heads, widths);
        rows.forEach(row -> line(text, row, widths));
        return text.toString();
    }

    /** As wide as needed; the widest give way first where that is too much. */
    private int[] widths(int width) {
        int[] widths = new int[heads.size()];
        for (int i = 0; i < widths.length; i++) {
            widths[i] = columns(heads.get(i));
            for (List<String> row : rows) {
                widths[i] = Math.max(widths[i], columns(row.get(i)));
            }
        }
        int room = width - GAP * (widths.length - 1);
        while (Arrays.stream(widths).sum() > room) {
            int widest = 0;
            for (int i = 1; i < widths.length; i++) {
                widest = widths[i] > widths[widest] ? i : widest;
            }
            if (widths[widest] <= NARROWEST) {
                break;
            }
            widths[widest]--;
        }
        return widths;
    }

    private static void line(StringBuilder text, List<String> cells, int[] widths) {
        StringBuilder line = new StringBuilder();
        for (int i = 0; i < widths.length; i++) {
            String cell = cut(cells.get(i), widths[i]);
            line.append(cell);
            line.repeat(" ", Math.max(0, widths[i] - columns(cell)) + GAP);
        }
        text.append(line.toString().stripTrailing()).append('\n');
    }

    private static String cut(String cell, int width) {
        if (columns(cell) <= width) {
            return cell;
        }
        StringBuilder part = new StringBuilder();
        int used = 0;
        for (int point : cell.codePoints().toArray()) {
            if (used + columns(point) > width - 1) {
                break;
            }
            used += columns(point);
            part.appendCodePoint(point);
        }
        return part.append('…').toString();
    }

    private static int columns(String text) {
        return text.codePoints().map(Table::columns).sum();
    }

    /** Columns of a character: none for marks, two for those of East Asia and most pictures. */
    private static int columns(int point) {
        int type = Character.getType(point);
        if (type == Character.NON_SPACING_MARK || type == Character.ENCLOSING_MARK) {
            return 0;
        }
        boolean wide =
                (point >= 0x1100 && point <= 0x115F)
                        || (point >= 0x2E80 && point <= 0xA4CF)
                        || (point >= 0xAC00 && point <= 0xD7A3)
                        || (point >= 0xF900 && point <= 0xFAFF)
                        || (point >= 0xFE30 && point <= 0xFE6F)
                        || (point >= 0xFF00 && point <= 0xFF60)
                        || (point >= 0x1F300 && point <= 0x1FAFF)
                        || (point >= 0x20000 && point <= 0x3FFFD);
        return wide ? 2 : 1;
    }
}
