//! Makes, moves and removes.

use crate::error::Refusal;
use crate::paths::{Owner, SafePath, is_kernel_file_system, make_folder, open_beneath};
use caisson_wire::agent::{ErrorKind, MakeDirectory, Move, Remove};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, OFlags, RawDir, SeekFrom, renameat, unlinkat};
use rustix::io::Errno;
use std::mem::MaybeUninit;

/// Folders open at once: what lies deeper is moved up.
const MAX_DEPTH: usize = 256;
/// Names removed in one turn.
const BATCH: usize = 256;

/// Makes a folder.
pub fn make_directory(request: &MakeDirectory) -> Result<(), Refusal> {
    let path = SafePath::parse(&request.path)?;
    if [request.uid, request.gid].iter().any(|id| *id >= crate::launch::AGENT_ID) {
        return Err(Refusal::invalid("uid and gid must be below 65533"));
    }
    let owner = Owner { uid: request.uid, gid: request.gid };
    if request.parents && path.open(OFlags::PATH | OFlags::DIRECTORY).is_ok() {
        return Ok(());
    }
    let (parent, name) = path.split()?;
    let folder = parent.open_folder(request.parents.then_some(owner))?;
    match make_folder(&folder, name, request.mode, owner) {
        Ok(_) => Ok(()),
        Err(errno) => Err(Refusal::path("make", &request.path, errno)),
    }
}

/// Moves within one file system; replaces a file as rename does.
pub fn move_path(request: &Move) -> Result<(), Refusal> {
    let (from, to) = (SafePath::parse(&request.from)?, SafePath::parse(&request.to)?);
    let ((from_parent, from_name), (to_parent, to_name)) = (from.split()?, to.split()?);
    let (source, target) = (from_parent.open_folder(None)?, to_parent.open_folder(None)?);
    renameat(&source, from_name, &target, to_name).map_err(|errno| Refusal::path("move", &request.from, errno))
}

/// Removes a file or an empty folder at once; a full folder, when asked, step by step.
pub fn remove(request: &Remove) -> Result<Option<Remover>, Refusal> {
    let path = SafePath::parse(&request.path)?;
    let (parent, name) = path.split()?;
    let folder = parent.open_folder(None)?;
    let fail = |errno| Refusal::path("remove", &request.path, errno);
    match unlinkat(&folder, name, AtFlags::empty()) {
        Ok(()) => return Ok(None),
        Err(Errno::ISDIR) => {}
        Err(errno) => return Err(fail(errno)),
    }
    match unlinkat(&folder, name, AtFlags::REMOVEDIR) {
        Ok(()) => Ok(None),
        Err(Errno::NOTEMPTY | Errno::EXIST) if request.recursive => {
            let top = enter(&folder, name).map_err(fail)?;
            Ok(Some(Remover {
                folder,
                name: name.to_vec(),
                levels: vec![(top, Vec::new())],
                lifted: 0,
                path: request.path.clone(),
            }))
        }
        Err(errno) => Err(fail(errno)),
    }
}

/// A tree that is being removed.
pub struct Remover {
    folder: OwnedFd,
    name: Vec<u8>,
    /// Open folders with their names in the one above.
    levels: Vec<(OwnedFd, Vec<u8>)>,
    /// Folders that were too deep and have been moved up.
    lifted: u64,
    path: Vec<u8>,
}

impl Remover {
    /// Removes some. True when all is gone.
    pub fn next(&mut self) -> Result<bool, Refusal> {
        let mut left = BATCH;
        while left > 0 && !self.levels.is_empty() {
            self.step(&mut left).map_err(|errno| Refusal::path("remove", &self.path, errno))?;
        }
        if !self.levels.is_empty() {
            return Ok(false);
        }
        match unlinkat(&self.folder, self.name.as_slice(), AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(true),
            Err(errno) => Err(Refusal::path("remove", &self.path, errno)),
        }
    }

    /// Works on the innermost folder: enters a subfolder, or leaves it when it is empty.
    fn step(&mut self, left: &mut usize) -> Result<(), Errno> {
        let depth = self.levels.len();
        let Some((folder, _)) = self.levels.last() else { return Ok(()) };
        rustix::fs::seek(folder, SeekFrom::Start(0))?;
        let mut buffer = [MaybeUninit::uninit(); 8192];
        let mut entries = RawDir::new(folder, &mut buffer);
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            if *left == 0 {
                return Ok(());
            }
            *left -= 1;
            match unlinkat(folder, name, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(Errno::ISDIR) => match unlinkat(folder, name, AtFlags::REMOVEDIR) {
                    Ok(()) | Err(Errno::NOENT) => {}
                    Err(Errno::NOTEMPTY | Errno::EXIST) if depth < MAX_DEPTH => {
                        let level = (enter(folder, name)?, name.to_vec());
                        self.levels.push(level);
                        return Ok(());
                    }
                    // Deeper than folders may be open: goes on beneath the top.
                    Err(Errno::NOTEMPTY | Errno::EXIST) => {
                        self.lifted += 1;
                        let Some((top, _)) = self.levels.first() else { return Ok(()) };
                        match renameat(folder, name, top, format!(".removing-{}", self.lifted).as_str()) {
                            // The name is taken by the tree's own: the next turn has another one.
                            Ok(()) | Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR | Errno::NOENT) => {
                                return Ok(());
                            }
                            Err(errno) => return Err(errno),
                        }
                    }
                    Err(errno) => return Err(errno),
                },
                Err(errno) => return Err(errno),
            }
        }
        self.leave()
    }

    fn leave(&mut self) -> Result<(), Errno> {
        let Some((_, name)) = self.levels.pop() else { return Ok(()) };
        let Some((above, _)) = self.levels.last() else { return Ok(()) };
        match unlinkat(above, name.as_slice(), AtFlags::REMOVEDIR) {
            // Refilled meanwhile: the next step finds it again.
            Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST) => Ok(()),
            Err(errno) => Err(errno),
        }
    }
}

fn enter(folder: &OwnedFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    let opened = open_beneath(folder, name, OFlags::RDONLY | OFlags::DIRECTORY)?;
    if is_kernel_file_system(&opened) { Err(Errno::PERM) } else { Ok(opened) }
}

/// A change without a kind.
pub fn nothing() -> Refusal {
    Refusal::new(ErrorKind::ErrorInvalid, "the change says nothing")
}
