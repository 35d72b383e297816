//! The directory tree under construction, written beneath a handle and never through a link: a link that was copied
//! (`etc/x -> /etc/y`) would otherwise lead later writes to the host's own files.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{self, Gid, Mode, OFlags, ResolveFlags, Uid};

use crate::TemplateError;

/// An open skeleton root; all paths are relative to it.
pub(crate) struct Skeleton {
    root: OwnedFd,
    path: PathBuf,
    /// False in tests without root: owners then stay as they are.
    chown: bool,
}

impl Skeleton {
    /// Makes the root directory at `path`, which must not exist.
    pub(crate) fn create(path: &Path) -> Result<Self, TemplateError> {
        let fail = |e: rustix::io::Errno| TemplateError::io("create", path, e);
        fs::mkdir(path, Mode::RWXU).map_err(fail)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let root = fs::open(path, flags, Mode::empty()).map_err(fail)?;
        fs::fchmod(&root, Mode::from_raw_mode(0o755)).map_err(fail)?;
        Ok(Self { root, path: path.to_owned(), chown: rustix::process::geteuid().is_root() })
    }

    /// Makes a directory with exactly these permissions; missing parents get 0755 and owner 0.
    pub(crate) fn directory(&self, path: impl AsRef<Path>, mode: u32, owner: u32) -> Result<(), TemplateError> {
        let path = path.as_ref();
        self.parents(path)?;
        self.make_directory(path, mode, owner).map_err(|e| self.fail("create", path, e))
    }

    /// Writes a file of owner 0; missing parents get 0755.
    pub(crate) fn file(&self, path: impl AsRef<Path>, content: &[u8], mode: u32) -> Result<(), TemplateError> {
        let path = path.as_ref();
        self.parents(path)?;
        let write = || -> io::Result<()> {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let fd = fs::openat2(&self.root, path, flags, Mode::RUSR | Mode::WUSR, beneath())?;
            let mut file = File::from(fd);
            file.write_all(content)?;
            fs::fchmod(&file, Mode::from_raw_mode(mode))?;
            Ok(())
        };
        write().map_err(|e| self.fail("write", path, e))
    }

    /// Makes a symbolic link; missing parents get 0755.
    pub(crate) fn link(&self, path: impl AsRef<Path>, target: impl AsRef<Path>) -> Result<(), TemplateError> {
        let path = path.as_ref();
        self.parents(path)?;
        let (parent, name) = split(path);
        let make = || -> io::Result<()> { Ok(fs::symlinkat(target.as_ref(), &self.open(parent)?, name)?) };
        make().map_err(|e| self.fail("link", path, e))
    }

    /// Writes everything to the disk, so that a finished template survives a power cut whole.
    pub(crate) fn sync(&self) -> Result<(), TemplateError> {
        fs::syncfs(&self.root).map_err(|e| TemplateError::io("write to disk", &self.path, e))
    }

    fn parents(&self, path: &Path) -> Result<(), TemplateError> {
        let parent = path.parent().unwrap_or(Path::new(""));
        if parent.as_os_str().is_empty() || self.open(parent).is_ok() {
            return Ok(());
        }
        self.parents(parent)?;
        self.make_directory(parent, 0o755, 0).map_err(|e| self.fail("create", parent, e))
    }

    fn make_directory(&self, path: &Path, mode: u32, owner: u32) -> io::Result<()> {
        let (parent, name) = split(path);
        match fs::mkdirat(&self.open(parent)?, name, Mode::RWXU) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(e) => return Err(e.into()),
        }
        let directory = self.open(path)?;
        if self.chown && owner != 0 {
            fs::fchown(&directory, Some(Uid::from_raw(owner)), Some(Gid::from_raw(owner)))?;
        }
        Ok(fs::fchmod(&directory, Mode::from_raw_mode(mode))?)
    }

    fn open(&self, path: &Path) -> io::Result<OwnedFd> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(fs::openat2(&self.root, path, flags, Mode::empty(), beneath())?)
    }

    fn fail(&self, what: &'static str, path: &Path, source: io::Error) -> TemplateError {
        TemplateError::io(what, &self.path.join(path), source)
    }
}

fn beneath() -> ResolveFlags {
    ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS
}

fn split(path: &Path) -> (&Path, &Path) {
    (path.parent().unwrap_or(Path::new("")), path.file_name().map_or(Path::new(""), Path::new))
}
