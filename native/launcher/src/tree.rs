//! Copies a tree of files that nobody changes meanwhile, but that a sandbox made: no link is followed, no name is part of a
//! path, and no depth is too deep for a path. Owners, modes, times, attributes, holes and hard links stay as they are.
//!
//! Nor does a sandbox decide how much memory that takes. Of each open folder only a few names are held, since its descriptor
//! knows where to go on. Files with several names are found again in a folder of the copy, not in a table.

use crate::disk::copy_data;
use crate::project;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, Stat, XattrFlags};
use rustix::io::Errno;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Folders within folders: each takes two descriptors while it is copied.
const DEEPEST: usize = 16_384;
/// Longest list of names and longest value of extended attributes in Linux.
const XATTR_BYTES: usize = 64 << 10;
/// Folder in which files with several names are found again, each under its old inode; removed at the end.
const LINKS: &str = "links";
/// Bytes of names that are read at once, in the first folders of a path and in those beneath: together a few MiB, and at most
/// about 40 with `DEEPEST` folders open.
const WIDE: usize = 32 << 10;
const NARROW: usize = 1 << 10;
const WIDE_LEVELS: usize = 32;

struct Level {
    from: OwnedFd,
    to: OwnedFd,
    stat: Stat,
    /// Names that were read and are still to be copied.
    names: std::vec::IntoIter<CString>,
}

/// Copies the content and the attributes of the folder `from` to the empty folder `to`; `scratch` is another on the same file
/// system.
pub fn copy(from: OwnedFd, to: OwnedFd, scratch: BorrowedFd<'_>) -> io::Result<()> {
    rustix::fs::mkdirat(scratch, LINKS, Mode::RWXU)?;
    let links = open_folder(scratch, LINKS)?;
    walk(from, to, links.as_fd())?;
    // Those that have names elsewhere as well.
    project::empty(links.as_fd())?;
    Ok(rustix::fs::unlinkat(scratch, LINKS, AtFlags::REMOVEDIR)?)
}

/// How many names were held at most.
fn walk(from: OwnedFd, to: OwnedFd, links: BorrowedFd<'_>) -> io::Result<usize> {
    let (mut held, mut most) = (0, 0);
    let mut levels = vec![Level::new(from, to)?];
    loop {
        let room = if levels.len() > WIDE_LEVELS { NARROW } else { WIDE };
        let Some(level) = levels.last_mut() else { return Ok(most) };
        if level.names.len() == 0 {
            held += level.read(room)?;
            most = most.max(held);
        }
        let Some(name) = level.names.next() else {
            attributes(&level.from, &level.to, &level.stat)?;
            levels.pop();
            continue;
        };
        held -= 1;
        let stat = rustix::fs::statat(&level.from, &name, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            entry(level, &name, &stat, links)?;
            continue;
        }
        rustix::fs::mkdirat(&level.to, &name, Mode::RWXU)?;
        let next = Level::new(open_folder(&level.from, &name)?, open_folder(&level.to, &name)?)?;
        if levels.len() >= DEEPEST {
            return Err(io::Error::from_raw_os_error(libc::ELOOP));
        }
        levels.push(next);
    }
}

impl Level {
    fn new(from: OwnedFd, to: OwnedFd) -> io::Result<Self> {
        let stat = rustix::fs::fstat(&from)?;
        Ok(Self { from, to, stat, names: Vec::new().into_iter() })
    }

    /// Reads on in the folder, as much as `room` takes; how many names that were, none at its end.
    fn read(&mut self, room: usize) -> io::Result<usize> {
        let mut buffer = Vec::with_capacity(room);
        let mut entries = RawDir::new(&self.from, buffer.spare_capacity_mut());
        let mut names = Vec::new();
        while let Some(entry) = entries.next() {
            let entry = entry?;
            if ![c".", c".."].contains(&entry.file_name()) {
                names.push(entry.file_name().to_owned());
            }
            if entries.is_buffer_empty() && !names.is_empty() {
                break;
            }
        }
        self.names = names.into_iter();
        Ok(self.names.len())
    }
}

/// Gives what was copied already another name; false when it was not.
fn link(stat: &Stat, links: BorrowedFd<'_>, to: &OwnedFd, name: &CString) -> io::Result<bool> {
    let known = stat.st_ino.to_string();
    let copied = match rustix::fs::statat(links, &known, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(false),
        other => other?,
    };
    // Its name in `links` counts as well. The last one becomes the file's own: there may be no room for more.
    if copied.st_nlink >= stat.st_nlink {
        rustix::fs::renameat(links, known, to, name)?;
    } else {
        rustix::fs::linkat(links, known, to, name, AtFlags::empty())?;
    }
    Ok(true)
}

