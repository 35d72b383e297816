//! Groups: a weight and ceilings (`SetGroup`) for what all sandboxes of one name use together; a server has one for each tenant.
//!
//! A group belongs to the uid of the client that names it. Two users' groups of one name are two groups with a cgroup
//! folder each, so nobody can touch another's, keep a name from him, or find out that it is there.
//!
//! What was set is kept in the state folder, a file for each group: it holds after an upgrade, a crash and a restart. The
//! cgroup folders are made for a group's first sandbox, and removed when it has had none for a while; who uses the group
//! again finds its limits again.

use crate::cgroup::{Cgroups, TOP, children, make_folder};
use crate::error::{Doing, Error, Result};
use crate::hierarchy::enable;
use crate::request;
use crate::sandbox::{Asker, Sandbox};
use crate::server::Server;
use caisson_wire::launcher::{self as wire, reply};
use rustix::fs::AtFlags;
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Groups of one uid that are in use or have limits.
const MAX_GROUPS: usize = 65_536;
/// How long a group without a sandbox keeps its cgroup folders.
const UNUSED: Duration = Duration::from_secs(20);
/// How often that is looked at.
const SWEEP: Duration = Duration::from_secs(10);
const USUAL_WEIGHT: u32 = 100;
const FIRST_LINE: &str = "caisson-group 1";
const MAX_RECORD: usize = 1024;

/// A weight and ceilings; 0 is no ceiling.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ceilings {
    /// 1 to 1000.
    pub weight: u32,
    /// Bytes.
    pub memory: u64,
    /// Processes.
    pub pids: u64,
    /// Thousandths of a core.
    pub cpu_millis: u64,
}

impl Default for Ceilings {
    fn default() -> Self {
        Self { weight: USUAL_WEIGHT, memory: 0, pids: 0, cpu_millis: 0 }
    }
}

impl Ceilings {
    /// A weight of 0 leaves the one that is.
    fn wanted(request: &wire::SetGroup, before: Self) -> Self {
        let weight = if request.weight == 0 { before.weight } else { request.weight };
        Self { weight, memory: request.memory_bytes, pids: request.pids, cpu_millis: request.cpu_millis }
    }

    fn text(&self) -> String {
        let Self { weight, memory, pids, cpu_millis } = self;
        format!("{FIRST_LINE}\nweight {weight}\nmemory {memory}\npids {pids}\ncpu_millis {cpu_millis}\n")
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.strip_suffix('\n')?.split('\n');
        let mut next = |key: &str| lines.next()?.strip_prefix(key)?.strip_prefix(' ');
        let version = next("caisson-group")?;
        let weight = next("weight")?.parse().ok()?;
        let (memory, pids) = (next("memory")?.parse().ok()?, next("pids")?.parse().ok()?);
        let cpu_millis = next("cpu_millis")?.parse().ok()?;
        (version == "1" && weight > 0).then_some(Self { weight, memory, pids, cpu_millis })
    }
}

/// A group in which a sandbox is made.
pub struct Group {
    /// As its client calls it.
    pub name: String,
    /// Its folder beneath `caisson`.
    pub folder: String,
    /// For a folder that is not there yet.
    pub ceilings: Ceilings,
}

/// Folder of a group: no name that is allowed has a dot.
fn folder_of(uid: u32, name: &str) -> String {
    if uid == 0 { name.into() } else { format!("{uid}.{name}") }
}

fn owner_of(folder: &str) -> Option<u32> {
    let (uid, name) = match folder.split_once('.') {
        Some((uid, name)) => (uid.parse().ok()?, name),
        None => (0, folder),
    };
    (request::group_id(name).is_ok() && folder_of(uid, name) == folder).then_some(uid)
}

struct Known {
    owner: u32,
    ceilings: Ceilings,
    /// When it last had a sandbox, as far as was looked, or was spoken of.
    used: Instant,
    /// Its cgroup folders may be there.
    made: bool,
}

/// The groups that are in use or have limits, by folder.
pub struct Groups {
    path: PathBuf,
    known: BTreeMap<String, Known>,
    sweep: Option<Instant>,
    /// How many one uid may have.
    most: usize,
}

