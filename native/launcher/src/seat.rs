//! Parked children: what a sandbox needs from the host side and takes long to get, made ahead of time.
//!
//! Two children wait for each coming sandbox. The *user* child already lives in the sandbox's cgroups (a v1 attach takes up
//! to 20 ms on an idle host) and owns its cgroup namespace; it joins the finished sandbox and becomes the spawner there. The
//! *root* child clones process 1. Neither runs foreign code or knows anything of a tenant but the group and id.

use crate::cgroup::{Cgroups, SandboxCgroups};
use crate::error::{Doing, Result};
use crate::setup::{self, Mounts, Plan};
use crate::sys::{self, Forked};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

/// A child and the channel to it.
pub struct Child {
    /// Readable when the child is dead.
    pub pidfd: OwnedFd,
    /// SOCK_SEQPACKET.
    pub socket: OwnedFd,
    /// Its pid and process group, in which what it clones stays.
    group: libc::pid_t,
}

impl Child {
    /// Ends a root child that has not reported process 1, which it may have cloned already: nobody else knows of that.
    pub fn end_with_clone(self) {
        let _ = sys::pidfd_kill(self.pidfd.as_fd());
        sys::reap(self.pidfd.as_fd());
        // Reported at the last moment: it may run. Otherwise it ends by itself, for nobody writes to its pipe.
        if let Ok(Report::Cloned { pidfd, .. }) = receive(self.socket.as_fd()) {
            let _ = sys::pidfd_kill(pidfd.as_fd());
        }
        sys::reap_group(self.group);
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = sys::pidfd_kill(self.pidfd.as_fd());
        sys::reap(self.pidfd.as_fd());
    }
}

/// What a child reports.
#[derive(Debug)]
pub enum Report {
    /// User child: parked. Whether the login id is set; descriptors: cgroup namespace, views, on v2 the spawner's join file.
    Parked {
        /// Whether the audit login id could be set and was read back.
        login: bool,
        /// See above.
        fds: Vec<OwnedFd>,
    },
    /// Root child: process 1 exists.
    Cloned {
        /// Its pid on the host.
        pid: u32,
        /// Its pidfd.
        pidfd: OwnedFd,
    },
    /// Process 1: the root is built; the agent is executed next. Descriptors: /dev/shm and /tmp.
    Rooted {
        /// See above.
        tmpfs: Vec<OwnedFd>,
    },
    /// A step failed.
    Failed {
        /// Which one.
        step: String,
        /// Why.
        error: io::Error,
    },
    /// The channel closed.
    Gone,
}

const TAG_PARKED: u8 = b'P';
const TAG_CLONED: u8 = b'C';
const TAG_ROOTED: u8 = b'R';
const TAG_FAILED: u8 = b'E';
/// Of a sandbox's host ids: who owns its namespaces. Inside, 65535 is no valid uid of any program.
const OWNER: u32 = crate::ids::RANGE - 1;
const USER_NAMESPACES: u64 = (libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS) as u64;

/// Reads one report of a child.
pub fn receive(socket: BorrowedFd<'_>) -> io::Result<Report> {
    let mut buffer = [0u8; 512];
    let (length, mut fds) = sys::receive_packet(socket, &mut buffer)?;
    let body = &buffer[..length];
    Ok(match (body.first(), body.get(1..)) {
        (Some(&TAG_PARKED), Some([login])) => Report::Parked { login: *login == 1, fds },
        (Some(&TAG_CLONED), Some([a, b, c, d])) if fds.len() == 1 => {
            Report::Cloned { pid: u32::from_le_bytes([*a, *b, *c, *d]), pidfd: fds.remove(0) }
        }
        (Some(&TAG_ROOTED), _) => Report::Rooted { tmpfs: fds },
        (Some(&TAG_FAILED), Some([a, b, c, d, step @ ..])) => Report::Failed {
            step: String::from_utf8_lossy(step).into_owned(),
            error: io::Error::from_raw_os_error(i32::from_le_bytes([*a, *b, *c, *d])),
        },
        _ => Report::Gone,
    })
}

fn fail(socket: BorrowedFd<'_>, step: &str, error: &io::Error) -> ! {
    let mut packet = vec![TAG_FAILED];
    packet.extend(error.raw_os_error().unwrap_or(libc::EIO).to_le_bytes());
    packet.extend(step.bytes().take(400));
    let _ = sys::send_packet(socket, &packet, &[]);
    exit(1)
}

