//! What the first process of a sandbox does before it becomes the agent: it builds the root from the mounts it was given,
//! hides what the kernel would tell about the host, gives up all that it does not need and executes the agent.
//!
//! It runs in the sandbox's own namespaces with all capabilities of its user namespace and no other process beside it.

use crate::host::{DEVICES, DISK, EMPTY, LOWER, ROOT};
use crate::sys;
use rustix::fs::{Mode, OFlags};
use rustix::mount::{MountPropagationFlags, UnmountFlags};
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Uid and gid, inside, of agent and spawner: mapped, nameless, used by nobody else.
pub const AGENT_ID: u32 = 65_533;
/// SETUID, SETGID, KILL, CHOWN, DAC_OVERRIDE, FOWNER, NET_BIND_SERVICE, as bits of linux/capability.h.
const KEPT: u64 = 1 << 7 | 1 << 6 | 1 << 5 | 1 << 0 | 1 << 1 | 1 << 3 | 1 << 10;
const HOST_NAME: &[u8] = b"sandbox";
/// File at the top of a disk that covers /proc/meminfo.
pub const MEMINFO: &str = "meminfo";
/// Terminals of one sandbox.
const PTS_MAX: &CStr = c"64";

/// Kernel files that tell about the host or act on it; what a kernel does not have is passed over.
const MASKED_FILES: [&str; 31] = [
    "kcore",
    "kmsg",
    "keys",
    "key-users",
    "timer_list",
    "sched_debug",
    "schedstat",
    "interrupts",
    "softirqs",
    "kallsyms",
    "kpagecount",
    "kpageflags",
    "kpagecgroup",
    "vmallocinfo",
    "slabinfo",
    "iomem",
    "ioports",
    "config.gz",
    "vmcore",
    "sysrq-trigger",
    "latency_stats",
    "diskstats",
    "partitions",
    "buddyinfo",
    "pagetypeinfo",
    "zoneinfo",
    "modules",
    "cmdline",
    "locks",
    "swaps",
    "mtrr",
];
const MASKED_FOLDERS: [&str; 8] = ["acpi", "scsi", "asound", "bus", "driver", "fs", "irq", "tty"];

/// What the first process is told.
#[derive(Clone, Copy)]
pub struct Plan {
    /// Size of /tmp and of /dev/shm, in bytes.
    pub tmp_bytes: u64,
    /// Inodes of each.
    pub tmp_inodes: u64,
    /// What /proc/meminfo shows as the total, in bytes.
    pub memory_bytes: u64,
}

/// The mounts, all detached and mapped to the sandbox's ids.
pub struct Mounts<'a> {
    /// Volumes with their paths inside.
    pub volumes: &'a [(Vec<u8>, OwnedFd)],
    /// Skeleton of the template.
    pub lower: BorrowedFd<'a>,
    /// The host's /usr.
    pub usr: BorrowedFd<'a>,
    /// Writable disk with `u` and `w`.
    pub disk: BorrowedFd<'a>,
    /// Views of the cgroups with their folder beneath /sys/fs/cgroup.
    pub views: &'a [(&'static str, OwnedFd)],
}

/// A step that failed.
pub type Step<T> = Result<T, (String, io::Error)>;

fn step<T, E: Into<io::Error>>(result: Result<T, E>, what: impl Into<String>) -> Step<T> {
    result.map_err(|e| (what.into(), e.into()))
}

fn inside(path: &str) -> CString {
    CString::new(format!("{ROOT}/{path}")).unwrap_or_default()
}

/// Builds everything up to the point where only the agent is missing.
/// Returns the mounts of /dev/shm and /tmp.
pub fn build(plan: &Plan, mounts: &Mounts<'_>) -> Step<[OwnedFd; 2]> {
    become_root_inside()?;
    step(rustix::system::sethostname(HOST_NAME), "set the host name")?;
    step(loopback_up(), "bring lo up")?;
    step(
        rustix::mount::mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE),
        "make mounts private",
    )?;
    root(mounts)?;
    let tmpfs = devices(plan)?;
    proc(plan)?;
    views(mounts.views)?;
    for (path, mount) in mounts.volumes {
        step(volume(path, mount.as_fd()), format!("mount the volume at {}", String::from_utf8_lossy(path)))?;
    }
    // Belt and braces beside the filter: no user namespace can be made in here.
    let _ = std::fs::write(format!("{ROOT}/proc/sys/user/max_user_namespaces"), "0");
    step(read_only("proc/sys"), "make /proc/sys read-only")?;
    let pivot = || -> io::Result<()> {
        rustix::process::chdir(ROOT)?;
        rustix::process::pivot_root(".", ".")?;
        rustix::mount::unmount(".", UnmountFlags::DETACH)?;
        Ok(rustix::process::chdir("/")?)
    };
    step(pivot(), "enter the new root")?;
    Ok(tmpfs)
}

