//! Writes a file whole: nothing of it is seen before its end.

use crate::error::Refusal;
use crate::paths::{Owner, SafePath};
use caisson_wire::agent::{ErrorKind, FilePut};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, linkat, openat, renameat, statat, unlinkat};
use rustix::io::Errno;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that the client may be ahead of the disk.
const WINDOW: u64 = 1 << 20;

/// A file that is being written.
pub struct Put {
    folder: OwnedFd,
    name: Vec<u8>,
    path: Vec<u8>,
    file: OwnedFd,
    /// Name in `folder` until the end, where the file system has no unnamed files.
    temporary: Option<Vec<u8>>,
    written: u64,
    told: u64,
}

impl Put {
    /// Begins a file.
    pub fn begin(put: &FilePut) -> Result<Self, Refusal> {
        let path = SafePath::parse(&put.path)?;
        let (parent, name) = path.split()?;
        let owner = Owner { uid: put.uid, gid: put.gid };
        if [put.uid, put.gid].iter().any(|id| *id >= crate::launch::AGENT_ID) {
            return Err(Refusal::invalid("uid and gid must be below 65533"));
        }
        let folder = parent.open_folder(put.parents.then_some(owner))?;
        refuse_irregular(&folder, name, &put.path)?;
        let fail = |errno| Refusal::path("write", &put.path, errno);
        let (file, temporary) = unnamed(&folder).map_err(fail)?;
        let made =
            Self { folder, name: name.to_vec(), path: put.path.clone(), file, temporary, written: 0, told: WINDOW };
        owner.take(&made.file).map_err(fail)?;
        rustix::fs::fchmod(&made.file, Mode::from_raw_mode(put.mode & 0o777)).map_err(fail)?;
        Ok(made)
    }

    /// True when the client was granted this much more.
    pub fn may_take(&self, bytes: usize) -> bool {
        self.written + bytes as u64 <= self.told
    }

    /// Writes the next bytes.
    pub fn write(&mut self, mut data: &[u8]) -> Result<(), Refusal> {
        while !data.is_empty() {
            match rustix::io::write(&self.file, data) {
                Ok(bytes) => {
                    self.written += bytes as u64;
                    data = data.get(bytes..).unwrap_or_default();
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Err(Refusal::path("write", &self.path, errno)),
            }
        }
        Ok(())
    }

    /// The new limit, when it is worth telling.
    pub fn credit(&mut self) -> Option<u64> {
        let limit = self.written + WINDOW;
        (limit >= self.told + WINDOW / 4).then(|| {
            self.told = limit;
            limit
        })
    }

    /// Gives the file its name; returns its size.
    pub fn finish(mut self) -> Result<u64, Refusal> {
        refuse_irregular(&self.folder, &self.name, &self.path)?;
        self.name_it().map_err(|errno| Refusal::path("write", &self.path, errno))?;
        Ok(self.written)
    }

    fn name_it(&mut self) -> Result<(), Errno> {
        if self.temporary.is_none() {
            match self.link(&self.name) {
                Err(Errno::EXIST) => {
                    let temporary = temporary_name();
                    self.link(&temporary)?;
                    self.temporary = Some(temporary);
                }
                other => return other,
            }
        }
        if let Some(temporary) = &self.temporary {
            renameat(&self.folder, temporary.as_slice(), &self.folder, self.name.as_slice())?;
            self.temporary = None;
        }
        Ok(())
    }

    /// AT_EMPTY_PATH would need a capability that the agent has not.
    fn link(&self, name: &[u8]) -> Result<(), Errno> {
        let own = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        linkat(CWD, own, &self.folder, name, AtFlags::SYMLINK_FOLLOW)
    }
}

impl Drop for Put {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            let _ = unlinkat(&self.folder, temporary.as_slice(), AtFlags::empty());
        }
    }
}

fn unnamed(folder: &OwnedFd) -> Result<(OwnedFd, Option<Vec<u8>>), Errno> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(0o600);
    match openat(folder, ".", flags | OFlags::TMPFILE, mode) {
        Ok(file) => Ok((file, None)),
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {
            let name = temporary_name();
            let file = openat(folder, name.as_slice(), flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW, mode)?;
            Ok((file, Some(name)))
        }
        Err(errno) => Err(errno),
    }
}

/// Hard to meet by chance; a user process that guesses it only makes this put fail.
fn temporary_name() -> Vec<u8> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let nanos = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_nanos());
    format!(".caisson-{nanos:x}-{:x}", NEXT.fetch_add(1, Ordering::Relaxed)).into_bytes()
}

/// A link, folder, device or FIFO is never replaced.
fn refuse_irregular(folder: &OwnedFd, name: &[u8], path: &[u8]) -> Result<(), Refusal> {
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile => Err(Refusal::new(
            ErrorKind::ErrorNotRegular,
            format!("{} is not a regular file and is not replaced", crate::error::shown(path)),
        )),
        Ok(_) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(Refusal::path("write", path, errno)),
    }
}
