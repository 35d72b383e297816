//! The filters in a real kernel. Each refusal stands beside the same call without a filter, which ends differently.

#[path = "support/child.rs"]
mod child;

use caisson_seccomp::{Families, agent, user};
use child::Outcome::{Failed, Killed, Returned};
use child::{Outcome, in_child, raw};
use libc::*;

/// A bad address or an impossible descriptor, so that a call which is let through changes nothing.
const BAD: u64 = u64::MAX;

// Younger than the names in libc.
const CACHESTAT: c_long = 451;
const STATMOUNT: c_long = 457;
const LISTMOUNT: c_long = 458;
const LSM_GET_SELF_ATTR: c_long = 459;
const LSM_SET_SELF_ATTR: c_long = 460;
const LSM_LIST_MODULES: c_long = 461;
const OPEN_TREE_ATTR: c_long = 467;

fn filtered(number: c_long, arguments: [u64; 6]) -> Outcome {
    in_child(&[user(Families::Off)], || raw(number, arguments))
}

fn unfiltered(number: c_long, arguments: [u64; 6]) -> Outcome {
    in_child(&[], || raw(number, arguments))
}

/// Asserts the refusal and its cause. Where the kernel refuses alike without a filter nothing is shown: said, not hidden.
fn refused(name: &str, errno: i32, number: c_long, arguments: [u64; 6]) {
    assert_eq!(filtered(number, arguments), Failed(errno), "{name} {arguments:x?}");
    let without = unfiltered(number, arguments);
    if without == Failed(errno) {
        // SAFETY: takes and gives integers only.
        let root = unsafe { geteuid() } == 0;
        assert!(errno == ENOSYS || !root, "{name} ends with errno {errno} without a filter, too");
        println!("skipped the control of {name}: this kernel, or this user, has errno {errno} of its own");
    }
}

macro_rules! refused {
    ($errno:ident: $($name:ident [$($argument:expr),*];)*) => { $({
        let given: &[u64] = &[$($argument),*];
        let mut arguments = [0; 6];
        arguments[..given.len()].copy_from_slice(given);
        refused(stringify!($name), $errno, $name, arguments);
    })* };
}

#[test]
fn refuses_privileged_calls() {
    refused! { EPERM:
        SYS_unshare [0];
        SYS_unshare [CLONE_NEWUSER as u64];
        SYS_setns [BAD];
        SYS_chroot [BAD];
        SYS_pivot_root [BAD, BAD];
        SYS_mount [BAD, BAD, BAD];
        SYS_umount2 [BAD];
        SYS_fsopen [BAD];
        SYS_fsconfig [BAD, 99];
        SYS_fsmount [BAD];
        SYS_fspick [BAD, BAD];
        SYS_open_tree [BAD, BAD];
        OPEN_TREE_ATTR [BAD, BAD];
        SYS_move_mount [BAD, BAD, BAD, BAD];
        SYS_mount_setattr [BAD, BAD];
        SYS_name_to_handle_at [BAD, BAD];
        SYS_open_by_handle_at [BAD, BAD];
        SYS_quotactl [BAD, BAD];
        SYS_quotactl_fd [BAD, 0];
        SYS_fanotify_init [BAD];
        SYS_fanotify_mark [BAD];
        SYS_bpf [9999];
        SYS_perf_event_open [BAD];
        SYS_userfaultfd [BAD];
        SYS_init_module [BAD];
        SYS_finit_module [BAD, BAD];
        SYS_delete_module [BAD];
        SYS_add_key [BAD];
        SYS_keyctl [9999];
        SYS_request_key [BAD];
        SYS_acct [BAD];
        SYS_adjtimex [BAD];
        SYS_clock_adjtime [0, BAD];
        SYS_clock_settime [9999];
        SYS_kexec_load [0, 99];
        SYS_kexec_file_load [BAD, BAD];
        SYS_reboot [0];
        SYS_sethostname [BAD, BAD];
        SYS_setdomainname [BAD, BAD];
        SYS_settimeofday [BAD];
        SYS_swapon [BAD];
        SYS_swapoff [BAD];
        SYS_syslog [9999];
        SYS_vhangup [];
        SYS_get_mempolicy [];
        SYS_mbind [BAD];
        SYS_set_mempolicy [];
        SYS_set_mempolicy_home_node [BAD];
        SYS_move_pages [0, 0];
        SYS_migrate_pages [BAD];
        SYS_kcmp [BAD, BAD];
        SYS_process_madvise [BAD];
        SYS_process_mrelease [BAD];
        SYS_personality [0x40_0000];
        SYS_prctl [35, 15, BAD];
        SYS_prctl [62, 0, 0, 0, BAD];
    }
    #[cfg(target_arch = "x86_64")]
    refused! { EPERM:
        SYS_iopl [3];
        SYS_ioperm [0, 1, 1];
    }
}

