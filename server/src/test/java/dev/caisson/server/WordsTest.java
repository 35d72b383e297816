package dev.caisson.server;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/**
 * The words of the document are those of the forms' own documentation. With {@code WORDS_WRITE=1}
 * the words are written anew instead.
 */
class WordsTest {
    private static final Pattern FORM =
            Pattern.compile("/\\*\\*(.*?)\\*/\\s*public record (\\w+)", Pattern.DOTALL);
    private static final Path WORDS =
            Path.of("src", "main", "resources", "dev", "caisson", "server", "words.properties");

    @Test
    void saysWhatTheFormsSay() throws Exception {
        Properties words = new Properties();
        try (InputStream source = Files.newInputStream(WORDS)) {
            words.load(source);
        }
        Map<String, String> said = said();
        assertThat(said).hasSizeGreaterThan(350);
        if ("1".equals(System.getenv("WORDS_WRITE"))) {
            write(words, said);
        }
        said.forEach((name, meaning) ->
                assertThat(words.getProperty(name))
                        .as(name + " (write the words anew with WORDS_WRITE=1)")
                        .isEqualTo(meaning));
    }

    private static Map<String, String> said() throws IOException {
        Path forms = Path.of("..", "v1", "src", "main", "java", "dev", "caisson", "v1");
        Map<String, String> said = new TreeMap<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(forms, "*.java")) {
            for (Path file : files) {
                Matcher form = FORM.matcher(Files.readString(file));
                if (form.find()) {
                    add(said, form.group(2), form.group(1));
                }
            }
        }
        return said;
    }

    private static void add(Map<String, String> said, String form, String doc) {
        String text =
                doc.replaceAll("\\n[ \\t]*\\*[ \\t]?", " ")
                        .replaceAll("\\{@code ([^}]*)}", "$1")
                        .replaceAll("\\s+", " ");
        String[] parts = text.split(" @param ", -1);
        said.put(form, parts[0].strip());
        for (int i = 1; i < parts.length; i++) {
            String name = parts[i].strip().split(" ", 2)[0];
            if (!name.startsWith("<")) {
                said.put(form + "." + name, parts[i].strip().substring(name.length()).strip());
            }
        }
    }

    private static void write(Properties words, Map<String, String> said) throws IOException {
        Map<String, String> all = new TreeMap<>();
        words.stringPropertyNames().forEach(name -> all.put(name, words.getProperty(name)));
        all.putAll(said);
        List<String> lines = new ArrayList<>();
        lines.add(
                "# What forms and their fields mean: the @param lines of the module v1, and of"
                        + " Forms. WordsTest holds them together.");
        all.forEach((name, meaning) -> lines.add(name + "=" + escaped(meaning)));
        Files.write(WORDS, lines, StandardCharsets.US_ASCII);
        words.putAll(said);
    }

    private static String escaped(String text) {
        StringBuilder escaped = new StringBuilder();
        for (char c : text.replace("\\", "\\\\").toCharArray()) {
            escaped.append(c < 0x80 ? String.valueOf(c) : "\\u%04x".formatted((int) c));
        }
        return escaped.toString();
    }
}