fn become_root_inside() -> Step<()> {
    use rustix::process::{Gid, Uid};
    step(rustix::thread::set_thread_groups(&[]), "clear the groups")?;
    step(rustix::thread::set_thread_res_gid(Gid::ROOT, Gid::ROOT, Gid::ROOT), "become gid 0 inside")?;
    step(rustix::thread::set_thread_res_uid(Uid::ROOT, Uid::ROOT, Uid::ROOT), "become uid 0 inside")
}

fn root(mounts: &Mounts<'_>) -> Step<()> {
    let c = |path: &str| CString::new(path).unwrap_or_default();
    step(sys::attach_mount(mounts.lower, &c(LOWER)), "attach the template")?;
    step(sys::attach_mount(mounts.disk, &c(DISK)), "attach the disk")?;
    let overlay = sys::NewFs::open(c"overlay")
        .and_then(|fs| fs.set(c"lowerdir", &c(LOWER)))
        .and_then(|fs| fs.set(c"upperdir", &c(&format!("{DISK}/u"))))
        .and_then(|fs| fs.set(c"workdir", &c(&format!("{DISK}/w"))))
        .and_then(|fs| fs.flag(c"userxattr"))
        .and_then(|fs| fs.flag(c"volatile"))
        .and_then(|fs| fs.mount(sys::ATTR_NOSUID | sys::ATTR_NODEV))
        .and_then(|mount| sys::attach_mount(mount.as_fd(), &c(ROOT)));
    step(overlay, "mount the overlay root")?;
    step(sys::attach_mount(mounts.usr, &inside("usr")), "attach /usr")
}

fn tmpfs(plan: &Plan, at: &str) -> Step<OwnedFd> {
    let number = |n: u64| CString::new(n.to_string()).unwrap_or_default();
    let mounted = sys::NewFs::open(c"tmpfs")
        .and_then(|fs| fs.set(c"mode", c"1777"))
        .and_then(|fs| fs.set(c"size", &number(plan.tmp_bytes)))
        .and_then(|fs| fs.set(c"nr_inodes", &number(plan.tmp_inodes)))
        .and_then(|fs| fs.mount(sys::ATTR_NOSUID | sys::ATTR_NODEV))
        .and_then(|mount| sys::attach_mount(mount.as_fd(), &inside(at)).map(|()| mount));
    step(mounted, format!("mount /{at}"))
}

fn devices(plan: &Plan) -> Step<[OwnedFd; 2]> {
    let flags = libc::OPEN_TREE_CLONE | libc::OPEN_TREE_CLOEXEC;
    let path = CString::new(DEVICES).unwrap_or_default();
    let attached = sys::open_tree(sys::cwd(), &path, flags).and_then(|m| sys::attach_mount(m.as_fd(), &inside("dev")));
    step(attached, "attach /dev")?;
    let pts = sys::NewFs::open(c"devpts")
        .and_then(|fs| fs.set(c"ptmxmode", c"0666"))
        .and_then(|fs| fs.set(c"mode", c"0620"))
        .and_then(|fs| fs.set(c"max", PTS_MAX))
        .and_then(|fs| fs.mount(sys::ATTR_NOSUID | sys::ATTR_NOEXEC))
        .and_then(|mount| sys::attach_mount(mount.as_fd(), &inside("dev/pts")));
    step(pts, "mount /dev/pts")?;
    let queues = sys::NewFs::open(c"mqueue")
        .and_then(|fs| fs.mount(sys::ATTR_NOSUID | sys::ATTR_NODEV | sys::ATTR_NOEXEC))
        .and_then(|mount| sys::attach_mount(mount.as_fd(), &inside("dev/mqueue")));
    step(queues, "mount /dev/mqueue")?;
    Ok([tmpfs(plan, "dev/shm")?, tmpfs(plan, "tmp")?])
}

fn proc(plan: &Plan) -> Step<()> {
    let mounted = sys::NewFs::open(c"proc")
        .and_then(|fs| fs.set(c"hidepid", c"invisible"))
        .and_then(|fs| fs.mount(sys::ATTR_NOSUID | sys::ATTR_NODEV | sys::ATTR_NOEXEC))
        .and_then(|mount| sys::attach_mount(mount.as_fd(), &inside("proc")));
    step(mounted, "mount /proc (in a container its own /proc must not be masked)")?;
    for name in MASKED_FILES {
        step(cover(&format!("{DEVICES}/null"), &format!("{ROOT}/proc/{name}")), format!("mask /proc/{name}"))?;
    }
    for name in MASKED_FOLDERS {
        step(cover(&format!("{DEVICES}/{EMPTY}"), &format!("{ROOT}/proc/{name}")), format!("mask /proc/{name}"))?;
    }
    meminfo(plan)
}