#[test]
fn lacks_optional_calls() {
    refused! { ENOSYS:
        SYS_clone3 [BAD, 1];
        SYS_io_uring_setup [0];
        SYS_io_uring_enter [BAD];
        SYS_io_uring_register [BAD];
        SYS_io_setup [0];
        SYS_io_destroy [0];
        SYS_io_submit [0];
        SYS_io_getevents [0];
        SYS_io_cancel [0];
        SYS_vmsplice [BAD];
        SYS_memfd_secret [BAD];
        SYS_remap_file_pages [1];
        CACHESTAT [BAD];
        STATMOUNT [BAD];
        LISTMOUNT [BAD];
        LSM_GET_SELF_ATTR [BAD];
        LSM_SET_SELF_ATTR [BAD];
        LSM_LIST_MODULES [BAD];
    }
    #[cfg(target_arch = "x86_64")]
    refused! { ENOSYS:
        SYS_modify_ldt [0, BAD, 8];
        SYS_ustat [BAD];
        SYS_uselib [BAD];
        SYS_sysfs [99];
    }
}

#[test]
fn refuses_cloned_namespaces() {
    let child_leaves = |flags: i32| {
        move || match raw(SYS_clone, [(flags | SIGCHLD) as u64, 0, 0, 0, 0, 0]) {
            // SAFETY: like after fork; the grandchild leaves at once.
            0 => unsafe { _exit(0) },
            result => result.signum_or_error(),
        }
    };
    let all = [CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP];
    for flags in all {
        let filters: [&[sock_filter]; 2] = [user(Families::Off), agent()];
        for filter in filters {
            assert_eq!(in_child(&[filter], child_leaves(flags)), Failed(EPERM), "{flags:#x}");
        }
        // The user namespace in front lets any user make the others.
        let without = in_child(&[], child_leaves(flags | CLONE_NEWUSER));
        if without == Failed(EPERM) {
            println!("skipped the control of clone {flags:#x}: this host forbids user namespaces");
        } else {
            assert_eq!(without, Returned(1), "{flags:#x}");
        }
    }
    assert_eq!(in_child(&[user(Families::Off)], child_leaves(0)), Returned(1));
}

/// Makes results comparable where they are process ids.
trait Signum {
    fn signum_or_error(self) -> i64;
}

impl Signum for i64 {
    fn signum_or_error(self) -> i64 {
        if self > 0 { 1 } else { self }
    }
}

#[test]
fn agent_forks_with_clone3() {
    let clone3 = || {
        let arguments = [0_u64, 0, 0, 0, SIGCHLD as u64, 0, 0, 0];
        match raw(SYS_clone3, [arguments.as_ptr() as u64, 64, 0, 0, 0, 0]) {
            // SAFETY: the grandchild leaves at once.
            0 => unsafe { _exit(0) },
            result => result.signum_or_error(),
        }
    };
    assert_eq!(in_child(&[agent()], clone3), Returned(1));
    assert_eq!(in_child(&[agent(), user(Families::Inet)], clone3), Failed(ENOSYS), "both, as in an exec");
}

