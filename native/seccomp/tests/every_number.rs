//! Every call number, and the arguments that matter, against a table written by hand from the kernel's names.

mod support;

// The generator itself, for the architecture that this machine is not.
#[allow(dead_code, unreachable_pub, reason = "shared with the build script, which uses more of it")]
#[path = "../generate/mod.rs"]
mod generate;

use caisson_seccomp::{Families, agent, launcher, user};
use generate::policy::{self, Arch};
use libc::*;
use support::Verdict::{Allow, Errno, Kill};
use support::{Call, Verdict, run};

#[cfg(target_arch = "x86_64")]
const NATIVE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const NATIVE: u32 = 0xC000_00B7;
const FOREIGN: [u32; 5] = [0, 0x4000_0003, 0x4000_0028, 0xC000_003E ^ 0xC000_00B7 ^ NATIVE, 0xC000_00F3];

#[rustfmt::skip]
const ALLOWED: &[c_long] = &[
    SYS_read, SYS_write, SYS_close, SYS_fstat, SYS_lseek, SYS_mmap, SYS_mprotect, SYS_munmap, SYS_brk, SYS_rt_sigaction,
    SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_pread64, SYS_pwrite64, SYS_readv, SYS_writev, SYS_sched_yield, SYS_mremap,
    SYS_msync, SYS_mincore, SYS_madvise, SYS_shmget, SYS_shmat, SYS_shmctl, SYS_dup, SYS_nanosleep, SYS_getitimer,
    SYS_setitimer, SYS_getpid, SYS_sendfile, SYS_connect, SYS_accept, SYS_recvfrom, SYS_recvmsg, SYS_shutdown, SYS_bind,
    SYS_listen, SYS_getsockname, SYS_getpeername, SYS_getsockopt, SYS_execve, SYS_exit, SYS_wait4, SYS_kill, SYS_uname,
    SYS_semget, SYS_semop, SYS_semctl, SYS_shmdt, SYS_msgget, SYS_msgsnd, SYS_msgrcv, SYS_msgctl, SYS_fcntl, SYS_flock,
    SYS_fsync, SYS_fdatasync, SYS_truncate, SYS_ftruncate, SYS_getcwd, SYS_chdir, SYS_fchdir, SYS_fchmod, SYS_fchown,
    SYS_umask, SYS_gettimeofday, SYS_getrlimit, SYS_getrusage, SYS_sysinfo, SYS_times, SYS_ptrace, SYS_getuid,
    SYS_getgid, SYS_setuid, SYS_setgid, SYS_geteuid, SYS_getegid, SYS_setpgid, SYS_getppid, SYS_setsid, SYS_setreuid,
    SYS_setregid, SYS_getgroups, SYS_setgroups, SYS_setresuid, SYS_getresuid, SYS_setresgid, SYS_getresgid, SYS_getpgid,
    SYS_setfsuid, SYS_setfsgid, SYS_getsid, SYS_capget, SYS_capset, SYS_rt_sigpending, SYS_rt_sigtimedwait,
    SYS_rt_sigqueueinfo, SYS_rt_sigsuspend, SYS_sigaltstack, SYS_statfs, SYS_fstatfs, SYS_getpriority, SYS_setpriority,
    SYS_sched_setparam, SYS_sched_getparam, SYS_sched_setscheduler, SYS_sched_getscheduler,
    SYS_sched_get_priority_max, SYS_sched_get_priority_min, SYS_sched_rr_get_interval, SYS_mlock, SYS_munlock,
    SYS_mlockall, SYS_munlockall, SYS_setrlimit, SYS_sync, SYS_gettid, SYS_readahead, SYS_setxattr, SYS_lsetxattr,
    SYS_fsetxattr, SYS_getxattr, SYS_lgetxattr, SYS_fgetxattr, SYS_listxattr, SYS_llistxattr, SYS_flistxattr,
    SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr, SYS_tkill, SYS_futex, SYS_sched_setaffinity,
    SYS_sched_getaffinity, SYS_getdents64, SYS_set_tid_address, SYS_restart_syscall, SYS_semtimedop, SYS_fadvise64,
    SYS_timer_create, SYS_timer_settime, SYS_timer_gettime, SYS_timer_getoverrun, SYS_timer_delete, SYS_clock_gettime,
    SYS_clock_getres, SYS_clock_nanosleep, SYS_exit_group, SYS_epoll_ctl, SYS_tgkill, SYS_mq_open, SYS_mq_unlink,
    SYS_mq_timedsend, SYS_mq_timedreceive, SYS_mq_notify, SYS_mq_getsetattr, SYS_waitid, SYS_ioprio_set,
    SYS_ioprio_get, SYS_inotify_add_watch, SYS_inotify_rm_watch, SYS_openat, SYS_mkdirat, SYS_mknodat, SYS_fchownat,
    SYS_newfstatat, SYS_unlinkat, SYS_renameat, SYS_linkat, SYS_symlinkat, SYS_readlinkat, SYS_fchmodat, SYS_faccessat,
    SYS_pselect6, SYS_ppoll, SYS_set_robust_list, SYS_get_robust_list, SYS_splice, SYS_tee, SYS_sync_file_range,
    SYS_utimensat, SYS_epoll_pwait, SYS_timerfd_create, SYS_fallocate, SYS_timerfd_settime, SYS_timerfd_gettime,
    SYS_accept4, SYS_signalfd4, SYS_eventfd2, SYS_epoll_create1, SYS_dup3, SYS_pipe2, SYS_inotify_init1, SYS_preadv,
    SYS_pwritev, SYS_rt_tgsigqueueinfo, SYS_recvmmsg, SYS_prlimit64, SYS_syncfs, SYS_getcpu, SYS_process_vm_readv,
    SYS_process_vm_writev, SYS_sched_setattr, SYS_sched_getattr, SYS_renameat2, SYS_seccomp, SYS_getrandom,
    SYS_memfd_create, SYS_execveat, SYS_membarrier, SYS_mlock2, SYS_copy_file_range, SYS_preadv2, SYS_pwritev2,
    SYS_pkey_mprotect, SYS_pkey_alloc, SYS_pkey_free, SYS_statx, SYS_rseq, SYS_pidfd_send_signal, SYS_pidfd_open,
    SYS_close_range, SYS_openat2, SYS_pidfd_getfd, SYS_faccessat2, SYS_epoll_pwait2, SYS_landlock_create_ruleset,
    SYS_landlock_add_rule, SYS_landlock_restrict_self, SYS_futex_waitv, SYS_mseal,
];

