//! Blank images: what every disk that is an image begins as, made once per shape by `mke2fs` and kept in the state folder, which all
//! launchers of that folder share. The last used ones stay. To remove one takes its name away only: who copies it goes on.

use crate::disk::{OPTIONS, Shape, mke2fs, path_of};
use crate::error::{Doing, Result};
use crate::ids::open_lock;
use crate::store::unnamed;
use crate::sys;
use rustix::fs::{FlockOperation, Mode, OFlags, Timespec, Timestamps, UTIME_NOW};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Changes when the layout of a blank does.
const LAYOUT: u32 = 1;
/// Blanks that stay, each of about 650 KiB.
const KEPT: usize = 16;
const PREFIX: &str = "blank-";

/// The folder of the blanks.
#[derive(Clone)]
pub struct Blanks {
    folder: PathBuf,
}

impl Blanks {
    /// Keeps them in this folder.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.into() }
    }

    fn path(&self, shape: Shape) -> PathBuf {
        self.folder.join(format!("{PREFIX}v{LAYOUT}-{}-{}.img", shape.bytes, shape.inodes))
    }

    /// The blank of this shape when it is there; waits for nothing.
    pub fn find(&self, shape: Shape) -> Result<Option<OwnedFd>> {
        let path = self.path(shape);
        let blank = match rustix::fs::open(&path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(None),
            other => other.doing(|| format!("open the blank disk {}", path.display()))?,
        };
        // Last used now.
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let _ = rustix::fs::futimens(&blank, &Timestamps { last_access: now, last_modification: now });
        Ok(Some(blank))
    }

    /// The blank of this shape, made when it is not there. That runs `mke2fs`, one at a time: not for the launcher's loop.
    pub fn get(&self, shape: Shape) -> Result<OwnedFd> {
        if let Some(blank) = self.find(shape)? {
            return Ok(blank);
        }
        let path = self.folder.join("lock");
        let lock = open_lock(&path).doing(|| format!("open {}", path.display()))?;
        rustix::fs::flock(&lock, FlockOperation::LockExclusive).doing(|| format!("lock {}", path.display()))?;
        match self.find(shape)? {
            Some(blank) => Ok(blank),
            None => self.make(shape),
        }
    }

    fn make(&self, shape: Shape) -> Result<OwnedFd> {
        let (tree, path) = (self.folder.join("tree"), self.path(shape));
        plant(&tree).doing(|| format!("make {}", tree.display()))?;
        let step = || format!("make the blank disk {}", path.display());
        let image = unnamed(&self.folder).doing(step)?;
        rustix::fs::ftruncate(&image, shape.bytes).doing(step)?;
        mke2fs(shape, Path::new(&path_of(&image)), &OPTIONS, Some(&tree))?;
        // After a crash of the machine, what has a name is whole.
        rustix::fs::fsync(&image).doing(step)?;
        match sys::name_file(image.as_fd(), rustix::fs::CWD, &path.to_string_lossy()) {
            // A launcher of an earlier version takes no lock.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            other => other.doing(step)?,
        }
        self.forget_oldest().doing(|| "remove blank disks".into())?;
        Ok(image)
    }

    fn forget_oldest(&self) -> io::Result<()> {
        let mut blanks = Vec::new();
        for entry in std::fs::read_dir(&self.folder)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(PREFIX) {
                blanks.push((entry.metadata()?.modified()?, entry.path()));
            }
        }
        blanks.sort_unstable();
        let many = blanks.len().saturating_sub(KEPT);
        blanks.iter().take(many).try_for_each(|(_, path)| std::fs::remove_file(path))
    }
}

/// What every disk starts with. Owners are ids as seen inside; the mount maps them.
pub fn plant(tree: &Path) -> io::Result<()> {
    use std::os::unix::fs::{PermissionsExt, chown};
    for (path, owner, mode) in [
        ("", 0, 0o755),
        ("u", 0, 0o755),
        ("w", 0, 0o700),
        ("u/work", 1000, 0o755),
        ("u/home", 0, 0o755),
        ("u/home/sandbox", 1000, 0o700),
    ] {
        let path = tree.join(path);
        std::fs::create_dir_all(&path)?;
        chown(&path, Some(owner), Some(owner))?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(number: u64) -> Shape {
        Shape { bytes: (4 << 20) + 4096 * number, inodes: 256 }
    }

    fn names(folder: &Path) -> usize {
        let all = std::fs::read_dir(folder).unwrap().flatten();
        all.filter(|e| e.file_name().to_string_lossy().starts_with(PREFIX)).count()
    }

    /// The magic number of an ext4.
    fn is_whole(blank: &OwnedFd) -> bool {
        let mut magic = [0; 2];
        rustix::io::pread(blank, &mut magic[..], 1024 + 56).unwrap();
        u16::from_le_bytes(magic) == 0xef53
    }

    #[test]
    fn the_last_used_blanks_stay_and_whoever_has_one_keeps_it() {
        let test = "the_last_used_blanks_stay_and_whoever_has_one_keeps_it";
        if !rustix::process::geteuid().is_root() || !Path::new("/usr/sbin/mke2fs").exists() {
            println!("SKIPPED {test}: needs root and mke2fs");
            return;
        }
        let folder = std::env::temp_dir().join(format!("caisson-blank-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let blanks = Blanks::new(&folder);
        let first = blanks.get(shape(0)).unwrap();
        let copied = blanks.get(shape(1)).unwrap();
        for number in 2..KEPT as u64 + 4 {
            blanks.get(shape(number)).unwrap();
            assert!(blanks.find(shape(0)).unwrap().is_some(), "used again and again");
        }
        assert_eq!(names(&folder), KEPT);
        assert!(blanks.find(shape(1)).unwrap().is_none() && is_whole(&copied) && is_whole(&first));
        assert!(is_whole(&blanks.get(shape(1)).unwrap()), "it is made again");
        assert_eq!(names(&folder), KEPT);
        let left = std::fs::read_dir(&folder).unwrap().count();
        assert_eq!(left, KEPT + 2, "besides them the lock and the tree");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
