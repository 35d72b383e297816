package dev.caisson.server;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.InputStream;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The words of the document are those of the forms' own documentation. */
class WordsTest {
    private static final Pattern FORM =
            Pattern.compile("/\\*\\*(.*?)\\*/\\s*public record (\\w+)", Pattern.DOTALL);

    @Test
    void saysWhatTheFormsSay() throws Exception {
        Properties words = new Properties();
        try (InputStream source = OpenApi.class.getResourceAsStream("words.properties")) {
            words.load(source);
        }
        Path forms = Path.of("..", "v1", "src", "main", "java", "dev", "caisson", "v1");
        int fields = 0;
        try (DirectoryStream<Path> files = Files.newDirectoryStream(forms, "*.java")) {
            for (Path file : files) {
                Matcher form = FORM.matcher(Files.readString(file));
                if (form.find()) {
                    fields += check(words, form.group(2), form.group(1));
                }
            }
        }
        assertThat(fields).isGreaterThan(300);
    }

    private static int check(Properties words, String form, String doc) {
        String text =
                doc.replaceAll("\\n[ \\t]*\\*[ \\t]?", " ")
                        .replaceAll("\\{@code ([^}]*)}", "$1")
                        .replaceAll("\\s+", " ");
        String[] parts = text.split(" @param ", -1);
        assertThat(words.getProperty(form)).as(form).isEqualTo(parts[0].strip());
        int fields = 0;
        for (int i = 1; i < parts.length; i++) {
            String name = parts[i].strip().split(" ", 2)[0];
            if (!name.startsWith("<")) {
                String meaning = parts[i].strip().substring(name.length()).strip();
                assertThat(words.getProperty(form + "." + name))
                        .as(form + "." + name)
                        .isEqualTo(meaning);
                fields++;
            }
        }
        return fields;
    }
}
