//! An orderly upgrade: on SIGUSR2 the launcher executes its own program anew, in place. Process, children, mounts, cgroups, locks,
//! capabilities and filter stay; descriptors are handed on by their numbers, and what they are by a sealed memfd.
//!
//! The launcher's small root does not hold its program. So a descriptor of the folder that it was started from is kept: a new
//! version that is put there by rename is found beneath it. It must be a regular file of root that nobody else may write,
//! and say of itself (`--can-resume`) that it understands this state; else everything goes on as it was.
//!
//! Before that the launcher becomes quiet: no new connections (they wait in the listener's queue), the old ones are closed,
//! which ends owned sandboxes, and what is being made, saved or cleared comes to its end.

use crate::disk::{Disk, Shape};
use crate::egress::Way;
use crate::error::{Doing, Error, Result};
use crate::project::Folder;
use crate::sandbox::{Sandbox, State};
use crate::server::{Parts, Server, Source, add};
use crate::sys;
use crate::volume::Attached;
use caisson_wire::launcher as wire;
use prost::Message;
use rustix::fs::{MemfdFlags, Mode, OFlags, SealFlags};
use std::collections::BTreeSet;
use std::ffi::CString;
use std::io::{Read, Seek, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::time::{Duration, Instant};

/// Version of the state. Another one is not understood.
pub const VERSION: u32 = 1;
/// How long becoming quiet may take; then the upgrade is given up.
const PATIENCE: Duration = Duration::from_secs(60);
/// Far more than thousands of sandboxes take.
const MAX_STATE: u64 = 64 << 20;

/// What a program says that can take over.
pub fn understood() -> String {
    format!("caisson-launcher takes over state {VERSION}\n")
}

/// A program that is found beneath the folder it lies in.
pub struct Program {
    dir: OwnedFd,
    name: String,
}

impl Program {
    /// Remembers the folder of `path`.
    pub fn remember(path: &Path) -> Result<Self> {
        let step = || format!("find {}", path.display());
        let (Some(parent), Some(name)) = (path.parent(), path.file_name().and_then(|n| n.to_str())) else {
            return Err(Error::invalid(format!("{} is no program", path.display())));
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self { dir: rustix::fs::open(parent, flags, Mode::empty()).doing(step)?, name: name.into() })
    }

    /// What lies there now, when only root can have put it there.
    pub fn open(&self) -> Result<OwnedFd> {
        let step = || format!("open the program {}", self.name);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.dir, &self.name, flags, Mode::empty()).doing(step)?;
        let stat = rustix::fs::fstat(&file).doing(step)?;
        let regular = rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file();
        if !regular || stat.st_uid != 0 || stat.st_mode & 0o022 != 0 {
            return Err(Error::invalid(format!(
                "the program {} is not a regular file of root that nobody else may write",
                self.name
            )));
        }
        Ok(file)
    }

    fn to_state(&self) -> ProgramState {
        ProgramState { dir: self.dir.as_raw_fd(), name: self.name.clone() }
    }

    fn resume(state: ProgramState, heirs: &mut Heirs) -> Result<Self> {
        Ok(Self { dir: heirs.take(state.dir)?, name: state.name })
    }
}

#[derive(Clone, PartialEq, Message)]
struct ProgramState {
    #[prost(int32, tag = "1")]
    dir: RawFd,
    #[prost(string, tag = "2")]
    name: String,
}

/// A cgroup hierarchy.
#[derive(Clone, PartialEq, Message)]
pub struct HierarchyState {
    /// Its root.
    #[prost(int32, tag = "1")]
    pub root: RawFd,
    /// Of v1.
    #[prost(string, repeated, tag = "2")]
    pub controllers: Vec<String>,
    /// Where the launcher came from.
    #[prost(string, tag = "3")]
    pub origin: String,
}

