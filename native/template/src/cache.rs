//! The cache folder: finished templates under their fingerprints, one lock for building.
//!
//! `<fingerprint>/` holds `skeleton/`, `manifest` and `warnings`; it appears by one rename and never changes. Only the
//! holder of the lock has a `building` folder, so whoever gets the lock and finds one knows that its builder is dead.

use std::fs::{self as std_fs, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, flock};

use crate::manifest::{fingerprint, is_current};
use crate::skeleton::Skeleton;
use crate::source::Source;
use crate::{HostTemplate, Made, TemplateError};

const LOCK: &str = "lock";
const BUILDING: &str = "building";
const SKELETON: &str = "skeleton";
const MANIFEST: &str = "manifest";
const WARNINGS: &str = "warnings";

/// A cold build takes a second or a few; on a slow disk some more.
const LOCK_PATIENCE: Duration = Duration::from_secs(120);
const LOCK_POLL: Duration = Duration::from_millis(20);

/// An existing, private cache folder.
pub(crate) struct Cache {
    path: PathBuf,
}

/// Held while building; the kernel lets go of it when the process dies.
pub(crate) struct Lock {
    _file: File,
}

impl Cache {
    pub(crate) fn open(path: &Path) -> Result<Self, TemplateError> {
        let fail = |e| TemplateError::io("create the template cache", path, e);
        std_fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(fail)?;
        let meta = std_fs::symlink_metadata(path).map_err(fail)?;
        let unsafe_cache = |why: String| Err(TemplateError::UnsafeCache { path: path.to_owned(), why });
        if !meta.is_dir() {
            return unsafe_cache("is not a directory".to_owned());
        }
        if meta.uid() != rustix::process::geteuid().as_raw() {
            return unsafe_cache(format!("belongs to uid {}", meta.uid()));
        }
        if meta.mode() & 0o022 != 0 {
            return unsafe_cache(format!("has mode {:o}", meta.mode() & 0o7777));
        }
        Ok(Self { path: path.to_owned() })
    }

    /// A finished template whose sources are all unchanged.
    pub(crate) fn find(&self, source: &Source<'_>) -> Option<HostTemplate> {
        entries(&self.path).into_iter().find_map(|entry| {
            let text = std_fs::read(entry.join(MANIFEST)).ok()?;
            if is_current(&text, source) { read_template(&entry).ok() } else { None }
        })
    }

    /// Waits for other builders.
    pub(crate) fn lock(&self) -> Result<Lock, TemplateError> {
        let path = self.path.join(LOCK);
        let fail = |e: io::Error| TemplateError::io("lock", &path, e);
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600);
        let file = options.open(&path).map_err(fail)?;
        let deadline = Instant::now() + LOCK_PATIENCE;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Lock { _file: file }),
                Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) if Instant::now() < deadline => {
                    thread::sleep(LOCK_POLL);
                }
                Err(rustix::io::Errno::WOULDBLOCK) => return Err(TemplateError::Busy { path }),
                Err(e) => return Err(fail(e.into())),
            }
        }
    }

    /// Fills a skeleton with `make` and puts it in place whole, or not at all.
    pub(crate) fn build(
        &self,
        _lock: &Lock,
        source: &Source<'_>,
        make: impl FnOnce(&Source<'_>, &Skeleton) -> Result<Made, TemplateError>,
    ) -> Result<HostTemplate, TemplateError> {
        let building = self.path.join(BUILDING);
        remove(&building)?;
        let result = self.build_in(&building, source, make);
        if result.is_err() {
            // The first error is the one to report; the next build removes what stays.
            let _ = remove(&building);
        }
        result
    }

    fn build_in(
        &self,
        building: &Path,
        source: &Source<'_>,
        make: impl FnOnce(&Source<'_>, &Skeleton) -> Result<Made, TemplateError>,
    ) -> Result<HostTemplate, TemplateError> {
        let create = std_fs::DirBuilder::new().mode(0o700).create(building);
        create.map_err(|e| TemplateError::io("create", building, e))?;
        let skeleton = Skeleton::create(&building.join(SKELETON))?;
        let made = make(source, &skeleton)?;
        let manifest = made.manifest.text(source);
        write(&building.join(MANIFEST), &manifest)?;
        write(&building.join(WARNINGS), lines(&made.warnings).as_bytes())?;
        skeleton.sync()?;
        let ready = self.path.join(fingerprint(&manifest));
        self.set_aside(&ready)?;
        std_fs::rename(building, &ready).map_err(|e| TemplateError::io("put in place", &ready, e))?;
        File::open(&self.path)
            .and_then(|folder| folder.sync_all())
            .map_err(|e| TemplateError::io("write to disk", &self.path, e))?;
        read_template(&ready).map_err(|e| TemplateError::io("read", &ready, e))
    }

    /// Frees a name: a folder that has it now was not accepted, so it is damaged. It may be in use, so it stays for
    /// [`prune`].
    fn set_aside(&self, ready: &Path) -> Result<(), TemplateError> {
        if std_fs::symlink_metadata(ready).is_err() {
            return Ok(());
        }
        let stamp = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| age.as_nanos() as u64);
        let aside = self.path.join(format!("{stamp:016x}"));
        let _ = std_fs::remove_file(ready.join(MANIFEST));
        std_fs::rename(ready, &aside).map_err(|e| TemplateError::io("set aside", ready, e))
    }
}

/// Removes templates of earlier states of the host, and what a dead builder left. `in_use` are skeletons of living
/// sandboxes; the current template should be among them, or it is built again next time. Returns how many went.
///
/// # Errors
/// When a folder cannot be removed, or another process is building for too long.
pub fn prune(cache: &Path, in_use: &[PathBuf]) -> Result<usize, TemplateError> {
    let cache = Cache::open(cache)?;
    let _lock = cache.lock()?;
    remove(&cache.path.join(BUILDING))?;
    let mut removed = 0;
    for entry in entries(&cache.path) {
        if !in_use.contains(&entry.join(SKELETON)) {
            // Under the name of an unfinished build it is never found again, however far the removal gets.
            let dying = cache.path.join(BUILDING);
            std_fs::rename(&entry, &dying).map_err(|e| TemplateError::io("remove", &entry, e))?;
            remove(&dying)?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// Folders named by a fingerprint.
fn entries(cache: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std_fs::read_dir(cache) else { return Vec::new() };
    let named = |path: &PathBuf| {
        path.file_name()
            .is_some_and(|name| name.len() == 16 && name.as_encoded_bytes().iter().all(u8::is_ascii_hexdigit))
    };
    entries.flatten().map(|entry| entry.path()).filter(named).collect()
}

fn read_template(entry: &Path) -> io::Result<HostTemplate> {
    let warnings = std_fs::read_to_string(entry.join(WARNINGS))?;
    let skeleton = entry.join(SKELETON);
    std_fs::symlink_metadata(skeleton.join("etc/passwd"))?;
    Ok(HostTemplate { skeleton, warnings: warnings.lines().map(str::to_owned).collect() })
}

/// One line each: a line break in a path must not make two of one.
fn lines(warnings: &[String]) -> String {
    warnings.iter().map(|warning| warning.replace(|c: char| c.is_control(), "?") + "\n").collect()
}

fn write(path: &Path, content: &[u8]) -> Result<(), TemplateError> {
    File::create_new(path).and_then(|mut file| file.write_all(content)).map_err(|e| TemplateError::io("write", path, e))
}

fn remove(path: &Path) -> Result<(), TemplateError> {
    match std_fs::remove_dir_all(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(TemplateError::io("remove", path, e)),
        _ => Ok(()),
    }
}
