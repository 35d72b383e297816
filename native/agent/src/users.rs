//! Users of the sandbox: its own /etc/passwd and /etc/group, whose content is as hostile as any other.

use crate::error::{Refusal, shown};
use crate::launch::AGENT_ID;
use crate::paths::{Owner, SafePath, make_folder};
use crate::put::Put;
use caisson_wire::agent::{ErrorKind, ExecStart, FilePut, UserInfo};
use rustix::fd::OwnedFd;
use rustix::fs::{FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::collections::HashSet;

const MAX_FILE: u64 = 1 << 20;
const MAX_LINE: usize = 1024;
const MAX_GROUPS: usize = 64;
/// Ids of users that are made here.
const FIRST_ID: u32 = 2000;
const LAST_ID: u32 = 59_999;

/// A line of /etc/passwd that keeps the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// [a-z_][a-z0-9_-]{0,31}
    pub name: Vec<u8>,
    /// uid inside
    pub uid: u32,
    /// gid inside
    pub gid: u32,
    /// Absolute.
    pub home: Vec<u8>,
    /// Absolute.
    pub shell: Vec<u8>,
}

impl User {
    /// Looks a name up.
    pub fn named(name: &[u8]) -> Result<Self, Refusal> {
        check_name(name)?;
        let passwd = read("/etc/passwd")?;
        users(&passwd)
            .find(|user| user.name == name)
            .ok_or_else(|| Refusal::new(ErrorKind::ErrorNotFound, format!("the sandbox has no user {}", shown(name))))
    }

    /// The first user with this uid.
    pub fn numbered(uid: u32) -> Option<Self> {
        let passwd = read("/etc/passwd").ok()?;
        users(&passwd).find(|user| user.uid == uid)
    }

    /// Groups that have the user as a member. A file that cannot be used gives none.
    pub fn groups(&self) -> Vec<u32> {
        let file = read("/etc/group").unwrap_or_default();
        let mut groups: Vec<u32> = groups(&file)
            .filter(|(_, gid, members)| *gid < AGENT_ID && members.iter().any(|member| *member == self.name))
            .map(|(_, gid, _)| gid)
            .take(MAX_GROUPS)
            .collect();
        groups.sort_unstable();
        groups.dedup();
        groups
    }

    /// Makes a command the user's: ids, and the variables that a login sets unless they are there.
    pub fn take(&self, start: &mut ExecStart) {
        (start.uid, start.gid, start.groups) = (self.uid, self.gid, self.groups());
        for (name, value) in
            [("HOME", &self.home), ("USER", &self.name), ("LOGNAME", &self.name), ("SHELL", &self.shell)]
        {
            let entry = [name.as_bytes(), b"="].concat();
            if !start.env.iter().any(|existing| existing.starts_with(&entry)) {
                start.env.push([entry.as_slice(), value].concat());
            }
        }
    }

    fn info(self) -> UserInfo {
        UserInfo { name: self.name, uid: self.uid, gid: self.gid, home: self.home, shell: self.shell }
    }
}

