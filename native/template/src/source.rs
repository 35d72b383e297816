//! The host's root directory, read beneath a handle and never through a link.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat};

use crate::{TemplateError, Tool};

/// Neither a link on the way nor a step out of the root.
const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS);

/// What stands at a path, links not followed.
pub(crate) enum Entry {
    Missing,
    Link(PathBuf),
    Directory(Stat),
    File,
    /// A device, socket or pipe: never touched.
    Other,
}

/// An open source root; all paths are relative to it.
pub(crate) struct Source<'a> {
    root: OwnedFd,
    path: PathBuf,
    tools: &'a [Tool<'a>],
}

impl<'a> Source<'a> {
    pub(crate) fn open(root: &Path, tools: &'a [Tool<'a>]) -> Result<Self, TemplateError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = fs::open(root, flags, Mode::empty()).map_err(|e| TemplateError::io("open", root, e))?;
        Ok(Self { root: fd, path: root.to_owned(), tools })
    }

    /// What goes in that is not of this root.
    pub(crate) fn tools(&self) -> &'a [Tool<'a>] {
        self.tools
    }

    /// The path for messages.
    pub(crate) fn show(&self, path: &Path) -> PathBuf {
        self.path.join(path)
    }

    pub(crate) fn entry(&self, path: &Path) -> io::Result<Entry> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = match fs::openat2(&self.root, path, flags, Mode::empty(), BENEATH) {
            Ok(fd) => fd,
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => return Ok(Entry::Missing),
            Err(e) => return Err(e.into()),
        };
        let stat = fs::fstat(&fd)?;
        Ok(match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => {
                Entry::Link(OsString::from_vec(fs::readlinkat(&fd, "", Vec::new())?.into_bytes()).into())
            }
            FileType::Directory => Entry::Directory(stat),
            FileType::RegularFile => Entry::File,
            _ => Entry::Other,
        })
    }

    /// The attributes by which a change is noticed; `None` when nothing is there. Cheap: one system call.
    pub(crate) fn stat(&self, path: &Path) -> Option<Stat> {
        fs::statat(&self.root, path, AtFlags::SYMLINK_NOFOLLOW).ok()
    }

    /// Opens a file for reading. `O_NONBLOCK` so that a pipe put there meanwhile cannot hold us.
    pub(crate) fn open_file(&self, path: &Path) -> io::Result<File> {
        open_file_at(&self.root, path)
    }

    pub(crate) fn open_directory(&self, path: &Path) -> io::Result<OwnedFd> {
        open_directory_at(&self.root, path)
    }

    /// The names in a directory, sorted.
    pub(crate) fn names(&self, path: &Path) -> io::Result<Vec<OsString>> {
        let fd = self.open_directory(path)?;
        let mut names = Vec::new();
        for entry in fs::Dir::read_from(&fd)? {
            let name = entry?.file_name().to_bytes().to_vec();
            if name != b"." && name != b".." {
                names.push(OsString::from_vec(name));
            }
        }
        names.sort();
        Ok(names)
    }
}

/// Opens a regular file beneath `directory` without following a link.
pub(crate) fn open_file_at(directory: impl AsFd, path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(fs::openat2(directory, path, flags, Mode::empty(), BENEATH)?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "is not a regular file"));
    }
    Ok(file)
}

/// Opens a directory beneath `directory` without following a link.
pub(crate) fn open_directory_at(directory: impl AsFd, path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(fs::openat2(directory, path, flags, Mode::empty(), BENEATH)?)
}
