//! Who may call what. One family per constant; the reasons are in `docs/seccomp.md`.
//!
//! A call that stands nowhere here is answered with ENOSYS, as by a kernel without it, so that programs take their
//! fall-back. A privileged or dangerous call gets EPERM, as from a kernel that checks capabilities.

use super::program::{At, Instruction, Program, argument};

const EPERM: u16 = 1;
const ENOSYS: u16 = 38;
const EOPNOTSUPP: u16 = 95;
const EAFNOSUPPORT: u16 = 97;

const FILES: &str = "
    access chdir chmod chown close close_range creat dup dup2 dup3 faccessat faccessat2 fadvise64
    fallocate fchdir fchmod fchmodat fchmodat2 fchown fchownat fcntl fdatasync flock fstat fstatfs fsync ftruncate
    futimesat getcwd getdents getdents64 lchown link linkat lseek lstat mkdir mkdirat mknod mknodat newfstatat open
    openat openat2 pipe pipe2 readahead readlink readlinkat rename renameat renameat2 rmdir stat statfs statx symlink
    symlinkat sync sync_file_range syncfs truncate umask unlink unlinkat utime utimensat utimes
    getxattr fgetxattr lgetxattr getxattrat listxattr flistxattr llistxattr listxattrat
    setxattr fsetxattr lsetxattr setxattrat removexattr fremovexattr lremovexattr removexattrat";
const INPUT_OUTPUT: &str = "
    read readv pread64 preadv preadv2 write writev pwrite64 pwritev pwritev2 sendfile splice tee copy_file_range
    poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait
    eventfd eventfd2 inotify_init inotify_init1 inotify_add_watch inotify_rm_watch signalfd signalfd4
    timerfd_create timerfd_gettime timerfd_settime";
const MEMORY: &str = "
    brk madvise map_shadow_stack membarrier memfd_create mincore mlock mlock2 mlockall mmap mprotect mremap mseal msync
    munlock munlockall munmap pkey_alloc pkey_free pkey_mprotect";
const PROCESSES: &str = "
    arch_prctl execve execveat exit exit_group fork vfork wait4 waitid getpid getppid gettid getpgid getpgrp getsid
    setpgid setsid getcpu getrlimit setrlimit prlimit64 getrusage getpriority setpriority ioprio_get ioprio_set
    sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr sched_getparam sched_getscheduler
    sched_rr_get_interval sched_setaffinity sched_setattr sched_setparam sched_setscheduler sched_yield
    futex futex_requeue futex_wait futex_waitv futex_wake get_robust_list set_robust_list set_tid_address rseq
    getrandom sysinfo times uname uretprobe";
const IDENTITY: &str = "
    capget capset getegid geteuid getgid getgroups getresgid getresuid getuid
    setfsgid setfsuid setgid setgroups setregid setresgid setresuid setreuid setuid";
/// Calls that change the process's own ids: those that take one, two and three of them.
const IDENTITY_CHANGES: [&str; 3] = ["setuid setgid setfsuid setfsgid", "setreuid setregid", "setresuid setresgid"];
/// Uid and gid of agent and spawner.
const AGENT_ID: u32 = 65_533;
const SIGNALS_AND_TIME: &str = "
    kill pause pidfd_open pidfd_send_signal restart_syscall rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo
    rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo sigaltstack tgkill tkill
    alarm clock_getres clock_gettime clock_nanosleep getitimer gettimeofday nanosleep setitimer time
    timer_create timer_delete timer_getoverrun timer_gettime timer_settime";
const SOCKETS: &str = "
    accept accept4 bind connect getpeername getsockname getsockopt listen recvfrom recvmmsg recvmsg shutdown";
const SYSTEM_V_AND_QUEUES: &str = "
    mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink msgctl msgget msgrcv msgsnd
    semctl semget semop semtimedop shmat shmctl shmdt shmget";
const OWN_CONFINEMENT: &str = "landlock_add_rule landlock_create_ruleset landlock_restrict_self seccomp";
/// Checked by the kernel against the uid; process 1 has another one.
const DEBUGGING: &str = "ptrace process_vm_readv process_vm_writev pidfd_getfd";