#[test]
fn opens_plain_sockets_only() {
    let open = |filter: &[sock_filter], family: i32, kind: i32, protocol: i32| {
        in_child(&[filter], || raw(SYS_socket, [family as u64, kind as u64, protocol as u64, 0, 0, 0]).min(0))
    };
    let (off, inet6) = (user(Families::Off), user(Families::Inet6));
    for (family, kind, protocol) in [
        (AF_UNIX, SOCK_STREAM, 0),
        (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0),
        (AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0),
        (AF_INET, SOCK_STREAM, IPPROTO_TCP),
        (AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_UDP),
        (AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE),
    ] {
        for filter in [off, user(Families::Inet), inet6, agent()] {
            assert_eq!(open(filter, family, kind, protocol), Returned(0), "{family} {kind} {protocol}");
        }
    }
    let mut shown = 0;
    for (errno, family, kind, protocol) in [
        (EAFNOSUPPORT, AF_INET6, SOCK_STREAM, 0),
        (EAFNOSUPPORT, AF_INET6, SOCK_DGRAM, 0),
        (EPERM, AF_INET, SOCK_RAW, IPPROTO_ICMP),
        (EAFNOSUPPORT, AF_INET, SOCK_DGRAM, IPPROTO_ICMP),
        (EAFNOSUPPORT, AF_INET, SOCK_STREAM, 262),
        (EAFNOSUPPORT, AF_INET, SOCK_STREAM, IPPROTO_SCTP),
        (EAFNOSUPPORT, AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE),
        (EAFNOSUPPORT, AF_INET, 10, 0x0300),
        (EAFNOSUPPORT, AF_PACKET, SOCK_DGRAM, 0),
        (EAFNOSUPPORT, AF_VSOCK, SOCK_STREAM, 0),
        (EAFNOSUPPORT, AF_ALG, SOCK_SEQPACKET, 0),
        (EAFNOSUPPORT, AF_NETLINK, SOCK_RAW, 4),
        (EAFNOSUPPORT, AF_NETLINK, SOCK_RAW, NETLINK_XFRM),
        (EAFNOSUPPORT, AF_NETLINK, SOCK_RAW, NETLINK_AUDIT),
        (EAFNOSUPPORT, AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER),
        (EAFNOSUPPORT, AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT),
        (EAFNOSUPPORT, AF_NETLINK, SOCK_RAW, NETLINK_GENERIC),
        (EAFNOSUPPORT, AF_KEY, SOCK_RAW, 2),
        (EAFNOSUPPORT, AF_RDS, SOCK_SEQPACKET, 0),
        (EAFNOSUPPORT, AF_TIPC, SOCK_STREAM, 0),
        (EAFNOSUPPORT, AF_CAN, SOCK_RAW, 1),
        (EAFNOSUPPORT, AF_BLUETOOTH, SOCK_RAW, 1),
        (EAFNOSUPPORT, AF_XDP, SOCK_RAW, 0),
        (EAFNOSUPPORT, 43, SOCK_STREAM, 0),
    ] {
        assert_eq!(open(off, family, kind, protocol), Failed(errno), "{family} {kind} {protocol}");
        let arguments = [family as u64, kind as u64, protocol as u64, 0, 0, 0];
        let without = in_child(&[], || raw(SYS_socket, arguments).min(0));
        if without == Failed(errno) {
            println!(
                "skipped the control of socket {family} {kind} {protocol}: this kernel has errno {errno} of its own"
            );
        } else {
            shown += 1;
        }
    }
    assert!(shown >= 8, "only {shown} refusals differ from the bare kernel");
    assert_eq!(open(inet6, AF_INET6, SOCK_STREAM, 0), Returned(0));
    assert_eq!(open(inet6, AF_INET6, SOCK_DGRAM, 0), Returned(0));
    assert_eq!(open(inet6, AF_INET6, SOCK_RAW, IPPROTO_ICMPV6), Failed(EPERM));
}

#[test]
fn refuses_the_agents_ids_and_no_others() {
    const AGENT: u64 = 65_533;
    const SAME: u64 = u32::MAX as u64;
    refused! { EPERM:
        SYS_setuid [AGENT];
        SYS_setgid [AGENT];
        SYS_setreuid [AGENT, SAME];
        SYS_setreuid [SAME, AGENT];
        SYS_setregid [AGENT, SAME];
        SYS_setregid [SAME, AGENT];
        SYS_setresuid [AGENT, SAME, SAME];
        SYS_setresuid [SAME, AGENT, SAME];
        SYS_setresuid [SAME, SAME, AGENT];
        SYS_setresgid [SAME, SAME, AGENT];
        SYS_setresuid [1 << 32 | AGENT, SAME, SAME];
    }
    // These tell the id before and no error: a refusal is one.
    assert_eq!(filtered(SYS_setfsuid, [AGENT, 0, 0, 0, 0, 0]), Failed(EPERM));
    assert_eq!(filtered(SYS_setfsgid, [AGENT, 0, 0, 0, 0, 0]), Failed(EPERM));
    for id in [AGENT - 1, AGENT + 1] {
        let arguments = [id, id, id, 0, 0, 0];
        assert_eq!(filtered(SYS_setresuid, arguments), unfiltered(SYS_setresuid, arguments));
    }
}