fn exit(code: i32) -> ! {
    // SAFETY: ends the process; nothing of the parent's state may be dropped here.
    unsafe { libc::_exit(code) }
}

/// Forks a child that runs `body` with its end of the channel.
fn fork_child(body: impl FnOnce(BorrowedFd<'_>)) -> Result<Child> {
    let (ours, theirs) = sys::packet_pair().doing(|| "make a channel".into())?;
    let parent = rustix::process::getpid();
    // SAFETY: the child uses the allocator, which glibc makes safe, and no lock of other threads.
    match unsafe { sys::fork() }.doing(|| "fork".into())? {
        Forked::Child => {
            let _ = sys::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as u64, 0);
            let _ = rustix::process::setpgid(None, None);
            if rustix::process::getppid() != Some(parent) {
                exit(1);
            }
            body(theirs.as_fd());
            exit(0)
        }
        Forked::Parent(pid) => {
            let pidfd = sys::pidfd_open(pid).doing(|| "open a pidfd".into())?;
            rustix::io::ioctl_fionbio(&ours, true).doing(|| "make a channel non-blocking".into())?;
            Ok(Child { pidfd, socket: ours, group: pid })
        }
    }
}

/// Sets the audit login id and reads it back; only what stands there afterwards counts.
fn set_login(login: u32) -> bool {
    let text = login.to_string();
    std::fs::write("/proc/self/loginuid", &text).is_ok()
        && std::fs::read_to_string("/proc/self/loginuid").is_ok_and(|read| read.trim() == text)
}

/// Parks the child that becomes the spawner.
pub fn park_user(cgroups: &Cgroups, own: &SandboxCgroups, agent: BorrowedFd<'_>, login: u32) -> Result<Child> {
    fork_child(|socket| {
        let login = set_login(login);
        for file in &own.join {
            if let Err(e) = rustix::io::write(file, b"0") {
                fail(socket, "join the sandbox's cgroups", &e.into());
            }
        }
        if own.join.is_empty() {
            // Pure v2: start in the folder itself, so that the namespace has its root there.
            if let Err(e) = join_folder(own) {
                fail(socket, "join the sandbox's cgroup", &e);
            }
        }
        let join = match cgroups.spawner_leaf(&own.path) {
            Ok(join) => join,
            Err(e) => fail(socket, "make the spawner's cgroup", &e),
        };
        if let Err(e) = sys::unshare(libc::CLONE_NEWCGROUP) {
            fail(socket, "make a cgroup namespace", &e);
        }
        if let Some(Err(e)) = join.as_ref().map(|leaf| cgroups.settle_spawner(&own.path, leaf.as_fd())) {
            fail(socket, "hand controllers down to the sandbox", &e);
        }
        let views = match cgroups.views() {
            Ok(views) => views,
            Err(e) => fail(socket, &e.message, &io::Error::from_raw_os_error(e.errno)),
        };
        let namespace = match open("/proc/self/ns/cgroup") {
            Ok(fd) => fd,
            Err(e) => fail(socket, "open the cgroup namespace", &e),
        };
        let fds: Vec<_> =
            std::iter::once(&namespace).chain(views.iter().map(|v| &v.1)).chain(&join).map(AsFd::as_fd).collect();
        if sys::send_packet(socket, &[TAG_PARKED, u8::from(login)], &fds).is_err() {
            return;
        }
        keep_only(&[socket.as_raw_fd(), agent.as_raw_fd()]);
        join_sandbox(socket, agent);
        // Not a return: what this closure owns is closed already.
        exit(0);
    })
}

fn join_folder(own: &SandboxCgroups) -> io::Result<()> {
    let flags = rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::CLOEXEC;
    let procs = rustix::fs::openat(&own.folder, "cgroup.procs", flags, rustix::fs::Mode::empty())?;
    rustix::io::write(&procs, b"0")?;
    Ok(())
}