/// All that one launcher hands to the next, besides what both find by their options.
#[derive(Clone, PartialEq, Message)]
pub struct LauncherState {
    #[prost(uint32, tag = "1")]
    version: u32,
    #[prost(int32, tag = "2")]
    pub(crate) listener: RawFd,
    #[prost(int32, tag = "3")]
    pub(crate) socket_folder: RawFd,
    #[prost(int32, tag = "4")]
    pub(crate) agent: RawFd,
    #[prost(message, repeated, tag = "5")]
    pub(crate) v1: Vec<HierarchyState>,
    #[prost(message, optional, tag = "6")]
    pub(crate) v2: Option<HierarchyState>,
    #[prost(bool, tag = "7")]
    pub(crate) limits_in_v1: bool,
    #[prost(string, tag = "8")]
    pub(crate) journal: String,
    #[prost(int32, tag = "9")]
    pub(crate) journal_lock: RawFd,
    #[prost(int32, repeated, tag = "10")]
    pub(crate) spans: Vec<RawFd>,
    #[prost(uint32, repeated, tag = "11")]
    pub(crate) free_ids: Vec<u32>,
    /// Empty where disks are images.
    #[prost(string, tag = "12")]
    pub(crate) projects: String,
    #[prost(int32, tag = "13")]
    pub(crate) projects_lock: RawFd,
    #[prost(string, repeated, tag = "14")]
    pub(crate) degraded: Vec<String>,
    #[prost(message, optional, tag = "15")]
    launcher_program: Option<ProgramState>,
    #[prost(message, optional, tag = "16")]
    agent_program: Option<ProgramState>,
    #[prost(message, repeated, tag = "17")]
    sandboxes: Vec<SandboxState>,
    /// Folders of groups, also of those that have no sandbox now. What was set for them is in the state folder.
    #[prost(string, repeated, tag = "18")]
    pub(crate) groups: Vec<String>,
    /// Channel to the outlet, where there is one.
    #[prost(int32, optional, tag = "19")]
    pub(crate) outlet: Option<RawFd>,
    /// Sandboxes that wait for another channel to the gateway.
    #[prost(string, repeated, tag = "20")]
    pub(crate) lost: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
struct VolumeState {
    #[prost(int32, tag = "1")]
    mount: RawFd,
    #[prost(int32, tag = "2")]
    image: RawFd,
    #[prost(bytes = "vec", tag = "3")]
    path: Vec<u8>,
}

/// One that runs. Moments are nanoseconds of the monotonic clock.
#[derive(Clone, PartialEq, Message)]
struct SandboxState {
    #[prost(string, tag = "1")]
    id: String,
    #[prost(string, tag = "2")]
    path: String,
    #[prost(string, tag = "3")]
    group: String,
    #[prost(uint32, tag = "4")]
    uid_base: u32,
    #[prost(uint32, tag = "5")]
    login: u32,
    #[prost(uint32, tag = "6")]
    owner_uid: u32,
    #[prost(uint32, tag = "7")]
    pid: u32,
    #[prost(int32, tag = "8")]
    process: RawFd,
    #[prost(int32, tag = "9")]
    life: RawFd,
    #[prost(uint64, tag = "10")]
    started: u64,
    #[prost(uint64, optional, tag = "11")]
    lease: Option<u64>,
    #[prost(uint64, optional, tag = "12")]
    max_life: Option<u64>,
    #[prost(bool, tag = "13")]
    frozen: bool,
    #[prost(bool, tag = "14")]
    limits_io: bool,
    #[prost(string, repeated, tag = "15")]
    degraded: Vec<String>,
    #[prost(message, optional, tag = "16")]
    request: Option<wire::Create>,
    #[prost(int32, repeated, tag = "17")]
    tmpfs: Vec<RawFd>,
    #[prost(message, repeated, tag = "18")]
    volumes: Vec<VolumeState>,
    #[prost(int32, tag = "19")]
    mount: RawFd,
    #[prost(string, optional, tag = "20")]
    device: Option<String>,
    #[prost(int32, optional, tag = "21")]
    image: Option<RawFd>,
    #[prost(uint64, tag = "22")]
    disk_bytes: u64,
    #[prost(uint64, tag = "23")]
    inodes: u64,
    /// The disk is a folder of the projects.
    #[prost(bool, tag = "24")]
    folder: bool,
    #[prost(string, tag = "25")]
    detail: String,
}

/// Running, with nothing under way.
fn is_simple(sandbox: &Sandbox) -> bool {
    matches!(sandbox.state, State::Running)
        && sandbox.user.is_none()
        && sandbox.root.is_none()
        && !sandbox.changing
        && !sandbox.hold.is_open()
}

fn nanos_now() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn to_nanos(at: Instant) -> u64 {
    let now = Instant::now();
    let ahead = at.saturating_duration_since(now).as_nanos() as u64;
    (nanos_now() + ahead).saturating_sub(now.saturating_duration_since(at).as_nanos() as u64)
}

fn to_instant(nanos: u64) -> Instant {
    let (now, instant) = (nanos_now(), Instant::now());
    let ahead = instant.checked_add(Duration::from_nanos(nanos.saturating_sub(now))).unwrap_or(instant);
    ahead.checked_sub(Duration::from_nanos(now.saturating_sub(nanos))).unwrap_or(ahead)
}

impl SandboxState {
    /// `None` for one that is not simply running.
    fn of(sandbox: &Sandbox) -> Option<Self> {
        let disk = sandbox.disk.as_ref()?;
        let volume =
            |v: &Attached| VolumeState { mount: v.mount.as_raw_fd(), image: v.image.as_raw_fd(), path: v.path.clone() };
        Some(Self {
            id: sandbox.id.clone(),
            path: sandbox.path.clone(),
            group: sandbox.group.clone(),
            uid_base: sandbox.uid_base,
            login: sandbox.login,
            owner_uid: sandbox.owner_uid,
            pid: sandbox.pid,
            process: sandbox.process.as_ref()?.as_raw_fd(),
            life: sandbox.life.as_ref()?.as_raw_fd(),
            started: to_nanos(sandbox.started),
            lease: sandbox.lease().map(to_nanos),
            max_life: sandbox.max_life().map(to_nanos),
            frozen: sandbox.hold.frozen,
            limits_io: sandbox.limits_io,
            degraded: sandbox.degraded.clone(),
            request: sandbox.request.clone(),
            tmpfs: sandbox.tmpfs.iter().map(AsRawFd::as_raw_fd).collect(),
            volumes: sandbox.volumes.iter().map(volume).collect(),
            mount: disk.mount.as_raw_fd(),
            device: disk.device.clone(),
            image: disk.image.as_ref().map(AsRawFd::as_raw_fd),
            disk_bytes: disk.shape.bytes,
            inodes: disk.shape.inodes,
            folder: disk.folder.is_some(),
            detail: sandbox.detail.clone(),
        })
    }

