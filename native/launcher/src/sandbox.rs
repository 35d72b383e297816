//! One sandbox as the launcher sees it, from the parked children to the last cgroup folder.

use crate::cgroup::{Cgroups, SandboxCgroups};
use crate::disk::Disk;
use crate::egress::Way;
use crate::error::{Doing, Error, Result};
use crate::freeze::Hold;
use crate::group::Group;
use crate::seat::{self, Child, Order};
use crate::setup::{AGENT_ID, Plan};
use crate::sys;
use crate::volume::Attached;
use caisson_wire::agent::{Boot, SocketFamilies};
use caisson_wire::launcher as wire;
use prost::Message;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Who is to be answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asker {
    /// Token of the connection.
    pub conn: u64,
    /// Id of the request.
    pub request: u64,
}

/// A request of a user that is answered later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waiter {
    /// Whose it is.
    pub uid: u32,
    /// Who is to be answered.
    pub asker: Asker,
}

/// A data connection that came before the agent could take it.
pub struct Waiting {
    /// Whose it is.
    pub uid: u32,
    /// For the agent.
    pub socket: OwnedFd,
    /// The epoch that its client will say.
    pub min_epoch: u64,
}

/// Where a sandbox is in its life.
pub enum State {
    /// The children wait for a `Create`.
    Parked,
    /// Asked for; process 1 is not complete yet.
    Creating(Asker),
    /// Lives.
    Running,
    /// Killed; processes or cgroups may be left.
    Ending,
}

/// What the parked user child gave.
pub struct Parked {
    login: bool,
    namespace: OwnedFd,
    views: Vec<OwnedFd>,
    join: Option<OwnedFd>,
}

/// One sandbox.
pub struct Sandbox {
    /// Its id.
    pub id: String,
    /// `caisson/GROUP/SANDBOX`.
    pub path: String,
    /// Its group, as its client calls it.
    pub group: String,
    /// First host id.
    pub uid_base: u32,
    /// Audit login id, or 0.
    pub login: u32,
    /// See [`State`].
    pub state: State,
    /// The connection that made it, or prepared it; an owned sandbox ends with it.
    pub owner: u64,
    /// Uid of that client; other users cannot touch it.
    pub owner_uid: u32,
    /// Lives on without its connection.
    pub leased: bool,
    cgroups: Option<SandboxCgroups>,
    /// Child in the sandbox's cgroups.
    pub user: Option<Child>,
    /// The user child was told to join: from then on it ends by itself.
    pub joining: bool,
    /// Child that clones process 1.
    pub root: Option<Child>,
    parked: Option<Parked>,
    spawner_channel: Option<OwnedFd>,
    /// The writable layer.
    pub disk: Option<Disk>,
    /// Process 1.
    pub process: Option<OwnedFd>,
    /// Host pid of process 1.
    pub pid: u32,
    /// Launcher's end of the life channel.
    pub life: Option<OwnedFd>,
    /// Closed when it ends.
    pub waiting: Vec<Waiting>,
    /// Who waits for the end.
    pub destroyers: Vec<Waiter>,
    /// Why it ends.
    pub reason: wire::EndReason,
    /// Detail for people.
    pub detail: String,
    /// When `Create` came.
    pub started: Instant,
    /// When the launcher ends it by itself, and as what; `Server::set_deadlines` changes them.
    pub(crate) max_life: Option<Instant>,
    pub(crate) lease: Option<Instant>,
    /// When the kill was sent.
    pub killed: Option<Instant>,
    /// What this host did not do as asked.
    pub degraded: Vec<String>,
    /// The request that made it, with the limits of now.
    pub request: Option<wire::Create>,
    /// Whether its processes stand still.
    pub hold: Hold,
    /// Its limits are being changed.
    pub changing: bool,
    /// On v1: its processes are in a block I/O cgroup.
    pub limits_io: bool,
    /// /dev/shm and /tmp.
    pub tmpfs: Vec<OwnedFd>,
    /// The volumes that it has.
    pub volumes: Vec<Attached>,
    /// Told when the end begins, to whoever copies its disk.
    pub ending: Arc<AtomicBool>,
    /// Its way out.
    pub way: Way,
    /// It is made, and its creation not answered yet.
    pub made: Option<(Asker, wire::Created)>,
}

