//! The cgroup of one exec: a v2 group that kills its whole tree, and a v1 memory group when it needs one of its own.

use crate::meters::{key, number, reader};
use crate::sys;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, openat, unlinkat};
use rustix::io::Errno;

const FOLDER_MODE: Mode = Mode::from_raw_mode(0o755);
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

/// The group of an exec. `remove` it when its processes are gone.
pub struct Group {
    name: String,
    v2: OwnedFd,
    v1_memory: Option<OwnedFd>,
}

impl Group {
    /// Makes the v2 group `name` in `groups`. Where the memory controller is there, the kernel kills it as a whole.
    pub fn make(groups: &OwnedFd, name: &str, memory_bytes: u64) -> Result<Self, Errno> {
        mkdirat(groups, name, FOLDER_MODE)?;
        let v2 = openat(groups, name, FOLDER, Mode::empty()).inspect_err(|_| {
            let _ = unlinkat(groups, name, AtFlags::REMOVEDIR);
        })?;
        if memory_bytes > 0 && write(&v2, "memory.oom.group", b"1").is_ok() {
            // The sandbox's own limit holds in any case; this one lets the kernel name the victim.
            // It is read back, for it may have changed since the boot.
            let limit = number(reader(groups, "memory.max").as_ref());
            let bytes = if limit > 0 { limit } else { memory_bytes };
            let _ = write(&v2, "memory.max", bytes.to_string().as_bytes());
        }
        Ok(Self { name: name.to_owned(), v2, v1_memory: None })
    }

    /// Makes a v1 memory group for this exec alone; returns its `cgroup.procs` for the child to join.
    pub fn own_memory(&mut self, memory: &OwnedFd) -> Result<OwnedFd, Errno> {
        mkdirat(memory, self.name.as_str(), FOLDER_MODE)?;
        let folder = openat(memory, self.name.as_str(), FOLDER, Mode::empty())?;
        let join = openat(&folder, "cgroup.procs", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
        self.v1_memory = Some(folder);
        Ok(join)
    }

    /// The folder to clone into.
    pub fn folder(&self) -> BorrowedFd<'_> {
        self.v2.as_fd()
    }

    /// True when it has a v1 memory group of its own.
    pub fn has_own_memory(&self) -> bool {
        self.v1_memory.is_some()
    }

    /// Sends SIGKILL to every process, also to those that fork meanwhile.
    pub fn kill(&self) {
        if write(&self.v2, "cgroup.kill", b"1").is_err() {
            self.signal(libc::SIGKILL);
        }
    }

    /// Sends a signal to every process that is there now.
    pub fn signal(&self, signal: i32) {
        for pid in self.pids() {
            sys::kill(pid, signal);
        }
    }

    /// The processes that are there now.
    pub fn pids(&self) -> Vec<i32> {
        let Some(fd) = reader(&self.v2, "cgroup.procs") else { return Vec::new() };
        let mut text = Vec::new();
        while let Ok(1..) = rustix::io::read(&fd, rustix::buffer::spare_capacity(reserved(&mut text))) {}
        text.split(|b| *b == b'\n').filter_map(|line| std::str::from_utf8(line).ok()?.parse().ok()).collect()
    }

    /// What a further process of the group writes "0" to, when the group has memory of its own.
    pub fn join_memory(&self) -> Result<Option<OwnedFd>, Errno> {
        let Some(folder) = &self.v1_memory else { return Ok(None) };
        openat(folder, "cgroup.procs", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty()).map(Some)
    }

    /// Processor time of everything that ran in it, in microseconds.
    pub fn cpu_micros(&self) -> u64 {
        key(reader(&self.v2, "cpu.stat").as_ref(), "usage_usec")
    }

    /// Processes of this group that the kernel killed for want of memory; 0 where only the sandbox is counted.
    pub fn oom_kills(&self) -> u64 {
        match &self.v1_memory {
            Some(memory) => key(reader(memory, "memory.oom_control").as_ref(), "oom_kill"),
            None => key(reader(&self.v2, "memory.events").as_ref(), "oom_kill"),
        }
    }

    /// Forks of its processes that a pids limit refused (v2). A kernel before 6.11 counts there, in the group of the process;
    /// later ones in the group that has the limit.
    pub fn pids_refused(&self) -> u64 {
        key(reader(&self.v2, "pids.events").as_ref(), "max")
    }

    /// Memory in use, in bytes; 0 where only the sandbox is measured.
    pub fn memory_bytes(&self) -> u64 {
        match &self.v1_memory {
            Some(memory) => number(reader(memory, "memory.usage_in_bytes").as_ref()),
            None => number(reader(&self.v2, "memory.current").as_ref()),
        }
    }

    /// Highest memory use, in bytes; 0 where only the sandbox is measured.
    pub fn memory_peak(&self) -> u64 {
        match &self.v1_memory {
            Some(memory) => number(reader(memory, "memory.max_usage_in_bytes").as_ref()),
            None => number(reader(&self.v2, "memory.peak").as_ref()),
        }
    }

    /// Removes the folders; `BUSY` while a process is left.
    pub fn remove(&self, groups: &OwnedFd, memory: Option<&OwnedFd>) -> Result<(), Errno> {
        let gone = |result| match result {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno),
        };
        gone(unlinkat(groups, self.name.as_str(), AtFlags::REMOVEDIR))?;
        match (memory, &self.v1_memory) {
            (Some(memory), Some(_)) => gone(unlinkat(memory, self.name.as_str(), AtFlags::REMOVEDIR)),
            _ => Ok(()),
        }
    }
}

fn reserved(text: &mut Vec<u8>) -> &mut Vec<u8> {
    text.reserve(4096);
    text
}

fn write(folder: &OwnedFd, name: &str, value: &[u8]) -> Result<(), Errno> {
    let fd = openat(folder, name, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&fd, value).map(|_| ())
}