impl Groups {
    /// Reads what was set before. `made`: folders that the launcher before left.
    pub fn open(state: &Path, made: Vec<String>) -> Result<Self> {
        let path = state.join("groups");
        let step = || format!("read {}", path.display());
        std::fs::create_dir_all(&path).doing(step)?;
        let mut groups = Self { path: path.clone(), known: BTreeMap::new(), sweep: None, most: MAX_GROUPS };
        for entry in std::fs::read_dir(&path).doing(step)?.flatten() {
            let Some(folder) = entry.file_name().to_str().map(str::to_string) else { continue };
            let text = std::fs::read(entry.path()).ok().filter(|t| t.len() <= MAX_RECORD);
            if let Some(ceilings) = text.and_then(|t| Ceilings::parse(std::str::from_utf8(&t).ok()?)) {
                groups.know(&folder, Instant::now()).into_iter().for_each(|known| known.ceilings = ceilings);
            }
        }
        made.iter().for_each(|folder| groups.mark_made(folder, Instant::now()));
        Ok(groups)
    }

    fn know(&mut self, folder: &str, now: Instant) -> Option<&mut Known> {
        let owner = owner_of(folder)?;
        let fresh = || Known { owner, ceilings: Ceilings::default(), used: now, made: false };
        Some(self.known.entry(folder.into()).or_insert_with(fresh))
    }

    /// Whoever has a sandbox in a group makes its folders.
    pub fn mark_made(&mut self, folder: &str, now: Instant) {
        if let Some(known) = self.know(folder, now) {
            known.made = true;
            self.sweep.get_or_insert(now + SWEEP);
        }
    }

    /// Folders that may be there.
    pub fn made(&self) -> Vec<String> {
        self.known.iter().filter(|(_, k)| k.made).map(|(folder, _)| folder.clone()).collect()
    }

    /// A group for a sandbox. `None`: this user has too many.
    fn enter(&mut self, uid: u32, name: &str, now: Instant) -> Option<Group> {
        let folder = folder_of(uid, name);
        if !self.known.contains_key(&folder) && self.known.values().filter(|k| k.owner == uid).count() >= self.most {
            return None;
        }
        let known = self.know(&folder, now)?;
        known.used = now;
        Some(Group { name: name.into(), ceilings: known.ceilings, folder })
    }

    fn ceilings(&self, folder: &str) -> Ceilings {
        self.known.get(folder).map_or_else(Ceilings::default, |k| k.ceilings)
    }

    /// Keeps ceilings for as long as they are no others.
    fn keep(&mut self, folder: &str, ceilings: Ceilings) -> Result<()> {
        let step = || format!("keep the limits of the group {folder}");
        let path = self.path.join(folder);
        if ceilings == Ceilings::default() {
            match std::fs::remove_file(&path) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e).doing(step),
                _ => {}
            }
        } else {
            // No name of a group.
            let fresh = self.path.join(format!(".new-{}", std::process::id()));
            std::fs::write(&fresh, ceilings.text()).and_then(|()| std::fs::rename(&fresh, &path)).doing(step)?;
        }
        if let Some(known) = self.known.get_mut(folder) {
            known.ceilings = ceilings;
            self.sweep.get_or_insert(Instant::now() + SWEEP);
        }
        Ok(())
    }

    /// Removes the folders of groups that have had no sandbox for so long, and forgets those that have no limits either.
    fn clear(&mut self, now: Instant, unused: Duration, busy: &BTreeSet<String>, remove: impl Fn(&str) -> bool) {
        self.known.retain(|folder, known| {
            if busy.contains(folder) {
                known.used = now;
            } else if now.saturating_duration_since(known.used) >= unused {
                known.made = known.made && !remove(folder);
                return known.made || known.ceilings != Ceilings::default();
            }
            true
        });
        let more = self.known.values().any(|k| k.made || k.ceilings == Ceilings::default());
        self.sweep = more.then_some(now + SWEEP);
    }

    /// When unused ones are looked for next.
    pub fn next_sweep(&self) -> Option<Instant> {
        self.sweep
    }
}

