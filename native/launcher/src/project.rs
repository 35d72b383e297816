//! The writable layer where the state folder is on an ext4 with project quotas (mounted with `prjquota`): a folder whose
//! project has a limit of bytes and inodes. No image, no loop device, no second file system. Not on xfs: it counts space that
//! it reserves ahead of a growing file, so that a disk with room looks full to whoever observes it.
//!
//! A folder is a name, so unlike an image it outlives a crash. Each launcher keeps its folders in `state/project/NAME`
//! beside a lock that it holds while it lives; the next start takes the locks of the dead and removes what they left.
//!
//! The project's id is the first host id of the sandbox's range, which no other live sandbox has. A project that is in use
//! already, by whomever, is left alone: that sandbox gets an image. Project ids can be changed from the first user
//! namespace only, so nobody inside leaves the project, and nobody there has the CAP_SYS_RESOURCE that ext4 lets pass.

use crate::blank::plant;
use crate::disk::Shape;
use crate::error::{Doing, Result};
use crate::ids::open_lock;
use crate::sys;
use crate::upgrade::{LauncherState, Legacy};
use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::CString;
use std::fs::{File, Permissions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const FS_IOC_FSGETXATTR: u64 = 0x801c_581f;
const FS_IOC_FSSETXATTR: u64 = 0x401c_5820;
const FS_XFLAG_PROJINHERIT: u32 = 0x200;
const SYS_QUOTACTL_FD: libc::c_long = 443;
/// `EXT4_SUPER_MAGIC` of linux/magic.h.
const EXT4: rustix::fs::FsWord = 0xef53;
const Q_GETQUOTA: u32 = 0x80_0007;
const Q_SETQUOTA: u32 = 0x80_0008;
const PRJQUOTA: u32 = 2;
const QIF_LIMITS: u32 = 5;
/// Just below the ranges of host ids: to find out whether quotas hold.
const PROBE: u32 = 0x6fff_ffff;
/// How long the last files may stay open in mounts that are on their way out.
const PATIENCE: Duration = Duration::from_secs(2);
/// Entries of a folder looked at in one go.
const BATCH: usize = 1024;

/// `struct fsxattr` of linux/fs.h.
#[repr(C)]
#[derive(Default)]
struct FsXattr {
    flags: u32,
    extent_size: u32,
    extents: u32,
    project: u32,
    cow_extent_size: u32,
    padding: [u8; 8],
}

/// `struct if_dqblk` of linux/quota.h; limits of space are in KiB.
#[repr(C)]
#[derive(Default)]
struct Quota {
    space_hard: u64,
    space_soft: u64,
    space: u64,
    inodes_hard: u64,
    inodes_soft: u64,
    inodes: u64,
    space_time: u64,
    inodes_time: u64,
    valid: u32,
}

/// Makes folders with limits.
pub struct Projects {
    path: PathBuf,
    folder: OwnedFd,
    lock: File,
}

/// A sandbox's folder. Dropping it removes it too, without a word.
pub struct Folder {
    parent: OwnedFd,
    name: String,
    removed: bool,
}

impl Projects {
    /// Removes what dead launchers left in `state`; `None` where it has no project quotas.
    pub fn open(state: &Path) -> Result<Option<Self>> {
        let all = state.join("project");
        // What is in it belongs to sandboxes, with the modes that they give it: no user of the host may get there.
        std::fs::DirBuilder::new()
            .mode(0o700)
            .recursive(true)
            .create(&all)
            .and_then(|()| std::fs::set_permissions(&all, Permissions::from_mode(0o700)))
            .doing(|| format!("make {}", all.display()))?;
        // One launcher at a time looks for the dead.
        let path = all.join("lock");
        let guard = open_lock(&path).doing(|| format!("open {}", path.display()))?;
        rustix::fs::flock(&guard, FlockOperation::LockExclusive).doing(|| format!("lock {}", path.display()))?;
        clear_dead(&all);
        let stamp = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_nanos());
        let path = all.join(format!("{}-{stamp}", std::process::id()));
        std::fs::DirBuilder::new().mode(0o700).create(&path).doing(|| format!("make {}", path.display()))?;
        let lock = open_lock(&path.join("lock")).doing(|| "make the lock of the projects".into())?;
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .doing(|| "take the lock of the projects".into())?;
        let folder = open_folder(rustix::fs::CWD, &path).doing(|| format!("open {}", path.display()))?;
        let projects = Self { path, folder, lock };
        Ok(projects.hold().then_some(projects))
    }

    /// Names this launcher's folder for the one that comes after.
    pub fn hand_on(&self, state: &mut LauncherState) {
        state.projects = self.path.to_string_lossy().into_owned();
        state.projects_lock = self.lock.as_raw_fd();
    }

    /// Takes over the folder of the launcher before, if it had one.
    pub fn resume(legacy: &mut Legacy) -> Result<Option<Self>> {
        if legacy.state.projects.is_empty() {
            return Ok(None);
        }
        let path = PathBuf::from(&legacy.state.projects);
        let folder = open_folder(rustix::fs::CWD, &path).doing(|| format!("open {}", path.display()))?;
        let lock = legacy.heirs.take(legacy.state.projects_lock)?.into();
        Ok(Some(Self { path, folder, lock }))
    }

    /// The folder of a sandbox that lives already.
    pub fn living(&self, name: &str) -> Result<Folder> {
        let parent = rustix::io::fcntl_dupfd_cloexec(&self.folder, 3).doing(|| "copy a descriptor".into())?;
        Ok(Folder { parent, name: name.into(), removed: false })
    }

    /// Whether a limit that was set is also shown: a file system can count without limiting.
    fn hold(&self) -> bool {
        if !rustix::fs::fstatfs(&self.folder).is_ok_and(|s| s.f_type == EXT4) {
            return false;
        }
        let shape = Shape { bytes: 64 << 20, inodes: 4096 };
        let Ok(Some(folder)) = self.limited("probe", PROBE, shape) else { return false };
        let shown = open_folder(folder.parent.as_fd(), "probe").and_then(|f| Ok(rustix::fs::fstatvfs(&f)?));
        shown.is_ok_and(|s| s.f_blocks * s.f_frsize == shape.bytes && s.f_files == shape.inodes)
    }

    /// A mounted folder, as `disk.rs` has it; `None` when the project is in use already.
    pub fn make(&self, name: &str, project: u32, shape: Shape) -> io::Result<Option<(OwnedFd, Folder)>> {
        let Some(folder) = self.limited(name, project, shape)? else { return Ok(None) };
        let path = self.path.join(name);
        plant(&path)?;
        let flags = libc::OPEN_TREE_CLONE | libc::OPEN_TREE_CLOEXEC;
        let mount = sys::open_tree(sys::cwd(), &CString::new(path.as_os_str().as_encoded_bytes())?, flags)?;
        let attr =
            sys::MountAttr { set: sys::ATTR_NOSUID | sys::ATTR_NODEV, clear: sys::ATTR_NOEXEC, ..Default::default() };
        sys::mount_setattr(mount.as_fd(), false, &attr)?;
        Ok(Some((mount, folder)))
    }

    fn limited(&self, name: &str, project: u32, shape: Shape) -> io::Result<Option<Folder>> {
        if is_used(self.folder.as_fd(), project)? {
            return Ok(None);
        }
        rustix::fs::mkdirat(&self.folder, name, Mode::from_raw_mode(0o755))?;
        let parent = rustix::io::fcntl_dupfd_cloexec(&self.folder, 3)?;
        let made = Folder { parent, name: name.into(), removed: false };
        let folder = open_folder(self.folder.as_fd(), name)?;
        let mut attributes = attributes(folder.as_fd())?;
        attributes.project = project;
        attributes.flags |= FS_XFLAG_PROJINHERIT;
        // SAFETY: FsXattr has the layout of struct fsxattr.
        unsafe { sys::ioctl_struct(folder.as_fd(), FS_IOC_FSSETXATTR, &mut attributes)? };
        limit(folder.as_fd(), project, shape)?;
        Ok(Some(made))
    }
}

