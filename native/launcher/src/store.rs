//! Disks that outlive sandboxes and launchers: snapshots and volumes. Each is an image `ID.img` with a text `ID.meta` beside it,
//! in a folder of the state folder that all launchers of a state folder share.
//!
//! Both files are made without a name and named when they are complete and on the disk, the text last: what is listed is whole,
//! and what a crash cuts off is nowhere. An image without a text is the one exception, between two system calls; the next
//! start removes it.

use crate::disk::{Shape, spare};
use crate::error::{Doing, Error, Result};
use crate::ids::open_lock;
use crate::request;
use crate::sys;
use caisson_wire::launcher as wire;
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

const FIRST_LINE: &str = "caisson-disk 1";
const MAX_META: u64 = 4096;

/// What is known of a saved disk besides its content.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Meta {
    /// Uid of the client that made it; others but root cannot touch it.
    pub owner: u32,
    /// The cap that it was made with.
    pub shape: Shape,
    /// Template of the sandbox that it comes from; empty for a volume.
    pub template: String,
}

impl Meta {
    fn text(&self) -> String {
        let Self { owner, shape, template } = self;
        format!("{FIRST_LINE}\nowner {owner}\nbytes {}\ninodes {}\ntemplate {template}\n", shape.bytes, shape.inodes)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.split_terminator('\n');
        let mut next = |key: &str| lines.next()?.strip_prefix(key)?.strip_prefix(' ');
        let version = next("caisson-disk")?;
        let owner = next("owner")?.parse().ok()?;
        let shape = Shape { bytes: next("bytes")?.parse().ok()?, inodes: next("inodes")?.parse().ok()? };
        let template = next("template")?.to_string();
        (version == "1" && text.ends_with('\n')).then_some(Self { owner, shape, template })
    }
}

/// One of the two folders.
#[derive(Clone)]
pub struct Store {
    path: PathBuf,
    /// For people: what is in it.
    kind: &'static str,
}

impl Store {
    /// Opens `state/NAME`, making it when it is not there, and removes what has no text.
    pub fn open(state: &Path, name: &str, kind: &'static str) -> Result<Self> {
        use std::os::unix::fs::DirBuilderExt;
        let store = Self { path: state.join(name), kind };
        let made = || format!("make {}", store.path.display());
        std::fs::DirBuilder::new().mode(0o700).recursive(true).create(&store.path).doing(made)?;
        sync_folder(state).doing(made)?;
        let _lock = store.lock()?;
        for id in store.names(".img")? {
            if !store.path.join(format!("{id}.meta")).exists() {
                let _ = std::fs::remove_file(store.path.join(format!("{id}.img")));
            }
        }
        Ok(store)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Held while names change.
    fn lock(&self) -> Result<File> {
        let path = self.path.join("lock");
        let lock = open_lock(&path).doing(|| format!("open {}", path.display()))?;
        rustix::fs::flock(&lock, FlockOperation::LockExclusive).doing(|| format!("lock {}", path.display()))?;
        Ok(lock)
    }

    fn names(&self, suffix: &str) -> Result<Vec<String>> {
        let entries = std::fs::read_dir(&self.path).doing(|| format!("read {}", self.path.display()))?;
        let names = entries.flatten().filter_map(|e| Some(e.file_name().to_str()?.strip_suffix(suffix)?.to_string()));
        Ok(names.filter(|id| request::disk_id(id).is_ok()).collect())
    }

    fn unknown(&self, id: &str) -> Error {
        Error::new(wire::ErrorKind::ErrorNotFound, format!("there is no {} {id}", self.kind))
    }

    /// Refuses a name that is taken.
    pub fn check_free(&self, id: &str) -> Result<()> {
        request::disk_id(id)?;
        if self.path.join(format!("{id}.meta")).exists() {
            return Err(self.exists(id));
        }
        Ok(())
    }

    fn exists(&self, id: &str) -> Error {
        Error::new(wire::ErrorKind::ErrorExists, format!("{} {id} exists", self.kind))
    }

    /// Names a complete image, for good: all of it is on the disk when this returns. Allocated bytes.
    pub fn publish(&self, id: &str, image: &OwnedFd, meta: &Meta) -> Result<u64> {
        let step = || format!("keep the {} {id}", self.kind);
        rustix::fs::fsync(image).doing(step).map_err(no_room)?;
        let text = unnamed(&self.path).doing(step)?;
        io::Write::write_all(&mut File::from(text.try_clone().doing(step)?), meta.text().as_bytes())
            .doing(step)
            .map_err(no_room)?;
        rustix::fs::fsync(&text).doing(step).map_err(no_room)?;
        let _lock = self.lock()?;
        self.check_free(id)?;
        let folder = open_folder(&self.path).doing(step)?;
        let name = |file: &OwnedFd, suffix: &str| -> io::Result<()> {
            sys::name_file(file.as_fd(), folder.as_fd(), &format!("{id}.{suffix}"))?;
            Ok(rustix::fs::fsync(&folder)?)
        };
        let named = name(image, "img").and_then(|()| name(&text, "meta"));
        if named.is_err() {
            for suffix in ["meta", "img"] {
                let _ = rustix::fs::unlinkat(&folder, format!("{id}.{suffix}"), AtFlags::empty());
            }
        }
        named.doing(step).map_err(no_room)?;
        Ok(allocated(image))
    }

    /// What is known of a disk that this user may touch.
    pub fn meta(&self, id: &str, uid: u32) -> Result<Meta> {
        request::disk_id(id)?;
        let mut text = String::new();
        let path = self.path.join(format!("{id}.meta"));
        let read = File::open(path).and_then(|f| f.take(MAX_META).read_to_string(&mut text));
        let meta = read.ok().and_then(|_| Meta::parse(&text));
        meta.filter(|m| uid == 0 || m.owner == uid).ok_or_else(|| self.unknown(id))
    }

    /// The image, to be copied or mounted.
    pub fn image(&self, id: &str, writable: bool) -> Result<OwnedFd> {
        let access = if writable { OFlags::RDWR } else { OFlags::RDONLY };
        let path = self.path.join(format!("{id}.img"));
        match rustix::fs::open(&path, access | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()) {
            Err(rustix::io::Errno::NOENT) => Err(self.unknown(id)),
            other => other.doing(|| format!("open {}", path.display())),
        }
    }

    /// Removes it.
    pub fn remove(&self, id: &str) -> Result<()> {
        let step = || format!("remove the {} {id}", self.kind);
        let _lock = self.lock()?;
        let folder = open_folder(&self.path).doing(step)?;
        rustix::fs::unlinkat(&folder, format!("{id}.meta"), AtFlags::empty()).map_err(|_| self.unknown(id))?;
        rustix::fs::fsync(&folder).doing(step)?;
        rustix::fs::unlinkat(&folder, format!("{id}.img"), AtFlags::empty()).doing(step)
    }

    /// All that this user may touch, by id.
    pub fn list(&self, uid: u32) -> Result<Vec<wire::Disk>> {
        let mut ids = self.names(".meta")?;
        ids.sort_unstable();
        let disk = |id: String| {
            let Meta { shape, template, .. } = self.meta(&id, uid).ok()?;
            let allocated_bytes = self.image(&id, false).ok().map_or(0, |image| allocated(&image));
            Some(wire::Disk { id, disk_bytes: shape.bytes, allocated_bytes, inodes: shape.inodes, template })
        };
        Ok(ids.into_iter().filter_map(disk).collect())
    }

    /// An unnamed file in the folder, with room on the host's disk for so much more.
    pub fn unnamed(&self, bytes: u64) -> Result<OwnedFd> {
        spare(&self.path, bytes)?;
        unnamed(&self.path).doing(|| format!("make a file in {}", self.path.display()))
    }
}

/// A file that is gone when nobody has it open, unless it gets a name.
pub fn unnamed(folder: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(folder, OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR)?)
}