    fn resume(self, heirs: &mut Heirs, folder: impl FnOnce(&str) -> Result<Folder>) -> Result<Sandbox> {
        let mut sandbox = Sandbox::bare(&self.id, &self.path, &self.group, self.uid_base, self.login);
        let disk = Disk {
            mount: heirs.take(self.mount)?,
            device: self.device,
            image: self.image.map(|fd| heirs.take(fd)).transpose()?,
            shape: Shape { bytes: self.disk_bytes, inodes: self.inodes },
            folder: if self.folder { Some(folder(&self.id)?) } else { None },
        };
        sandbox.state = State::Running;
        sandbox.owner_uid = self.owner_uid;
        sandbox.leased = true;
        sandbox.joining = true;
        sandbox.pid = self.pid;
        sandbox.process = Some(heirs.take(self.process)?);
        sandbox.life = Some(heirs.take(self.life)?);
        sandbox.started = to_instant(self.started);
        sandbox.lease = self.lease.map(to_instant);
        sandbox.max_life = self.max_life.map(to_instant);
        sandbox.hold.frozen = self.frozen;
        sandbox.limits_io = self.limits_io;
        sandbox.way = if self.request.as_ref().is_some_and(|r| r.egress) { Way::Open } else { Way::Closed };
        sandbox.degraded = self.degraded;
        sandbox.request = self.request;
        sandbox.detail = self.detail;
        sandbox.tmpfs = self.tmpfs.into_iter().map(|fd| heirs.take(fd)).collect::<Result<_>>()?;
        for volume in self.volumes {
            let (mount, image) = (heirs.take(volume.mount)?, heirs.take(volume.image)?);
            sandbox.volumes.push(Attached { mount, path: volume.path, image });
        }
        sandbox.disk = Some(disk);
        Ok(sandbox)
    }
}

/// Descriptors that were inherited; each is taken once.
#[derive(Default)]
pub struct Heirs(BTreeSet<RawFd>);

impl Heirs {
    /// Takes one over; from then on nothing that is executed inherits it.
    pub fn take(&mut self, number: RawFd) -> Result<OwnedFd> {
        let step = || format!("take over descriptor {number}");
        if number < 3 || !self.0.insert(number) {
            return Err(Error::invalid(step()));
        }
        set_inherited(number, false).doing(step)?;
        // SAFETY: it is open and no standard one, the launcher before left it open for us to own, and the set shows that it
        // was not taken before. What this process opened itself has other numbers, since this one was in use.
        Ok(unsafe { OwnedFd::from_raw_fd(number) })
    }
}

fn set_inherited(number: RawFd, inherited: bool) -> std::io::Result<()> {
    let flags = if inherited { 0 } else { libc::FD_CLOEXEC };
    // SAFETY: no pointers; a number that is not open is an error.
    if unsafe { libc::fcntl(number, libc::F_SETFD, flags) } < 0 {
        return Err(std::io::Error::last_os_error());
    }
    Ok(())
}

/// What was handed on, with every descriptor in safe hands.
pub struct Legacy {
    /// As it was written.
    pub state: LauncherState,
    /// Takes the descriptors over.
    pub heirs: Heirs,
    /// This program, for the next upgrade.
    pub launcher: Program,
    /// The agent's.
    pub agent: Program,
}

impl Legacy {
    /// Reads the state from an inherited memfd.
    pub fn read(number: RawFd) -> Result<Self> {
        let mut heirs = Heirs::default();
        let mut file = std::fs::File::from(heirs.take(number)?);
        let step = || "read the state of the launcher before".to_string();
        file.rewind().doing(step)?;
        let mut bytes = Vec::new();
        file.take(MAX_STATE).read_to_end(&mut bytes).doing(step)?;
        let damaged = || Error::invalid("the state of the launcher before is not understood");
        let mut state = LauncherState::decode(bytes.as_slice()).map_err(|_| damaged())?;
        if state.version != VERSION {
            return Err(damaged());
        }
        let launcher = Program::resume(state.launcher_program.take().ok_or_else(damaged)?, &mut heirs)?;
        let agent = Program::resume(state.agent_program.take().ok_or_else(damaged)?, &mut heirs)?;
        Ok(Self { state, heirs, launcher, agent })
    }

