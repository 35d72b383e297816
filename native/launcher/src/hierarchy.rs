//! The cgroup hierarchies of a host: which there are, the launcher's own place in them (`caisson/system`), and leaving it.

use crate::cgroup::{
    Cgroups, LIMITING, RACES, TOP, VIEWED, children, is_gone, make_folder, open_folder, read_at, write_at,
};
use crate::error::{Doing, Error, Result};
use crate::sys;
use crate::upgrade::{HierarchyState, LauncherState, Legacy};
use caisson_wire::launcher as wire;
use rustix::fs::AtFlags;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

const SYSTEM: &str = "caisson/system";
/// The highest weight a group can have (`request.rs`); `system` has ten times as much.
const MAX_WEIGHT: u64 = 1000;

/// One hierarchy.
pub(crate) struct Hierarchy {
    /// Of v1.
    pub(crate) controllers: Vec<String>,
    /// Its root.
    pub(crate) root: OwnedFd,
    /// Where the launcher was before it moved to `caisson/system`.
    origin: String,
}

impl Hierarchy {
    pub(crate) fn has(&self, controller: &str) -> bool {
        self.controllers.iter().any(|c| c == controller)
    }
}

impl Cgroups {
    /// Finds the hierarchies, makes `caisson/system` and moves the calling process there.
    pub fn open() -> Result<Self> {
        let cgroups = Self::find()?;
        let mut outcome = cgroups.settle();
        for _ in 0..RACES {
            match &outcome {
                Err(e) if is_gone(e) => outcome = cgroups.settle(),
                _ => break,
            }
        }
        outcome.map(|()| cgroups)
    }

    /// Names the hierarchies for the launcher that comes after.
    pub fn hand_on(&self, state: &mut LauncherState) {
        use std::os::fd::AsRawFd;
        let hierarchy = |h: &Hierarchy| HierarchyState {
            root: h.root.as_raw_fd(),
            controllers: h.controllers.clone(),
            origin: h.origin.clone(),
        };
        state.v1 = self.v1.iter().map(hierarchy).collect();
        state.v2 = Some(hierarchy(&self.v2));
        state.limits_in_v1 = self.limits_in_v1;
    }

    /// Takes the hierarchies over, in which the launcher is already.
    pub fn resume(legacy: &mut Legacy) -> Result<Self> {
        let mut hierarchy = |h: HierarchyState| -> Result<Hierarchy> {
            Ok(Hierarchy { controllers: h.controllers, root: legacy.heirs.take(h.root)?, origin: h.origin })
        };
        let v1 = std::mem::take(&mut legacy.state.v1).into_iter().map(&mut hierarchy).collect::<Result<_>>()?;
        let v2 = hierarchy(legacy.state.v2.take().unwrap_or_default())?;
        Ok(Self { v1, v2, limits_in_v1: legacy.state.limits_in_v1 })
    }

    fn find() -> Result<Self> {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").doing(|| "read mountinfo".into())?;
        let own = std::fs::read_to_string("/proc/self/cgroup").doing(|| "read /proc/self/cgroup".into())?;
        let mut v1 = Vec::new();
        let mut v2 = None;
        for line in mounts.lines() {
            let Some((front, back)) = line.split_once(" - ") else { continue };
            let (Some(root), Some(point)) = (front.split(' ').nth(3), front.split(' ').nth(4)) else { continue };
            let mut back = back.split(' ');
            let kind = back.next().unwrap_or_default();
            let options = back.nth(1).unwrap_or_default();
            if root != "/" || !kind.starts_with("cgroup") {
                continue;
            }
            let controllers: Vec<String> = match kind {
                "cgroup" => VIEWED
                    .iter()
                    .chain(&["blkio"])
                    .filter(|c| options.split(',').any(|o| o == **c))
                    .map(|c| (*c).to_string())
                    .collect(),
                _ => Vec::new(),
            };
            if kind == "cgroup" && controllers.is_empty() {
                continue;
            }
            let opened = open_folder(sys::cwd(), point).doing(|| format!("open the cgroup mount {point}"))?;
            let origin = origin_of(&own, &controllers);
            let hierarchy = Hierarchy { controllers, root: opened, origin };
            if kind == "cgroup2" {
                v2.get_or_insert(hierarchy);
            } else if !v1.iter().any(|h: &Hierarchy| h.controllers == hierarchy.controllers) {
                v1.push(hierarchy);
            }
        }
        let v2 = match v2 {
            Some(found) => found,
            None => Hierarchy { controllers: Vec::new(), root: mount_v2()?, origin: origin_of(&own, &[]) },
        };
        let on_v2 = read_at(v2.root.as_fd(), "cgroup.controllers").unwrap_or_default();
        let limits_in_v2 = LIMITING.iter().all(|c| on_v2.split_whitespace().any(|o| o == *c));
        let limits_in_v1 = LIMITING.iter().all(|c| v1.iter().any(|h| h.has(c)));
        if !limits_in_v1 && !limits_in_v2 {
            return Err(Error::new(
                wire::ErrorKind::ErrorNotSupported,
                "this host offers no memory, pids and cpu cgroup controllers, so limits cannot be enforced",
            )
            .remedy("mount cgroup v2 with these controllers; in a container grant a writable cgroup tree of its own"));
        }
        Ok(Self { v1: if limits_in_v2 { Vec::new() } else { v1 }, v2, limits_in_v1: !limits_in_v2 })
    }

