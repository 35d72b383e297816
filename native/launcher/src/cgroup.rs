//! Cgroups: `caisson/GROUP/SANDBOX` on v2 and, where the host still has them there, in the v1 hierarchies of memory, pids
//! and cpu; `caisson/system` holds the launcher and the agents at a higher weight than any group.
//!
//! The v2 hierarchy is always used, for freezing, killing and the group of each exec; where its controllers are all bound
//! to v1 it just has no limits. Folders are reached by descriptors opened once, so that no path matters later.

use crate::error::{Doing, Error, Result};
use crate::group::Group;
use crate::hierarchy::{Hierarchy, enable};
use crate::sys;
use caisson_wire::launcher as wire;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Name of our folder at the top of each hierarchy.
pub(crate) const TOP: &str = "caisson";
/// Where spawners live on v2, beside the groups of execs: a name that no exec can have.
pub(crate) const SPAWNER: &str = "spawner.leaf";
/// Controllers that limit a sandbox, in the order in which `Boot` carries their folders.
pub(crate) const LIMITING: [&str; 3] = ["memory", "pids", "cpu"];
/// Controllers that programs look at to learn their limits.
pub(crate) const VIEWED: [&str; 5] = ["memory", "cpu", "cpuacct", "cpuset", "pids"];
/// How often something is tried again that another launcher's end can cross.
pub(crate) const RACES: usize = 16;
pub(crate) const PERIOD_MICROS: u64 = 100_000;

/// The hierarchies of this host.
pub struct Cgroups {
    pub(crate) v1: Vec<Hierarchy>,
    pub(crate) v2: Hierarchy,
    /// Whether memory, pids and cpu are limited in v1.
    pub(crate) limits_in_v1: bool,
}

/// One sandbox's folders and the descriptors that its processes need.
pub struct SandboxCgroups {
    /// `caisson/GROUP/SANDBOX`.
    pub path: String,
    /// v2 folder.
    pub folder: OwnedFd,
    /// v1 folders in the order memory, pids, cpu; empty on v2.
    pub v1_folders: Vec<OwnedFd>,
    /// `cgroup.procs` files, opened by root: writing `0` moves the writer in.
    pub join: Vec<OwnedFd>,
    /// Fires when the sandbox runs out of memory (v1).
    pub oom_event: Option<OwnedFd>,
}

pub(crate) fn write_at(dir: BorrowedFd<'_>, path: &str, value: &str) -> io::Result<()> {
    let file = rustix::fs::openat(dir, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, value.as_bytes())?;
    Ok(())
}

pub(crate) fn read_at(dir: BorrowedFd<'_>, path: &str) -> io::Result<String> {
    let file = rustix::fs::openat(dir, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut text = String::new();
    io::Read::read_to_string(&mut std::fs::File::from(file), &mut text)?;
    Ok(text)
}

pub(crate) fn number_at(dir: BorrowedFd<'_>, path: &str) -> Option<u64> {
    read_at(dir, path).ok()?.trim().parse().ok()
}

pub(crate) fn field(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok())
}

/// Makes a folder that may be there; true when it was not.
pub(crate) fn make_folder(dir: BorrowedFd<'_>, path: &str) -> io::Result<bool> {
    match rustix::fs::mkdirat(dir, path, Mode::from_raw_mode(0o755)) {
        Err(Errno::EXIST) => Ok(false),
        other => Ok(other.map(|()| true)?),
    }
}