/// Calls of the first 64-bit ABI only.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const ALLOWED_HERE: &[c_long] = &[
    SYS_open, SYS_stat, SYS_lstat, SYS_poll, SYS_access, SYS_pipe, SYS_select, SYS_dup2, SYS_pause, SYS_alarm, SYS_fork,
    SYS_vfork, SYS_getdents, SYS_rename, SYS_mkdir, SYS_rmdir, SYS_creat, SYS_link, SYS_unlink, SYS_symlink, SYS_readlink,
    SYS_chmod, SYS_chown, SYS_lchown, SYS_getpgrp, SYS_utime, SYS_mknod, SYS_arch_prctl, SYS_time, SYS_epoll_create,
    SYS_epoll_wait, SYS_utimes, SYS_inotify_init, SYS_futimesat, SYS_signalfd, SYS_eventfd,
];
#[cfg(target_arch = "aarch64")]
const ALLOWED_HERE: &[c_long] = &[];

/// Younger than the names in libc: uretprobe (x86_64 only), fchmodat2, shadow stacks, the futex calls, xattr calls by path.
#[cfg(target_arch = "x86_64")]
const ALLOWED_BY_NUMBER: &[c_long] = &[335, 452, 453, 454, 455, 456, 463, 464, 465, 466];
#[cfg(target_arch = "aarch64")]
const ALLOWED_BY_NUMBER: &[c_long] = &[452, 453, 454, 455, 456, 463, 464, 465, 466];

/// Allowed with arguments of zero; the tests further down look at others.
const ALLOWED_WITH_ZEROS: &[c_long] =
    &[SYS_clone, SYS_personality, SYS_prctl, SYS_setsockopt, SYS_sendto, SYS_sendmsg, SYS_sendmmsg, SYS_ioctl];

const OPEN_TREE_ATTR: c_long = 467;

#[rustfmt::skip]
const NOT_PERMITTED: &[c_long] = &[
    SYS_setns, SYS_unshare, SYS_chroot, SYS_pivot_root, SYS_mount, SYS_umount2, SYS_fsopen, SYS_fsconfig, SYS_fsmount,
    SYS_fspick, SYS_open_tree, OPEN_TREE_ATTR, SYS_move_mount, SYS_mount_setattr, SYS_name_to_handle_at,
    SYS_open_by_handle_at, SYS_quotactl, SYS_quotactl_fd, SYS_fanotify_init, SYS_fanotify_mark, SYS_bpf,
    SYS_perf_event_open, SYS_userfaultfd, SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_add_key, SYS_keyctl,
    SYS_request_key, SYS_acct, SYS_adjtimex, SYS_clock_adjtime, SYS_clock_settime, SYS_kexec_file_load, SYS_kexec_load,
    SYS_reboot, SYS_setdomainname, SYS_sethostname, SYS_settimeofday, SYS_swapoff, SYS_swapon, SYS_syslog, SYS_vhangup,
    SYS_get_mempolicy, SYS_mbind, SYS_migrate_pages, SYS_move_pages, SYS_set_mempolicy, SYS_set_mempolicy_home_node,
    SYS_kcmp, SYS_process_madvise, SYS_process_mrelease,
];
#[cfg(target_arch = "x86_64")]
const NOT_PERMITTED_HERE: &[c_long] = &[SYS_ioperm, SYS_iopl];
#[cfg(target_arch = "aarch64")]
const NOT_PERMITTED_HERE: &[c_long] = &[];

