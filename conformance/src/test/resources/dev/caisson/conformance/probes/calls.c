// Makes each call that a sandbox must not have, with arguments that do no harm where it is allowed, and
// prints one line for each: its name and the errno, 0 for success, or "signal N" when the call killed its caller.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define BAD ((void *)1)

// Newer than some headers. The numbers from 424 on are the same on every architecture.
enum {
    NR_fspick = 433, NR_open_tree = 428, NR_move_mount = 429, NR_fsopen = 430, NR_fsconfig = 431, NR_fsmount = 432,
    NR_mount_setattr = 442, NR_quotactl_fd = 443, NR_memfd_secret = 447, NR_process_mrelease = 448, NR_cachestat = 451,
    NR_statmount = 457, NR_listmount = 458, NR_lsm_get_self_attr = 459, NR_lsm_set_self_attr = 460,
    NR_lsm_list_modules = 461, NR_open_tree_attr = 467, NR_process_madvise = 440, NR_clone3 = 435,
};

static const char *only;

// Runs one call in a child, since it may kill or change its caller.
#define CALL(name, expression)                                                                                        \
    do {                                                                                                              \
        if (only && strcmp(only, name)) break;                                                                        \
        fflush(stdout);                                                                                               \
        pid_t child = fork();                                                                                         \
        if (child == 0) {                                                                                             \
            alarm(5);                                                                                                 \
            errno = 0;                                                                                                \
            long got = (long)(expression);                                                                            \
            _exit(got == -1 ? (errno ? errno : 255) : 0);                                                             \
        }                                                                                                             \
        int status = 0;                                                                                               \
        waitpid(child, &status, 0);                                                                                   \
        if (WIFSIGNALED(status)) printf("%s signal %d\n", name, WTERMSIG(status));                                    \
        else printf("%s %d\n", name, WEXITSTATUS(status));                                                            \
    } while (0)

static long clone_with(unsigned long flags) {
    long pid = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) _exit(0);
    return pid < 0 ? -1 : 0;
}

#ifdef __x86_64__
static long int80(void) {
    long got;
    __asm__ volatile("int $0x80" : "=a"(got) : "a"(20L) : "memory", "r8", "r9", "r10", "r11");
    if (got < 0) return errno = (int)-got, -1;
    return got;
}
static long int80_socketcall(void) { // socket(AF_ALG, SOCK_SEQPACKET, 0) behind one number
    long got;
    static uint32_t args[3] = {38, 5, 0};
    uint32_t *low = args;
    __asm__ volatile("int $0x80" : "=a"(got) : "a"(102L), "b"(1L), "c"(low) : "memory", "r8", "r9", "r10", "r11");
    if (got < 0) return errno = (int)-got, -1;
    return got;
}
#endif

static int terminal(void) {
    int pty = posix_openpt(O_RDWR | O_NOCTTY);
    grantpt(pty), unlockpt(pty);
    int tty = open(ptsname(pty), O_RDWR | O_NOCTTY);
    setsid();
    ioctl(tty, TIOCSCTTY, 0);
    return tty;
}
static long sti(unsigned long number) { char c = 'x'; return syscall(SYS_ioctl, terminal(), number, &c); }
static long discipline(void) { int n = 2; return ioctl(terminal(), TIOCSETD, &n); }
static long tcp_option(int level, int option, const char *text) {
    int fd = socket(AF_INET, level == IPPROTO_TCP ? SOCK_STREAM : SOCK_DGRAM, 0), n = 1;
    return setsockopt(fd, level, option, text ? (void *)text : &n, text ? strlen(text) : sizeof n);
}
static long urgent(void) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) return -1;
    return send(pair[0], "x", 1, MSG_OOB);
}
static long own_namespace(const char *path) { return setns(open(path, O_RDONLY), 0); }
static long handle(void) { unsigned h[2] = {0, 0}; int id; return syscall(SYS_name_to_handle_at, AT_FDCWD, "/", h, &id, 0); }
static long wrong_time(void) { struct timeval t = {0, 5000000}; return syscall(SYS_settimeofday, &t, 0); }
static long clock_read(void) { struct timex t = {.modes = 0}; return adjtimex(&t); }
static long rt(void) { struct sched_param p = {50}; return sched_setscheduler(0, SCHED_FIFO, &p); }
static long pages(void) { int status; void *page = &only; return syscall(SYS_move_pages, 0, 1UL, &page, 0, &status, 0); }

