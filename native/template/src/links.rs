//! Finds the links in /usr that point into /etc and has their targets copied.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use rustix::fs::{self, FileType};

use crate::TemplateError;
use crate::copy::Copier;
use crate::source::Source;
use crate::walk::{Budget, walk};

const TOPS: [&str; 10] = ["bin", "sbin", "lib", "lib64", "lib32", "libx32", "libexec", "share", "games", "local"];

/// Large, and no program needs a link from there into /etc.
const SKIPPED: [&str; 5] = ["usr/share/doc", "usr/share/locale", "usr/share/icons", "usr/lib/debug", "usr/lib/modules"];

/// A /usr with more than this is walked only so far, with a warning.
const MAX_ENTRIES: usize = 2_000_000;
const MAX_TIME: Duration = Duration::from_secs(30);

/// Directories this far beneath /usr are watched for change, beside the package managers' own records: a link that
/// appears deeper without a package manager is noticed at the next change of any of them.
const WATCHED_DEPTH: usize = 3;

/// What changes whenever a package is installed or removed (dpkg, rpm, pacman, apk).
const PACKAGE_RECORDS: [&str; 7] = [
    "var/lib/dpkg/status",
    "var/lib/rpm/rpmdb.sqlite",
    "var/lib/rpm/Packages",
    "usr/lib/sysimage/rpm/rpmdb.sqlite",
    "var/lib/pacman/local",
    "usr/lib/apk/db/installed",
    "lib/apk/db/installed",
];

pub(crate) fn copy_linked(source: &Source<'_>, copier: &mut Copier<'_>) -> Result<(), TemplateError> {
    for path in PACKAGE_RECORDS {
        copier.watch(Path::new(path));
    }
    let mut budget = Budget::new(MAX_ENTRIES, MAX_TIME);
    copier.watch(Path::new("usr"));
    for top in TOPS {
        let top = Path::new("usr").join(top);
        copier.watch(&top);
        let Ok(directory) = source.open_directory(&top) else { continue };
        let mut found = Vec::new();
        walk(directory, &top, &mut budget, &mut |entry| {
            let path = entry.path.join(entry.name);
            match entry.kind {
                FileType::Symlink => {
                    if let Ok(target) = fs::readlinkat(entry.directory, entry.name, Vec::new()) {
                        let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
                        if resolve(entry.path, &target).is_some_and(|end| end.starts_with("etc")) {
                            found.push(path);
                        }
                    }
                    false
                }
                FileType::Directory if !SKIPPED.iter().any(|skipped| path == Path::new(skipped)) => {
                    if entry.path.components().count() < WATCHED_DEPTH {
                        copier.watch(&path);
                    }
                    true
                }
                _ => false,
            }
        });
        found.sort();
        for link in found {
            copier.chase(&link)?;
        }
    }
    if budget.is_spent() {
        copier.warn(format!("/usr holds more than {MAX_ENTRIES} entries or is slow; some links into /etc may dangle"));
    }
    Ok(())
}

/// Where a link in `directory` leads by its text alone, relative to the root; `None` when it climbs above it.
pub(crate) fn resolve(directory: &Path, target: &Path) -> Option<PathBuf> {
    let mut at = if target.is_absolute() { PathBuf::new() } else { directory.to_owned() };
    for component in target.components() {
        match component {
            Component::Normal(name) => at.push(name),
            Component::ParentDir if !at.pop() => return None,
            _ => {}
        }
    }
    Some(at)
}
