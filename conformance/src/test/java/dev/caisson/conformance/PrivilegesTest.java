package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Exec;
import dev.caisson.api.ExecResult;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.Sandbox;
import dev.caisson.api.User;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** A user process has no privilege and no way to one, whoever it is inside. */
class PrivilegesTest {
    private static Map<String, String> status(String text) {
        return text.lines()
                .filter(line -> line.contains(":\t"))
                .collect(
                        Collectors.toMap(
                                line -> line.substring(0, line.indexOf(':')),
                                line -> line.substring(line.indexOf(':') + 2).strip(),
                                (first, second) -> first,
                                TreeMap::new));
    }

    @Test
    @DisplayName("K29 K30 every exec has no capability no_new_privs and a filter as the host sees")
    void everyExecHasNoCapabilityNoNewPrivilegesAndAFilterAsTheHostSees() {
        try (Sandbox sandbox = Lab.sandbox()) {
            for (User user : List.of(User.SANDBOX, new User(1, 0), new User(65_532, 65_532))) {
                Exec exec = sandbox.start(ExecSpec.of("sleep", "30.2930").withUser(user));
                Awaitility.await().until(() -> !HostView.withArgument("30.2930").isEmpty());
                long pid = HostView.withArgument("30.2930").iterator().next();

                Map<String, String> seen =
                        status(HostView.text(Path.of("/proc/" + pid + "/status")).orElseThrow());
                exec.kill();
                exec.await();

                for (String set : List.of("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")) {
                    assertThat(seen).containsEntry(set, "0000000000000000");
                }
                assertThat(seen).containsEntry("NoNewPrivs", "1").containsEntry("Seccomp", "2");
                assertThat(seen.get("Groups"))
                        .as("no group of the host")
                        .isIn("", groups(sandbox, user));
                String uid = Long.toString(ProcessOneTest.firstHostId(sandbox) + user.uid());
                assertThat(seen.getOrDefault("Uid", "").split("\t", -1)).containsOnly(uid);
            }
            Map<String, String> own =
                    status(HostView.text(Path.of("/proc/self/status")).orElseThrow());
            assertThat(own.get("CapEff")).as("control").isNotEqualTo("0000000000000000");
            assertThat(own.get("Seccomp") + own.get("NoNewPrivs")).as("control").isNotEqualTo("21");
        }
    }

    private static String groups(Sandbox sandbox, User user) {
        return Long.toString(ProcessOneTest.firstHostId(sandbox) + user.gid());
    }

    @Test
    @DisplayName("K29 root inside and ids that wrap around cannot be asked for")
    void rootInsideAndIdsThatWrapAroundCannotBeAskedFor() {
        for (int uid : List.of(-1, 65_533, 65_534, 65_536, Integer.MIN_VALUE)) {
            CaissonException refusal =
                    catchThrowableOfType(CaissonException.class, () -> new User(uid, 1000));
            assertThat(refusal.code()).as("uid %s", uid).isEqualTo(ErrorCode.INVALID);
        }
        try (Sandbox sandbox = Lab.sandbox()) {
            ExecResult control = sandbox.exec(ExecSpec.of("id", "-u").withUser(new User(7, 8)));
            assertThat(control.stdout().text()).as("control").isEqualTo("7\n");
            for (User user : List.of(User.ROOT, new User(0, 1000), User.named("root"))) {
                CaissonException root =
                        catchThrowableOfType(
                                CaissonException.class,
                                () -> sandbox.exec(ExecSpec.of("id", "-u").withUser(user)));
                assertThat(root.code()).isEqualTo(ErrorCode.POLICY_DENIED);
            }
        }
    }

