//! Reads and sets what the file system knows of one entry. Links are not followed.

use crate::error::{Refusal, shown};
use crate::paths::SafePath;
use crate::walker;
use caisson_wire::agent::{ErrorKind, FileEntries, FileStat, SetAttributes};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, FileType, Gid, Mode, OFlags, Stat, Timespec, Timestamps, UTIME_OMIT, Uid};

/// Permission bits and sticky: a set-id bit would mean nothing in a sandbox, and much on a host that unpacks it.
const SETTABLE: u32 = 0o1777;

/// One entry as a listing tells it.
pub fn stat(request: &FileStat) -> Result<FileEntries, Refusal> {
    let (entry, stat) = open(&request.path)?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    let target = match kind {
        FileType::Symlink => rustix::fs::readlinkat(&entry, "", Vec::new()).map_or(Vec::new(), |t| t.into_bytes()),
        _ => Vec::new(),
    };
    let entries = vec![walker::entry_of(Vec::new(), kind, &stat, target)];
    Ok(FileEntries { entries, last: true, ..FileEntries::default() })
}

/// Owner, then mode, then time: a change of owner may clear mode bits.
pub fn set(request: &SetAttributes) -> Result<(), Refusal> {
    if request.mode.is_some_and(|mode| mode & !SETTABLE != 0) {
        return Err(Refusal::invalid("mode may have permission bits and the sticky bit only"));
    }
    if request.uid.iter().chain(&request.gid).any(|id| *id >= crate::launch::AGENT_ID) {
        return Err(Refusal::invalid("uid and gid must be below 65533"));
    }
    let (entry, stat) = open(&request.path)?;
    refuse_shared(request, &stat)?;
    let fail = |errno| Refusal::path("change", &request.path, errno);
    if request.uid.is_some() || request.gid.is_some() {
        let (uid, gid) = (request.uid.map(Uid::from_raw), request.gid.map(Gid::from_raw));
        rustix::fs::chownat(&entry, "", uid, gid, AtFlags::EMPTY_PATH).map_err(fail)?;
    }
    // The kernel takes modes and times of such a descriptor only by this name.
    let own = format!("/proc/self/fd/{}", entry.as_raw_fd());
    if let Some(mode) = request.mode {
        rustix::fs::chmodat(CWD, own.as_str(), Mode::from_raw_mode(mode), AtFlags::empty()).map_err(fail)?;
    }
    if let Some(nanos) = request.mtime_nanos {
        let seconds = i64::try_from(nanos / 1_000_000_000).unwrap_or(i64::MAX);
        let times = Timestamps {
            last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
            last_modification: Timespec { tv_sec: seconds, tv_nsec: (nanos % 1_000_000_000) as _ },
        };
        rustix::fs::utimensat(CWD, own.as_str(), &times, AtFlags::empty()).map_err(fail)?;
    }
    Ok(())
}

fn open(path: &[u8]) -> Result<(OwnedFd, Stat), Refusal> {
    let entry = SafePath::parse(path)?.open(OFlags::PATH)?;
    let stat = rustix::fs::fstat(&entry).map_err(|errno| Refusal::path("look at", path, errno))?;
    Ok((entry, stat))
}

/// A link has no mode of its own, and a second name may be one that a user process gave to somebody else's file.
fn refuse_shared(request: &SetAttributes, stat: &Stat) -> Result<(), Refusal> {
    let refuse = |what: &str| {
        let message = format!("{} {what}", shown(&request.path));
        Err(Refusal::new(ErrorKind::ErrorNotRegular, message))
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Symlink => refuse("is a symbolic link"),
        FileType::RegularFile if stat.st_nlink > 1 => refuse("has more than one name"),
        FileType::RegularFile | FileType::Directory => Ok(()),
        _ => refuse("is neither a file nor a folder"),
    }
}
