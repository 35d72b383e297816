//! Lists folders, however deep and wide, with bounded memory: it holds one descriptor per level and no names.

use crate::error::{Refusal, kind_of};
use crate::paths::{SafePath, is_kernel_file_system, open_beneath};
use caisson_wire::agent::{ErrorKind, FileEntries, FileEntry, FileList, FileType};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FileType as Kind, OFlags, RawDir, SeekFrom, Stat};
use rustix::io::Errno;
use std::mem::MaybeUninit;

/// Folders deeper than this are left out.
const MAX_DEPTH: usize = 256;
/// Entries of one frame, and of one turn.
const BATCH: usize = 256;
/// Names and targets of one frame, in bytes.
const BATCH_BYTES: usize = 128 << 10;
/// What is left out is counted this far.
const MAX_SKIPPED: u64 = 100_000;

/// A listing in progress.
pub struct Walker {
    levels: Vec<Level>,
    recursive: bool,
    tally: Tally,
}

/// Where the walk is, and what may still be told.
struct Tally {
    prefix: Vec<u8>,
    room: u64,
    truncated: bool,
    skipped: u64,
}

struct Level {
    folder: OwnedFd,
    /// Length of the prefix that belongs to this folder.
    prefix: usize,
}

enum Step {
    /// Nothing more in this folder.
    End,
    /// Another folder was entered.
    Entered,
    /// The batch is full.
    Full,
}

impl Walker {
    /// Opens the folder.
    pub fn begin(list: &FileList) -> Result<Self, Refusal> {
        let folder = SafePath::parse(&list.path)?.open(OFlags::RDONLY | OFlags::DIRECTORY)?;
        let room = if list.max_entries == 0 { u64::MAX } else { list.max_entries };
        Ok(Self {
            levels: vec![Level { folder, prefix: 0 }],
            recursive: list.recursive,
            tally: Tally { prefix: Vec::new(), room, truncated: false, skipped: 0 },
        })
    }

    /// The next entries; the listing is over when they say `last`.
    pub fn next(&mut self) -> Result<FileEntries, Refusal> {
        let mut batch = Batch::default();
        loop {
            if self.tally.skipped >= MAX_SKIPPED {
                self.levels.clear();
            }
            if self.levels.is_empty() {
                let (truncated, skipped) = (self.tally.truncated, self.tally.skipped);
                return Ok(FileEntries { entries: batch.entries, last: true, truncated, skipped });
            }
            match self.step(&mut batch) {
                Ok(Step::End) => self.leave(),
                Ok(Step::Entered) => {}
                Ok(Step::Full) => {
                    return Ok(FileEntries { entries: batch.entries, ..FileEntries::default() });
                }
                Err(Errno::MFILE | Errno::NFILE | Errno::NOMEM) => {
                    return Err(Refusal::new(
                        ErrorKind::ErrorLimit,
                        "the agent has no descriptors left for this listing",
                    ));
                }
                // The folder was removed, or cannot be read.
                Err(_) if self.levels.len() > 1 => self.leave(),
                Err(errno) => return Err(Refusal::with_errno(kind_of(errno), errno, "cannot list the folder")),
            }
        }
    }

    fn leave(&mut self) {
        self.levels.pop();
        self.tally.prefix.truncate(self.levels.last().map_or(0, |level| level.prefix));
    }

    fn step(&mut self, batch: &mut Batch) -> Result<Step, Errno> {
        let depth = self.levels.len();
        let Some(level) = self.levels.last() else { return Ok(Step::End) };
        let folder = &level.folder;
        let mut buffer = [MaybeUninit::uninit(); 8192];
        let mut entries = RawDir::new(folder, &mut buffer);
        let mut entered = None;
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            let after = entry.next_entry_cookie();
            if let Some(found) = self.tally.list(folder, name, batch) {
                if found == Kind::Directory && self.recursive {
                    if depth < MAX_DEPTH {
                        entered = enter(folder, name)?.map(|opened| (opened, name.to_vec()));
                    } else {
                        self.tally.skip();
                    }
                }
            }
            // The buffer is read anew from here later: it does not outlive the step.
            if entered.is_some() || batch.is_full() {
                rustix::fs::seek(folder, SeekFrom::Start(after))?;
                break;
            }
        }
        match entered {
            Some((opened, name)) => {
                self.tally.prefix.extend_from_slice(&name);
                self.tally.prefix.push(b'/');
                self.levels.push(Level { folder: opened, prefix: self.tally.prefix.len() });
                Ok(if batch.is_full() { Step::Full } else { Step::Entered })
            }
            None if batch.is_full() => Ok(Step::Full),
            None => Ok(Step::End),
        }
    }
}

impl Tally {
    fn skip(&mut self) {
        self.truncated = true;
        self.skipped += 1;
    }

    /// Adds an entry, or counts it; returns its type.
    fn list(&mut self, folder: &OwnedFd, name: &[u8], batch: &mut Batch) -> Option<Kind> {
        // Whatever vanished meanwhile was not there.
        let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let kind = Kind::from_raw_mode(stat.st_mode);
        batch.seen += 1;
        if self.room == 0 {
            self.skip();
            return Some(kind);
        }
        self.room -= 1;
        let target = match kind {
            Kind::Symlink => rustix::fs::readlinkat(folder, name, Vec::new()).map_or(Vec::new(), |t| t.into_bytes()),
            _ => Vec::new(),
        };
        let path = [self.prefix.as_slice(), name].concat();
        batch.bytes += path.len() + target.len();
        batch.entries.push(entry_of(path, kind, &stat, target));
        Some(kind)
    }
}

#[derive(Default)]
struct Batch {
    entries: Vec<FileEntry>,
    bytes: usize,
    seen: usize,
}

impl Batch {
    fn is_full(&self) -> bool {
        self.seen >= BATCH || self.bytes >= BATCH_BYTES
    }
}

/// Opens a subfolder; `None` for one that is not entered.
fn enter(folder: &OwnedFd, name: &[u8]) -> Result<Option<OwnedFd>, Errno> {
    match open_beneath(folder, name, OFlags::RDONLY | OFlags::DIRECTORY) {
        Ok(opened) => Ok((!is_kernel_file_system(&opened)).then_some(opened)),
        Err(errno @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM)) => Err(errno),
        Err(_) => Ok(None),
    }
}

/// What a listing tells of one entry.
pub fn entry_of(path: Vec<u8>, kind: Kind, stat: &Stat, target: Vec<u8>) -> FileEntry {
    let nanos = |seconds: i64, nanos: u64| seconds.max(0).unsigned_abs().saturating_mul(1_000_000_000) + nanos;
    let file_type = match kind {
        Kind::RegularFile => FileType::Regular,
        Kind::Directory => FileType::Directory,
        Kind::Symlink => FileType::Symlink,
        Kind::Fifo => FileType::Fifo,
        Kind::Socket => FileType::Socket,
        Kind::CharacterDevice | Kind::BlockDevice => FileType::Device,
        Kind::Unknown => FileType::Unknown,
    };
    FileEntry {
        path,
        r#type: file_type.into(),
        size: stat.st_size.unsigned_abs(),
        allocated: stat.st_blocks.unsigned_abs().saturating_mul(512),
        mode: stat.st_mode & 0o7777,
        mtime_nanos: nanos(stat.st_mtime, stat.st_mtime_nsec),
        ctime_nanos: nanos(stat.st_ctime, stat.st_ctime_nsec),
        inode: stat.st_ino,
        links: u32::try_from(stat.st_nlink).unwrap_or(u32::MAX),
        target,
    }
}
