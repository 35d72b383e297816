//! What this launcher has made, written before it is made, so that whatever a crash leaves behind is found.
//!
//! Each launcher has a folder `i/NAME` with a `lock` that it holds while it lives and a `journal` of lines:
//! `+ SANDBOX PATH` (about to be made) and `- SANDBOX` (gone entirely). Only cgroups outlive a launcher; mounts, disks,
//! loop devices and processes hang on descriptors and namespaces. The folder lies on /run: it needs no fsync, since a
//! machine that goes down takes the cgroups with it.

use crate::cgroup::Cgroups;
use crate::error::{Doing, Result};
use crate::ids::open_lock;
use crate::upgrade::{LauncherState, Legacy};
use rustix::fs::FlockOperation;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// File of an instance's folder that names its socket.
const SOCKET: &str = "socket";
/// Lines after which the journal is written anew with what is alive.
const COMPACT_AFTER: usize = 4096;

/// An open journal.
pub struct Journal {
    folder: PathBuf,
    file: File,
    alive: BTreeMap<String, String>,
    lines: usize,
    lock: File,
}

impl Journal {
    /// Clears what dead launchers left and starts a journal of this one. `run` is shared by all launchers.
    /// `socket` is noted, so that the file and its folder go when this launcher cannot remove them itself.
    pub fn open(run: &Path, cgroups: &Cgroups, socket: &Path) -> Result<Self> {
        let instances = run.join("i");
        std::fs::create_dir_all(&instances).doing(|| format!("make {}", instances.display()))?;
        // One launcher at a time looks for the dead.
        let path = run.join("lock");
        let guard = open_lock(&path).doing(|| format!("open {}", path.display()))?;
        rustix::fs::flock(&guard, FlockOperation::LockExclusive).doing(|| format!("lock {}", path.display()))?;
        clear_dead(&instances, cgroups, socket);
        let folder = instances.join(format!("{}-{}", std::process::id(), stamp()));
        use std::os::unix::fs::DirBuilderExt;
        std::fs::DirBuilder::new().mode(0o700).create(&folder).doing(|| format!("make {}", folder.display()))?;
        let lock = open_lock(&folder.join("lock")).doing(|| "make the instance lock".into())?;
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).doing(|| "take the instance lock".into())?;
        std::fs::write(folder.join(SOCKET), socket.as_os_str().as_encoded_bytes())
            .doing(|| "note the socket".into())?;
        let file = open_journal(&folder)?;
        Ok(Self { folder, file, alive: BTreeMap::new(), lines: 0, lock })
    }

    /// Names this journal for the launcher that comes after.
    pub fn hand_on(&self, state: &mut LauncherState) {
        use std::os::fd::AsRawFd;
        state.journal = self.folder.to_string_lossy().into_owned();
        state.journal_lock = self.lock.as_raw_fd();
    }

    /// Goes on with the journal of the launcher before.
    pub fn resume(legacy: &mut Legacy) -> Result<Self> {
        let lock = legacy.heirs.take(legacy.state.journal_lock)?.into();
        let folder = PathBuf::from(&legacy.state.journal);
        let text = std::fs::read_to_string(folder.join("journal")).doing(|| "read the journal".into())?;
        let file = open_journal(&folder)?;
        Ok(Self { folder, file, alive: alive_in(&text), lines: text.lines().count(), lock })
    }

    /// Says that this sandbox is about to be made.
    pub fn intend(&mut self, sandbox: &str, path: &str) -> Result<()> {
        self.line(&format!("+ {sandbox} {path}\n"))?;
        self.alive.insert(sandbox.into(), path.into());
        Ok(())
    }

    /// Says that nothing is left of this sandbox.
    pub fn gone(&mut self, sandbox: &str) -> Result<()> {
        self.alive.remove(sandbox);
        self.line(&format!("- {sandbox}\n"))?;
        if self.lines > COMPACT_AFTER && self.lines > 4 * self.alive.len() {
            self.compact()?;
        }
        Ok(())
    }

    fn line(&mut self, text: &str) -> Result<()> {
        self.lines += 1;
        self.file.write_all(text.as_bytes()).doing(|| "write the journal".into())
    }

    fn compact(&mut self) -> Result<()> {
        let text: String = self.alive.iter().map(|(s, p)| format!("+ {s} {p}\n")).collect();
        let fresh = self.folder.join("journal.new");
        std::fs::write(&fresh, text).doing(|| "write the journal anew".into())?;
        std::fs::rename(&fresh, self.folder.join("journal")).doing(|| "name the journal".into())?;
        self.file = open_journal(&self.folder)?;
        self.lines = self.alive.len();
        Ok(())
    }

    /// Removes the socket and, at an orderly end with nothing alive, the journal.
    pub fn close(self) {
        remove_socket(&self.folder);
        if self.alive.is_empty() {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

/// The egress gateway's folder beside a socket.
pub const EGRESS: &str = "egress";

fn open_journal(folder: &Path) -> Result<File> {
    let path = folder.join("journal");
    File::options().append(true).create(true).open(&path).doing(|| format!("open {}", path.display()))
}

fn stamp() -> u128 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_nanos())
}