/// Copies what is no folder.
fn entry(level: &Level, name: &CString, stat: &Stat, links: BorrowedFd<'_>) -> io::Result<()> {
    let (from, to) = (&level.from, &level.to);
    let kind = FileType::from_raw_mode(stat.st_mode);
    if stat.st_nlink > 1 && link(stat, links, to, name)? {
        return Ok(());
    }
    let mode = Mode::from_raw_mode(stat.st_mode & 0o7777);
    match kind {
        FileType::RegularFile => {
            let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let source = rustix::fs::openat(from, name, flags | OFlags::RDONLY, Mode::empty())?;
            let create = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY;
            let target = rustix::fs::openat(to, name, flags | create, Mode::RUSR | Mode::WUSR)?;
            copy_data(&source, &target)?;
            attributes(&source, &target, stat)?;
        }
        FileType::Symlink => {
            let target = rustix::fs::readlinkat(from, name, Vec::new())?;
            rustix::fs::symlinkat(&target, to, name)?;
            own_and_date(to.as_fd(), name, stat)?;
        }
        // Of devices only the whiteouts of an overlay can be there.
        FileType::CharacterDevice if stat.st_rdev != 0 => return Err(io::Error::from_raw_os_error(libc::EPERM)),
        FileType::BlockDevice => return Err(io::Error::from_raw_os_error(libc::EPERM)),
        _ => {
            rustix::fs::mknodat(to, name, kind, mode, 0)?;
            own_and_date(to.as_fd(), name, stat)?;
            rustix::fs::chmodat(to, name, mode, AtFlags::empty())?;
        }
    }
    if stat.st_nlink > 1 {
        rustix::fs::linkat(to, name, links, stat.st_ino.to_string(), AtFlags::empty())?;
    }
    Ok(())
}