#[test]
fn refuses_terminal_takeover() {
    // Descriptor -1 shows whether the kernel looked: EBADF if it did.
    for command in [TIOCSTI, 0x541C, 0x5423, 0x5423 | 1 << 32] {
        assert_eq!(filtered(SYS_ioctl, [BAD, command, 0, 0, 0, 0]), Failed(EPERM), "{command:#x}");
        assert_eq!(unfiltered(SYS_ioctl, [BAD, command, 0, 0, 0, 0]), Failed(EBADF), "{command:#x}");
    }
    assert_eq!(filtered(SYS_ioctl, [BAD, TCGETS, 0, 0, 0, 0]), Failed(EBADF));
}

#[test]
fn refuses_upper_protocols_and_urgent_data() {
    for (level, option) in [(IPPROTO_TCP, TCP_ULP), (IPPROTO_UDP, 100)] {
        let arguments = [BAD, level as u64, option as u64, 0, 0, 0];
        assert_eq!(filtered(SYS_setsockopt, arguments), Failed(EPERM));
        assert_eq!(unfiltered(SYS_setsockopt, arguments), Failed(EBADF));
    }
    assert_eq!(filtered(SYS_setsockopt, [BAD, IPPROTO_TCP as u64, TCP_NODELAY as u64, 0, 0, 0]), Failed(EBADF));
    for (call, place) in [(SYS_sendto, 3), (SYS_sendmsg, 2), (SYS_sendmmsg, 3)] {
        let mut arguments = [BAD, 0, 0, 0, 0, 0];
        assert_ne!(filtered(call, arguments), Failed(EOPNOTSUPP));
        arguments[place] = MSG_OOB as u64;
        assert_eq!(filtered(call, arguments), Failed(EOPNOTSUPP));
        assert_ne!(unfiltered(call, arguments), Failed(EOPNOTSUPP));
    }
}

#[test]
fn lacks_unknown_calls() {
    assert_eq!(filtered(-1, [0; 6]), Failed(ENOSYS));
    assert_eq!(filtered(471, [0; 6]), Failed(ENOSYS));
    assert_eq!(filtered(9999, [0; 6]), Failed(ENOSYS));
}

#[test]
fn refuses_a_filter_that_is_too_long() {
    let long = vec![user(Families::Off)[0]; 70_000];
    assert_eq!(caisson_seccomp::install(&long).unwrap_err().raw_os_error(), Some(EINVAL));
}

#[cfg(target_arch = "x86_64")]
#[test]
fn kills_the_x32_abi() {
    let x32_getpid = 0x4000_0000 | SYS_getpid;
    for filter in [user(Families::Off), agent()] {
        assert_eq!(in_child(&[filter], || raw(x32_getpid, [0; 6])), Killed(SIGSYS));
    }
    let without = in_child(&[], || raw(x32_getpid, [0; 6]).signum_or_error());
    assert!([Failed(ENOSYS), Returned(1)].contains(&without), "{without:?}");
}

#[cfg(target_arch = "x86_64")]
#[test]
fn kills_the_32_bit_abi() {
    let old_getpid = || {
        let mut result: u64 = 20;
        // SAFETY: getpid of the 32-bit ABI touches no memory; r8 to r11 may be cleared on the way.
        unsafe {
            std::arch::asm!("int 0x80", inout("rax") result, out("r8") _, out("r9") _, out("r10") _, out("r11") _);
        }
        i64::from(result as i32).signum_or_error()
    };
    for filter in [user(Families::Off), agent()] {
        assert_eq!(in_child(&[filter], old_getpid), Killed(SIGSYS));
    }
    let without = in_child(&[], old_getpid);
    if without == Killed(SIGSEGV) {
        println!("skipped the control of int 0x80: this kernel has no 32-bit calls");
    } else {
        assert_eq!(without, Returned(1));
    }
}