const NAMESPACES: &str = "setns unshare chroot pivot_root";
const MOUNTS: &str = "
    mount umount2 fsopen fsconfig fsmount fspick open_tree open_tree_attr move_mount mount_setattr
    name_to_handle_at open_by_handle_at quotactl quotactl_fd fanotify_init fanotify_mark";
const KERNEL_PROGRAMS: &str = "bpf perf_event_open userfaultfd init_module finit_module delete_module";
const KEYS: &str = "add_key keyctl request_key";
const MACHINE: &str = "
    acct adjtimex clock_adjtime clock_settime ioperm iopl kexec_file_load kexec_load reboot setdomainname sethostname
    settimeofday swapoff swapon syslog vhangup";
const MEMORY_PLACEMENT: &str = "
    get_mempolicy mbind migrate_pages move_pages set_mempolicy set_mempolicy_home_node";
const OTHER_PROCESSES: &str = "kcmp process_madvise process_mrelease";

const ALLOWED: [&str; 10] = [
    FILES,
    INPUT_OUTPUT,
    MEMORY,
    PROCESSES,
    IDENTITY,
    SIGNALS_AND_TIME,
    SOCKETS,
    SYSTEM_V_AND_QUEUES,
    OWN_CONFINEMENT,
    DEBUGGING,
];
const REFUSED: [&str; 7] = [NAMESPACES, MOUNTS, KERNEL_PROGRAMS, KEYS, MACHINE, MEMORY_PLACEMENT, OTHER_PROCESSES];

/// From here on numbers belong to the x32 ABI.
const X32_BIT: u32 = 0x4000_0000;
/// What a tracer writes to skip a call. The kernel runs nothing for it and keeps the tracer's result.
const SKIPPED: u32 = u32::MAX;

/// A processor whose native ABI the filter admits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Arch {
    X86_64,
    Aarch64,
}

impl Arch {
    /// The architecture of this name in a Rust target, if there is a policy for it.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "x86_64" => Some(Self::X86_64),
            "aarch64" => Some(Self::Aarch64),
            _ => None,
        }
    }

    /// AUDIT_ARCH_* of the native ABI.
    pub fn audit(self) -> u32 {
        match self {
            Self::X86_64 => 0xC000_003E,
            Self::Aarch64 => 0xC000_00B7,
        }
    }

    /// The number of a call, or nothing where this architecture never had it.
    pub fn number(self, name: &str) -> Option<usize> {
        let lines = include_str!("numbers.txt").lines().filter(|line| !line.starts_with('#'));
        let mut rows = lines.map(|line| line.split(' ').collect::<Vec<_>>());
        let row = rows.find(|row| row[0] == name).unwrap_or_else(|| panic!("numbers.txt has no {name}"));
        row[self as usize + 1].parse().ok()
    }
}

/// The filter of user processes.
pub fn user(arch: Arch, ipv6: bool) -> Vec<Instruction> {
    let mut filter = Filter::new(arch, ipv6);
    filter.answer("clone3", not_there);
    for call in ["sendto", "sendmmsg"] {
        filter.answer(call, |program| refuse_urgent_data(program, 3));
    }
    filter.answer("sendmsg", |program| refuse_urgent_data(program, 2));
    filter.answer("ioctl", refuse_terminal_takeover);
    let mut agents_id = None;
    for calls in IDENTITY_CHANGES {
        let (number, rest) = agents_id.unwrap_or((0, filter.program.allow()));
        let test = refuse_agents_id(&mut filter.program, number, rest);
        calls.split(' ').for_each(|call| filter.answer(call, |_| test));
        agents_id = Some((number + 1, test));
    }
    filter.finish()
}

/// The filter of agent and spawner. It lets through whatever `user` does, because the two stack, and besides it clone3
/// and what `user` looks into only to protect others from user code.
pub fn agent(arch: Arch) -> Vec<Instruction> {
    let mut filter = Filter::new(arch, true);
    for call in ["clone3", "ioctl", "sendto", "sendmsg", "sendmmsg"] {
        filter.answer(call, Program::allow);
    }
    filter.finish()
}

/// The filter of the launcher, which all that it starts inherits: it makes mounts and namespaces, so it only refuses what
/// no part of Caisson ever does. It lets through whatever `agent` does.
pub fn launcher(arch: Arch) -> Vec<Instruction> {
    deny_list(arch, &["sethostname"])
}