/// Makes a user with a group and a home of its own; tells of the one that is there.
pub fn add(name: &[u8]) -> Result<UserInfo, Refusal> {
    check_name(name)?;
    let _lock = lock()?;
    let passwd = read("/etc/passwd")?;
    if let Some(user) = users(&passwd).find(|user| user.name == name) {
        return Ok(user.info());
    }
    let group = read("/etc/group")?;
    if names(&group).chain(names(&passwd)).any(|taken| taken == name) {
        let message = format!("the sandbox has a group or an unusable line for {}", shown(name));
        return Err(Refusal::new(ErrorKind::ErrorExists, message));
    }
    // Once: root inside may have written any number of lines, and nothing else runs here meanwhile.
    let mut taken: HashSet<u32> = users(&passwd).flat_map(|user| [user.uid, user.gid]).collect();
    taken.extend(groups(&group).map(|(_, gid, _)| gid));
    let id = (FIRST_ID..=LAST_ID).find(|id| !taken.contains(id));
    let id = id.ok_or_else(|| Refusal::new(ErrorKind::ErrorLimit, "the sandbox has no uid left"))?;
    let shell = if SafePath::parse(b"/usr/bin/bash")?.open(OFlags::PATH).is_ok() { "/bin/bash" } else { "/bin/sh" };
    let home = [b"/home/", name].concat();
    make_home(name, &home, id)?;
    let text = String::from_utf8_lossy(name).into_owned();
    append("/etc/group", &group, &format!("{text}:x:{id}:\n"), 0o644)?;
    for (path, line) in
        [("/etc/shadow", format!("{text}:!:19000:0:99999:7:::\n")), ("/etc/gshadow", format!("{text}:!::\n"))]
    {
        // Not every sandbox has them, and nobody logs in by a password.
        if let Ok(file) = read(path) {
            append(path, &file, &line, 0o640)?;
        }
    }
    append("/etc/passwd", &passwd, &format!("{text}:x:{id}:{id}::/home/{text}:{shell}\n"), 0o644)?;
    Ok(User { name: name.to_vec(), uid: id, gid: id, home, shell: shell.into() }.info())
}

/// The lock of lckpwdf, which useradd and its kind take; gone with the descriptor.
fn lock() -> Result<OwnedFd, Refusal> {
    let fail = |errno| Refusal::path("lock", b"/etc/.pwd.lock", errno);
    let folder = SafePath::parse(b"/etc")?.open(OFlags::PATH | OFlags::DIRECTORY)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::openat(&folder, ".pwd.lock", flags, Mode::from_raw_mode(0o600)).map_err(fail)?;
    Owner { uid: 0, gid: 0 }.take(&file).map_err(fail)?;
    match rustix::fs::fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(errno @ (Errno::AGAIN | Errno::ACCESS)) => {
            let message = "another program is changing the users of the sandbox; try again";
            Err(Refusal::with_errno(ErrorKind::ErrorLimit, errno, message))
        }
        Err(errno) => Err(fail(errno)),
    }
}

fn make_home(name: &[u8], path: &[u8], id: u32) -> Result<(), Refusal> {
    let root = Owner { uid: 0, gid: 0 };
    let folder = SafePath::parse(b"/home")?.open_folder(Some(root))?;
    make_folder(&folder, name, 0o700, Owner { uid: id, gid: id })
        .map(|_| ())
        .map_err(|errno| Refusal::path("make", path, errno))
}

/// Replaces a file of root by itself and one more line.
fn append(path: &str, file: &[u8], line: &str, mode: u32) -> Result<(), Refusal> {
    let put = FilePut { path: path.into(), mode, uid: 0, gid: 0, parents: false };
    let mut put = Put::begin(&put)?;
    put.write(file)?;
    if file.last().is_some_and(|last| *last != b'\n') {
        put.write(b"\n")?;
    }
    put.write(line.as_bytes())?;
    put.finish().map(|_| ())
}

fn read(path: &str) -> Result<Vec<u8>, Refusal> {
    let fail = |errno| Refusal::path("read", path.as_bytes(), errno);
    // NONBLOCK: a FIFO would wait for its writer.
    let file = SafePath::parse(path.as_bytes())?.open(OFlags::RDONLY | OFlags::NONBLOCK)?;
    let stat = rustix::fs::fstat(&file).map_err(fail)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || stat.st_size.unsigned_abs() > MAX_FILE {
        return Err(Refusal::new(ErrorKind::ErrorNotRegular, format!("{path} is not a file of at most 1 MiB")));
    }
    let mut text = Vec::with_capacity(stat.st_size.unsigned_abs() as usize + 1);
    // One read: it may shrink or grow meanwhile, never beyond what was made room for.
    rustix::io::read(&file, rustix::buffer::spare_capacity(&mut text)).map_err(fail)?;
    Ok(text)
}

