package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.FileInfo;
import dev.caisson.api.ResultFile;
import dev.caisson.api.Sandbox;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Names and depths that a sandbox chose, and paths that a caller was talked into. */
class ResultNamesTest {
    /** Makes files whose content is the hexadecimal form of their name. */
    private static final String ODD_NAMES =
            """
            import os
            names = [b'new\\nline', b'return\\rback', b'tab\\there', b'\\x1b[31mred\\x1b[0m', b'\\x1b]0;title\\x07', b'quote"\\'`$x',
                     b'\\xff\\xfe\\x80', b'cut\\xe2\\x82', b'\\xc0\\xae\\xc0\\xae', b'caf\\xc3\\xa9', b'cafe\\xcc\\x81', b'case', b'CASE',
                     b'%2e%2e%2fup', b'%2E%2E%2Fup', b'%25', b'%', b'..%5cup', b'..\\\\..\\\\up', b'....', b'...', b'~', b'~root', b'C:up',
                     b' lead', b'trail ', b'-rf', b'--help', b'*', b'$(id)', b'bidi\\xe2\\x80\\xaetxt', b'zero\\xe2\\x80\\x8bwidth',
                     b'line\\xe2\\x80\\xa8sep', b'\\xef\\xbc\\x8e\\xef\\xbc\\x8e', b'.caisson-x', b'a' * 255, b'\\xe2\\x82\\xac' * 85,
                     b'\\xff' * 255, b'=cmd|x', b'.git', b'nul', b'\\x7f', b'\\xf0\\x9f\\x98\\x80']
            for name in names:
                with open(name, 'wb') as file:
                    file.write(name.hex().encode())
            print(len(names))
            """;

    /** Makes a tree that is far deeper than PATH_MAX, and a file at its bottom. */
    private static final String DEEP =
            """
            import os
            for level in range(4095):
                os.mkdir('d')
                os.chdir('d')
            open('bottom', 'w').write('x')
            print('made')
            """;

    private static final List<String> CLIMBING =
            List.of(
                    "..",
                    "../x",
                    "/work/../etc/passwd",
                    "a/../../etc/passwd",
                    "/..",
                    "/work/..",
                    "%2E%2E/x",
                    "%2E%2E%2Fx",
                    "..%2Fx",
                    "/work/%2E%2E/etc/passwd",
                    "./../x",
                    "a/..",
                    "x%00y",
                    "x\0y",
                    "",
                    "..//..//etc/passwd");

    private static final List<String> LITERAL =
            List.of(
                    "%2e%2e%2fx",
                    "..%5cx",
                    "..\\x",
                    "%252E%252E%252Fx",
                    "....//x",
                    "~/x",
                    "%c0%ae%c0%ae/x",
                    "．．/x",
                    "%u002e",
                    "/work/./y",
                    "..;/x",
                    "$HOME");

    @TempDir Path host;

    @Test
    @DisplayName(
            "F18 F19 F20 names of any bytes are told apart, read back and brought out one for one")
    void namesOfAnyBytesAreToldApart() throws IOException {
        Path out = host.resolve("out");
        try (Sandbox sandbox = Lab.sandbox()) {
            int made = Integer.parseInt(Lab.python(sandbox, ODD_NAMES).stdout().text().strip());

            Results results = Results.collect(sandbox, out, ByteSize.ofMib(1));

            assertThat(results.paths()).as("no two names became one").hasSize(made);
            assertThat(results.paths())
                    .allMatch(path -> path.codePoints().noneMatch(ResultNamesTest::hidden));
            for (ResultFile result : results.all()) {
                String hex = sandbox.files().readText(result.path());
                assertThat(sandbox.files().stat(result.path()).orElseThrow().size())
                        .isEqualTo(hex.length());
                if (result.collected()) {
                    assertThat(Files.readString(out.resolve(result.path())))
                            .as(result.path())
                            .isEqualTo(hex);
                }
            }
            assertThat(results.all().stream().filter(result -> !result.collected()))
                    .as("only the one whose escaped name no host takes")
                    .singleElement()
                    .satisfies(result -> assertThat(result.note()).contains("too long"));
            assertThat(HostView.entries(out)).hasSize(made - 1);
            assertThat(HostView.entries(host)).as("nothing beside the target").containsExactly(out);
            assertThat(sandbox.files().list("/work"))
                    .extracting(FileInfo::path)
                    .containsExactlyInAnyOrderElementsOf(results.paths());
            assertThat(results.paths())
                    .as("control: twins")
                    .contains("café", "cafe\u0301", "case", "CASE", "new%0Aline");
        }
    }

    private static boolean hidden(int codePoint) {
        int type = Character.getType(codePoint);
        return type == Character.CONTROL
                || type == Character.FORMAT
                || type == Character.LINE_SEPARATOR;
    }