int main(int argc, char **argv) {
    only = argc > 1 ? argv[1] : 0;
    // K01
    CALL("io_uring_setup", syscall(425, 4, BAD));
    CALL("io_uring_enter", syscall(426, -1, 0, 0, 0, 0, 0));
    CALL("io_uring_register", syscall(427, -1, 0, 0, 0));
    CALL("io_setup", ({ unsigned long id = 0; syscall(SYS_io_setup, 1, &id); }));
    // K02 to K05
    CALL("bpf", syscall(SYS_bpf, 9999, 0, 0));
    CALL("perf_event_open", syscall(SYS_perf_event_open, BAD, 0, -1, -1, 0));
    CALL("userfaultfd", syscall(SYS_userfaultfd, 0x40));
    CALL("keyctl", syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, -3, 1));
    CALL("add_key", syscall(SYS_add_key, BAD, BAD, 0, 0, 0));
    CALL("request_key", syscall(SYS_request_key, BAD, BAD, 0, 0));
    // K06
    CALL("clone_newuser", clone_with(CLONE_NEWUSER));
    CALL("clone_newns", clone_with(CLONE_NEWNS));
    CALL("clone_newnet", clone_with(CLONE_NEWNET));
    CALL("clone_newpid", clone_with(CLONE_NEWPID));
    CALL("clone_newcgroup", clone_with(CLONE_NEWCGROUP));
    CALL("unshare_user", unshare(CLONE_NEWUSER));
    CALL("unshare_mount", unshare(CLONE_NEWNS));
    CALL("unshare_time", unshare(0x80));
    CALL("clone3", syscall(NR_clone3, BAD, 1));
    // K07
    CALL("mount", syscall(SYS_mount, BAD, BAD, BAD, 0, 0));
    CALL("umount2", syscall(SYS_umount2, BAD, 0));
    CALL("pivot_root", syscall(SYS_pivot_root, BAD, BAD));
    CALL("chroot", syscall(SYS_chroot, "/proc"));
    CALL("fsopen", syscall(NR_fsopen, BAD, 0));
    CALL("fsconfig", syscall(NR_fsconfig, -1, 0, 0, 0, 0));
    CALL("fsmount", syscall(NR_fsmount, -1, 0, 0));
    CALL("fspick", syscall(NR_fspick, -1, BAD, 0));
    CALL("open_tree", syscall(NR_open_tree, -1, BAD, 0));
    CALL("open_tree_attr", syscall(NR_open_tree_attr, -1, BAD, 0, 0, 0));
    CALL("move_mount", syscall(NR_move_mount, -1, BAD, -1, BAD, 0));
    CALL("mount_setattr", syscall(NR_mount_setattr, -1, BAD, 0, BAD, 0));
    CALL("statmount", syscall(NR_statmount, BAD, BAD, 0, 0));
    CALL("listmount", syscall(NR_listmount, BAD, BAD, 0, 0));
    CALL("fanotify_init", syscall(SYS_fanotify_init, 0xffff, 0));
    // K08, the parts that are nobody's
    CALL("kcmp", syscall(SYS_kcmp, getpid(), getpid(), 2, 0, 0));
    CALL("process_madvise", syscall(NR_process_madvise, -1, BAD, 1, 0, 0));
    CALL("process_mrelease", syscall(NR_process_mrelease, -1, 0));
    CALL("move_pages", pages());
    CALL("get_mempolicy", ({ int mode; syscall(SYS_get_mempolicy, &mode, 0, 0, 0, 0); }));
    CALL("set_mempolicy", syscall(SYS_set_mempolicy, 0, 0, 0));
    // K10
    CALL("init_module", syscall(SYS_init_module, BAD, 16, BAD));
    CALL("finit_module", syscall(SYS_finit_module, -1, BAD, 0));
    CALL("delete_module", syscall(SYS_delete_module, "no_such_module_here", 0));
    CALL("kexec_load", syscall(SYS_kexec_load, 0, 0, 0, 0xff0000ffUL));
    CALL("reboot", syscall(SYS_reboot, 0, 0, 0, 0));
    CALL("swapon", syscall(SYS_swapon, BAD, 0));
    CALL("swapoff", syscall(SYS_swapoff, BAD));
    CALL("acct", syscall(SYS_acct, BAD));
    CALL("quotactl", syscall(SYS_quotactl, 0x7f000000, BAD, 0, 0));
    CALL("quotactl_fd", syscall(NR_quotactl_fd, -1, 0, 0, 0));
    CALL("settimeofday", wrong_time());
    CALL("clock_settime", syscall(SYS_clock_settime, 0, BAD));
    CALL("adjtimex", clock_read());
    CALL("sethostname", syscall(SYS_sethostname, BAD, 5));
    CALL("setdomainname", syscall(SYS_setdomainname, BAD, 5));
    CALL("vhangup", (setsid(), syscall(SYS_vhangup)));