/// Bytes that a file takes on the host's disk.
pub fn allocated(file: &OwnedFd) -> u64 {
    rustix::fs::fstat(file).map_or(0, |s| s.st_blocks as u64 * 512)
}

fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

fn sync_folder(path: &Path) -> io::Result<()> {
    Ok(rustix::fs::fsync(open_folder(path)?)?)
}

/// A host's disk that became full is a refusal of its own.
pub fn no_room(error: Error) -> Error {
    if !matches!(error.errno, libc::ENOSPC | libc::EDQUOT) {
        return error;
    }
    Error { kind: wire::ErrorKind::ErrorNoCapacity, ..error }.remedy("make room on the disk of the state folder")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(name: &str) -> (PathBuf, Store) {
        let state = std::env::temp_dir().join(format!("caisson-store-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&state);
        std::fs::create_dir_all(&state).unwrap();
        let store = Store::open(&state, "snapshots", "snapshot").unwrap();
        (state, store)
    }

    fn meta(owner: u32) -> Meta {
        Meta { owner, shape: Shape { bytes: 1 << 30, inodes: 4096 }, template: "host".into() }
    }

    const ID: &str = "sn00000000000000000001";

    #[test]
    fn what_is_named_is_listed_for_its_owner_and_root_and_goes_when_removed() {
        let (state, store) = store("owner");
        store.publish(ID, &unnamed(store.path()).unwrap(), &meta(1000)).unwrap();
        assert_eq!(store.meta(ID, 1000).unwrap(), meta(1000));
        assert_eq!(store.list(1000).unwrap().len(), 1);
        assert_eq!(store.list(0).unwrap().len(), 1);
        assert!(store.list(1001).unwrap().is_empty());
        assert_eq!(store.meta(ID, 1001).unwrap_err().kind, wire::ErrorKind::ErrorNotFound);
        let again = store.publish(ID, &unnamed(store.path()).unwrap(), &meta(0)).unwrap_err();
        assert_eq!(again.kind, wire::ErrorKind::ErrorExists);
        store.remove(ID).unwrap();
        assert!(store.list(0).unwrap().is_empty() && store.image(ID, false).is_err());
        std::fs::remove_dir_all(state).unwrap();
    }

    #[test]
    fn what_is_cut_off_is_not_listed_and_the_next_start_removes_it() {
        let (state, store) = store("cut");
        std::fs::write(store.path().join(format!("{ID}.img")), "x").unwrap();
        assert!(store.list(0).unwrap().is_empty());
        Store::open(&state, "snapshots", "snapshot").unwrap();
        assert!(!store.path().join(format!("{ID}.img")).exists());
        for text in ["", "caisson-disk 1\nowner 0\n", "caisson-disk 2\nowner 0\nbytes 1\ninodes 1\ntemplate host\n"] {
            std::fs::write(store.path().join(format!("{ID}.meta")), text).unwrap();
            assert!(store.meta(ID, 0).is_err(), "{text:?}");
        }
        let whole = meta(0).text();
        assert!((0..whole.len()).all(|end| Meta::parse(&whole[..end]).is_none()));
        assert_eq!(Meta::parse(&whole), Some(meta(0)));
        std::fs::remove_dir_all(state).unwrap();
    }
}
