package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.Sandbox;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/**
 * What {@code docs/seccomp.md} leaves out is refused, with the answer that is said there. The
 * control is the same call as root outside, which reaches the kernel and gets another answer.
 */
class SystemCallsTest {
    private static final String EPERM = "1";
    private static final String EACCES = "13";
    private static final String ENOSYS = "38";
    private static final String EOPNOTSUPP = "95";
    private static final String SIGSYS = "signal 31";

    private static Map<String, String> inside = Map.of();
    private static Map<String, String> outside = Map.of();

    @BeforeAll
    static void tryAll() throws IOException, InterruptedException {
        Lab.needsSandboxes();
        outside = Probe.outside("calls.c");
        try (Sandbox sandbox = Lab.sandbox()) {
            inside = Probe.inside(sandbox, "calls.c");
        }
    }

    private static void refused(String answer, String... calls) {
        for (String call : calls) {
            assertThat(inside).as("inside").containsEntry(call, answer);
            assertThat(outside).as("control").containsKey(call);
        }
        // A call that this host's kernel was built without proves nothing, but not all may be such.
        List<String> proven =
                List.of(calls).stream()
                        .filter(call -> !answer.equals(outside.get(call)))
                        .filter(call -> !ENOSYS.equals(outside.get(call)) || answer.equals(SIGSYS))
                        .toList();
        List<String> different =
                List.of(calls).stream().filter(call -> ENOSYS.equals(outside.get(call))).toList();
        assertThat(proven.size() + different.size())
                .as(
                        "calls of %s whose control shows a difference or that the kernel lacks",
                        outside)
                .isGreaterThanOrEqualTo(calls.length);
    }

    @Test
    @DisplayName("K01 io_uring and kernel aio are not there")
    void ioUringAndKernelAioAreNotThere() {
        refused(ENOSYS, "io_uring_setup", "io_uring_enter", "io_uring_register", "io_setup");
    }

    @Test
    @DisplayName("K02 K03 K04 programs and probes in the kernel are refused")
    void programsAndProbesInTheKernelAreRefused() {
        refused(EPERM, "bpf", "perf_event_open", "userfaultfd");
    }

    @Test
    @DisplayName("K05 keyrings are refused")
    void keyringsAreRefused() {
        refused(EPERM, "keyctl", "add_key", "request_key");
    }

    @Test
    @DisplayName("K06 namespaces cannot be made")
    void namespacesCannotBeMade() {
        refused(
                EPERM,
                "clone_newuser",
                "clone_newns",
                "clone_newnet",
                "clone_newpid",
                "clone_newcgroup",
                "unshare_user",
                "unshare_mount",
                "unshare_time");
        refused(ENOSYS, "clone3");
    }

    @Test
    @DisplayName("K07 nothing can be mounted")
    void nothingCanBeMounted() {
        refused(
                EPERM,
                "mount",
                "umount2",
                "pivot_root",
                "chroot",
                "fsopen",
                "fsconfig",
                "fsmount",
                "fspick",
                "open_tree",
                "open_tree_attr",
                "move_mount",
                "mount_setattr",
                "fanotify_init");
        refused(ENOSYS, "statmount", "listmount");
    }

    @Test
    @DisplayName("K08 calls into other processes and placement are refused")
    void callsIntoOtherProcessesAndPlacementAreRefused() {
        refused(
                EPERM,
                "kcmp",
                "process_madvise",
                "process_mrelease",
                "move_pages",
                "get_mempolicy",
                "set_mempolicy");
    }

    @Test
    @DisplayName("K10 the machine cannot be administered")
    void theMachineCannotBeAdministered() {
        refused(
                EPERM,
                "init_module",
                "finit_module",
                "delete_module",
                "kexec_load",
                "kexec_file_load",
                "reboot",
                "swapon",
                "swapoff",
                "acct",
                "quotactl",
                "quotactl_fd",
                "settimeofday",
                "clock_settime",
                "adjtimex",
                "sethostname",
                "setdomainname",
                "vhangup",
                "iopl",
                "ioperm");
        refused(ENOSYS, "modify_ldt");
    }

    @Test
    @DisplayName("K11 the kernel log is refused")
    void theKernelLogIsRefused() {
        refused(EPERM, "syslog");
    }

    @Test
    @DisplayName("K12 files cannot be opened by handle")
    void filesCannotBeOpenedByHandle() {
        refused(EPERM, "open_by_handle_at", "name_to_handle_at");
    }

    @Test
    @DisplayName("K16 what lent itself to page cache flaws is gone")
    void whatLentItselfToPageCacheFlawsIsGone() {
        refused(
                ENOSYS,
                "vmsplice",
                "memfd_secret",
                "cachestat",
                "remap_file_pages",
                "lsm_get_self_attr");
        refused(EPERM, "tcp_ulp", "udp_encap");
        refused(EOPNOTSUPP, "msg_oob");
    }

    @Test
    @DisplayName("K17 namespaces cannot be entered")
    void namespacesCannotBeEntered() {
        refused(EPERM, "setns_net", "setns_user", "setns_bad");
    }

    @Test
    @DisplayName("K19 K20 K21 other ABIs kill the caller")
    void otherAbisKillTheCaller() {
        refused(SIGSYS, "int80", "int80_socketcall", "x32");
    }

    @Test
    @DisplayName("K29 terminals priorities and protections cannot be turned against others")
    void terminalsPrioritiesAndProtectionsCannotBeTurnedAgainstOthers() {
        refused(EPERM, "tiocsti", "tiocsti_high_bits", "tioclinux", "tiocsetd");
        refused(EPERM, "prctl_set_mm", "prctl_sched_core", "personality_read_implies_exec");
        refused(EPERM, "sched_fifo");
        refused(EACCES, "nice_up");
    }
}
