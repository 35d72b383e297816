//! Plays launcher and client: an agent as process 1 of a real pid namespace, with real cgroups, over the real contract.
//! Needs root; without it each test prints why it did nothing.
#![allow(dead_code, missing_docs, clippy::unwrap_used, clippy::expect_used)]

pub mod client;
mod process;

pub use client::Client;

use caisson_wire::agent::{AgentNotice, Attach, Boot};
use prost::Message;
use std::fs;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Nothing in these tests may take longer.
pub const PATIENCE: Duration = Duration::from_secs(30);
pub const AGENT: u32 = 65_533;
pub const USER: u32 = 1000;

static NEXT: AtomicU32 = AtomicU32::new(1);

const PASSWD: &str = "root:x:0:0:root:/root:/bin/sh\nsandbox:x:1000:1000::/home/sandbox:/bin/sh\n\
    alias:x:0:0::/root:/bin/sh\nagent:x:65533:65533::/:/bin/sh\n";
const GROUP: &str = "root:x:0:\nsandbox:x:1000:\nextra:x:3000:nobody,sandbox\n";

/// A sandbox-like world around one agent. Dropping it kills the agent, and with it everything inside.
pub struct World {
    pub agent: i32,
    life: OwnedFd,
    folders: Vec<PathBuf>,
    pub v2: PathBuf,
    pub folder: PathBuf,
    /// What is /etc inside.
    pub etc: PathBuf,
    epoch: u64,
}

pub struct Limits {
    pub memory_bytes: u64,
    pub pids: u64,
    pub cpu_quota_micros: Option<u64>,
    /// Hands the v1 folders over.
    pub v1: bool,
    /// The policy allows root inside.
    pub root: bool,
    /// `SocketFamilies`
    pub families: i32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { memory_bytes: 256 << 20, pids: 128, cpu_quota_micros: None, v1: true, root: false, families: 0 }
    }
}

/// A world, or `None` with the reason on standard output.
pub fn world() -> Option<World> {
    world_with(&Limits::default())
}

pub fn world_with(limits: &Limits) -> Option<World> {
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED: needs root, for namespaces and cgroups");
        return None;
    }
    let Some(v2) = v2_mount() else {
        println!("SKIPPED: needs a cgroup v2 hierarchy");
        return None;
    };
    if !Path::new("/sys/fs/cgroup/memory/memory.usage_in_bytes").exists() {
        println!("SKIPPED: needs v1 memory, pids and cpu hierarchies");
        return None;
    }
    Some(World::start(&v2, limits))
}

fn v2_mount() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let line = mounts.lines().find(|line| line.split(' ').nth(2) == Some("cgroup2"))?;
    line.split(' ').nth(1).map(PathBuf::from)
}

