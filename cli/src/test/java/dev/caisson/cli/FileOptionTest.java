package dev.caisson.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.HostFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FileOptionTest {
    @TempDir private Path folder;

    @Test
    void aFileWithAColonInItsNameIsMeantAsWritten() throws IOException {
        Path odd = Files.writeString(folder.resolve("a:b"), "");

        assertThat(FileOption.parse(odd.toString())).isEqualTo(new HostFile(odd, "a:b"));
        assertThat(FileOption.parse(odd + ":c")).isEqualTo(new HostFile(odd, "c"));
    }

    @Test
    void folderKeepsItsNameHoweverItIsWritten() throws IOException {
        Path data = Files.createDirectory(folder.resolve("data"));

        assertThat(FileOption.parse(data + "/").inside()).isEqualTo("data");
        assertThat(FileOption.parse(data + "/.").inside()).isEqualTo("data");
        assertThat(FileOption.parse(data + ":").inside()).isEqualTo("data");
        assertThat(FileOption.parse(data + ":in/").inside()).isEqualTo("in/");
    }
}
