//! Looks for likely secrets beneath /usr/local and /usr/etc: all of /usr is visible inside, also what is no package's.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use rustix::fs::FileType;

use crate::manifest::Manifest;
use crate::secrets;
use crate::source::{Source, open_file_at};
use crate::walk::{Budget, Found, walk};

const TOPS: [&str; 2] = ["usr/local", "usr/etc"];
const MAX_ENTRIES: usize = 20_000;
const MAX_TIME: Duration = Duration::from_secs(5);
const MAX_WARNINGS: usize = 20;
/// How much of a file is searched for a private key.
const MAX_BYTES: u64 = 64 << 10;
/// Keys in test data of languages and libraries are public.
const TEST_DIRECTORIES: [&str; 5] = ["test", "tests", "testdata", "fixtures", "examples"];
/// As far beneath the tops, directories are watched for change.
const WATCHED_DEPTH: usize = 2;

/// One warning per suspect, at most [`MAX_WARNINGS`] and a line that says so.
pub(crate) fn suspects(source: &Source<'_>, manifest: &mut Manifest) -> Vec<String> {
    let mut warnings = Vec::new();
    for top in TOPS {
        let top = Path::new(top);
        manifest.watch(source, top);
        let Ok(directory) = source.open_directory(top) else { continue };
        let mut budget = Budget::new(MAX_ENTRIES, MAX_TIME);
        walk(directory, top, &mut budget, &mut |found| {
            let path = found.path.join(found.name);
            if found.kind == FileType::Directory {
                if path.components().count() <= top.components().count() + WATCHED_DEPTH {
                    manifest.watch(source, &path);
                }
                return !TEST_DIRECTORIES.iter().any(|name| found.name == *name);
            }
            if warnings.len() < MAX_WARNINGS && found.kind == FileType::RegularFile && is_suspect(found) {
                manifest.watch(source, &path);
                warnings.push(warning(source, &path));
            }
            true
        });
        if budget.is_spent() {
            let top = source.show(top);
            warnings.push(format!("{} is large; only a part of it was searched for secrets", top.display()));
        }
    }
    if warnings.len() >= MAX_WARNINGS {
        warnings.push("there may be more such files; only the first ones are listed".to_owned());
    }
    warnings
}

fn warning(source: &Source<'_>, path: &Path) -> String {
    format!(
        "{} looks like a secret and everyone may read it, so every host sandbox sees it; move it out of /usr or take \
         away the permission",
        source.show(path).display()
    )
}

fn is_suspect(found: &Found<'_>) -> bool {
    let by_name = secrets::is_secret_name(found.name);
    if !by_name && !may_hold_key(found.name) {
        return false;
    }
    let Ok(file) = open_file_at(found.directory, Path::new(found.name)) else { return false };
    let readable = file.metadata().is_ok_and(|meta| meta.mode() & 0o004 != 0 && meta.len() > 0);
    readable && (by_name && !needs_look(found.name) || holds_secret(file, by_name))
}

/// Names that are also given to harmless files: only the content tells.
fn needs_look(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    [".key", "_key", "npmrc", "pip.conf", "auth.json"].iter().any(|end| name.ends_with(end))
}

fn may_hold_key(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    [".pem", ".crt", ".conf", ".ini"].iter().any(|end| name.ends_with(end))
}

/// A private key; in files with a telling name, any other secret too.
fn holds_secret(file: File, any: bool) -> bool {
    let mut content = Vec::new();
    if file.take(MAX_BYTES).read_to_end(&mut content).is_err() {
        return false;
    }
    match secrets::secret_in(&content) {
        Some(kind) => any || kind == "a private key",
        None => false,
    }
}