fn check_name(name: &[u8]) -> Result<(), Refusal> {
    if is_name(name) {
        return Ok(());
    }
    Err(Refusal::invalid("a user name is a letter or _, then up to 31 of a-z, 0-9, _ and -"))
}

fn is_name(name: &[u8]) -> bool {
    let rest = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-".contains(b);
    (1..=32).contains(&name.len())
        && name.first().is_some_and(|b| b.is_ascii_lowercase() || *b == b'_')
        && name.iter().all(rest)
}

fn lines(file: &[u8]) -> impl Iterator<Item = Vec<&[u8]>> {
    file.split(|b| *b == b'\n')
        .filter(|line| line.len() <= MAX_LINE && !line.contains(&0))
        .map(|line| line.split(|b| *b == b':').collect())
}

/// First fields of all lines, well formed or not.
fn names(file: &[u8]) -> impl Iterator<Item = &[u8]> {
    file.split(|b| *b == b'\n').filter_map(|line| line.split(|b| *b == b':').next())
}

fn users(file: &[u8]) -> impl Iterator<Item = User> {
    lines(file).filter_map(|fields| match fields.as_slice() {
        [name, _, uid, gid, _, home, shell] if is_name(name) && home.starts_with(b"/") => Some(User {
            name: name.to_vec(),
            uid: number(uid)?,
            gid: number(gid)?,
            home: home.to_vec(),
            shell: if shell.starts_with(b"/") { shell.to_vec() } else { b"/bin/sh".to_vec() },
        }),
        _ => None,
    })
}

fn groups(file: &[u8]) -> impl Iterator<Item = (&[u8], u32, Vec<&[u8]>)> {
    lines(file).filter_map(|fields| match fields.as_slice() {
        [name, _, gid, members] if !name.is_empty() => {
            Some((*name, number(gid)?, members.split(|b| *b == b',').collect()))
        }
        _ => None,
    })
}

/// Digits only: no sign, no space, no overflow.
fn number(text: &[u8]) -> Option<u32> {
    let digits = (1..=10).contains(&text.len()) && text.iter().all(u8::is_ascii_digit);
    digits.then(|| std::str::from_utf8(text).ok()?.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_lines_that_keep_the_rules_are_users() {
        let file =
            b"root:x:0:0:root:/root:/bin/sh\n+::::::\nbob:x:+5:5::/home/bob:/bin/sh\nbob:x:2000:2000::/home/bob:\n\
            eve:x:4294967296:0::/:/x\nmallory:x:0\n\0:x:0:0::/:/\nann:x: 1:1::/home/ann:/x\nBob:x:7:7::/b:/b\n";
        let found: Vec<_> = users(file).collect();
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].name.as_slice(), found[0].uid), (&b"root"[..], 0));
        assert_eq!((found[1].uid, found[1].shell.as_slice()), (2000, &b"/bin/sh"[..]));
    }

    #[test]
    fn names_keep_their_grammar() {
        for good in [&b"bob"[..], b"_x", b"a-1", &[b'a'; 32]] {
            assert!(is_name(good));
        }
        for bad in [&b""[..], b"-a", b"1a", b"Bob", b"a:b", b"a\nb", b"a/b", &[b'a'; 33]] {
            assert!(!is_name(bad), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn no_file_makes_it_panic(file in prop::collection::vec(any::<u8>(), 0..4000)) {
            users(&file).for_each(drop);
            groups(&file).for_each(drop);
            names(&file).for_each(drop);
        }

        #[test]
        fn near_misses_are_taken_apart_without_panic(file in "([a-z0-9:,/\n+-]{0,40}\n){0,40}") {
            users(file.as_bytes()).for_each(|user| assert!(is_name(&user.name) && user.home.starts_with(b"/")));
            groups(file.as_bytes()).for_each(drop);
        }
    }
}
