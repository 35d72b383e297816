//! Resolves paths of clients. No link is followed, no folder of the kernel's own file systems is entered, whatever user
//! processes change meanwhile.

use crate::error::{Refusal, shown};
use caisson_wire::agent::ErrorKind;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, ResolveFlags, Uid, openat2};
use rustix::io::Errno;

const MAX_PATH: usize = 4096;
/// proc, sysfs, cgroup, cgroup2, devpts, debugfs, tracefs, bpf, securityfs.
const KERNEL_FILE_SYSTEMS: [u32; 9] =
    [0x9fa0, 0x6265_6572, 0x0027_e0eb, 0x6367_7270, 0x1cd1, 0x6462_6720, 0x7472_6163, 0xcafe_4a11, 0x7363_6673];
const RESOLVE: ResolveFlags = ResolveFlags::IN_ROOT.union(ResolveFlags::NO_MAGICLINKS).union(ResolveFlags::NO_SYMLINKS);

/// An absolute path of a client: its components, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SafePath(Vec<Vec<u8>>);

impl SafePath {
    /// Refuses what is relative, has `..` or NUL, or lies on /proc, /sys or /dev.
    pub fn parse(path: &[u8]) -> Result<Self, Refusal> {
        let refuse = |what: &str| Err(Refusal::invalid(format!("path {} {what}", shown(path))));
        if !path.starts_with(b"/") {
            return refuse("is not absolute");
        }
        if path.len() > MAX_PATH || path.contains(&0) {
            return refuse("is too long or has a NUL");
        }
        let parts: Vec<Vec<u8>> =
            path.split(|b| *b == b'/').filter(|part| !part.is_empty() && *part != b".").map(<[u8]>::to_vec).collect();
        if parts.iter().any(|part| part == b"..") {
            return refuse("has a `..`");
        }
        if parts.first().is_some_and(|first| [&b"proc"[..], b"sys", b"dev"].contains(&first.as_slice())) {
            let message = format!("path {} lies on a file system of the kernel", shown(path));
            return Err(Refusal::new(ErrorKind::ErrorPermission, message));
        }
        Ok(Self(parts))
    }

    /// The folder and the name in it; refuses `/`.
    pub fn split(&self) -> Result<(Self, &[u8]), Refusal> {
        let Some((name, parents)) = self.0.split_last() else {
            return Err(Refusal::invalid("the root folder cannot be replaced, moved or removed"));
        };
        Ok((Self(parents.to_vec()), name))
    }

    /// For messages.
    pub fn to_bytes(&self) -> Vec<u8> {
        [b"/", self.0.join(&b'/').as_slice()].concat()
    }

    /// Opens it without following links.
    pub fn open(&self, flags: OFlags) -> Result<OwnedFd, Refusal> {
        let fd = root().and_then(|root| open_beneath(&root, &self.relative(), flags));
        let fd = fd.map_err(|errno| Refusal::path("open", &self.to_bytes(), errno))?;
        if is_kernel_file_system(&fd) {
            let message = format!("path {} lies on a file system of the kernel", shown(&self.to_bytes()));
            return Err(Refusal::new(ErrorKind::ErrorPermission, message));
        }
        Ok(fd)
    }

    /// Opens it as a folder, and makes it and its parents when asked.
    pub fn open_folder(&self, make: Option<Owner>) -> Result<OwnedFd, Refusal> {
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        match (self.open(flags), make) {
            (Err(refusal), Some(owner)) if refusal.kind() == ErrorKind::ErrorNotFound => {
                self.make_all(owner).map_err(|errno| Refusal::path("make", &self.to_bytes(), errno))?;
                self.open(flags)
            }
            (result, _) => result,
        }
    }

    fn make_all(&self, owner: Owner) -> Result<(), Errno> {
        let mut folder = root()?;
        for part in &self.0 {
            let next = match open_beneath(&folder, part, OFlags::PATH | OFlags::DIRECTORY) {
                Err(Errno::NOENT) => make_folder(&folder, part, 0o755, owner)?,
                other => other?,
            };
            if is_kernel_file_system(&next) {
                return Err(Errno::PERM);
            }
            folder = next;
        }
        Ok(())
    }

    fn relative(&self) -> Vec<u8> {
        if self.0.is_empty() { b".".to_vec() } else { self.0.join(&b'/') }
    }
}

/// Whom new files and folders belong to.
#[derive(Clone, Copy, Debug)]
pub struct Owner {
    /// uid inside
    pub uid: u32,
    /// gid inside
    pub gid: u32,
}

impl Owner {
    /// Gives `fd` (which may be an O_PATH one) to the owner.
    pub fn take(self, fd: impl AsFd) -> Result<(), Errno> {
        rustix::fs::chownat(fd, "", Some(Uid::from_raw(self.uid)), Some(Gid::from_raw(self.gid)), AtFlags::EMPTY_PATH)
    }
}

/// Makes one folder in `folder`. Fails with EXIST when something has the name.
pub fn make_folder(folder: &OwnedFd, name: &[u8], mode: u32, owner: Owner) -> Result<OwnedFd, Errno> {
    rustix::fs::mkdirat(folder, name, Mode::from_raw_mode(mode & 0o777))?;
    let made = open_beneath(folder, name, OFlags::PATH | OFlags::DIRECTORY)?;
    // Only what the agent made is given away: a user process may have put another folder in its place.
    if rustix::fs::fstat(&made)?.st_uid == rustix::process::geteuid().as_raw() {
        owner.take(&made)?;
    }
    Ok(made)
}

/// Opens `name` in `folder` without following links.
pub fn open_beneath(folder: impl AsFd, name: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    // openat2 refuses O_PATH together with flags that mean nothing for it.
    let flags = if flags.contains(OFlags::PATH) { flags } else { flags | OFlags::NOCTTY };
    loop {
        // AGAIN: a rename raced with the walk; the kernel asks to try once more.
        match openat2(&folder, name, flags, Mode::empty(), RESOLVE) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            other => return other,
        }
    }
}

/// True for file systems whose files are the kernel's own.
pub fn is_kernel_file_system(fd: impl AsFd) -> bool {
    // What cannot be asked is refused.
    rustix::fs::fstatfs(fd).map_or(true, |fs| KERNEL_FILE_SYSTEMS.contains(&(fs.f_type as u32)))
}

fn root() -> Result<OwnedFd, Errno> {
    rustix::fs::openat(CWD, "/", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_taken_apart_and_bad_ones_refused() {
        let path = SafePath::parse(b"//work/./a//b/").unwrap();
        assert_eq!(path.to_bytes(), b"/work/a/b");
        let (parent, name) = path.split().unwrap();
        assert_eq!((parent.to_bytes(), name), (b"/work/a".to_vec(), &b"b"[..]));
        assert!(SafePath::parse(b"/").unwrap().split().is_err());
        for bad in [&b"work"[..], b"", b"/a/../b", b"/a\0b", b"/proc/1/mem", b"/./sys/x", b"//dev"] {
            assert!(SafePath::parse(bad).is_err(), "{}", shown(bad));
        }
    }
}