/// The same for the launcher's helper that lays the way out of sandboxes, which needs programs in the kernel.
pub fn outlet(arch: Arch) -> Vec<Instruction> {
    deny_list(arch, &["bpf"])
}

fn deny_list(arch: Arch, own: &[&str]) -> Vec<Instruction> {
    let mut program = Program::default();
    let allowed = program.allow();
    let mut filter = Filter { arch, program, answers: vec![allowed; 512] };
    let refused = [KERNEL_PROGRAMS, KEYS, MACHINE, "io_uring_setup io_uring_enter io_uring_register open_by_handle_at"];
    for name in refused.iter().flat_map(|family| family.split_whitespace()).filter(|name| !own.contains(name)) {
        filter.answer(name, not_permitted);
    }
    filter.finish()
}

struct Filter {
    arch: Arch,
    program: Program,
    /// Where the answer for each number begins. Numbers behind the end do not exist.
    answers: Vec<At>,
}

impl Filter {
    /// What both filters have in common.
    fn new(arch: Arch, ipv6: bool) -> Self {
        let mut program = Program::default();
        let unknown = program.errno(ENOSYS);
        let mut filter = Self { arch, program, answers: vec![unknown; 512] };
        for (families, answer) in [(&ALLOWED[..], Program::allow as fn(&mut Program) -> At), (&REFUSED, not_permitted)]
        {
            for name in families.iter().flat_map(|family| family.split_whitespace()) {
                filter.answer(name, answer);
            }
        }
        filter.answer("clone", refuse_new_namespaces);
        filter.answer("personality", admit_harmless_personalities);
        filter.answer("prctl", refuse_dangerous_options);
        filter.answer("setsockopt", refuse_upper_protocols);
        filter.answer("socket", |program| admit_plain_sockets(program, ipv6));
        filter.answer("socketpair", admit_unix);
        filter
    }

    fn answer(&mut self, name: &str, answer: impl Fn(&mut Program) -> At) {
        if let Some(number) = self.arch.number(name) {
            self.answers[number] = answer(&mut self.program);
        }
    }

    fn finish(mut self) -> Vec<Instruction> {
        let mut ranges = Vec::new();
        for (number, &answer) in (0..).zip(&self.answers) {
            if ranges.last().is_none_or(|&(_, last)| last != answer) {
                ranges.push((number, answer));
            }
        }
        let foreign = self.program.kill();
        ranges.push((X32_BIT, foreign));
        ranges.push((SKIPPED, self.program.allow()));
        let search = self.program.search(&ranges);
        self.program.start(self.arch.audit(), search)
    }
}

fn not_permitted(program: &mut Program) -> At {
    program.errno(EPERM)
}

fn not_there(program: &mut Program) -> At {
    program.errno(ENOSYS)
}

/// clone: the child may not get a namespace of its own. CLONE_NEWTIME lies inside the exit signal of this old call; no
/// signal has that bit.
fn refuse_new_namespaces(program: &mut Program) -> At {
    const ANY_CLONE_NEW: u32 = 0x7E02_0080;
    let (refused, allowed) = (program.errno(EPERM), program.allow());
    let test = program.any_bit(ANY_CLONE_NEW, refused, allowed);
    program.load(argument(0), test)
}

/// socket: local ones, TCP, UDP and route queries.
fn admit_plain_sockets(program: &mut Program, ipv6: bool) -> At {
    const SOCK_STREAM: u32 = 1;
    const SOCK_DGRAM: u32 = 2;
    const SOCK_RAW: u32 = 3;
    const SOCK_TYPE_MASK: u32 = 0xF;
    const IPPROTO_TCP: u32 = 6;
    const IPPROTO_UDP: u32 = 17;
    const NETLINK_ROUTE: u32 = 0;
    let (allowed, raw, refused) = (program.allow(), program.errno(EPERM), program.errno(EAFNOSUPPORT));

    let protocol = program.equals(NETLINK_ROUTE, allowed, refused);
    let netlink = program.load(argument(2), protocol);
    let protocol = program.one_of(&[0, IPPROTO_UDP], allowed, refused);
    let datagram = program.load(argument(2), protocol);
    let protocol = program.one_of(&[0, IPPROTO_TCP], allowed, refused);
    let stream = program.load(argument(2), protocol);
    let kinds = program.select(&[(SOCK_STREAM, stream), (SOCK_DGRAM, datagram), (SOCK_RAW, raw)], refused);
    let kinds = program.mask(SOCK_TYPE_MASK, kinds);
    let internet = program.load(argument(1), kinds);

    let mut families = vec![(AF_UNIX, allowed), (AF_INET, internet), (AF_NETLINK, netlink)];
    if ipv6 {
        families.push((AF_INET6, internet));
    }
    let family = program.select(&families, refused);
    program.load(argument(0), family)
}

