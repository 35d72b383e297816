package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.ByteSize;
import dev.caisson.api.Sandbox;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is in the target folder on the host already does not lead what a sandbox made out of it. */
class HostTargetTest {
    @TempDir Path host;

    @Test
    @DisplayName(
            "F01 F09 links that are in the target folder are replaced or refused, not followed")
    void linksInTheTargetAreNotFollowed() throws IOException {
        Path out = Files.createDirectory(host.resolve("out"));
        Path aim = Files.createDirectory(host.resolve("aim"));
        Path victim = Files.writeString(aim.resolve("victim"), "old");
        Files.createSymbolicLink(out.resolve("file"), victim);
        Files.createSymbolicLink(out.resolve("fresh"), aim.resolve("fresh"));
        Files.createSymbolicLink(out.resolve("folder"), aim);
        Files.createSymbolicLink(out.resolve("relative"), Path.of("../aim"));
        Files.createDirectories(out.resolve("taken/inner"));
        try (Sandbox sandbox = Lab.sandbox()) {
            Lab.sh(
                    sandbox,
                    "for d in folder relative; do mkdir $d; echo new > $d/victim; echo new >"
                            + " $d/made; done; echo new > file; echo new > fresh; echo new > taken;"
                            + " mkdir real; echo new > real/made");

            Results results = Results.collect(sandbox, out, ByteSize.ofMib(1));

            assertThat(Files.readString(victim)).isEqualTo("old");
            assertThat(HostView.entries(aim)).containsExactly(victim);
            assertThat(Files.isRegularFile(out.resolve("file"), LinkOption.NOFOLLOW_LINKS))
                    .isTrue();
            assertThat(Files.isRegularFile(out.resolve("fresh"), LinkOption.NOFOLLOW_LINKS))
                    .isTrue();
            for (String name :
                    new String[] {"folder/victim", "folder/made", "relative/made", "taken"}) {
                assertThat(results.get(name).collected()).as(name).isFalse();
                assertThat(results.get(name).note()).as(name).isNotEmpty();
            }
            assertThat(Files.readString(out.resolve("real/made"))).as("control").isEqualTo("new\n");
            assertThat(HostView.entries(out))
                    .as("nothing temporary is left")
                    .noneMatch(p -> p.toString().contains(".caisson-"));
        }
        Files.writeString(out.resolve("folder/made"), "x");
        assertThat(aim.resolve("made")).as("control: a path is followed").exists();
    }

    @Test
    @DisplayName(
            "F09 getting one file replaces a link of that name on the host, and does not follow it")
    void gettingOneFileReplacesALink() throws IOException {
        Path victim = Files.writeString(host.resolve("victim"), "old");
        Path link = Files.createSymbolicLink(host.resolve("link"), victim);
        try (Sandbox sandbox = Lab.sandbox()) {
            sandbox.files().write("file", "new");
            sandbox.files().get("file", link);
            assertThat(Files.readString(victim)).isEqualTo("old");
            assertThat(Files.isSymbolicLink(link)).isFalse();
            assertThat(Files.readString(link)).as("control").isEqualTo("new");
        }
    }

    @Test
    @DisplayName(
            "F01 links in a folder that is put into a sandbox do not take files of the host with"
                    + " them")
    void linksInAFolderThatIsPutAreLeftOut() throws IOException {
        Files.writeString(host.resolve("secret"), "canary");
        Path folder = Files.createDirectory(host.resolve("folder"));
        Files.createSymbolicLink(folder.resolve("link"), host.resolve("secret"));
        Files.createSymbolicLink(folder.resolve("up"), Path.of(".."));
        Files.writeString(folder.resolve("file"), "file");
        try (Sandbox sandbox = Lab.sandbox()) {
            sandbox.files().put(folder, "put");
            assertThat(Lab.sh(sandbox, "cd put; ls -A; cat file; grep -r canary .").stdout().text())
                    .isEqualTo("file\nfile");
            assertThat(Files.readString(folder.resolve("link"))).as("control").isEqualTo("canary");
        }
    }

    @Test
    @DisplayName("F01 F10 F15 the command line brings plain files only out of a hostile result")
    void theCommandLineBringsPlainFilesOnly() throws IOException, InterruptedException {
        Path canary = Files.writeString(host.resolve("canary"), "canary of the host");
        Path out = host.resolve("out");
        String trigger =
                "ln -s "
                        + canary
                        + " abs; ln -s /proc/self/environ env; ln -s / root; mkfifo pipe; truncate"
                        + " -s 1T big; printf x > \"$(printf 'new\\nline')\"; mkdir -p deep/er;"
                        + " echo good > deep/er/file";

        Lab.Outside run =
                Lab.finish(Lab.cli("run", "--out", out.toString(), "--", "sh", "-c", trigger));

        assertThat(run.status()).as(run.text()).isZero();
        assertThat(run.text())
                .as("names of results do not move the terminal's cursor")
                .doesNotContain("new\nline");
        try (java.util.stream.Stream<Path> tree = Files.walk(out)) {
            assertThat(
                            tree.filter(path -> !Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS))
                                    .map(path -> out.relativize(path).toString()))
                    .as("control: plain files are there")
                    .containsExactlyInAnyOrder("deep/er/file", "new%0Aline");
        }
    }

    @Test
    @DisplayName(
            "F31 C17 another user of the host reaches neither sockets nor locks nor disks"
                    + " (CVE-2021-41103)")
    void anotherUserOfTheHostReachesNothing() throws IOException, InterruptedException {
        try (Sandbox sandbox = Lab.sandbox()) {
            sandbox.files().write("secret", "canary");
            // The place of a lock that anyone may open is a place where anyone may keep launchers
            // waiting.
            String open =
                    "for f in $(find /run/caisson /var/lib/caisson -type s -o -name '*lock*' -type"
                        + " f -o -path '*/span/*') /dev/loop[0-9]*; do [ -r $f ] || [ -w $f ] &&"
                        + " echo $f; done; true";
            Lab.Outside other =
                    Lab.outside(
                            "setpriv",
                            "--reuid",
                            "65534",
                            "--regid",
                            "65534",
                            "--clear-groups",
                            "sh",
                            "-c",
                            open + "; find /run/caisson /var/lib/caisson -writable 2>/dev/null");
            assertThat(other.text().lines().filter(line -> !line.startsWith("find:"))).isEmpty();
            assertThat(Lab.outside("sh", "-c", open).text())
                    .as("control")
                    .contains("launcher.sock", "lock");
        }
    }
}