/// What a journal says is still there.
fn alive_in(text: &str) -> BTreeMap<String, String> {
    let mut alive = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split(' ');
        match (words.next(), words.next(), words.next()) {
            (Some("+"), Some(sandbox), Some(path)) => drop(alive.insert(sandbox.to_string(), path.to_string())),
            (Some("-"), Some(sandbox), None) => drop(alive.remove(sandbox)),
            // The last line of a launcher that died while writing.
            _ => {}
        }
    }
    alive
}

/// Removes an instance's socket and the folder that was made for it: one in the run folder that is empty then.
fn remove_socket(folder: &Path) {
    let Ok(socket) = std::fs::read_to_string(folder.join(SOCKET)) else { return };
    let socket = Path::new(&socket);
    let run = folder.parent().and_then(Path::parent);
    let parent = socket.parent();
    // What lies elsewhere is not reachable from the launcher's root, or belongs to whoever named it.
    if parent == run || parent.and_then(Path::parent) == run {
        let _ = std::fs::remove_file(socket);
        if let Some(parent) = parent.filter(|p| Some(*p) != run) {
            // The egress gateway's, which ended with its launcher.
            let _ = std::fs::remove_dir_all(parent.join(EGRESS));
            let _ = std::fs::remove_dir(parent);
        }
    }
}

/// Takes the lock in the folder of a launcher that is gone; `None` while it lives. What it had just forked holds the
/// lock a little longer than it: that is waited for.
pub fn lock_of_dead(folder: &Path) -> Option<File> {
    let lock = open_lock(&folder.join("lock")).ok()?;
    let deadline = Instant::now() + Duration::from_secs(5);
    while rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        if lives(folder) || Instant::now() > deadline {
            return None;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Some(lock)
}

/// Whether the process after which a folder is called is there and is not a corpse.
fn lives(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let pid = name.split('-').next().unwrap_or_default();
    // The state follows the name, which may hold blanks and brackets itself.
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with(['Z', 'X'])))
}

fn clear_dead(instances: &Path, cgroups: &Cgroups, own_socket: &Path) {
    let Ok(entries) = std::fs::read_dir(instances) else { return };
    for entry in entries.flatten() {
        let folder = entry.path();
        let Some(_lock) = lock_of_dead(&folder) else { continue };
        let text = std::fs::read_to_string(folder.join("journal")).unwrap_or_default();
        if std::fs::read_to_string(folder.join(SOCKET)).is_ok_and(|s| Path::new(&s) != own_socket) {
            remove_socket(&folder);
        }
        if alive_in(&text).values().all(|path| clear(cgroups, path)) {
            let _ = std::fs::remove_dir_all(&folder);
        }
    }
}

/// Kills and removes; false when something holds out, so that the journal stays for the next start.
fn clear(cgroups: &Cgroups, path: &str) -> bool {
    if !path.starts_with("caisson/") || path.contains("..") {
        return true;
    }
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        cgroups.kill(path);
        if cgroups.remove(path) {
            return true;
        }
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_dead_launcher_forked_is_waited_for_and_a_living_one_is_not() {
        let base = std::env::temp_dir().join(format!("caisson-lock-{}", std::process::id()));
        let held = |name: &str| {
            let folder = base.join(name);
            std::fs::create_dir_all(&folder).unwrap();
            let lock = open_lock(&folder.join("lock")).unwrap();
            rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
            (folder, lock)
        };
        let (living, _lock) = held(&format!("{}-1", std::process::id()));
        assert!(lock_of_dead(&living).is_none());

        let mut child = std::process::Command::new("true").spawn().unwrap();
        let (dead, lock) = held(&format!("{}-1", child.id()));
        child.wait().unwrap();
        let later = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            drop(lock);
        });
        assert!(lock_of_dead(&dead).is_some());
        later.join().unwrap();
        std::fs::remove_dir_all(base).unwrap();
    }

    #[test]
    fn a_cut_last_line_hides_nothing_before_it() {
        let alive = alive_in("+ sba caisson/g/sba\n+ sbb caisson/g/sbb\n- sba\n+ sbc");
        assert_eq!(alive.into_keys().collect::<Vec<_>>(), ["sbb"]);
    }
}