fn verdict(filter: &[sock_filter], number: c_long, arguments: &[u64]) -> Verdict {
    let mut all = [0; 6];
    all[..arguments.len()].copy_from_slice(arguments);
    run(filter, &Call { abi: NATIVE, number: number as u32, arguments: all }).0
}

fn expected(number: c_long) -> Verdict {
    let among = |lists: &[&[c_long]]| lists.iter().any(|list| list.contains(&number));
    if among(&[ALLOWED, ALLOWED_HERE, ALLOWED_BY_NUMBER, ALLOWED_WITH_ZEROS]) {
        Allow
    } else if among(&[NOT_PERMITTED, NOT_PERMITTED_HERE]) {
        Errno(EPERM)
    } else if among(&[&[SYS_socket, SYS_socketpair]]) {
        Errno(EAFNOSUPPORT)
    } else {
        Errno(ENOSYS)
    }
}

#[test]
fn answers_every_number() {
    for number in 0..=1000 {
        for families in [Families::Off, Families::Inet, Families::Inet6] {
            assert_eq!(verdict(user(families), number, &[]), expected(number), "call {number} under {families:?}");
        }
        let more = if number == SYS_clone3 { Allow } else { expected(number) };
        assert_eq!(verdict(agent(), number, &[]), more, "call {number} of the agent");
    }
}

#[test]
fn kills_other_abis() {
    for filter in [user(Families::Off), user(Families::Inet6), agent()] {
        for abi in FOREIGN {
            for number in (0..=1000).chain([0x4000_0000, u32::MAX]) {
                assert_eq!(
                    run(filter, &Call { abi, number, arguments: [0; 6] }).0,
                    Kill,
                    "call {number} of ABI {abi:#x}"
                );
            }
        }
        for number in (0x4000_0000..0x4000_0400).chain([0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFE]) {
            assert_eq!(verdict(filter, number, &[]), Kill, "x32 call {number:#x}");
        }
        assert_eq!(verdict(filter, 0x3FFF_FFFF, &[]), Errno(ENOSYS));
        assert_eq!(verdict(filter, 0xFFFF_FFFF, &[]), Allow, "a call that a tracer skips");
    }
}

#[test]
fn admits_plain_sockets_only() {
    let flags = (SOCK_CLOEXEC | SOCK_NONBLOCK) as u64;
    for families in [Families::Off, Families::Inet, Families::Inet6] {
        for family in 0..=64 {
            for kind in 0..=15 {
                for protocol in [0, 1, 6, 9, 15, 16, 17, 33, 58, 132, 136, 255, 262] {
                    let arguments = [family, kind, protocol];
                    let wanted = expected_socket(families, arguments.map(|argument| argument as i32));
                    assert_eq!(verdict(user(families), SYS_socket, &arguments), wanted, "{families:?} {arguments:?}");
                    assert_eq!(verdict(user(families), SYS_socket, &[family, kind | flags, protocol]), wanted);
                    // The kernel ignores the upper half of an int, and so must the filter.
                    let padded = arguments.map(|argument| argument | 0xFFFF_FFFF_0000_0000);
                    assert_eq!(verdict(user(families), SYS_socket, &padded), wanted);
                }
            }
        }
    }
}

fn expected_socket(families: Families, [family, kind, protocol]: [i32; 3]) -> Verdict {
    let internet = family == AF_INET || family == AF_INET6 && families == Families::Inet6;
    let tcp_or_udp = kind == SOCK_STREAM && [0, IPPROTO_TCP].contains(&protocol)
        || kind == SOCK_DGRAM && [0, IPPROTO_UDP].contains(&protocol);
    match family {
        AF_UNIX => Allow,
        AF_NETLINK if protocol == NETLINK_ROUTE => Allow,
        _ if internet && kind == SOCK_RAW => Errno(EPERM),
        _ if internet && tcp_or_udp => Allow,
        _ => Errno(EAFNOSUPPORT),
    }
}