fn open(path: &str) -> io::Result<OwnedFd> {
    use rustix::fs::{Mode, OFlags};
    Ok(rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
}

fn keep_only(fds: &[RawFd]) {
    // Standard descriptors stay taken, so that none that comes later gets their numbers.
    let mut sorted = vec![0, 1, 2];
    sorted.extend(fds);
    sorted.sort_unstable();
    sys::close_all_but(&sorted);
}

/// Waits for process 1, joins its namespaces and leaves the spawner there. All but the mount namespace is joined at once,
/// while process 1 builds its root; that one when the root is there.
fn join_sandbox(socket: BorrowedFd<'_>, agent: BorrowedFd<'_>) {
    let mut pid = [0u8; 4];
    let Ok((4, fds)) = sys::receive_packet(socket, &mut pid) else { return };
    let [process_one, channel, io @ ..] = fds.as_slice() else { return };
    // Opened while we may look at process 1: later we have rights in its user namespace only.
    let mounts = match open(&format!("/proc/{}/ns/mnt", u32::from_le_bytes(pid))) {
        Ok(fd) => fd,
        Err(e) => fail(socket, "open the sandbox's mount namespace", &e),
    };
    for file in io {
        if let Err(e) = rustix::io::write(file, b"0") {
            fail(socket, "join the block I/O cgroup", &e.into());
        }
    }
    let kinds = USER_NAMESPACES as i32 & !libc::CLONE_NEWNS | sys::CLONE_NEWTIME;
    if let Err(e) = sys::setns(process_one.as_fd(), kinds) {
        fail(socket, "join the sandbox's namespaces", &e);
    }
    // A child of ours has a parent outside the pid namespace; its child, orphaned, becomes a child of process 1.
    // SAFETY: this process is single-threaded.
    match unsafe { sys::fork() } {
        Err(e) => fail(socket, "fork the spawner", &e),
        Ok(Forked::Parent(pid)) => {
            // SAFETY: a null status is allowed.
            unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
        }
        // SAFETY: as above.
        Ok(Forked::Child) => match unsafe { sys::fork() } {
            Err(e) => fail(socket, "fork the spawner", &e),
            Ok(Forked::Parent(_)) => exit(0),
            Ok(Forked::Child) => become_spawner(socket, agent, mounts.as_fd(), channel.as_fd()),
        },
    }
}

fn become_spawner(socket: BorrowedFd<'_>, agent: BorrowedFd<'_>, mounts: BorrowedFd<'_>, channel: BorrowedFd<'_>) -> ! {
    if !matches!(sys::receive_packet(socket, &mut [0u8; 8]), Ok((1.., _))) {
        exit(1);
    }
    if let Err(e) = sys::setns(mounts, libc::CLONE_NEWNS) {
        fail(socket, "join the sandbox's mount namespace", &e);
    }
    let (step, error) = match setup::drop_privileges() {
        Ok(()) => setup::execute(agent, channel, true),
        Err(failed) => failed,
    };
    fail(socket, &step, &error)
}

/// Room for an order with all its paths.
const ORDER_BYTES: usize = 16 << 10;

/// What the root child is told at the last moment.
pub struct Order {
    /// First host id of the sandbox.
    pub uid_base: u32,
    /// For process 1.
    pub plan: Plan,
    /// Where the volumes are mounted inside, in the order of their descriptors.
    pub places: Vec<Vec<u8>>,
}

impl Order {
    fn encode(&self) -> Vec<u8> {
        [u64::from(self.uid_base), self.plan.tmp_bytes, self.plan.tmp_inodes, self.plan.memory_bytes]
            .iter()
            .flat_map(|n| n.to_le_bytes())
            .chain(
                self.places
                    .iter()
                    .flat_map(|path| (path.len() as u64).to_le_bytes().into_iter().chain(path.iter().copied())),
            )
            .collect()
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let mut next = || {
            let (number, behind) = rest.split_first_chunk()?;
            rest = behind;
            Some(u64::from_le_bytes(*number))
        };
        let uid_base = u32::try_from(next()?).ok()?;
        let plan = Plan { tmp_bytes: next()?, tmp_inodes: next()?, memory_bytes: next()? };
        let mut places = Vec::new();
        while let Some((length, behind)) = rest.split_first_chunk() {
            let (path, behind) = behind.split_at_checked(u64::from_le_bytes(*length) as usize)?;
            places.push(path.to_vec());
            rest = behind;
        }
        Some(Self { uid_base, plan, places })
    }
}

/// Parks the child that clones process 1. `view_names` go with the views that are sent later.
pub fn park_root(agent: BorrowedFd<'_>, login: u32, view_names: &[&'static str]) -> Result<Child> {
    fork_child(|socket| {
        set_login(login);
        keep_only(&[socket.as_raw_fd(), agent.as_raw_fd()]);
        let mut buffer = vec![0u8; ORDER_BYTES];
        let Ok((length, fds)) = sys::receive_packet(socket, &mut buffer) else { return };
        let Some(order) = Order::decode(&buffer[..length]) else { return };
        if let Err((step, error)) = clone_sandbox(socket, agent, &order, fds, view_names) {
            fail(socket, &step, &error);
        }
    })
}