fn own_and_date(at: BorrowedFd<'_>, name: &CString, stat: &Stat) -> io::Result<()> {
    use rustix::fs::{Gid, Uid};
    let (uid, gid) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
    rustix::fs::chownat(at, name, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(rustix::fs::utimensat(at, name, &times(stat), AtFlags::SYMLINK_NOFOLLOW)?)
}

fn times(stat: &Stat) -> rustix::fs::Timestamps {
    let at = |seconds: i64, nanos: u32| rustix::fs::Timespec { tv_sec: seconds, tv_nsec: nanos.into() };
    rustix::fs::Timestamps {
        last_access: at(stat.st_atime, stat.st_atime_nsec as _),
        last_modification: at(stat.st_mtime, stat.st_mtime_nsec as _),
    }
}

/// Owner, mode, extended attributes and times of a file or folder; the owner first, for it takes set-id bits away.
fn attributes(from: &OwnedFd, to: &OwnedFd, stat: &Stat) -> io::Result<()> {
    use rustix::fs::{Gid, Uid};
    rustix::fs::fchown(to, Some(Uid::from_raw(stat.st_uid)), Some(Gid::from_raw(stat.st_gid)))?;
    let mut names = vec![0u8; XATTR_BYTES];
    let length = match rustix::fs::flistxattr(from, &mut names[..]) {
        Err(Errno::OPNOTSUPP) => 0,
        other => other?,
    };
    for name in names[..length].split(|b| *b == 0).filter(|n| !n.is_empty() && !n.starts_with(b"security.")) {
        let mut value = vec![0u8; XATTR_BYTES];
        let length = rustix::fs::fgetxattr(from, name, &mut value[..])?;
        rustix::fs::fsetxattr(to, name, &value[..length], XattrFlags::empty())?;
    }
    rustix::fs::fchmod(to, Mode::from_raw_mode(stat.st_mode & 0o7777))?;
    Ok(rustix::fs::futimens(to, &times(stat))?)
}

/// A folder beneath another, not through a link.
pub fn open_folder(at: impl AsFd, name: impl rustix::path::Arg) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(at, name, flags, Mode::empty())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    #[test]
    fn copies_all_that_a_sandbox_can_make_and_follows_no_link() {
        if !rustix::process::geteuid().is_root() {
            println!("SKIPPED copies_all_that_a_sandbox_can_make_and_follows_no_link: needs root");
            return;
        }
        let base = std::env::temp_dir().join(format!("caisson-tree-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&base);
        for name in ["from/d", "to", "scratch"] {
            std::fs::create_dir_all(base.join(name)).unwrap();
        }
        let from = base.join("from");
        std::fs::write(from.join("f\n\u{e4}"), "content").unwrap();
        std::os::unix::fs::chown(from.join("f\n\u{e4}"), Some(1000), Some(1001)).unwrap();
        std::fs::set_permissions(from.join("f\n\u{e4}"), std::fs::Permissions::from_mode(0o6751)).unwrap();
        std::fs::hard_link(from.join("f\n\u{e4}"), from.join("d/second")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", from.join("link")).unwrap();
        std::os::unix::fs::symlink("/etc", from.join("links")).unwrap();
        std::fs::File::create(from.join("sparse")).unwrap().set_len(1 << 30).unwrap();
        // Of its two names one is not copied.
        std::fs::hard_link(from.join("sparse"), base.join("elsewhere")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, from.join("fifo"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, from.join("whiteout"), FileType::CharacterDevice, Mode::empty(), 0)
            .unwrap();
        rustix::fs::setxattr(from.join("d"), "user.overlay.opaque", b"y", XattrFlags::empty()).unwrap();
        std::fs::set_permissions(from.join("d"), std::fs::Permissions::from_mode(0o1777)).unwrap();
        let mut at = open_folder(rustix::fs::CWD, &from).unwrap();
        for _ in 0..1500 {
            rustix::fs::mkdirat(&at, "deep-deep", Mode::RWXU).unwrap();
            at = open_folder(&at, "deep-deep").unwrap();
        }
        rustix::fs::mkdirat(&at, "bottom", Mode::RWXU).unwrap();
        let open = |name: &str| open_folder(rustix::fs::CWD, base.join(name)).unwrap();
        copy(open("from"), open("to"), open("scratch").as_fd()).unwrap();
        let to = base.join("to");
        let file = std::fs::symlink_metadata(to.join("f\n\u{e4}")).unwrap();
        assert_eq!((file.uid(), file.gid(), file.mode() & 0o7777, file.nlink()), (1000, 1001, 0o6751, 2));
        assert_eq!(file.ino(), std::fs::metadata(to.join("d/second")).unwrap().ino());
        assert_eq!(file.mtime(), std::fs::metadata(from.join("d/second")).unwrap().mtime());
        assert_eq!(std::fs::read_to_string(to.join("d/second")).unwrap(), "content");
        assert_eq!(std::fs::read_link(to.join("link")).unwrap().to_str(), Some("/etc/passwd"));
        assert_eq!(std::fs::read_link(to.join("links")).unwrap().to_str(), Some("/etc"));
        let sparse = std::fs::metadata(to.join("sparse")).unwrap();
        assert!(sparse.len() == 1 << 30 && sparse.blocks() < 100);
        assert_eq!(std::fs::metadata(to.join("d")).unwrap().mode() & 0o7777, 0o1777);
        let mut value = [0u8; 8];
        assert_eq!(rustix::fs::getxattr(to.join("d"), "user.overlay.opaque", &mut value[..]).unwrap(), 1);
        for (name, kind) in [("fifo", FileType::Fifo), ("whiteout", FileType::CharacterDevice)] {
            let stat = std::fs::symlink_metadata(to.join(name)).unwrap();
            assert_eq!(FileType::from_raw_mode(stat.mode()), kind);
        }
        let mut at = open_folder(rustix::fs::CWD, &to).unwrap();
        for _ in 0..1500 {
            at = open_folder(&at, "deep-deep").unwrap();
        }
        open_folder(&at, "bottom").unwrap();
        assert_eq!(std::fs::read_dir(base.join("scratch")).unwrap().count(), 0);
        for name in ["from", "to"] {
            crate::project::empty(open(name).as_fd()).unwrap();
        }
        std::fs::remove_dir_all(base).unwrap();
    }

    #[test]
    fn very_many_names_are_copied_and_few_are_held() {
        if !rustix::process::geteuid().is_root() {
            println!("SKIPPED very_many_names_are_copied_and_few_are_held: needs root");
            return;
        }
        let base = std::env::temp_dir().join(format!("caisson-links-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&base);
        for name in ["from/many", "to", "links", "elsewhere"] {
            std::fs::create_dir_all(base.join(name)).unwrap();
        }
        let open = |name: &str| open_folder(rustix::fs::CWD, base.join(name)).unwrap();
        let many = open("from/many");
        // As many as ext4 lets a file have; other file systems take more.
        let names = 65_000;
        for file in ["a", "b"] {
            std::fs::write(base.join("from/many").join(file), file).unwrap();
            for n in 1..names {
                rustix::fs::linkat(&many, file, &many, format!("{file}{n}"), AtFlags::empty()).unwrap();
            }
        }
        std::os::unix::fs::symlink("nowhere", base.join("from/l")).unwrap();
        rustix::fs::linkat(&many, "../l", &many, "l", AtFlags::empty()).unwrap();
        std::fs::write(base.join("from/outside"), "x").unwrap();
        std::fs::hard_link(base.join("from/outside"), base.join("elsewhere/outside")).unwrap();
        let most = walk(open("from"), open("to"), open("links").as_fd()).unwrap();
        assert!(most <= 2 * WIDE / 24, "{most} names were held");
        let left: Vec<_> = std::fs::read_dir(base.join("links")).unwrap().flatten().collect();
        assert_eq!(left.len(), 1, "only what has a name elsewhere is still looked for");
        let stat = |path: &str| std::fs::symlink_metadata(base.join(path)).unwrap();
        for (first, last) in [("a", "a64999"), ("b1", "b64998")] {
            let (first, last) = (stat(&format!("to/many/{first}")), stat(&format!("to/many/{last}")));
            assert_eq!((first.ino(), first.nlink()), (last.ino(), names));
        }
        assert_eq!(std::fs::read_to_string(base.join("to/many/b7")).unwrap(), "b");
        assert_eq!((stat("to/l").ino(), stat("to/l").nlink()), (stat("to/many/l").ino(), 2));
        assert_eq!(std::fs::read_dir(base.join("to/many")).unwrap().count() as u64, 2 * names + 1);
        assert_eq!(stat("to/many").mtime(), stat("from/many").mtime());
        std::fs::remove_dir_all(base).unwrap();
    }
}