const AF_UNIX: u32 = 1;
const AF_INET: u32 = 2;
const AF_INET6: u32 = 10;
const AF_NETLINK: u32 = 16;

fn admit_unix(program: &mut Program) -> At {
    let (allowed, refused) = (program.allow(), program.errno(EAFNOSUPPORT));
    let family = program.equals(AF_UNIX, allowed, refused);
    program.load(argument(0), family)
}

/// setsockopt: no kernel TLS or ESP over TCP, no ESP or L2TP inside UDP.
fn refuse_upper_protocols(program: &mut Program) -> At {
    const IPPROTO_TCP: u32 = 6;
    const TCP_ULP: u32 = 31;
    const IPPROTO_UDP: u32 = 17;
    const UDP_ENCAP: u32 = 100;
    let (refused, allowed) = (program.errno(EPERM), program.allow());
    let option = program.equals(UDP_ENCAP, refused, allowed);
    let udp = program.load(argument(2), option);
    let option = program.equals(TCP_ULP, refused, allowed);
    let tcp = program.load(argument(2), option);
    let level = program.select(&[(IPPROTO_TCP, tcp), (IPPROTO_UDP, udp)], allowed);
    program.load(argument(1), level)
}

/// sendto, sendmsg, sendmmsg: no MSG_OOB, with the answer of a kernel whose local sockets lack it.
fn refuse_urgent_data(program: &mut Program, flags: u32) -> At {
    const MSG_OOB: u32 = 1;
    let (refused, allowed) = (program.errno(EOPNOTSUPP), program.allow());
    let test = program.any_bit(MSG_OOB, refused, allowed);
    program.load(argument(flags), test)
}

/// ioctl: no typing into a terminal, no line disciplines.
fn refuse_terminal_takeover(program: &mut Program) -> At {
    const TIOCSTI: u32 = 0x5412;
    const TIOCLINUX: u32 = 0x541C;
    const TIOCSETD: u32 = 0x5423;
    let (refused, allowed) = (program.errno(EPERM), program.allow());
    let command = program.one_of(&[TIOCSTI, TIOCLINUX, TIOCSETD], refused, allowed);
    program.load(argument(1), command)
}

/// setuid and its kind: uid 0 inside may become anybody but the agent, whose limits, priority and processor set the
/// kernel would let it change then.
fn refuse_agents_id(program: &mut Program, number: u32, rest: At) -> At {
    let refused = program.errno(EPERM);
    let test = program.equals(AGENT_ID, refused, rest);
    program.load(argument(number), test)
}

/// prctl: PR_SET_MM rewrites what /proc says of a process; PR_SCHED_CORE takes processor threads from neighbours.
fn refuse_dangerous_options(program: &mut Program) -> At {
    const PR_SET_MM: u32 = 35;
    const PR_SCHED_CORE: u32 = 62;
    let (refused, allowed) = (program.errno(EPERM), program.allow());
    let option = program.one_of(&[PR_SET_MM, PR_SCHED_CORE], refused, allowed);
    program.load(argument(0), option)
}

/// personality: a question, 32-bit `uname`, old version numbers, fixed addresses for a debugger.
fn admit_harmless_personalities(program: &mut Program) -> At {
    const QUESTION: u32 = u32::MAX;
    const PER_LINUX32: u32 = 0x8;
    const UNAME26: u32 = 0x2_0000;
    const ADDR_NO_RANDOMIZE: u32 = 0x4_0000;
    let (refused, allowed) = (program.errno(EPERM), program.allow());
    let other = program.any_bit(!(PER_LINUX32 | UNAME26 | ADDR_NO_RANDOMIZE), refused, allowed);
    let question = program.equals(QUESTION, allowed, other);
    program.load(argument(0), question)
}