/// Tells a child that is joining that the root of process 1 is built.
pub fn send_rooted(child: &Child) -> io::Result<()> {
    sys::send_packet(child.socket.as_fd(), b"R", &[])
}

/// Tells a parked root child to go. Descriptors: disk, cgroup namespace, life channel, views,
/// volumes.
pub fn send_order(child: &Child, order: &Order, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    sys::send_packet(child.socket.as_fd(), &order.encode(), fds)
}

/// Tells a parked user child to join process 1, which has this pid on the host. Descriptors: pidfd of process 1, spawner
/// channel and, when block I/O is limited on v1, the `cgroup.procs` of that cgroup.
pub fn send_join(
    child: &Child,
    pid: u32,
    process_one: BorrowedFd<'_>,
    channel: BorrowedFd<'_>,
    io: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let fds: Vec<_> = [process_one, channel].into_iter().chain(io).collect();
    sys::send_packet(child.socket.as_fd(), &pid.to_le_bytes(), &fds)
}

type Failed = (String, io::Error);

fn or<T, E: Into<io::Error>>(result: std::result::Result<T, E>, step: &str) -> std::result::Result<T, Failed> {
    result.map_err(|e| (step.to_string(), e.into()))
}

fn clone_sandbox(
    socket: BorrowedFd<'_>,
    agent: BorrowedFd<'_>,
    order: &Order,
    fds: Vec<OwnedFd>,
    view_names: &[&'static str],
) -> std::result::Result<(), Failed> {
    let mut fds = fds.into_iter();
    let (Some(disk), Some(cgroup_namespace), Some(life)) = (fds.next(), fds.next(), fds.next()) else {
        return Err(("read the order".into(), io::Error::from_raw_os_error(libc::EPROTO)));
    };
    let views: Vec<_> = view_names.iter().copied().zip(fds.by_ref()).collect();
    let volumes: Vec<_> = order.places.iter().cloned().zip(fds).collect();
    or(new_time(), "make a time namespace")?;
    or(sys::setns(cgroup_namespace.as_fd(), libc::CLONE_NEWCGROUP), "join the cgroup namespace")?;
    let lower = or(clone_tree(crate::host::SKELETON, false), "copy the template's mount")?;
    let usr = or(clone_tree("/usr", true), "copy the mount of /usr")?;
    let (wait, go) = or(rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC), "make a pipe")?;
    let flags = USER_NAMESPACES | libc::CLONE_PARENT as u64;
    or(act_as(order.uid_base + OWNER), "take the uid that owns the sandbox's namespaces")?;
    // SAFETY: this process is single-threaded.
    match or(unsafe { sys::clone3(flags, None) }, "clone process 1 into new namespaces")? {
        None => {
            drop(go);
            let mut byte = [0u8];
            if !matches!(rustix::io::read(&wait, &mut byte), Ok(1)) {
                exit(1);
            }
            let mounts =
                Mounts { lower: lower.as_fd(), usr: usr.as_fd(), disk: disk.as_fd(), views: &views, volumes: &volumes };
            process_one(socket, agent, life.as_fd(), &order.plan, &mounts)
        }
        Some((pid, pidfd)) => {
            or(act_as(0), "become root again")?;
            let namespace = or(map_ids(pid, order.uid_base), "map the sandbox's ids")?;
            let idmap =
                sys::MountAttr { set: sys::ATTR_IDMAP, userns_fd: namespace.as_raw_fd() as u64, ..Default::default() };
            or(
                sys::mount_setattr(lower.as_fd(), false, &idmap),
                "map the owners of the template (needs Linux 5.19 and ext4, xfs or btrfs)",
            )?;
            or(sys::mount_setattr(disk.as_fd(), false, &idmap), "map the owners of the disk")?;
            for (_, volume) in &volumes {
                or(sys::mount_setattr(volume.as_fd(), false, &idmap), "map the owners of a volume")?;
            }
            // Unmapped, the files of /usr belong to nobody inside, which harms nothing.
            let _ = sys::mount_setattr(usr.as_fd(), true, &idmap);
            let mut packet = vec![TAG_CLONED];
            packet.extend((pid as u32).to_le_bytes());
            or(sys::send_packet(socket, &packet, &[pidfd.as_fd()]), "report process 1")?;
            or(rustix::io::write(&go, b"g"), "start process 1").map(drop)
        }
    }
}

