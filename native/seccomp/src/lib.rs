//! Seccomp lists as classic BPF, made at build time. What is in and out, and why, is in `docs/seccomp.md`.

include!(concat!(env!("OUT_DIR"), "/filters.rs"));

/// Which socket families user processes get. AF_UNIX, AF_INET with TCP and UDP, and NETLINK_ROUTE are always there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Families {
    /// The network is off. AF_INET still reaches the sandbox's own loopback.
    Off,
    /// Egress over IPv4 only.
    Inet,
    /// Egress over both; AF_INET6 is there as well.
    Inet6,
}

/// The allow-list for user processes.
pub fn user(families: Families) -> &'static [libc::sock_filter] {
    match families {
        Families::Off | Families::Inet => &USER,
        Families::Inet6 => &USER_INET6,
    }
}

/// The list for agent and spawner. It lets through whatever [`user`] does: filters stack, and user processes are forked
/// from the spawner.
pub fn agent() -> &'static [libc::sock_filter] {
    &AGENT
}

/// The list for the launcher. All that it starts inherits it, so it lets through whatever [`agent`] does.
pub fn launcher() -> &'static [libc::sock_filter] {
    &LAUNCHER
}

/// The list for the launcher's helper that lays the way out, and for the egress gateway, which it starts.
pub fn outlet() -> &'static [libc::sock_filter] {
    &OUTLET
}

/// Puts `filter` on the calling thread and its future children, for good. Async-signal-safe, so it may stand between
/// fork and exec. The thread needs no_new_privs.
pub fn install(filter: &[libc::sock_filter]) -> std::io::Result<()> {
    let Ok(len) = u16::try_from(filter.len()) else {
        return Err(std::io::Error::from_raw_os_error(libc::EINVAL));
    };
    let program = libc::sock_fprog { len, filter: filter.as_ptr().cast_mut() };
    // SAFETY: `program` points to `len` instructions that outlive the call; the kernel copies and never writes them.
    let result = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &program) };
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}