    /// The sandboxes that run on.
    pub fn sandboxes(&mut self, folder: impl Fn(&str) -> Result<Folder>) -> Result<Vec<Sandbox>> {
        let states = std::mem::take(&mut self.state.sandboxes);
        states.into_iter().map(|s| s.resume(&mut self.heirs, &folder)).collect()
    }
}

impl Server {
    /// Takes over sandboxes that run.
    pub fn adopt(&mut self, sandboxes: Vec<Sandbox>) -> Result<()> {
        for sandbox in sandboxes {
            let id = sandbox.id.clone();
            self.deadlines.set(&id, None, sandbox.deadline());
            for (fd, source) in
                [(&sandbox.process, Source::Process(id.clone())), (&sandbox.life, Source::Life(id.clone()))]
            {
                if let Some(fd) = fd {
                    add(&self.epoll, &mut self.sources, &mut self.next_token, fd.as_fd(), source)?;
                }
            }
            if let Some(folder) = sandbox.group_folder() {
                self.parts.groups.mark_made(folder, Instant::now());
            }
            self.sandboxes.insert(id, sandbox);
        }
        Ok(())
    }

    /// SIGUSR2 came.
    pub(crate) fn begin_upgrade(&mut self) {
        if self.stopping || self.upgrading.is_some() {
            return;
        }
        if let Err(error) = self.check_program() {
            eprintln!("caisson-launcher: no upgrade: {error}");
            return;
        }
        self.upgrading = Some(Instant::now() + PATIENCE);
        self.ignore_listener();
        self.disconnect_all();
        let parked: Vec<_> =
            self.sandboxes.values().filter(|s| matches!(s.state, State::Parked)).map(|s| s.id.clone()).collect();
        for id in parked {
            self.end(&id, wire::EndReason::EndOwnerGone, "the launcher is upgraded");
        }
    }