    @Test
    @DisplayName(
            "F17 paths that climb are refused in every spelling, and others name what they spell")
    void pathsThatClimbAreRefused() {
        try (Sandbox sandbox = Lab.sandbox()) {
            for (String path : CLIMBING) {
                assertInvalid(path, () -> sandbox.files().read(path));
                assertInvalid(path, () -> sandbox.files().write(path, "x"));
                assertInvalid(path, () -> sandbox.files().list(path));
                assertInvalid(path, () -> sandbox.files().makeDirectory(path));
                assertInvalid(path, () -> sandbox.files().removeTree(path));
                assertInvalid(path, () -> sandbox.files().move(path, "y"));
                assertInvalid(path, () -> sandbox.files().move("y", path));
            }
            String before =
                    Lab.sh(sandbox, "ls -AR /tmp /home /var /srv /opt /etc /run | sha256sum")
                            .stdout()
                            .text();
            for (String path : LITERAL) {
                sandbox.files().write(path, path);
                assertThat(sandbox.files().readText(path)).as("control: %s", path).isEqualTo(path);
            }
            assertThat(
                            Lab.sh(
                                            sandbox,
                                            "ls -AR /tmp /home /var /srv /opt /etc /run |"
                                                    + " sha256sum")
                                    .stdout()
                                    .text())
                    .as("nothing outside of /work")
                    .isEqualTo(before);
            assertThat(sandbox.files().listTree("/work"))
                    .hasSizeGreaterThanOrEqualTo(LITERAL.size());
        }
    }

    private static void assertInvalid(
            String path, org.assertj.core.api.ThrowableAssert.ThrowingCallable action) {
        CaissonException refusal = catchThrowableOfType(CaissonException.class, action);
        assertThat(refusal).as("refusal of '%s'", path).isNotNull();
        assertThat(refusal.code())
                .as("'%s': %s", path, refusal.message())
                .isEqualTo(ErrorCode.INVALID);
    }

    @Test
    @DisplayName("F22 ids and names that are options, or no names at all, are refused")
    void namesThatAreOptionsAreRefused() {
        for (String name :
                List.of(
                        "--upload-pack=x",
                        "-oProxyCommand",
                        "..",
                        ".",
                        "-",
                        "a/b",
                        "a b",
                        "a\n",
                        "",
                        "a".repeat(64))) {
            CaissonException refusal =
                    catchThrowableOfType(
                            CaissonException.class,
                            () -> Lab.spec(limits -> limits).withName(name));
            assertThat(refusal).as("name '%s'", name).isNotNull();
            assertThat(refusal.code()).isEqualTo(ErrorCode.INVALID);
        }
        assertThat(Lab.spec(limits -> limits).withName("a-b_c.d").name())
                .as("control")
                .contains("a-b_c.d");
    }

    @Test
    @DisplayName(
            "F20 F30 a tree deeper than PATH_MAX is listed and collected as far as it goes, and"
                    + " ends with its sandbox")
    void aTreeDeeperThanPathMaxSurvives() throws IOException, InterruptedException {
        Path out = host.resolve("out");
        try (Sandbox sandbox = Lab.sandbox()) {
            assertThat(Lab.python(sandbox, DEEP).stdout().text()).isEqualTo("made\n");
            sandbox.files().write("beside", "x");

            assertThat(sandbox.files().listTree("/work")).hasSizeBetween(200, 300);
            List<ResultFile> results = sandbox.files().collect(out, ByteSize.ofMib(1));

            assertThat(results)
                    .anyMatch(result -> result.path().equals("beside") && result.collected());
            assertThat(results.getLast().note()).as("what is missing is told").contains("levels");
            CaissonException tooDeep =
                    catchThrowableOfType(CaissonException.class, () -> sandbox.files().mark());
            assertThat(tooDeep.code()).isEqualTo(ErrorCode.TOO_LARGE);
            assertThat(Lab.sh(sandbox, "rm -rf d && ls").stdout().text()).isEqualTo("beside\n");
            Lab.python(sandbox, DEEP);
        }
        Lab.outside("rm", "-rf", out.toString());
        assertControl();
    }

    /** A walk by paths, as one writes it without thinking, fails on such a tree. */
    private void assertControl() throws IOException, InterruptedException {
        Lab.outside("/usr/bin/python3", "-c", "import os; os.chdir('" + host + "')\n" + DEEP);
        try {
            assertThatThrownBy(
                            () -> {
                                try (Stream<Path> tree = Files.walk(host)) {
                                    assertThat(tree.count()).isPositive();
                                }
                            })
                    .as("control")
                    .isInstanceOfAny(FileSystemException.class, UncheckedIOException.class);
        } finally {
            Lab.outside("rm", "-rf", host.resolve("d").toString());
        }
    }

    @Test
    @DisplayName("F20 a folder with more entries than a listing takes is cut, and that is told")
    void aListingWithoutEndIsCut() {
        try (Sandbox sandbox = Lab.sandbox()) {
            // An ext4 file has at most 65,000 names.
            Lab.python(
                    sandbox,
                    """
                    import os
                    for i in range(102000):
                        if i % 60000 == 0:
                            first = f'n{i}'
                            open(first, 'w').close()
                        else:
                            os.link(first, f'n{i}')
                    """);
            assertThat(sandbox.files().list("/work")).hasSize(100_000);
            assertThat(sandbox.files().changes().getLast().note()).contains("2000 more");
            assertThat(Lab.sh(sandbox, "ls -f | wc -l").stdout().text())
                    .as("control")
                    .isEqualTo("102002\n");
        }
    }
}