    fn settle(&self) -> Result<()> {
        let refused = |e: Error| {
            e.remedy("run as root on the host; in a container give it a writable cgroup tree (for example `--privileged` with a private cgroup namespace)")
        };
        for hierarchy in self.v1.iter().chain([&self.v2]) {
            for path in [TOP, SYSTEM] {
                make_folder(hierarchy.root.as_fd(), path)
                    .doing(|| format!("make the cgroup {path}"))
                    .map_err(refused)?;
                if hierarchy.has("cpuset") {
                    inherit_cpuset(hierarchy.root.as_fd(), path).doing(|| format!("set up the cpuset of {path}"))?;
                }
            }
        }
        if !self.limits_in_v1 {
            enable(self.v2.root.as_fd(), "")
                .doing(|| "enable controllers at the root of cgroup v2".into())
                .map_err(refused)?;
            enable(self.v2.root.as_fd(), TOP).doing(|| "enable controllers in caisson".into()).map_err(refused)?;
        }
        self.set_cpu_weight(SYSTEM, MAX_WEIGHT * 10)?;
        for hierarchy in self.v1.iter().chain([&self.v2]) {
            write_at(hierarchy.root.as_fd(), &format!("{SYSTEM}/cgroup.procs"), "0")
                .doing(|| format!("move into {SYSTEM}"))
                .map_err(refused)?;
        }
        Ok(())
    }

    /// The v2 hierarchy.
    pub(crate) fn v2(&self) -> BorrowedFd<'_> {
        self.v2.root.as_fd()
    }

    /// Whether limits are in v1 hierarchies.
    pub fn limits_in_v1(&self) -> bool {
        self.limits_in_v1
    }

    pub(crate) fn v1_of(&self, controller: &str) -> Option<BorrowedFd<'_>> {
        self.v1.iter().find(|h| h.has(controller)).map(|h| h.root.as_fd())
    }

    /// Roots of the distinct hierarchies that hold limits, memory first.
    pub(crate) fn limiting(&self) -> Vec<BorrowedFd<'_>> {
        if !self.limits_in_v1 {
            return Vec::new();
        }
        self.v1.iter().filter(|h| LIMITING.iter().any(|c| h.has(c))).map(|h| h.root.as_fd()).collect()
    }

    /// The hierarchy that carries this controller's files, v1 or v2.
    pub(crate) fn root_of(&self, controller: &str) -> Option<BorrowedFd<'_>> {
        if self.limits_in_v1 { self.v1_of(controller) } else { Some(self.v2.root.as_fd()) }
    }

    /// Goes back to where the launcher came from and removes what is empty. Called once, at an orderly end.
    pub fn leave(&self) {
        for hierarchy in self.v1.iter().chain([&self.v2]) {
            let root = hierarchy.root.as_fd();
            let origin = hierarchy.origin.trim_start_matches('/');
            let procs = if origin.is_empty() { "cgroup.procs".to_string() } else { format!("{origin}/cgroup.procs") };
            if write_at(root, &procs, "0").is_err() {
                let _ = write_at(root, "cgroup.procs", "0");
            }
            remove_empty_below(root, TOP);
        }
    }
}

fn origin_of(own: &str, controllers: &[String]) -> String {
    own.lines()
        .filter_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            Some((parts.next()?, parts.next()?))
        })
        .find(|(names, _)| match controllers.first() {
            Some(first) => names.split(',').any(|n| n == first),
            None => names.is_empty(),
        })
        .map_or_else(|| "/".into(), |(_, path)| path.to_string())
}

fn mount_v2() -> Result<OwnedFd> {
    sys::NewFs::open(c"cgroup2").and_then(|fs| fs.mount(0)).doing(|| "mount cgroup v2 privately".into())
}

/// Hands the limiting controllers, and io where there is one, down to the children of `path`.
pub(crate) fn enable(root: BorrowedFd<'_>, path: &str) -> io::Result<()> {
    let file =
        if path.is_empty() { "cgroup.subtree_control".to_string() } else { format!("{path}/cgroup.subtree_control") };
    let have = read_at(root, &file)?;
    let missing: Vec<_> =
        LIMITING.iter().filter(|c| !have.split_whitespace().any(|h| h == **c)).map(|c| format!("+{c}")).collect();
    if !missing.is_empty() {
        write_at(root, &file, &missing.join(" "))?;
    }
    let _ = write_at(root, &file, "+io");
    Ok(())
}

fn inherit_cpuset(root: BorrowedFd<'_>, path: &str) -> io::Result<()> {
    let parent = path.rsplit_once('/').map_or(String::new(), |(p, _)| format!("{p}/"));
    for file in ["cpuset.cpus", "cpuset.mems"] {
        if read_at(root, &format!("{path}/{file}"))?.trim().is_empty() {
            write_at(root, &format!("{path}/{file}"), read_at(root, &format!("{parent}{file}"))?.trim())?;
        }
    }
    Ok(())
}

/// Removes group folders that nobody uses, `system` and the top; what another launcher still uses refuses by itself.
fn remove_empty_below(root: BorrowedFd<'_>, top: &str) {
    for child in children(root, top) {
        let _ = rustix::fs::unlinkat(root, format!("{top}/{child}"), AtFlags::REMOVEDIR);
    }
    let _ = rustix::fs::unlinkat(root, top, AtFlags::REMOVEDIR);
}