    /// The new program must say that it understands what it will be handed.
    fn check_program(&self) -> Result<OwnedFd> {
        let program = self.parts.program.open()?;
        let path = format!("/proc/self/fd/{}", program.as_raw_fd());
        let output = std::process::Command::new(path)
            .env_clear()
            .args(["--can-resume", &VERSION.to_string()])
            .stdin(std::process::Stdio::null())
            .output()
            .doing(|| "run the new program".into())?;
        // Many a program ends with success whatever it is asked.
        if !output.status.success() || output.stdout != understood().as_bytes() {
            return Err(Error::invalid("the new program cannot take over from this one: restart the launcher instead"));
        }
        Ok(program)
    }

    /// Called in the loop: executes the new program as soon as everything is quiet.
    pub(crate) fn go_on_with_upgrade(&mut self) {
        // Who is told to stop meanwhile stops.
        let Some(deadline) = self.upgrading.filter(|_| !self.stopping) else { return };
        let error = if self.is_quiet() {
            match self.execute() {
                Ok(never) => match never {},
                Err(error) => error,
            }
        } else if deadline <= Instant::now() {
            Error::new(
                wire::ErrorKind::ErrorBusy,
                format!("the launcher did not become quiet in time: {}", self.noise()),
            )
        } else {
            return;
        };
        eprintln!("caisson-launcher: no upgrade: {error}");
        self.upgrading = None;
        let _ = self.watch_listener();
    }

    fn is_quiet(&self) -> bool {
        self.sandboxes.values().all(is_simple)
            && !self.workers.is_busy()
            && self.clearing.is_empty()
            && !self.parts.outlet.is_busy()
    }

    /// What keeps it from being quiet, for people.
    fn noise(&self) -> String {
        let mut noise: Vec<String> = self
            .sandboxes
            .values()
            .filter(|s| !is_simple(s))
            .take(8)
            .map(|s| {
                let state = match s.state {
                    State::Parked => "parked",
                    State::Creating(_) => "being made",
                    State::Ending => "ending",
                    State::Running => "being changed",
                };
                format!("{} is {state}", s.id)
            })
            .collect();
        if self.workers.is_busy() {
            noise.push("disks are being worked on".into());
        }
        if !self.clearing.is_empty() {
            noise.push(format!("{} ended ones are being cleared away", self.clearing.len()));
        }
        noise.join(", ")
    }