/// Covers one path with another; a target that is not there is no error.
fn cover(with: &str, path: &str) -> io::Result<()> {
    match rustix::mount::mount_bind(with, path) {
        Err(rustix::io::Errno::NOENT) => Ok(()),
        other => Ok(other?),
    }
}

/// Mounts a volume at its path inside. What lies on the way may come from an earlier sandbox, by a snapshot: no link is
/// followed. Folders that are not there are made.
fn volume(path: &[u8], mount: BorrowedFd<'_>) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at = rustix::fs::open(ROOT, flags, Mode::empty())?;
    for part in path.split(|b| *b == b'/').filter(|part| !part.is_empty()) {
        match rustix::fs::mkdirat(&at, part, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(e) => return Err(e.into()),
        }
        at = rustix::fs::openat(&at, part, flags, Mode::empty())?;
    }
    sys::attach_mount_at(mount, at.as_fd())
}

/// Programs that size themselves by /proc/meminfo see the sandbox's memory, not the host's.
fn meminfo_text(memory_bytes: u64) -> String {
    let kib = memory_bytes / 1024;
    format!(
        "MemTotal:       {kib:8} kB\nMemFree:        {kib:8} kB\nMemAvailable:   {kib:8} kB\nBuffers:               0 kB\nCached:                0 kB\nSwapCached:            0 kB\nActive:                0 kB\nInactive:              0 kB\nSwapTotal:             0 kB\nSwapFree:              0 kB\nShmem:                 0 kB\nSlab:                  0 kB\nSReclaimable:          0 kB\n"
    )
}

/// Shows another memory in a living sandbox, whose disk this is. The file is at the top, where nobody inside reaches.
pub fn rewrite_meminfo(disk: BorrowedFd<'_>, memory_bytes: u64) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(disk, MEMINFO, flags, Mode::empty())?;
    let text = meminfo_text(memory_bytes);
    rustix::io::pwrite(&file, text.as_bytes(), 0)?;
    Ok(rustix::fs::ftruncate(&file, text.len() as u64)?)
}

fn meminfo(plan: &Plan) -> Step<()> {
    let text = meminfo_text(plan.memory_bytes);
    let path = format!("{DISK}/{MEMINFO}");
    let written = || -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = rustix::fs::open(&path, flags, Mode::from_raw_mode(0o444))?;
        rustix::io::write(&file, text.as_bytes())?;
        cover(&path, &format!("{ROOT}/proc/meminfo"))
    };
    step(written(), "write /proc/meminfo")
}

