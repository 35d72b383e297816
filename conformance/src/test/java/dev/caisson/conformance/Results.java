package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.ByteSize;
import dev.caisson.api.ResultFile;
import dev.caisson.api.Sandbox;
import java.nio.file.Path;
import java.util.List;

/** What was collected from a sandbox, by name. */
record Results(List<ResultFile> all) {

    static Results collect(Sandbox sandbox, Path out, ByteSize limit) {
        return new Results(sandbox.files().collect(out, limit));
    }

    /** The result of that name; the test fails when there is none, or more than one. */
    ResultFile get(String path) {
        List<ResultFile> found = all.stream().filter(result -> result.path().equals(path)).toList();
        assertThat(found).as("results named %s in %s", path, all).hasSize(1);
        return found.getFirst();
    }

    List<String> paths() {
        return all.stream().map(ResultFile::path).toList();
    }
}
