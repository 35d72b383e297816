package dev.caisson.control;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.v1.ApprovalRule;
import dev.caisson.v1.ExecRequest;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class AskingTest {
    private static boolean asks(ApprovalRule rule, ExecRequest request, String user) {
        return !Asking.about(List.of(rule), request, user).isEmpty();
    }

    private static ExecRequest command(String line, @Nullable String cwd) {
        return new ExecRequest(
                List.of(), line, Map.of(), cwd, null, null, null, null, null, null, null, null,
                null, List.of());
    }

    @ParameterizedTest
    @CsvSource({
        "rm, rm -rf /x, true",
        "rm, /bin/rm x, true",
        "rm, rmdir x, false",
        "rm -rf, rm   -rf x, true",
        "rm -rf, rm -rfv x, false",
        "rm -rf, rm, false",
        "git push, git  push origin, true",
        "git push, git pull, false",
        "/bin/rm, rm x, false"
    })
    void commandsMatchByWholeWords(String prefix, String line, boolean asked) {
        ApprovalRule rule = new ApprovalRule("exec", List.of(prefix), List.of(), List.of());
        assertThat(asks(rule, command(line, null), "")).isEqualTo(asked);
        assertThat(asks(rule, ExecRequest.of(List.of(line.split("\\s+"))), "")).isEqualTo(asked);
    }

    @ParameterizedTest
    @CsvSource({
        "/opt/tools, /opt/tools/x, , true",
        "/opt/tools, /opt/toolsx/x, , false",
        "/opt/tools, /opt/y/../tools/x, , true",
        "/opt/tools, ../opt/tools/x, /work, true",
        "/opt/tools, ls, /opt/tools/a, true",
        "/opt/tools, ls, /opt, false",
        "/work, ls, , true",
        "/, ls, /tmp, true"
    })
    void pathsMatchProgramAndFolder(String path, String line, @Nullable String cwd, boolean asked) {
        ApprovalRule rule = new ApprovalRule("exec", List.of(), List.of(), List.of(path));
        assertThat(asks(rule, command(line, cwd), "")).isEqualTo(asked);
    }

    @Test
    void usersMatchAsAsked() {
        ApprovalRule root = new ApprovalRule("exec", List.of(), List.of("root"), List.of());
        ApprovalRule usual = new ApprovalRule("exec", List.of(), List.of("sandbox"), List.of());
        ApprovalRule any = new ApprovalRule("exec", List.of(), List.of(), List.of());
        ExecRequest list = command("ls", null);
        assertThat(asks(root, list, "root")).isTrue();
        assertThat(asks(root, list, "")).isFalse();
        assertThat(asks(usual, list, "")).isTrue();
        assertThat(asks(any, list, "x")).isTrue();
    }

    @Test
    void peopleAreShownNothingThatHides() {
        assertThat(Asking.shown("rm\u202e x\r\n\u001b[2K"))
                .isEqualTo("rm\\u{202e} x\\u{d}\\u{a}\\u{1b}[2K");
        assertThat(Asking.shown("x".repeat(3000))).endsWith("… and 1000 characters more");
    }
}