impl Cgroups {
    /// Makes the folders of a group if they are not there, with what was set for it. Another launcher may have removed
    /// one of them a moment ago.
    pub(crate) fn make_group(&self, group: &Group) -> Result<()> {
        let path = format!("{TOP}/{}", group.folder);
        let mut fresh = false;
        for root in self.limiting().into_iter().chain([self.v2()]) {
            fresh |= make_folder(root, &path).doing(|| format!("make the cgroup {path}"))?;
        }
        if !self.limits_in_v1() {
            enable(self.v2(), &path).doing(|| format!("enable controllers in {path}"))?;
        }
        if fresh && group.ceilings != Ceilings::default() { self.limit_group(&path, group.ceilings) } else { Ok(()) }
    }

    fn has_group(&self, folder: &str) -> bool {
        rustix::fs::statat(self.v2(), format!("{TOP}/{folder}"), AtFlags::empty()).is_ok()
    }

    fn limit_group(&self, path: &str, ceilings: Ceilings) -> Result<()> {
        self.set_cpu_weight(path, u64::from(ceilings.weight))?;
        self.set_cpu_quota(path, ceilings.cpu_millis)?;
        self.set_memory(path, ceilings.memory)?;
        self.set_pids(path, ceilings.pids)
    }

    /// Removes the folders of a group in which nothing is; false when something is.
    fn remove_group(&self, folder: &str) -> bool {
        let path = format!("{TOP}/{folder}");
        let remove = |root: BorrowedFd<'_>| {
            matches!(rustix::fs::unlinkat(root, &path, AtFlags::REMOVEDIR), Ok(()) | Err(Errno::NOENT))
        };
        // The v2 hierarchy has every sandbox, so it says first whether there is one.
        [self.v2()].into_iter().chain(self.limiting()).chain(self.v1_of("blkio")).all(remove)
    }

    /// Removes what launchers left that died. Groups that others use refuse by themselves.
    pub fn remove_empty_groups(&self) {
        for root in self.limiting().into_iter().chain(self.v1_of("blkio")).chain([self.v2()]) {
            for folder in children(root, TOP).iter().filter(|folder| owner_of(folder).is_some()) {
                let _ = rustix::fs::unlinkat(root, format!("{TOP}/{folder}"), AtFlags::REMOVEDIR);
            }
        }
    }
}

impl Server {
    pub(crate) fn set_group(&mut self, asker: Asker, uid: u32, request: &wire::SetGroup) -> Result<()> {
        request::set_group(request)?;
        let folder = folder_of(uid, &request.group);
        let ceilings = Ceilings::wanted(request, self.parts.groups.ceilings(&folder));
        // One of which nothing is to be known takes no place.
        if ceilings != Ceilings::default() {
            self.enter_group(uid, &request.group)?;
        }
        let cgroups = &self.parts.cgroups;
        if cgroups.has_group(&folder) {
            cgroups.limit_group(&format!("{TOP}/{folder}"), ceilings)?;
        }
        self.parts.groups.keep(&folder, ceilings)?;
        self.answer(asker, reply::Body::Done(wire::Done {}));
        Ok(())
    }

    /// The group of this name that belongs to this user.
    pub(crate) fn enter_group(&mut self, uid: u32, name: &str) -> Result<Group> {
        let now = Instant::now();
        if let Some(group) = self.parts.groups.enter(uid, name, now) {
            return Ok(group);
        }
        self.clear_groups(now, Duration::ZERO);
        self.parts.groups.enter(uid, name, now).ok_or_else(|| {
            Error::new(
                wire::ErrorKind::ErrorNoCapacity,
                format!("there are {MAX_GROUPS} groups of this user that have limits or sandboxes"),
            )
            .remedy("take the limits of groups away that are not needed any more, or use fewer groups")
        })
    }

    pub(crate) fn clear_groups(&mut self, now: Instant, unused: Duration) {
        let busy = self.sandboxes.values().filter_map(Sandbox::group_folder).map(str::to_string).collect();
        let cgroups = &self.parts.cgroups;
        self.parts.groups.clear(now, unused, &busy, |folder| cgroups.remove_group(folder));
    }