    @Test
    @DisplayName("K31 setuid programs give nothing")
    void setuidProgramsGiveNothing() throws IOException, InterruptedException {
        Lab.needs("gcc");
        // A library is preloaded unless the kernel says that the program gained something by its
        // start.
        String code =
                """
                #include <stdio.h>
                #include <unistd.h>
                #include <sys/auxv.h>
                __attribute__((constructor)) static void told(void) {
                    printf("%d %d %lu\\n", geteuid(), getegid(), getauxval(AT_SECURE));
                    fflush(stdout);
                    _exit(0);
                }
                """;
        String build = "cd $0 && cat > told.c && gcc -shared -fPIC -o told.so told.c";
        try (Sandbox sandbox = Lab.sandbox()) {
            sandbox.files().write("/work/told.c", code);
            ExecResult built =
                    Lab.sh(sandbox, build.replace("$0", "/work").replace("cat > told.c", ":"));
            assertThat(built.shellStatus()).as(built.stderr().text()).isZero();
            ExecResult found =
                    Lab.sh(
                            sandbox,
                            "find / -perm /6000 -type f -perm /111 2>/dev/null | while read -r f;"
                                + " do [ -x \"$f\" ] && echo \"$(LD_PRELOAD=/work/told.so \"$f\""
                                + " </dev/null) $f\"; done");
            List<String> lines = found.stdout().text().lines().toList();

            assertThat(lines).as("set-id programs of the host's /usr").hasSizeGreaterThan(3);
            assertThat(lines).allMatch(line -> line.startsWith("1000 1000 0 "));

            // Control: outside, an ordinary user gains something by the same start.
            String su = lines.stream().filter(l -> l.endsWith("/su")).findFirst().orElseThrow();
            Lab.Outside outside =
                    Lab.outside(
                            "/bin/sh",
                            "-c",
                            "d=$(mktemp -d) && chmod 755 $d && cd $d && printf '%s' \"$1\" > told.c"
                                + " && gcc -shared -fPIC -o told.so told.c && setpriv --reuid 65534"
                                + " --clear-groups env LD_PRELOAD=$d/told.so \"$2\" --version; rm"
                                + " -r $d",
                            "sh",
                            code,
                            su.substring(su.indexOf('/')));
            assertThat(outside.text())
                    .as("control")
                    .doesNotContain("65534 0 0")
                    .contains("su from");
        }
    }

    @Test
    @DisplayName("K31 a setuid file of the sandbox's own gives nothing")
    void aSetuidFileOfTheSandboxsOwnGivesNothing() {
        try (Sandbox sandbox = Lab.sandbox()) {
            ExecResult made =
                    Lab.sh(
                            sandbox,
                            "cp /usr/bin/id id && chmod 6755 id && stat -c %a id && echo ok");
            assertThat(made.stdout().text()).as("control: it is there").isEqualTo("6755\nok\n");

            ExecResult other = sandbox.exec(ExecSpec.of("/work/id").withUser(new User(7, 8)));

            assertThat(other.stdout().text()).contains("uid=7").doesNotContain("1000");
        }
    }

    @Test
    @DisplayName("K32 each sandbox has a range of host ids of its own")
    void eachSandboxHasARangeOfHostIdsOfItsOwn() {
        try (Sandbox one = Lab.sandbox();
                Sandbox two = Lab.sandbox()) {
            String first = Lab.sh(one, "cat /proc/self/uid_map /proc/self/gid_map").stdout().text();
            String second =
                    Lab.sh(two, "cat /proc/self/uid_map /proc/self/gid_map").stdout().text();

            assertThat(first.lines())
                    .hasSize(2)
                    .allMatch(line -> line.strip().matches("0 +\\d+ +65536"));
            long apart =
                    Math.abs(ProcessOneTest.firstHostId(one) - ProcessOneTest.firstHostId(two));
            assertThat(apart).isGreaterThanOrEqualTo(65_536);
            assertThat(ProcessOneTest.firstHostId(one)).isGreaterThan(65_536);
            assertThat(first).isNotEqualTo(second);
            assertThat(HostView.text(Path.of("/proc/self/uid_map")).orElseThrow())
                    .as("control")
                    .isNotEqualTo(first.lines().findFirst().orElseThrow() + "\n");
        }
    }
}