#[test]
fn admits_local_socket_pairs_only() {
    for family in 0..=64 {
        let wanted = if family == AF_UNIX as u64 { Allow } else { Errno(EAFNOSUPPORT) };
        assert_eq!(verdict(user(Families::Inet6), SYS_socketpair, &[family, 1, 0]), wanted);
    }
}

#[test]
fn refuses_every_namespace_flag_of_clone() {
    let namespaces =
        [CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET, 0x80];
    let thread = 0x003D_0F00;
    let vfork = (CLONE_VM | CLONE_VFORK | SIGCHLD) as u64;
    for filter in [user(Families::Off), agent()] {
        for plain in [SIGCHLD as u64, thread, vfork, 0x8000_0000, 0x0120_0011, CLONE_PIDFD as u64 | 17] {
            assert_eq!(verdict(filter, SYS_clone, &[plain]), Allow, "{plain:#x}");
            for namespace in namespaces {
                let flags = plain | namespace as u64;
                assert_eq!(verdict(filter, SYS_clone, &[flags]), Errno(EPERM), "{flags:#x}");
                assert_eq!(verdict(filter, SYS_clone, &[flags | 1 << 32]), Errno(EPERM), "{flags:#x}");
            }
        }
    }
}

#[test]
fn refuses_terminal_takeover() {
    for command in [TIOCSTI, 0x541C, 0x5423] {
        assert_eq!(verdict(user(Families::Off), SYS_ioctl, &[0, command]), Errno(EPERM));
        assert_eq!(verdict(user(Families::Off), SYS_ioctl, &[0, command | 1 << 32]), Errno(EPERM), "CVE-2019-10063");
    }
    for command in [TCGETS, TIOCGWINSZ, TIOCSCTTY, FIONREAD, 0x5411, 0x5413, 0x5422, 0x5424] {
        assert_eq!(verdict(user(Families::Off), SYS_ioctl, &[0, command]), Allow, "{command:#x}");
    }
}

#[test]
fn refuses_upper_protocols() {
    for filter in [user(Families::Off), user(Families::Inet6), agent()] {
        let set = |level: i32, option: i32| verdict(filter, SYS_setsockopt, &[3, level as u64, option as u64]);
        assert_eq!(set(IPPROTO_TCP, TCP_ULP), Errno(EPERM));
        assert_eq!(set(IPPROTO_UDP, 100), Errno(EPERM));
        assert_eq!(set(IPPROTO_TCP, TCP_NODELAY), Allow);
        assert_eq!(set(IPPROTO_TCP, 100), Allow);
        assert_eq!(set(IPPROTO_UDP, 31), Allow);
        assert_eq!(set(SOL_SOCKET, 31), Allow);
        assert_eq!(set(IPPROTO_UDP, UDP_SEGMENT), Allow);
    }
}

#[test]
fn refuses_urgent_data() {
    for (call, place) in [(SYS_sendto, 3), (SYS_sendmsg, 2), (SYS_sendmmsg, 3)] {
        let with = |flags: c_int| {
            let mut arguments = [u64::MAX; 6];
            arguments[place] = flags as u64;
            verdict(user(Families::Off), call, &arguments)
        };
        assert_eq!(with(MSG_OOB), Errno(EOPNOTSUPP));
        assert_eq!(with(MSG_OOB | MSG_NOSIGNAL | MSG_DONTWAIT), Errno(EOPNOTSUPP));
        assert_eq!(with(MSG_NOSIGNAL | MSG_DONTWAIT), Allow);
    }
}

#[test]
fn admits_harmless_personalities() {
    for filter in [user(Families::Off), agent()] {
        for harmless in [0, 0x8, 0x2_0000, 0x2_0008, 0x4_0000, 0x4_0008, 0xFFFF_FFFF] {
            assert_eq!(verdict(filter, SYS_personality, &[harmless]), Allow, "{harmless:#x}");
        }
        for harmful in [0x10_0000, 0x40_0000, 0x44_0000, 0x1, 0x6, 0x800_0000, 0xFFFF_FFFE] {
            assert_eq!(verdict(filter, SYS_personality, &[harmful]), Errno(EPERM), "{harmful:#x}");
        }
    }
}

#[test]
fn refuses_dangerous_process_options() {
    for filter in [user(Families::Off), agent()] {
        for option in 0..=100 {
            let wanted = if [35, 62].contains(&option) { Errno(EPERM) } else { Allow };
            assert_eq!(verdict(filter, SYS_prctl, &[option]), wanted, "prctl {option}");
        }
    }
}