fn process_one(
    socket: BorrowedFd<'_>,
    agent: BorrowedFd<'_>,
    life: BorrowedFd<'_>,
    plan: &Plan,
    mounts: &Mounts<'_>,
) -> ! {
    let tmpfs = match setup::build(plan, mounts).and_then(|tmpfs| setup::drop_privileges().map(|()| tmpfs)) {
        Ok(tmpfs) => tmpfs,
        Err((step, error)) => fail(socket, &step, &error),
    };
    // The second means beside the life channel; set last, since a change of ids clears it.
    let _ = sys::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as u64, 0);
    if sys::send_packet(socket, &[TAG_ROOTED], &tmpfs.each_ref().map(AsFd::as_fd)).is_err() {
        exit(1);
    }
    let (step, error) = setup::execute(agent, life, false);
    fail(socket, &step, &error)
}

/// The kernel counts what a user namespace has (inotify instances, queued signals, message queues, locked memory) for the
/// uid that made it as well. That must not be root, whose own programs would then find nothing left; so each sandbox has
/// an owner of its own, the last uid of its range, which no process inside can become.
fn act_as(uid: u32) -> io::Result<()> {
    use rustix::process::Uid;
    // With its capabilities: where unprivileged users may make no namespaces this still can.
    sys::prctl(libc::PR_SET_SECUREBITS, libc::SECBIT_NO_SETUID_FIXUP as u64, 0)?;
    rustix::thread::set_thread_res_uid(Uid::ROOT, Uid::from_raw(uid), Uid::ROOT)?;
    // A change of ids clears it.
    sys::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as u64, 0)
}

/// Children see clocks that started with the sandbox.
fn new_time() -> io::Result<()> {
    use rustix::time::{ClockId, clock_gettime};
    sys::unshare(sys::CLONE_NEWTIME)?;
    let offset = |clock| -(clock_gettime(clock).tv_sec);
    let text = format!("monotonic {} 0\nboottime {} 0\n", offset(ClockId::Monotonic), offset(ClockId::Boottime));
    std::fs::write("/proc/self/timens_offsets", text)
}

fn clone_tree(path: &str, recursive: bool) -> io::Result<OwnedFd> {
    let flags = libc::OPEN_TREE_CLONE | libc::OPEN_TREE_CLOEXEC | if recursive { libc::AT_RECURSIVE as u32 } else { 0 };
    sys::open_tree(sys::cwd(), &CString::new(path)?, flags)
}

fn map_ids(pid: libc::pid_t, base: u32) -> io::Result<OwnedFd> {
    let line = format!("0 {base} {}\n", crate::ids::RANGE);
    std::fs::write(format!("/proc/{pid}/uid_map"), &line)?;
    std::fs::write(format!("/proc/{pid}/gid_map"), &line)?;
    open(&format!("/proc/{pid}/ns/user"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_arrives_as_it_was_given_and_a_cut_one_does_not() {
        let plan = Plan { tmp_bytes: 1, tmp_inodes: 2, memory_bytes: u64::MAX };
        let longest = vec![b'x'; crate::request::MAX_PATH];
        let places = [vec![b"/data".to_vec(), b"/a\n".to_vec()], vec![longest; 6]].concat();
        let bytes = Order { uid_base: 7, plan, places: places.clone() }.encode();
        assert!(bytes.len() <= ORDER_BYTES);
        let order = Order::decode(&bytes).unwrap();
        assert_eq!((order.uid_base, order.plan.memory_bytes, &order.places), (7, u64::MAX, &places));
        assert!(Order::decode(&bytes[..bytes.len() - 1]).is_none());
        assert!(Order::decode(&bytes[..31]).is_none());
    }
}