#ifdef __x86_64__
    CALL("iopl", syscall(SYS_iopl, 0));
    CALL("ioperm", syscall(SYS_ioperm, 0x80, 1, 0));
    CALL("modify_ldt", syscall(SYS_modify_ldt, 0, BAD, 0));
    CALL("kexec_file_load", syscall(SYS_kexec_file_load, -1, -1, 0, BAD, 0x80));
#endif
    // K11, K12, K17
    CALL("syslog", syscall(SYS_syslog, 10, 0, 0));
    CALL("open_by_handle_at", syscall(SYS_open_by_handle_at, -1, BAD, 0));
    CALL("name_to_handle_at", handle());
    CALL("setns_net", own_namespace("/proc/self/ns/net"));
    CALL("setns_user", own_namespace("/proc/self/ns/user"));
    CALL("setns_bad", setns(-1, 0));
    // K16 and its like
    CALL("vmsplice", syscall(SYS_vmsplice, -1, 0, 0, 0));
    CALL("memfd_secret", syscall(NR_memfd_secret, 0x40));
    CALL("cachestat", syscall(NR_cachestat, -1, BAD, BAD, 0));
    CALL("remap_file_pages", syscall(SYS_remap_file_pages, BAD, 0, 1, 0, 0));
    CALL("lsm_get_self_attr", syscall(NR_lsm_get_self_attr, 0, BAD, BAD, 0));
    CALL("tiocsti", sti(TIOCSTI));
    CALL("tiocsti_high_bits", sti(TIOCSTI | 0x100000000UL));
    CALL("tioclinux", sti(TIOCLINUX));
    CALL("tiocsetd", discipline());
    CALL("tcp_ulp", tcp_option(IPPROTO_TCP, 31, "tls"));
    CALL("udp_encap", tcp_option(IPPROTO_UDP, 100, 0));
    CALL("msg_oob", urgent());
    CALL("prctl_set_mm", ({ unsigned size; prctl(35, 15, &size, 0, 0); }));
    CALL("prctl_sched_core", prctl(62, 0, 0, 0, 0));
    CALL("personality_read_implies_exec", personality(0x0400000));
    CALL("sched_fifo", rt());
    CALL("nice_up", setpriority(PRIO_PROCESS, 0, -20));
#ifdef __x86_64__
    // K19 to K21
    CALL("int80", int80());
    CALL("int80_socketcall", int80_socketcall());
    CALL("x32", syscall(0x40000000 + 39));
#endif
    return 0;
}