impl Drop for Projects {
    fn drop(&mut self) {
        remove_instance(&self.path);
    }
}

impl Folder {
    /// The folder itself, whose owners no mount maps.
    pub fn open(&self) -> io::Result<OwnedFd> {
        open_folder(self.parent.as_fd(), &self.name)
    }

    /// Removes it with all that is in it, and its limit. Fails while somebody still holds a file of it.
    pub fn remove(mut self) -> io::Result<()> {
        self.removed = true;
        remove_project(self.parent.as_fd(), &self.name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.removed {
            let _ = remove_project(self.parent.as_fd(), &self.name);
        }
    }
}

fn open_folder(at: impl AsFd, path: impl rustix::path::Arg) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(at, path, flags, Mode::empty())?)
}

fn attributes(folder: BorrowedFd<'_>) -> io::Result<FsXattr> {
    let mut attributes = FsXattr::default();
    // SAFETY: FsXattr has the layout of struct fsxattr.
    unsafe { sys::ioctl_struct(folder, FS_IOC_FSGETXATTR, &mut attributes)? };
    Ok(attributes)
}

fn quotactl(at: BorrowedFd<'_>, command: u32, project: u32, quota: &mut Quota) -> io::Result<()> {
    let command = command << 8 | PRJQUOTA;
    // SAFETY: Quota has the layout of struct if_dqblk, which both commands take.
    if unsafe { libc::syscall(SYS_QUOTACTL_FD, at.as_raw_fd(), command, project, std::ptr::from_mut(quota)) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn is_used(at: BorrowedFd<'_>, project: u32) -> io::Result<bool> {
    let mut quota = Quota::default();
    match quotactl(at, Q_GETQUOTA, project, &mut quota) {
        Ok(()) => Ok(quota.space > 0 || quota.inodes > 0),
        // Nobody has ever used it.
        Err(e) if e.raw_os_error() == Some(libc::ENOENT) => Ok(false),
        Err(e) => Err(e),
    }
}

/// Zero means no limit.
fn limit(at: BorrowedFd<'_>, project: u32, shape: Shape) -> io::Result<()> {
    let mut quota =
        Quota { space_hard: shape.bytes / 1024, inodes_hard: shape.inodes, valid: QIF_LIMITS, ..Default::default() };
    quotactl(at, Q_SETQUOTA, project, &mut quota)
}

fn clear_dead(all: &Path) {
    let Ok(entries) = std::fs::read_dir(all) else { return };
    for path in entries.flatten().map(|e| e.path()).filter(|p| p.is_dir()) {
        let Some(_lock) = crate::journal::lock_of_dead(&path) else { continue };
        if let (Ok(folder), Ok(names)) = (open_folder(rustix::fs::CWD, &path), std::fs::read_dir(&path)) {
            for name in names.flatten().map(|e| e.file_name()) {
                // What holds out is tried again at the next start.
                let _ = name.to_str().map(|name| remove_project(folder.as_fd(), name));
            }
        }
        remove_instance(&path);
    }
}

/// Removes a launcher's folder when nothing is left in it. The lock goes last, so that no folder is ever without.
fn remove_instance(path: &Path) {
    let empty = std::fs::read_dir(path).is_ok_and(|names| names.flatten().all(|e| e.file_name() == "lock"));
    if empty {
        let _ = std::fs::remove_file(path.join("lock"));
        let _ = std::fs::remove_dir(path);
    }
}

fn remove_project(parent: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    let folder = match open_folder(parent, name) {
        Ok(folder) => folder,
        Err(e) if matches!(e.raw_os_error(), Some(libc::ENOENT | libc::ENOTDIR)) => return Ok(()),
        Err(e) => return Err(e),
    };
    let project = attributes(folder.as_fd()).map_or(0, |a| a.project);
    empty(folder.as_fd())?;
    drop(folder);
    rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR)?;
    if project == 0 {
        return Ok(());
    }
    let deadline = Instant::now() + PATIENCE;
    while is_used(parent, project)? {
        // Without a limit whoever holds a file could write on for ever.
        if Instant::now() > deadline {
            return Err(io::Error::from_raw_os_error(libc::EBUSY));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    limit(parent, project, Shape { bytes: 0, inodes: 0 })
}

/// Removes everything in `top`. Folders are not walked down but moved up to `top`, so that no tree is too deep, and no path
/// has more than one component; links are never followed.
pub fn empty(top: BorrowedFd<'_>) -> io::Result<()> {
    let mut number = 0u64;
    loop {
        let entries = some_entries(top)?;
        if entries.is_empty() {
            return Ok(());
        }
        for (name, kind) in entries {
            if kind != FileType::Directory {
                rustix::fs::unlinkat(top, &name, AtFlags::empty())?;
                continue;
            }
            let folder = open_folder(top, &name)?;
            raise(folder.as_fd(), top, &mut number)?;
            rustix::fs::unlinkat(top, &name, AtFlags::REMOVEDIR)?;
        }
    }
}

/// Empties one folder: its own folders go to `top` under new names.
fn raise(folder: BorrowedFd<'_>, top: BorrowedFd<'_>, number: &mut u64) -> io::Result<()> {
    loop {
        let entries = some_entries(folder)?;
        if entries.is_empty() {
            return Ok(());
        }
        for (name, kind) in entries {
            if kind != FileType::Directory {
                rustix::fs::unlinkat(folder, &name, AtFlags::empty())?;
                continue;
            }
            loop {
                *number += 1;
                match rustix::fs::renameat(folder, &name, top, format!("raised-{number}")) {
                    // The name is taken.
                    Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
                    other => break other?,
                }
            }
        }
    }
}

fn some_entries(folder: BorrowedFd<'_>) -> io::Result<Vec<(CString, FileType)>> {
    let mut entries = Vec::new();
    for entry in rustix::fs::Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => {
                let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
                FileType::from_raw_mode(stat.st_mode)
            }
            known => known,
        };
        entries.push((name.to_owned(), kind));
        if entries.len() == BATCH {
            break;
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_else_gets_to_the_folders_of_sandboxes() {
        let state = std::env::temp_dir().join(format!("caisson-projects-{}", std::process::id()));
        // As a launcher of earlier left it.
        std::fs::create_dir_all(state.join("project")).unwrap();
        std::fs::set_permissions(state.join("project"), Permissions::from_mode(0o755)).unwrap();
        let projects = Projects::open(&state).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&state.join("project")), 0o700);
        if let Some(projects) = &projects {
            assert_eq!(mode(&projects.path), 0o700);
        }
        drop(projects);
        std::fs::remove_dir_all(&state).unwrap();
    }

    #[test]
    fn removes_trees_that_are_too_deep_for_any_path_and_follows_no_link() {
        let base = std::env::temp_dir().join(format!("caisson-project-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&base);
        std::fs::create_dir_all(base.join("top/raised-1/x")).unwrap();
        std::fs::create_dir(base.join("kept")).unwrap();
        std::fs::write(base.join("kept/file"), "kept").unwrap();
        let mut at = open_folder(rustix::fs::CWD, base.join("top")).unwrap();
        for _ in 0..3000 {
            rustix::fs::symlinkat(base.join("kept"), &at, "link").unwrap();
            rustix::fs::mkdirat(&at, "..deep\n", Mode::from_raw_mode(0o000)).unwrap();
            rustix::fs::mkdirat(&at, "empty", Mode::from_raw_mode(0o700)).unwrap();
            at = open_folder(&at, "..deep\n").unwrap();
        }
        drop(at);
        let parent = open_folder(rustix::fs::CWD, &base).unwrap();
        empty(open_folder(&parent, "top").unwrap().as_fd()).unwrap();
        std::fs::remove_dir(base.join("top")).unwrap();
        assert_eq!(std::fs::read_to_string(base.join("kept/file")).unwrap(), "kept");
        std::fs::remove_dir_all(&base).unwrap();
    }
}
