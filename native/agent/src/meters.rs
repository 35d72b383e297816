//! Reads the counters of the sandbox's limits. A counter that this host does not have reads as 0.

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags, openat};

/// The sandbox's folders in the v1 hierarchies.
pub struct V1Folders {
    /// memory
    pub memory: OwnedFd,
    /// pids
    pub pids: OwnedFd,
    /// cpu
    pub cpu: OwnedFd,
}

/// Open counters of the sandbox.
pub struct Meters {
    /// The v1 memory folder: groups of single execs are made in it.
    v1_memory: Option<OwnedFd>,
    memory_usage: Option<OwnedFd>,
    memory_peak: Option<OwnedFd>,
    oom_control: Option<OwnedFd>,
    pids_events: Option<OwnedFd>,
    cpu_stat: Option<OwnedFd>,
    v1: bool,
}

/// Counters that only grow; the difference over an exec's life is what it met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Forks that the pids limit refused.
    pub pids_refused: u64,
    /// Time that the cpu limit held processes back, in microseconds.
    pub throttled_micros: u64,
}

/// ext4 with large folios (Linux 6.16) refuses a write by so many bytes at once, and leaves that much free.
const LARGEST_FOLIO: u64 = 8 << 20;
/// What programs usually write at once, at most.
const USUAL_WRITE: u64 = 1 << 20;

/// State of the file system that user processes write to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Disk {
    /// No room is left for a write that could have failed.
    pub full: bool,
    /// No inode is left.
    pub out_of_inodes: bool,
    /// Bytes in use.
    pub used_bytes: u64,
}

impl Meters {
    /// Opens what is there.
    pub fn open(groups: &OwnedFd, v1: Option<V1Folders>) -> Self {
        match v1 {
            Some(folders) => Self {
                memory_usage: reader(&folders.memory, "memory.usage_in_bytes"),
                memory_peak: openat(
                    &folders.memory,
                    "memory.max_usage_in_bytes",
                    OFlags::RDWR | OFlags::CLOEXEC,
                    Mode::empty(),
                )
                .ok()
                .or_else(|| reader(&folders.memory, "memory.max_usage_in_bytes")),
                oom_control: reader(&folders.memory, "memory.oom_control"),
                pids_events: reader(&folders.pids, "pids.events"),
                cpu_stat: reader(&folders.cpu, "cpu.stat"),
                v1_memory: Some(folders.memory),
                v1: true,
            },
            None => Self {
                v1_memory: None,
                memory_usage: reader(groups, "memory.current"),
                memory_peak: None,
                oom_control: None,
                pids_events: reader(groups, "pids.events"),
                cpu_stat: reader(groups, "cpu.stat"),
                v1: false,
            },
        }
    }

    /// The v1 memory folder, where limits live in v1 hierarchies.
    pub fn v1_memory(&self) -> Option<&OwnedFd> {
        self.v1_memory.as_ref()
    }

    /// Pids and cpu counters.
    pub fn counters(&self) -> Counters {
        let throttled_micros = if self.v1 {
            key(self.cpu_stat.as_ref(), "throttled_time") / 1000
        } else {
            key(self.cpu_stat.as_ref(), "throttled_usec")
        };
        Counters { pids_refused: key(self.pids_events.as_ref(), "max"), throttled_micros }
    }

    /// Processes of the sandbox's own v1 memory group that the kernel killed; groups beneath count for themselves.
    pub fn oom_kills(&self) -> u64 {
        key(self.oom_control.as_ref(), "oom_kill")
    }

    /// Memory in use by the sandbox, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        number(self.memory_usage.as_ref())
    }

    /// Highest memory use since `reset_peak`, in bytes (v1).
    pub fn memory_peak(&self) -> u64 {
        number(self.memory_peak.as_ref())
    }

    /// Starts the peak anew; false when the launcher left the file to root.
    pub fn reset_peak(&self) -> bool {
        self.memory_peak.as_ref().is_some_and(|fd| rustix::io::pwrite(fd, b"0", 0).is_ok())
    }
}

/// State of `/`.
pub fn disk() -> Disk {
    let Ok(fs) = rustix::fs::statfs("/") else { return Disk::default() };
    let block = fs.f_bsize.unsigned_abs();
    Disk {
        full: fs.f_blocks > 0 && fs.f_bavail <= too_little(fs.f_blocks, block.max(1)),
        out_of_inodes: fs.f_files > 0 && fs.f_ffree == 0,
        used_bytes: fs.f_blocks.saturating_sub(fs.f_bfree).saturating_mul(block),
    }
}

/// Free blocks with which a write can fail: 1/64 of a large disk, and of a small one what a usual write takes.
fn too_little(blocks: u64, block: u64) -> u64 {
    (blocks / 64).min(LARGEST_FOLIO / block).max((blocks / 16).min(USUAL_WRITE / block))
}

/// Opens a counter for reading.
pub fn reader(folder: impl AsFd, name: &str) -> Option<OwnedFd> {
    openat(folder, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()
}

/// The single number of a file.
pub fn number(fd: Option<&OwnedFd>) -> u64 {
    with_text(fd, |text| text.trim_ascii().iter().try_fold(0, digit)).unwrap_or(0)
}

/// The number behind `name` in a file of "name number" lines.
pub fn key(fd: Option<&OwnedFd>, name: &str) -> u64 {
    with_text(fd, |text| {
        let line =
            text.split(|b| *b == b'\n').find_map(|line| line.strip_prefix(name.as_bytes())?.strip_prefix(b" "))?;
        line.iter().try_fold(0, digit)
    })
    .unwrap_or(0)
}

fn digit(sum: u64, byte: &u8) -> Option<u64> {
    byte.is_ascii_digit().then(|| sum.saturating_mul(10).saturating_add(u64::from(byte - b'0')))
}

fn with_text<T>(fd: Option<&OwnedFd>, read: impl FnOnce(&[u8]) -> Option<T>) -> Option<T> {
    let mut buffer = [0u8; 2048];
    let length = rustix::io::pread(fd?, &mut buffer, 0).ok()?;
    read(buffer.get(..length)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn file(text: &str) -> OwnedFd {
        let fd = rustix::fs::memfd_create("counter", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        let mut file = std::fs::File::from(fd);
        file.write_all(text.as_bytes()).unwrap();
        file.into()
    }

    #[test]
    fn a_disk_is_full_when_a_write_may_fail() {
        let mib = 256;
        assert_eq!(too_little(4 * mib, 4096), mib / 4);
        assert_eq!(too_little(48 * mib, 4096), mib);
        assert_eq!(too_little(1024 * mib, 4096), 8 * mib);
        assert_eq!(too_little(1 << 28, 4096), 8 * mib);
    }

    #[test]
    fn reads_keys_and_numbers_and_zero_for_what_is_missing() {
        let fd = file("low 1\noom 2\noom_kill 34\n");
        assert_eq!(key(Some(&fd), "oom_kill"), 34);
        assert_eq!(key(Some(&fd), "oom"), 2);
        assert_eq!(key(Some(&fd), "absent"), 0);
        assert_eq!(key(None, "oom"), 0);
        assert_eq!(number(Some(&file("4096\n"))), 4096);
        assert_eq!(number(Some(&file("max\n"))), 0);
    }
}