    pub(crate) fn sweep_groups(&mut self, now: Instant) {
        if self.parts.groups.next_sweep().is_some_and(|at| at <= now) {
            self.clear_groups(now, UNUSED);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(name: &str) -> (PathBuf, Groups) {
        let state = std::env::temp_dir().join(format!("caisson-groups-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&state);
        let groups = Groups::open(&state, Vec::new()).unwrap();
        (state, groups)
    }

    const SOME: Ceilings = Ceilings { weight: 300, memory: 1 << 30, pids: 64, cpu_millis: 1500 };

    #[test]
    fn two_users_have_two_groups_of_one_name() {
        let folders = [folder_of(0, "local"), folder_of(1000, "local"), folder_of(1001, "local")];
        assert_eq!(folders.iter().collect::<BTreeSet<_>>().len(), 3);
        assert_eq!(folders.map(|f| owner_of(&f)), [Some(0), Some(1000), Some(1001)]);
        for folder in
            ["system", "1000.system", "0.local", "01.local", "-1.local", "1000.", ".new-7", "a.b", "1.2.3", ""]
        {
            assert_eq!(owner_of(folder), None, "{folder:?}");
        }
    }

    #[test]
    fn what_was_set_is_known_after_a_restart_until_it_is_taken_away() {
        let (state, mut groups) = groups("restart");
        groups.enter(1000, "t", Instant::now()).unwrap();
        groups.keep("1000.t", SOME).unwrap();
        let mut next = Groups::open(&state, vec!["1000.t".into(), "u".into()]).unwrap();
        assert_eq!(next.ceilings("1000.t"), SOME);
        assert_eq!((next.ceilings("t"), next.ceilings("u")), (Ceilings::default(), Ceilings::default()));
        assert_eq!(next.made(), ["1000.t", "u"]);
        next.keep("1000.t", Ceilings::default()).unwrap();
        assert!(Groups::open(&state, Vec::new()).unwrap().known.is_empty());
        let whole = SOME.text();
        assert_eq!(Ceilings::parse(&whole), Some(SOME));
        assert!((0..whole.len()).all(|end| Ceilings::parse(&whole[..end]).is_none()));
        std::fs::remove_dir_all(state).unwrap();
    }

    #[test]
    fn a_user_has_so_many_groups_and_another_is_not_touched_by_it() {
        let (state, mut groups) = groups("many");
        let now = Instant::now();
        groups.most = 64;
        for n in 0..64 {
            assert!(groups.enter(1000, &format!("g{n}"), now).is_some());
        }
        assert!(groups.enter(1000, "more", now).is_none());
        assert!(groups.enter(1000, "g0", now).is_some(), "what is there is there");
        assert!(groups.enter(1001, "more", now).is_some());
        // g1 has limits, g2 a sandbox: the others go.
        groups.keep("1000.g1", SOME).unwrap();
        groups.clear(now, Duration::ZERO, &["1000.g2".to_string()].into(), |_| true);
        assert_eq!(groups.known.keys().collect::<Vec<_>>(), ["1000.g1", "1000.g2"]);
        assert!(groups.enter(1000, "more", now).is_some());
        std::fs::remove_dir_all(state).unwrap();
    }

    #[test]
    fn an_unused_group_keeps_its_folders_for_a_while_and_its_limits_for_good() {
        let (state, mut groups) = groups("unused");
        let begun = Instant::now();
        for name in ["limited", "plain", "held"] {
            groups.enter(0, name, begun).unwrap();
            groups.mark_made(name, begun);
        }
        groups.keep("limited", SOME).unwrap();
        let none = BTreeSet::new();
        groups.clear(begun + UNUSED / 2, UNUSED, &none, |_| panic!("too early"));
        assert!(groups.next_sweep().is_some());
        groups.clear(begun + UNUSED, UNUSED, &none, |folder| folder != "held");
        assert_eq!(groups.made(), ["held"], "what is in use elsewhere is tried again");
        assert!(groups.known.contains_key("limited") && !groups.known.contains_key("plain"));
        groups.clear(begun + UNUSED * 2, UNUSED, &none, |_| true);
        assert_eq!(groups.next_sweep(), None, "nothing more is to be looked at");
        assert_eq!(groups.ceilings("limited"), SOME);
        std::fs::remove_dir_all(state).unwrap();
    }
}
