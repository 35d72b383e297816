package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The tables of the README name tests that are there, and all that carry an id. */
class CatalogueTest {
    private static final Pattern NAMED = Pattern.compile("\\b([A-Z]\\w*Test)(?:\\.([a-z]\\w*))?");
    private static final Pattern ID = Pattern.compile("[A-Z]\\d\\d");
    private static final Pattern RANGE = Pattern.compile("([A-Z])(\\d\\d)–[A-Z](\\d\\d)");
    private static final Pattern TITLE =
            Pattern.compile("@DisplayName\\(\\s*\"((?:[A-Z]\\d\\d )+)");

    private static final Path CHECKOUT =
            Path.of(System.getProperty("caisson.checkout", "..")).toAbsolutePath();

    /** The text of each test of the project, by its class. */
    private static Map<String, String> tests() throws IOException {
        Map<String, String> tests = new HashMap<>();
        try (Stream<Path> all = Files.walk(CHECKOUT)) {
            for (Path file :
                    all.filter(path -> path.toString().endsWith("Test.java"))
                            .filter(path -> path.toString().contains("/src/test/java/"))
                            .toList()) {
                String name = String.valueOf(file.getFileName()).replace(".java", "");
                tests.merge(name, Files.readString(file), String::concat);
            }
        }
        return tests;
    }

    private static String page() throws IOException {
        return Files.readString(CHECKOUT.resolve("conformance/README.md"));
    }

    @Test
    void everyTestThatIsNamedIsThere() throws IOException {
        Map<String, String> tests = tests();
        Set<String> missing = new TreeSet<>();
        Set<String> found = new TreeSet<>();
        Matcher named = NAMED.matcher(page());
        while (named.find()) {
            String test = tests.get(named.group(1));
            boolean there =
                    test != null
                            && (named.group(2) == null
                                    || test.contains(" " + named.group(2) + "("));
            (there ? found : missing).add(named.group());
        }
        assertThat(missing).isEmpty();
        assertThat(found).hasSizeGreaterThan(50);
    }

    @Test
    void everyIdOfATestHasARow() throws IOException {
        Set<String> rows = new TreeSet<>();
        for (String line : page().lines().filter(one -> one.startsWith("| ")).toList()) {
            String first = line.split("\\|", -1)[1];
            Matcher range = RANGE.matcher(first);
            while (range.find()) {
                for (int i = number(range.group(2)); i <= number(range.group(3)); i++) {
                    rows.add(String.format(Locale.ROOT, "%s%02d", range.group(1), i));
                }
            }
            Matcher id = ID.matcher(first);
            while (id.find()) {
                rows.add(id.group());
            }
        }
        Set<String> carried = new TreeSet<>();
        for (String test : tests().values()) {
            Matcher title = TITLE.matcher(test);
            while (title.find()) {
                carried.addAll(Set.of(title.group(1).strip().split(" ")));
            }
        }
        assertThat(carried).hasSizeGreaterThan(60);
        assertThat(rows).containsAll(carried);
    }

    private static int number(String digits) {
        return Integer.parseInt(digits);
    }
}