#[test]
fn launcher_may_do_whatever_the_agent_may_and_refuses_what_nobody_needs() {
    for number in 0..600 {
        if verdict(agent(), number, &[]) == Allow {
            assert_eq!(verdict(launcher(), number, &[]), Allow, "call {number}");
        }
    }
    for number in [SYS_mount, SYS_clone3, SYS_setns, SYS_unshare, SYS_sethostname, SYS_mount_setattr] {
        assert_eq!(verdict(launcher(), number, &[]), Allow, "call {number}");
    }
    for number in
        [SYS_bpf, SYS_kexec_load, SYS_init_module, SYS_io_uring_setup, SYS_keyctl, SYS_reboot, SYS_settimeofday]
    {
        assert_eq!(verdict(launcher(), number, &[]), Errno(EPERM), "call {number}");
    }
}

#[test]
fn agent_may_do_whatever_user_processes_may() {
    let values = [0, 1, 2, 3, 6, 8, 10, 16, 17, 31, 35, 62, 100, 0x5412, 0x7E02_0080, u64::MAX];
    for number in (0..=1000).chain([u32::MAX]) {
        for first in values {
            for second in values {
                for third in values {
                    let call = Call { abi: NATIVE, number, arguments: [first, second, third, first, second, third] };
                    let allowed = run(user(Families::Inet6), &call).0 == Allow;
                    assert!(!allowed || run(agent(), &call).0 == Allow, "call {number} {:?}", call.arguments);
                }
            }
        }
    }
}

#[test]
fn stays_short_and_shallow() {
    for (name, filter) in [("user", user(Families::Off)), ("user, IPv6", user(Families::Inet6)), ("agent", agent())] {
        let steps = (0..=500).map(|number| run(filter, &Call { abi: NATIVE, number, arguments: [0; 6] }).1);
        let deepest = steps.max().unwrap();
        println!("{name}: {} instructions, at most {deepest} of them for a call", filter.len());
        assert!(filter.len() <= 180 && deepest <= 20, "{name} has grown");
    }
}

#[test]
fn both_architectures_answer_alike() {
    let (intel, arm) = (compiled(policy::user(Arch::X86_64, false)), compiled(policy::user(Arch::Aarch64, false)));
    let rows = include_str!("../generate/numbers.txt").lines().filter(|line| !line.starts_with('#'));
    let mut compared = 0;
    for row in rows {
        let columns: Vec<_> = row.split(' ').collect();
        if let (Ok(here), Ok(there)) = (columns[1].parse(), columns[2].parse()) {
            for arguments in [[0; 6], [1; 6], [2; 6], [16, 3, 0, 0, 0, 0], [6, 6, 31, 0, 0, 0], [!0; 6]] {
                let first = run(&intel, &Call { abi: Arch::X86_64.audit(), number: here, arguments }).0;
                let second = run(&arm, &Call { abi: Arch::Aarch64.audit(), number: there, arguments }).0;
                assert_eq!(first, second, "{row} {arguments:?}");
            }
            compared += 1;
        }
    }
    assert!(compared > 300);
}

#[test]
fn arm_numbers_are_those_of_the_kernel() {
    let arm = compiled(policy::user(Arch::Aarch64, false));
    let ask = |abi, number| run(&arm, &Call { abi, number, arguments: [0; 6] }).0;
    let native = |number| ask(Arch::Aarch64.audit(), number);
    // read, openat, mmap, execve, futex, clone, getrandom, wait4, rt_sigreturn, statx
    for number in [63, 56, 222, 221, 98, 220, 278, 260, 139, 291] {
        assert_eq!(native(number), Allow, "call {number}");
    }
    // mount, umount2, pivot_root, unshare, setns, bpf, perf_event_open, userfaultfd, keyctl, init_module, kexec_load
    for number in [40, 39, 41, 97, 268, 280, 241, 282, 219, 105, 104] {
        assert_eq!(native(number), Errno(EPERM), "call {number}");
    }
    // clone3, io_uring_setup, io_setup, vmsplice, memfd_secret, nothing
    for number in [435, 425, 0, 75, 447, 480] {
        assert_eq!(native(number), Errno(ENOSYS), "call {number}");
    }
    assert_eq!(native(198), Errno(EAFNOSUPPORT));
    assert_eq!(ask(0x4000_0028, 1), Kill, "32-bit ARM");
    assert_eq!(ask(Arch::X86_64.audit(), 63), Kill);
}

fn compiled(program: Vec<generate::program::Instruction>) -> Vec<sock_filter> {
    program.iter().map(|one| sock_filter { code: one.code, jt: one.jt, jf: one.jf, k: one.k }).collect()
}
