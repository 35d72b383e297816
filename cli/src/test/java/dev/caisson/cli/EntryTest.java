package dev.caisson.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.caisson.cli.Entry.Ended;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The entry script and what works without a sandbox. */
@Timeout(120)
class EntryTest {
    @Test
    void printsItsVersion() throws Exception {
        Ended ended = Entry.run("version");

        assertThat(ended.err()).isEmpty();
        assertThat(ended.text()).startsWith("caisson ").hasLineCount(1);
        assertThat(ended.status()).isZero();
    }

    @Test
    void refusesBadOptionsInOneLine() throws Exception {
        Ended ended = Entry.run("run", "--memory", "much", "--", "true");

        assertThat(ended.err()).startsWith("caisson: --memory: 'much'").hasLineCount(1);
        assertThat(ended.status()).isEqualTo(125);
    }

    @Test
    void saysWhenTheNamedJdkIsNone(@TempDir Path empty) throws Exception {
        Ended ended =
                Entry.finish(
                        Entry.start(
                                List.of(),
                                Map.of("CAISSON_JAVA_HOME", empty.toString()),
                                "version"),
                        "");

        assertThat(ended.err()).contains("is no JDK 25 or newer").hasLineCount(1);
        assertThat(ended.status()).isEqualTo(125);
    }

    @Test
    void worksThroughALinkFromAnywhere(@TempDir Path folder) throws Exception {
        Path link =
                Files.createSymbolicLink(
                        folder.resolve("caisson"), Entry.checkout().resolve("caisson"));
        Process process =
                new ProcessBuilder(
                                "sh",
                                "-c",
                                "cd / && PATH=$1:$PATH caisson version",
                                "sh",
                                folder.toString())
                        .start();

        assertThat(Entry.finish(process, "").text()).startsWith("caisson ");
        assertThat(link).isSymbolicLink();
    }

    @Test
    void announcesNoOptionsOfTheJvm() throws Exception {
        Ended ended =
                Entry.finish(
                        Entry.start(List.of(), Map.of("JAVA_TOOL_OPTIONS", "-Dx=y"), "version"),
                        "");

        assertThat(ended.err()).isEmpty();
    }

    @Test
    void withoutRootItSaysWhatToDo() throws Exception {
        Entry.needsSandboxes();
        assumeTrue(
                Files.isExecutable(Path.of("/usr/bin/setpriv")), "needs setpriv to drop root with");
        Process process =
                Entry.start(
                        List.of("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"),
                        Map.of(),
                        "run",
                        "--",
                        "true");
        Ended ended = Entry.finish(process, "");

        assertThat(ended.err()).contains("root").contains("sudo").hasLineCount(1);
        assertThat(ended.status()).isEqualTo(125);
    }
}