pub(crate) fn open_folder(dir: BorrowedFd<'_>, path: &str) -> io::Result<OwnedFd> {
    Ok(rustix::fs::openat(dir, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

/// A folder that was removed meanwhile: by its name, or (ENODEV) by a file in it that was open already.
pub(crate) fn is_gone(error: &Error) -> bool {
    matches!(error.errno, libc::ENOENT | libc::ENODEV)
}

impl Cgroups {
    pub(crate) fn set(&self, controller: &str, path: &str, file: &str, value: &str) -> Result<()> {
        let Some(root) = self.root_of(controller) else {
            return Err(Error::new(wire::ErrorKind::ErrorNotSupported, format!("no {controller} controller")));
        };
        write_at(root, &format!("{path}/{file}"), value).doing(|| format!("set {file} of {path} to {value}"))
    }

    pub(crate) fn set_cpu_weight(&self, path: &str, weight: u64) -> Result<()> {
        if self.limits_in_v1 {
            self.set("cpu", path, "cpu.shares", &(weight * 1024 / 100).clamp(2, 262_144).to_string())
        } else {
            self.set("cpu", path, "cpu.weight", &weight.clamp(1, 10_000).to_string())
        }
    }

    pub(crate) fn set_cpu_quota(&self, path: &str, cpu_millis: u64) -> Result<()> {
        let quota = cpu_millis * PERIOD_MICROS / 1000;
        if self.limits_in_v1 {
            let quota = if cpu_millis == 0 { "-1".into() } else { quota.to_string() };
            self.set("cpu", path, "cpu.cfs_quota_us", &quota)
        } else {
            let quota = if cpu_millis == 0 { "max".into() } else { quota.to_string() };
            self.set("cpu", path, "cpu.max", &format!("{quota} {PERIOD_MICROS}"))
        }
    }

    pub(crate) fn set_memory(&self, path: &str, bytes: u64) -> Result<()> {
        if !self.limits_in_v1 {
            let value = if bytes == 0 { "max".into() } else { bytes.to_string() };
            self.set("memory", path, "memory.max", &value)?;
            // Absent where the kernel has no swap accounting: then there is nothing to limit, or `doctor` speaks of it.
            let _ = self.set("memory", path, "memory.swap.max", "0");
            return Ok(());
        }
        let value = if bytes == 0 { "-1".into() } else { bytes.to_string() };
        let memory = || self.set("memory", path, "memory.limit_in_bytes", &value);
        let with_swap = || self.set("memory", path, "memory.memsw.limit_in_bytes", &value);
        // The kernel keeps memory at or below memory with swap: the second goes first when both rise.
        if memory().is_err() {
            let _ = with_swap();
            memory()?;
        }
        if with_swap().is_err() {
            let _ = self.set("memory", path, "memory.swappiness", "0");
        }
        Ok(())
    }

    pub(crate) fn set_pids(&self, path: &str, pids: u64) -> Result<()> {
        let value = if pids == 0 { "max".into() } else { pids.to_string() };
        self.set("pids", path, "pids.max", &value)
    }

    /// Makes a sandbox's folders, without limits. `agent` is the host uid of its agent, which makes exec groups there.
    pub fn make(&self, group: &Group, sandbox: &str, agent: u32) -> Result<SandboxCgroups> {
        let mut outcome = self.try_make(group, sandbox, agent);
        // Another launcher that leaves removes a group's empty folder, maybe just before ours is in it.
        for _ in 0..RACES {
            match &outcome {
                Err(e) if is_gone(e) => {
                    self.remove(&format!("{TOP}/{}/{sandbox}", group.folder));
                    outcome = self.try_make(group, sandbox, agent);
                }
                _ => break,
            }
        }
        outcome
    }

    fn try_make(&self, group: &Group, sandbox: &str, agent: u32) -> Result<SandboxCgroups> {
        self.make_group(group)?;
        let path = format!("{TOP}/{}/{sandbox}", group.folder);
        let step = || format!("make the cgroup {path}");
        let v2 = self.v2.root.as_fd();
        rustix::fs::mkdirat(v2, &path, Mode::from_raw_mode(0o755)).doing(step)?;
        let mut join = Vec::new();
        for root in self.limiting() {
            rustix::fs::mkdirat(root, &path, Mode::from_raw_mode(0o755)).doing(step)?;
            join.push(open_join(root, &format!("{path}/cgroup.procs")).doing(step)?);
        }
        if self.limits_in_v1 {
            join.push(open_join(v2, &format!("{path}/cgroup.procs")).doing(step)?);
        }
        let mut v1_folders = Vec::new();
        if self.limits_in_v1 {
            for controller in LIMITING {
                let Some(root) = self.v1_of(controller) else { continue };
                v1_folders.push(open_folder(root, &path).doing(step)?);
            }
            if let Some(memory) = v1_folders.first() {
                give(memory.as_fd(), "", agent).doing(step)?;
                // The agent resets the peak when an exec starts alone.
                give(memory.as_fd(), "memory.max_usage_in_bytes", agent).doing(step)?;
            }
        }
        let folder = open_folder(v2, &path).doing(step)?;
        give(folder.as_fd(), "", agent).doing(step)?;
        // A process may be cloned into an exec's group by whoever may write the common ancestor's cgroup.procs.
        give(folder.as_fd(), "cgroup.procs", agent).doing(step)?;
        let oom_event = if self.limits_in_v1 { Some(self.oom_event(&path).doing(step)?) } else { None };
        Ok(SandboxCgroups { path, folder, v1_folders, join, oom_event })
    }

    /// On v2 the spawner needs a leaf of its own before the sandbox's folder can hand controllers down. `None` on v1.
    ///
    /// The kernel judges a write by the cgroup namespace in which the file was opened, and the agent, which lets later
    /// spawners join, comes from outside the sandbox's: so this is to be opened before that namespace is made.
    pub fn spawner_leaf(&self, path: &str) -> io::Result<Option<OwnedFd>> {
        if self.limits_in_v1 {
            return Ok(None);
        }
        let leaf = format!("{path}/{SPAWNER}");
        make_folder(self.v2.root.as_fd(), &leaf)?;
        open_join(self.v2.root.as_fd(), &format!("{leaf}/cgroup.procs")).map(Some)
    }

    /// Moves the calling process from the sandbox's folder to the leaf, which makes the folder able to hand controllers down.
    pub fn settle_spawner(&self, path: &str, leaf: BorrowedFd<'_>) -> io::Result<()> {
        rustix::io::write(leaf, b"0")?;
        enable(self.v2.root.as_fd(), path)
    }

    /// v1 tells of an out-of-memory state by an eventfd.
    fn oom_event(&self, path: &str) -> io::Result<OwnedFd> {
        use std::os::fd::AsRawFd;
        let event =
            rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC | rustix::event::EventfdFlags::NONBLOCK)?;
        let Some(root) = self.v1_of("memory") else { return Ok(event) };
        let control = rustix::fs::openat(
            root,
            format!("{path}/memory.oom_control"),
            OFlags::RDONLY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        let line = format!("{} {}", event.as_raw_fd(), control.as_raw_fd());
        write_at(root, &format!("{path}/cgroup.event_control"), &line)?;
        Ok(event)
    }

    /// Sets a sandbox's limits. The spawner counts as one process more. `device` is the disk's `major:minor`, needed
    /// for a limit of block I/O.
    pub fn limit(&self, path: &str, limits: &wire::Limits, device: Option<&str>) -> Result<()> {
        self.set_memory(path, limits.memory_bytes)?;
        self.set_pids(path, limits.pids + 1)?;
        self.set_cpu_quota(path, limits.cpu_millis)?;
        match device {
            Some(device) if limits.io_bytes_per_second > 0 => self.limit_io(path, limits.io_bytes_per_second, device),
            _ => Ok(()),
        }
    }

    /// Zero means no limit.
    pub(crate) fn limit_io(&self, path: &str, rate: u64, device: &str) -> Result<()> {
        if !self.limits_in_v1 {
            let rate = if rate == 0 { "max".into() } else { rate.to_string() };
            return self.set("io", path, "io.max", &format!("{device} rbps={rate} wbps={rate}")).map_err(|e| {
                Error { kind: wire::ErrorKind::ErrorNotSupported, ..e }
                    .remedy("this host's cgroup v2 has no io controller: leave the I/O rate out")
            });
        }
        let Some(root) = self.v1_of("blkio") else {
            return Err(Error::new(
                wire::ErrorKind::ErrorNotSupported,
                "this host has no blkio controller: leave the I/O rate out",
            ));
        };
        for folder in [path.rsplit_once('/').map_or(TOP, |(group, _)| group), path] {
            make_folder(root, folder).doing(|| format!("make the blkio cgroup {folder}"))?;
        }
        for file in ["blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device"] {
            self.set("blkio", path, file, &format!("{device} {rate}"))?;
        }
        Ok(())
    }

    /// `cgroup.procs` of the sandbox's blkio folder, made by `limit` when an I/O rate was asked on v1.
    pub fn join_io(&self, path: &str) -> Option<OwnedFd> {
        open_join(self.v1_of("blkio")?, &format!("{path}/cgroup.procs")).ok()
    }

    /// Read-only mounts that show the calling process, in its cgroup namespace, what its limits are; with the name of
    /// the folder beneath /sys/fs/cgroup, which is empty on v2.
    pub fn views(&self) -> Result<Vec<(&'static str, OwnedFd)>> {
        let attrs = sys::ATTR_RDONLY | sys::ATTR_NOSUID | sys::ATTR_NODEV | sys::ATTR_NOEXEC;
        if !self.limits_in_v1 {
            let mount =
                sys::NewFs::open(c"cgroup2").and_then(|fs| fs.mount(attrs)).doing(|| "mount a cgroup view".into())?;
            return Ok(vec![("", mount)]);
        }
        let mut views = Vec::new();
        for name in VIEWED {
            let Some(hierarchy) = self.v1.iter().find(|h| h.has(name)) else { continue };
            let mount = view_of(hierarchy, attrs).doing(|| format!("mount a view of the {name} cgroup"))?;
            views.push((name, mount));
        }
        Ok(views)
    }

    /// Whether a process is left anywhere in the sandbox.
    pub fn populated(&self, path: &str) -> bool {
        read_at(self.v2.root.as_fd(), &format!("{path}/cgroup.events")).is_ok_and(|t| field(&t, "populated") == Some(1))
    }

    /// Kills whatever is left; used beside the pid namespace, and for leftovers of a dead launcher.
    pub fn kill(&self, path: &str) {
        let _ = write_at(self.v2.root.as_fd(), &format!("{path}/cgroup.kill"), "1");
    }

    /// What the sandbox has used so far; wall time and disk are the caller's to fill in.
    pub fn usage(&self, path: &str) -> wire::SandboxUsage {
        let v2 = self.v2.root.as_fd();
        let cpu = read_at(v2, &format!("{path}/cpu.stat")).unwrap_or_default();
        let mut usage = wire::SandboxUsage { cpu_micros: field(&cpu, "usage_usec").unwrap_or(0), ..Default::default() };
        if self.limits_in_v1 {
            if let Some(root) = self.v1_of("cpu") {
                let text = read_at(root, &format!("{path}/cpu.stat")).unwrap_or_default();
                usage.cpu_throttled_micros = field(&text, "throttled_time").unwrap_or(0) / 1000;
            }
            if let Some(root) = self.v1_of("memory") {
                usage.peak_memory_bytes = number_at(root, &format!("{path}/memory.max_usage_in_bytes")).unwrap_or(0);
            }
        } else {
            usage.cpu_throttled_micros = field(&cpu, "throttled_usec").unwrap_or(0);
            usage.peak_memory_bytes = number_at(v2, &format!("{path}/memory.peak")).unwrap_or(0);
        }
        usage
    }

    /// Memory in bytes and processes, now.
    pub fn current(&self, path: &str) -> (u64, u64) {
        let memory = if self.limits_in_v1 { "memory.usage_in_bytes" } else { "memory.current" };
        let read = |controller, file: &str| {
            self.root_of(controller).and_then(|root| number_at(root, &format!("{path}/{file}"))).unwrap_or(0)
        };
        (read("memory", memory), read("pids", "pids.current").saturating_sub(1))
    }

    /// Removes a sandbox's folders; false while something still holds them.
    pub fn remove(&self, path: &str) -> bool {
        let mut all = true;
        for root in self.limiting().into_iter().chain(self.v1_of("blkio")).chain([self.v2.root.as_fd()]) {
            all &= remove_tree(root, path);
        }
        all
    }
}

fn view_of(hierarchy: &Hierarchy, attrs: u64) -> io::Result<OwnedFd> {
    let mut fs = sys::NewFs::open(c"cgroup")?;
    for controller in &hierarchy.controllers {
        let name = std::ffi::CString::new(controller.as_str())?;
        fs = fs.flag(&name)?;
    }
    fs.mount(attrs)
}

fn open_join(root: BorrowedFd<'_>, path: &str) -> io::Result<OwnedFd> {
    Ok(rustix::fs::openat(root, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?)
}

fn give(dir: BorrowedFd<'_>, path: &str, uid: u32) -> io::Result<()> {
    let flags = if path.is_empty() { AtFlags::EMPTY_PATH } else { AtFlags::empty() };
    Ok(rustix::fs::chownat(
        dir,
        path,
        Some(rustix::fs::Uid::from_raw(uid)),
        Some(rustix::fs::Gid::from_raw(uid)),
        flags,
    )?)
}

pub(crate) fn children(root: BorrowedFd<'_>, path: &str) -> Vec<String> {
    let Ok(folder) = open_folder(root, path) else { return Vec::new() };
    let Ok(entries) = rustix::fs::Dir::read_from(&folder) else { return Vec::new() };
    entries
        .filter_map(|e| e.ok())
        .filter(|e| e.file_type() == rustix::fs::FileType::Directory)
        .filter_map(|e| e.file_name().to_str().ok().map(str::to_string))
        .filter(|n| n != "." && n != "..")
        .collect()
}

/// Removes a folder and those beneath it, deepest first; true when it is gone.
fn remove_tree(root: BorrowedFd<'_>, path: &str) -> bool {
    match rustix::fs::unlinkat(root, path, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => return true,
        Err(_) => {}
    }
    for child in children(root, path) {
        remove_tree(root, &format!("{path}/{child}"));
    }
    matches!(rustix::fs::unlinkat(root, path, AtFlags::REMOVEDIR), Ok(()) | Err(Errno::NOENT))
}