impl World {
    fn start(v2_mount: &Path, limits: &Limits) -> Self {
        let name = format!("caisson-test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let v2 = v2_mount.join(&name);
        let [memory, pids, cpu] = ["memory", "pids", "cpu"].map(|c| Path::new("/sys/fs/cgroup").join(c).join(&name));
        let init = v2.join("init");
        for folder in [&v2, &init, &memory, &pids, &cpu] {
            fs::create_dir(folder).unwrap();
        }
        for path in [&v2, &v2.join("cgroup.procs"), &memory, &memory.join("memory.max_usage_in_bytes")] {
            std::os::unix::fs::chown(path, Some(AGENT), Some(AGENT)).unwrap();
        }
        fs::write(memory.join("memory.limit_in_bytes"), limits.memory_bytes.to_string()).unwrap();
        fs::write(pids.join("pids.max"), limits.pids.to_string()).unwrap();
        if let Some(quota) = limits.cpu_quota_micros {
            fs::write(cpu.join("cpu.cfs_quota_us"), quota.to_string()).unwrap();
        }
        let folder = PathBuf::from("/tmp").join(&name);
        fs::create_dir(&folder).unwrap();
        std::os::unix::fs::chown(&folder, Some(USER), Some(USER)).unwrap();

        let etc = PathBuf::from(format!("/tmp/{name}.etc"));
        fs::create_dir(&etc).unwrap();
        fs::write(etc.join("passwd"), PASSWD).unwrap();
        fs::write(etc.join("group"), GROUP).unwrap();

        let (life, agent_life) = seqpacket();
        let (agent_end, spawner_end) = seqpacket();
        let procs = |folder: &Path| -> OwnedFd {
            fs::OpenOptions::new().write(true).open(folder.join("cgroup.procs")).unwrap().into()
        };
        let joins = [procs(&init), procs(&memory), procs(&pids), procs(&cpu)];
        let agent = process::start_agent(env!("CARGO_BIN_EXE_caisson-agent"), &agent_life, &joins[0], &etc);
        let open = |folder: &Path| -> OwnedFd { fs::File::open(folder).unwrap().into() };
        let event = process::oom_event(&memory);
        let boot = Boot {
            version: 1,
            sandbox: "sbtest".into(),
            join_count: joins.len() as u32,
            v1: limits.v1,
            families: limits.families,
            memory_bytes: limits.memory_bytes,
            pids: limits.pids,
            root: limits.root,
        };
        let folders_fds = [open(&v2), open(&memory), open(&pids), open(&cpu)];
        let mut fds = vec![agent_end.as_fd(), folders_fds[0].as_fd()];
        fds.extend(joins.iter().map(OwnedFd::as_fd));
        if limits.v1 {
            fds.extend(folders_fds[1..].iter().map(OwnedFd::as_fd));
            fds.push(event.as_fd());
        }
        send(&life, &boot.encode_to_vec(), &fds);
        process::start_spawner(env!("CARGO_BIN_EXE_caisson-agent"), agent, &spawner_end, &joins);
        drop((agent_life, agent_end, spawner_end));
        let world = Self { agent, life, folders: vec![v2.clone(), memory, pids, cpu], v2, folder, etc, epoch: 0 };
        let notice = AgentNotice::decode(&*receive(&world.life)).unwrap();
        assert_eq!(notice, AgentNotice { ready: true, ..Default::default() });
        world
    }

    /// Hands the agent a new connection; the client says hello itself.
    pub fn attach(&self, min_epoch: u64) -> UnixStream {
        let (ours, theirs) = UnixStream::pair().unwrap();
        send(&self.life, &Attach { min_epoch, ..Default::default() }.encode_to_vec(), &[theirs.as_fd()]);
        ours.set_read_timeout(Some(PATIENCE)).unwrap();
        ours.set_write_timeout(Some(PATIENCE)).unwrap();
        ours
    }

    /// A client that was welcomed.
    pub fn client(&mut self) -> Client {
        self.epoch += 1;
        let mut client = Client::new(self.attach(0));
        client.hello(self.epoch, Vec::new());
        client
    }

    pub fn next_epoch(&mut self) -> u64 {
        self.epoch += 1;
        self.epoch
    }

    /// Memory of the agent's own, in KiB: its program's pages, which the host shares, are not in it.
    pub fn agent_rss(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.agent)).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// Host pids of agent processes named `caisson-agent` in the sandbox's own pids group: the spawner.
    pub fn spawner(&self) -> Option<i32> {
        let procs = fs::read_to_string(self.folders[2].join("cgroup.procs")).unwrap();
        procs.lines().filter_map(|pid| pid.parse().ok()).find(|pid: &i32| {
            fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.starts_with("caisson-agent"))
        })
    }

    pub fn exec_groups(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.v2).unwrap().map(|e| e.unwrap());
        entries
            .filter(|e| e.file_type().unwrap().is_dir() && e.file_name() != "init")
            .map(|e| e.file_name().into_string().unwrap())
            .collect()
    }

    pub fn is_alive(&self) -> bool {
        Path::new(&format!("/proc/{}/exe", self.agent)).exists() && self.agent_state() != Some('Z')
    }

    fn agent_state(&self) -> Option<char> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.agent)).ok()?;
        stat.rsplit_once(") ")?.1.chars().next()
    }

    /// Lets the life channel end; true when the agent is gone soon after.
    pub fn end_life(mut self) -> bool {
        let (unused, _) = seqpacket();
        self.life = unused;
        eventually(|| self.agent_state().is_none_or(|state| state == 'Z'))
    }

    pub fn path(&self, name: &str) -> Vec<u8> {
        self.folder.join(name).into_os_string().into_encoded_bytes()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        process::end(self.agent);
        let _ = fs::remove_dir_all(&self.folder);
        let _ = fs::remove_dir_all(&self.etc);
        for folder in &self.folders {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.file_type().is_ok_and(|t| t.is_dir()) {
                    eventually(|| fs::remove_dir(entry.path()).is_ok());
                }
            }
            assert!(eventually(|| fs::remove_dir(folder).is_ok()), "{} cannot be removed", folder.display());
        }
    }
}

/// True as soon as the condition is, false after a while.
pub fn eventually(mut condition: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + Duration::from_secs(10);
    while Instant::now() < until {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

fn seqpacket() -> (OwnedFd, OwnedFd) {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap()
}

fn send(socket: &OwnedFd, bytes: &[u8], fds: &[BorrowedFd<'_>]) {
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(32))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(fds.is_empty() || control.push(SendAncillaryMessage::ScmRights(fds)));
    sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL).unwrap();
}

fn receive(socket: &OwnedFd) -> Vec<u8> {
    use rustix::net::{RecvAncillaryBuffer, RecvFlags, recvmsg, sockopt};
    sockopt::set_socket_timeout(socket, sockopt::Timeout::Recv, Some(PATIENCE)).unwrap();
    let mut bytes = vec![0; 4096];
    let mut control = RecvAncillaryBuffer::default();
    let got = recvmsg(socket, &mut [IoSliceMut::new(&mut bytes)], &mut control, RecvFlags::empty()).unwrap();
    bytes.truncate(got.bytes);
    bytes
}
