//! A bounded walk of directories that others may be writing to: every step is by descriptor and follows no link.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{self, AtFlags, FileType};

use crate::source::open_directory_at;

/// Deeper directories are not entered; every level holds one descriptor.
const DEPTH: usize = 40;

/// How much a walk may still do.
pub(crate) struct Budget {
    entries: usize,
    deadline: Instant,
}

impl Budget {
    pub(crate) fn new(entries: usize, time: Duration) -> Self {
        Self { entries, deadline: Instant::now() + time }
    }

    /// True when a walk was cut short.
    pub(crate) fn is_spent(&self) -> bool {
        self.entries == 0
    }

    fn take(&mut self) -> bool {
        // The clock is read once in 256 entries.
        if self.entries > 0 && self.entries % 256 == 0 && Instant::now() > self.deadline {
            self.entries = 0;
        }
        self.entries = self.entries.saturating_sub(1);
        self.entries > 0
    }
}

/// One entry of the directory `path`.
pub(crate) struct Found<'a> {
    pub(crate) directory: BorrowedFd<'a>,
    pub(crate) path: &'a Path,
    pub(crate) name: &'a OsStr,
    pub(crate) kind: FileType,
}

/// Calls `visit` for everything beneath the directory; subdirectories are entered when it returns true. Directories that
/// cannot be read are passed over.
pub(crate) fn walk(top: OwnedFd, path: &Path, budget: &mut Budget, visit: &mut dyn FnMut(&Found<'_>) -> bool) {
    descend(top, path, 0, budget, visit);
}

fn descend(
    directory: OwnedFd,
    path: &Path,
    depth: usize,
    budget: &mut Budget,
    visit: &mut dyn FnMut(&Found<'_>) -> bool,
) {
    let Ok(entries) = fs::Dir::read_from(&directory) else { return };
    for entry in entries {
        let Ok(entry) = entry else { return };
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        if !budget.take() {
            return;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => kind_of(&directory, name),
            kind => kind,
        };
        let enter = visit(&Found { directory: directory.as_fd(), path, name, kind });
        if enter && kind == FileType::Directory && depth < DEPTH {
            if let Ok(child) = open_directory_at(&directory, Path::new(name)) {
                descend(child, &path.join(name), depth + 1, budget, visit);
            }
        }
    }
}

/// For file systems that do not tell the type with the name.
fn kind_of(directory: &OwnedFd, name: &OsStr) -> FileType {
    fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
        .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
}