fn views(views: &[(&'static str, OwnedFd)]) -> Step<()> {
    for (name, mount) in views {
        let path = if name.is_empty() { "sys/fs/cgroup".to_string() } else { format!("sys/fs/cgroup/{name}") };
        step(sys::attach_mount(mount.as_fd(), &inside(&path)), format!("attach /{path}"))?;
    }
    Ok(())
}

fn read_only(path: &str) -> io::Result<()> {
    let tree = sys::open_tree(sys::cwd(), &inside(path), libc::OPEN_TREE_CLONE | libc::OPEN_TREE_CLOEXEC)?;
    let attr = sys::MountAttr { set: sys::ATTR_RDONLY, ..Default::default() };
    sys::mount_setattr(tree.as_fd(), false, &attr)?;
    sys::attach_mount(tree.as_fd(), &inside(path))
}

/// Brings `lo` of the network namespace of now up.
pub fn loopback_up() -> io::Result<()> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    // SAFETY: all-zero is a valid ifreq.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (slot, byte) in request.ifr_name.iter_mut().zip(b"lo") {
        *slot = *byte as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: SIOCSIFFLAGS takes an ifreq.
    unsafe { sys::ioctl_struct(socket.as_fd(), libc::SIOCSIFFLAGS, &mut request) }
}

#[repr(C)]
struct CapHeader {
    version: u32,
    pid: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct CapData {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Sets permitted and effective, and inheritable, capabilities.
pub fn capset(permitted: u64, inheritable: u64) -> io::Result<()> {
    let header = CapHeader { version: 0x2008_0522, pid: 0 };
    let half = |shift: u32| CapData {
        effective: (permitted >> shift) as u32,
        permitted: (permitted >> shift) as u32,
        inheritable: (inheritable >> shift) as u32,
    };
    let data = [half(0), half(32)];
    // SAFETY: header and data have the layout of linux/capability.h, version 3.
    if unsafe { libc::syscall(libc::SYS_capset, std::ptr::from_ref(&header), data.as_ptr()) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// The permitted capabilities of this process.
pub fn permitted() -> io::Result<u64> {
    let header = CapHeader { version: 0x2008_0522, pid: 0 };
    let mut data = [CapData { effective: 0, permitted: 0, inheritable: 0 }; 2];
    // SAFETY: header and data have the layout of linux/capability.h, version 3.
    if unsafe { libc::syscall(libc::SYS_capget, std::ptr::from_ref(&header), data.as_mut_ptr()) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(u64::from(data[0].permitted) | u64::from(data[1].permitted) << 32)
}

/// Gives up everything but the agent's few capabilities, for this and for whatever is executed.
pub fn drop_privileges() -> Step<()> {
    use rustix::process::{Gid, Uid};
    // Root inside is nobody special, for good; capabilities survive the change to the agent's uid, and from then on a
    // process that gives up uid 0 loses them.
    const NOROOT_LOCKED_AND_KEEP_CAPS: u64 = 0b1_0011;
    const SETPCAP: u64 = 1 << 8;
    let last = u64::from(last_capability());
    step(sys::prctl(libc::PR_SET_SECUREBITS, NOROOT_LOCKED_AND_KEEP_CAPS, 0), "set secure bits")?;
    step(rustix::thread::set_thread_groups(&[]), "clear the groups")?;
    let (uid, gid) = (Uid::from_raw(AGENT_ID), Gid::from_raw(AGENT_ID));
    step(rustix::thread::set_thread_res_gid(gid, gid, gid), "take the agent's gid")?;
    step(rustix::thread::set_thread_res_uid(uid, uid, uid), "take the agent's uid")?;
    step(capset(KEPT | SETPCAP, KEPT), "keep the agent's capabilities")?;
    for cap in (0..64).filter(|c| KEPT >> c & 1 == 1) {
        step(sys::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_RAISE as u64, cap), "raise an ambient capability")?;
    }
    // The bounding set does not touch ambient ones; empty, nothing executed later can gain any.
    for cap in 0..=last {
        step(sys::prctl(libc::PR_CAPBSET_DROP, cap, 0), "empty the bounding set")?;
    }
    step(capset(KEPT, KEPT), "drop the other capabilities")?;
    step(sys::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0), "set no_new_privs")?;
    step(sys::prctl(libc::PR_SET_DUMPABLE, 0, 0), "become undumpable")
}

/// The highest capability that this kernel knows.
pub fn last_capability() -> u32 {
    // PR_CAPBSET_READ fails with EINVAL beyond the last one that this kernel knows.
    (0..63).take_while(|c| sys::prctl(libc::PR_CAPBSET_READ, *c, 0).is_ok()).last().unwrap_or(40) as u32
}

fn limits() -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let both = |soft, hard| Rlimit { current: Some(soft), maximum: Some(hard) };
    let files = getrlimit(Resource::Nofile).maximum.unwrap_or(1 << 20).min(1 << 20);
    setrlimit(Resource::Core, both(0, 0))?;
    setrlimit(Resource::Nofile, both(files.min(16_384), files))?;
    setrlimit(Resource::Memlock, both(64 << 10, 64 << 10))?;
    setrlimit(Resource::Rtprio, both(0, 0))?;
    setrlimit(Resource::Nice, both(0, 0))?;
    Ok(())
}

/// Executes the agent with `channel` as descriptor 3 and nothing else open; returns only when that fails.
pub fn execute(agent: BorrowedFd<'_>, channel: BorrowedFd<'_>, spawner: bool) -> (String, io::Error) {
    let prepare = || -> io::Result<()> {
        limits()?;
        let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
        // Out of the way of the numbers that are given out now.
        let agent = rustix::io::fcntl_dupfd_cloexec(agent, 10)?;
        let channel = rustix::io::fcntl_dupfd_cloexec(channel, 10)?;
        for number in 0..=2 {
            sys::place(null.as_fd(), number)?;
        }
        sys::place(channel.as_fd(), 3)?;
        sys::close_all_but(&[0, 1, 2, 3, agent.as_raw_fd()]);
        // SAFETY: umask has no pointers.
        unsafe { libc::umask(0o022) };
        let argv =
            [c"caisson-agent".as_ptr(), if spawner { c"spawner".as_ptr() } else { std::ptr::null() }, std::ptr::null()];
        let envp = [std::ptr::null::<libc::c_char>()];
        // SAFETY: argv and envp are null-ended arrays of C strings that live across the call.
        unsafe {
            libc::syscall(
                libc::SYS_execveat,
                agent.as_raw_fd(),
                c"".as_ptr(),
                argv.as_ptr(),
                envp.as_ptr(),
                libc::AT_EMPTY_PATH,
            )
        };
        let failed = io::Error::last_os_error();
        // close_all_but closed what these own.
        std::mem::forget((agent, channel, null));
        Err(failed)
    };
    match prepare() {
        Err(e) => ("execute the agent".into(), e),
        Ok(()) => ("execute the agent".into(), io::Error::from_raw_os_error(libc::EINVAL)),
    }
}