    fn execute(&mut self) -> Result<std::convert::Infallible> {
        let program = self.check_program()?;
        self.parts.stock.halt();
        let state = self.to_state();
        let mut numbers = state.numbers();
        let memfd = seal(&state.encode_to_vec()).doing(|| "write the state down".into())?;
        numbers.push(memfd.as_raw_fd());
        let mut args: Vec<String> = std::env::args().collect();
        if let Some(at) = args.iter().position(|a| a == "--resume") {
            args.drain(at..(at + 2).min(args.len()));
        }
        args.extend(["--resume".into(), memfd.as_raw_fd().to_string()]);
        let text = |s: String| CString::new(s).doing(|| "pass the options on".into());
        let args = args.into_iter().map(text).collect::<Result<Vec<_>>>()?;
        let mut executed = Ok(());
        for number in &numbers {
            executed = executed.and_then(|()| set_inherited(*number, true));
        }
        let error = match executed {
            Ok(()) => sys::execute(program.as_fd(), &args),
            Err(error) => error,
        };
        for number in &numbers {
            let _ = set_inherited(*number, false);
        }
        Err(error).doing(|| "execute the new program".into())
    }

    fn to_state(&self) -> LauncherState {
        let Parts { listener, socket_folder, agent, degraded, program, agent_program, .. } = &self.parts;
        let mut state = LauncherState {
            version: VERSION,
            listener: listener.as_raw_fd(),
            socket_folder: socket_folder.as_raw_fd(),
            agent: agent.as_raw_fd(),
            degraded: degraded.clone(),
            launcher_program: Some(program.to_state()),
            agent_program: Some(agent_program.to_state()),
            sandboxes: self.sandboxes.values().filter_map(SandboxState::of).collect(),
            groups: self.parts.groups.made(),
            outlet: self.parts.outlet.channel.as_ref().map(AsRawFd::as_raw_fd),
            lost: self.parts.outlet.lost(),
            ..Default::default()
        };
        self.parts.cgroups.hand_on(&mut state);
        self.parts.journal.hand_on(&mut state);
        self.parts.ids.hand_on(&mut state);
        self.parts.stock.hand_on(&mut state);
        state
    }
}

impl LauncherState {
    /// All descriptors that are named in it.
    fn numbers(&self) -> Vec<RawFd> {
        let own = [self.listener, self.socket_folder, self.agent, self.journal_lock];
        let projects = (!self.projects.is_empty()).then_some(self.projects_lock);
        let programs = self.launcher_program.iter().chain(&self.agent_program).map(|p| p.dir);
        let sandboxes = self.sandboxes.iter().flat_map(|s| {
            let volumes = s.volumes.iter().flat_map(|v| [v.mount, v.image]);
            [s.process, s.life, s.mount].into_iter().chain(s.image).chain(s.tmpfs.iter().copied()).chain(volumes)
        });
        own.into_iter()
            .chain(self.v1.iter().chain(&self.v2).map(|h| h.root))
            .chain(self.spans.iter().copied())
            .chain(projects)
            .chain(self.outlet)
            .chain(programs)
            .chain(sandboxes)
            .collect()
    }
}

fn seal(bytes: &[u8]) -> std::io::Result<OwnedFd> {
    let memfd = rustix::fs::memfd_create("caisson-state", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let mut file = std::fs::File::from(memfd);
    file.write_all(bytes)?;
    rustix::fs::fcntl_add_seals(&file, SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE)?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_survive() {
        for offset in [Duration::ZERO, Duration::from_secs(3600)] {
            for at in [Instant::now() + offset, Instant::now() - offset.min(Duration::from_secs(1))] {
                let again = to_instant(to_nanos(at));
                let off = again.saturating_duration_since(at).max(at.saturating_duration_since(again));
                assert!(off < Duration::from_millis(5), "{off:?}");
            }
        }
    }

    #[test]
    fn a_descriptor_is_taken_once_and_never_a_standard_one() {
        let memfd = seal(b"state").unwrap();
        let number = memfd.as_raw_fd();
        let mut heirs = Heirs::default();
        let taken = heirs.take(number).unwrap();
        std::mem::forget(memfd);
        assert!(heirs.take(number).is_err());
        assert!(heirs.take(1).is_err() && heirs.take(-1).is_err() && heirs.take(99_999).is_err());
        drop(taken);
    }
}