/// Names of the cgroup views, in the order of the descriptors that the user child sends.
pub const VIEW_NAMES_V1: [&str; 5] = ["memory", "cpu", "cpuacct", "cpuset", "pids"];

impl Sandbox {
    /// Makes the cgroups and parks the two children.
    pub fn park(
        cgroups: &Cgroups,
        agent: BorrowedFd<'_>,
        group: &Group,
        id: &str,
        uid_base: u32,
        login: u32,
        owner: u64,
    ) -> Result<Self> {
        let agent_uid = uid_base + AGENT_ID;
        let own = cgroups.make(group, id, agent_uid)?;
        let user = seat::park_user(cgroups, &own, agent, login)?;
        let names: &[&'static str] = if cgroups.limits_in_v1() { &VIEW_NAMES_V1 } else { &[""] };
        let root = seat::park_root(agent, login, names)?;
        let mut sandbox = Self::bare(id, &own.path, &group.name, uid_base, login);
        sandbox.owner = owner;
        sandbox.cgroups = Some(own);
        sandbox.user = Some(user);
        sandbox.root = Some(root);
        Ok(sandbox)
    }

    /// One of which nothing is there yet.
    pub fn bare(id: &str, path: &str, group: &str, uid_base: u32, login: u32) -> Self {
        Self {
            id: id.into(),
            path: path.into(),
            group: group.into(),
            uid_base,
            login,
            state: State::Parked,
            owner: 0,
            owner_uid: u32::MAX,
            leased: false,
            cgroups: None,
            user: None,
            joining: false,
            root: None,
            parked: None,
            spawner_channel: None,
            disk: None,
            process: None,
            pid: 0,
            life: None,
            waiting: Vec::new(),
            destroyers: Vec::new(),
            reason: wire::EndReason::EndUnknown,
            detail: String::new(),
            started: Instant::now(),
            max_life: None,
            lease: None,
            killed: None,
            degraded: Vec::new(),
            request: None,
            hold: Hold::default(),
            changing: false,
            limits_io: false,
            tmpfs: Vec::new(),
            volumes: Vec::new(),
            ending: Arc::default(),
            way: Way::Closed,
            made: None,
        }
    }

    /// Keeps what the user child sent.
    pub fn set_parked(&mut self, cgroups: &Cgroups, login: bool, fds: Vec<OwnedFd>) -> Result<()> {
        let mut fds = fds.into_iter();
        let namespace = fds.next();
        let count = if cgroups.limits_in_v1() { VIEW_NAMES_V1.len() } else { 1 };
        let views: Vec<_> = fds.by_ref().take(count).collect();
        let join = fds.next();
        let Some(namespace) = namespace.filter(|_| views.len() == count) else {
            return Err(Error::new(
                wire::ErrorKind::ErrorSetup,
                "this host has only some of the cgroup controllers memory, cpu, cpuacct, cpuset and pids",
            )
            .remedy("mount the missing ones, or use cgroup v2"));
        };
        self.parked = Some(Parked { login, namespace, views, join });
        Ok(())
    }

    /// Whether the children are ready to go.
    pub fn is_parked(&self) -> bool {
        self.parked.is_some()
    }

    /// Sets the limits, boots the agent's side of the channels and lets the root child clone process 1.
    pub fn go(&mut self, cgroups: &Cgroups, disk: Disk, volumes: Vec<Attached>) -> Result<()> {
        let (Some(request), Some(own), Some(parked)) = (self.request.clone(), self.cgroups.take(), self.parked.take())
        else {
            return Err(Error::new(wire::ErrorKind::ErrorSetup, "the sandbox is not parked"));
        };
        let limits = request.limits.unwrap_or_default();
        if !parked.login {
            self.login = 0;
            if request.audit_required {
                return Err(Error::new(
                    wire::ErrorKind::ErrorNotSupported,
                    "the audit login id cannot be set on this host",
                )
                .remedy(
                    "start the launcher from systemd instead of a login session, or leave the audit requirement out",
                ));
            }
        }
        cgroups.limit(&self.path, &limits, disk.device.as_deref())?;
        self.limits_io = limits.io_bytes_per_second > 0;
        if limits.io_bytes_per_second > 0 && cgroups.limits_in_v1() {
            self.degraded
                .push("the I/O rate holds for direct I/O only: this host's block I/O controller is cgroup v1".into());
        }
        let (life, agent_life) = sys::packet_pair().doing(|| "make the life channel".into())?;
        let (agent_channel, spawner_channel) = sys::packet_pair().doing(|| "make the spawner channel".into())?;
        let join_io = if self.limits_io { cgroups.join_io(&self.path) } else { None };
        let joins: Vec<_> = own.join.iter().chain(&parked.join).chain(&join_io).collect();
        let boot = Boot {
            version: caisson_wire::PROTOCOL_VERSION,
            sandbox: self.id.clone(),
            join_count: joins.len() as u32,
            v1: cgroups.limits_in_v1(),
            families: families(request.egress).into(),
            memory_bytes: limits.memory_bytes,
            pids: limits.pids,
            root: request.root,
        };
        send_boot(&boot, &life, &agent_channel, &own, &joins)?;
        let plan = Plan {
            tmp_bytes: tmp_bytes(&limits),
            tmp_inodes: (limits.inodes / 4).clamp(1024, 32_768),
            memory_bytes: limits.memory_bytes,
        };
        let Some(root) = &self.root else {
            return Err(Error::new(wire::ErrorKind::ErrorSetup, "the root child is gone"));
        };
        let fds = [&disk.mount, &parked.namespace, &agent_life].into_iter().chain(&parked.views).map(AsFd::as_fd);
        let fds: Vec<_> = fds.chain(volumes.iter().map(|v| v.mount.as_fd())).collect();
        let places = volumes.iter().map(|v| v.path.clone()).collect();
        seat::send_order(root, &Order { uid_base: self.uid_base, plan, places }, &fds)
            .doing(|| "tell the root child to go".into())?;
        rustix::io::ioctl_fionbio(&life, true).doing(|| "make the life channel non-blocking".into())?;
        self.life = Some(life);
        self.spawner_channel = Some(spawner_channel);
        self.disk = Some(disk);
        self.volumes = volumes;
        Ok(())
    }

    /// Process 1 exists: the user child joins what it has already.
    pub fn cloned(&mut self, cgroups: &Cgroups, pid: u32, process: OwnedFd) -> Result<()> {
        self.pid = pid;
        let process = self.process.insert(process);
        let (Some(user), Some(channel)) = (&self.user, self.spawner_channel.take()) else {
            return Err(Error::new(wire::ErrorKind::ErrorSetup, "the user child is gone"));
        };
        let join_io = if self.limits_io { cgroups.join_io(&self.path) } else { None };
        seat::send_join(user, pid, process.as_fd(), channel.as_fd(), join_io.as_ref().map(AsFd::as_fd))
            .doing(|| "tell the user child to join".into())?;
        self.joining = true;
        Ok(())
    }

    /// Process 1 has its root: the spawner may be executed in it. The answer for the client.
    pub fn rooted(&mut self, tmpfs: Vec<OwnedFd>) -> Result<wire::Created> {
        self.tmpfs = tmpfs;
        let Some(user) = &self.user else {
            return Err(Error::new(wire::ErrorKind::ErrorSetup, "the user child is gone"));
        };
        seat::send_rooted(user).doing(|| "tell the spawner of its root".into())?;
        Ok(wire::Created {
            sandbox: self.id.clone(),
            uid_base: self.uid_base,
            login_id: self.login,
            pid: self.pid,
            degraded: self.degraded.clone(),
            setup_micros: self.started.elapsed().as_micros() as u64,
        })
    }

    /// Hands a client's connection to the agent.
    pub fn attach(&self, socket: &OwnedFd, min_epoch: u64) -> Result<()> {
        let Some(life) = &self.life else {
            return Err(Error::new(wire::ErrorKind::ErrorNotFound, format!("sandbox {} has no agent", self.id)));
        };
        let packet = caisson_wire::agent::Attach { min_epoch: min_epoch.max(1), ..Default::default() }.encode_to_vec();
        sys::send_packet(life.as_fd(), &packet, &[socket.as_fd()])
            .doing(|| format!("hand a connection to the agent of {}", self.id))
    }

    /// Kills everything; the pidfd tells when it is done.
    pub fn kill(&mut self) {
        // Before anything dies: what the dying change on the disk is in no copy.
        self.ending.store(true, Ordering::SeqCst);
        // A child that is joining has a child of its own in the pid namespace; killed, it would leave a zombie to the host's
        // init, which may take seconds, and the namespace waits for that. Left alone it ends at once.
        if !self.joining {
            self.user = None;
        }
        self.end_root();
        if let Some(process) = &self.process {
            let _ = sys::pidfd_kill(process.as_fd());
        }
        self.state = State::Ending;
        self.killed.get_or_insert_with(Instant::now);
    }

    /// Ends the root child, and what it cloned when that is not known yet.
    pub fn end_root(&mut self) {
        if let (Some(root), None) = (self.root.take(), &self.process) {
            root.end_with_clone();
        }
    }

    /// Its group's folder beneath `caisson`.
    pub fn group_folder(&self) -> Option<&str> {
        self.path.split('/').nth(1)
    }

    /// When its lease runs out.
    pub fn lease(&self) -> Option<Instant> {
        self.lease
    }

    /// When its longest life is over.
    pub fn max_life(&self) -> Option<Instant> {
        self.max_life
    }

    /// When it ends by itself.
    pub fn deadline(&self) -> Option<Instant> {
        self.max_life.into_iter().chain(self.lease).min()
    }

    /// Size of /dev/shm and of /tmp as the kernel has it.
    pub fn tmp_bytes(&self) -> Option<u64> {
        let stat = rustix::fs::fstatvfs(self.tmpfs.first()?).ok()?;
        Some(stat.f_blocks * stat.f_frsize)
    }

    /// What it has used.
    pub fn usage(&self, cgroups: &Cgroups) -> wire::SandboxUsage {
        let mut usage = cgroups.usage(&self.path);
        usage.wall_micros = self.started.elapsed().as_micros() as u64;
        usage.disk_bytes = self.disk.as_ref().and_then(Disk::used).map_or(0, |(bytes, _)| bytes);
        usage
    }
}

/// IPv6 is for sandboxes with a way out, on hosts that have it: elsewhere it would be one more door to the kernel.
fn families(egress: bool) -> SocketFamilies {
    match egress {
        false => SocketFamilies::FamiliesOff,
        true if std::path::Path::new("/proc/net/if_inet6").exists() => SocketFamilies::FamiliesInet6,
        true => SocketFamilies::FamiliesInet,
    }
}

/// Size of /tmp and of /dev/shm.
pub fn tmp_bytes(limits: &wire::Limits) -> u64 {
    if limits.tmp_bytes > 0 { limits.tmp_bytes } else { limits.memory_bytes / 2 }
}

fn send_boot(boot: &Boot, life: &OwnedFd, channel: &OwnedFd, own: &SandboxCgroups, joins: &[&OwnedFd]) -> Result<()> {
    let fds: Vec<_> = [channel, &own.folder]
        .into_iter()
        .chain(joins.iter().copied())
        .chain(&own.v1_folders)
        .chain(&own.oom_event)
        .map(AsFd::as_fd)
        .collect();
    sys::send_packet(life.as_fd(), &boot.encode_to_vec(), &fds).doing(|| "send the agent its boot packet".into())
}
