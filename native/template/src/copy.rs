//! Copies parts of the host's /etc, following links from place to place.

use std::collections::{HashSet, VecDeque};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use crate::TemplateError;
use crate::manifest::Manifest;
use crate::secrets;
use crate::skeleton::Skeleton;
use crate::source::{Entry, Source};

const MAX_FILES: usize = 20_000;
const MAX_BYTES: u64 = 64 << 20;
const MAX_FILE_BYTES: u64 = 8 << 20;
const MAX_WARNINGS: usize = 30;
/// As the kernel's own limit for one path.
const MAX_HOPS: usize = 40;
const MAX_DEPTH: usize = 16;

/// Permissions that the inside may have: never set-id, never writable for others.
const MODE: u32 = 0o755;

/// Copies into one skeleton; every path is copied once.
pub(crate) struct Copier<'a> {
    source: &'a Source<'a>,
    skeleton: &'a Skeleton,
    manifest: &'a mut Manifest,
    /// Paths in the skeleton that are there, or that were looked at and refused.
    done: HashSet<PathBuf>,
    refused: HashSet<PathBuf>,
    files: usize,
    bytes: u64,
    warnings: Vec<String>,
}

impl<'a> Copier<'a> {
    /// `present` are the paths that the skeleton holds already and that stay as they are.
    pub(crate) fn new(
        source: &'a Source<'a>,
        skeleton: &'a Skeleton,
        manifest: &'a mut Manifest,
        present: HashSet<PathBuf>,
    ) -> Self {
        Self {
            source,
            skeleton,
            manifest,
            done: present,
            refused: HashSet::new(),
            files: 0,
            bytes: 0,
            warnings: Vec::new(),
        }
    }

    pub(crate) fn into_warnings(self) -> Vec<String> {
        self.warnings
    }

    pub(crate) fn watch(&mut self, path: &Path) {
        self.manifest.watch(self.source, path);
    }

    pub(crate) fn warn(&mut self, warning: String) {
        if self.warnings.len() < MAX_WARNINGS {
            self.warnings.push(warning);
        } else if self.warnings.len() == MAX_WARNINGS {
            self.warnings.push("more files of /etc were left out".to_owned());
        }
    }

    /// Follows a path through all its links, the way the kernel does, and copies every part of it that lies in /etc: the
    /// links as links, what stands at the end as a whole. Returns false when the end is not, or may not be, in a
    /// template; nothing of the chain is copied then.
    pub(crate) fn chase(&mut self, path: &Path) -> Result<bool, TemplateError> {
        self.chase_at(path, 0)
    }

    fn chase_at(&mut self, path: &Path, depth: usize) -> Result<bool, TemplateError> {
        let mut rest: VecDeque<OsString> = parts(path).collect();
        let mut at = PathBuf::new();
        let mut links: Vec<(PathBuf, PathBuf)> = Vec::new();
        while let Some(part) = rest.pop_front() {
            if part == ".." {
                at.pop();
                continue;
            }
            let next = at.join(&part);
            let etc = next.starts_with("etc");
            if etc {
                self.watch(&next);
                if next != Path::new("etc") && secrets::is_denied(&next) {
                    return Ok(false);
                }
            }
            match self.source.entry(&next) {
                Ok(Entry::Link(target)) => {
                    if links.len() == MAX_HOPS {
                        return Ok(false);
                    }
                    if target.is_absolute() {
                        at = PathBuf::new();
                    }
                    for part in parts(&target).collect::<Vec<_>>().into_iter().rev() {
                        rest.push_front(part);
                    }
                    links.push((next, target));
                }
                Ok(Entry::Directory(stat)) => {
                    if etc && stat.st_mode & 0o001 == 0 {
                        self.leave_out(&next, "only root may enter it");
                        return Ok(false);
                    }
                    at = next;
                }
                Ok(Entry::File) if rest.is_empty() => at = next,
                Ok(Entry::File | Entry::Missing | Entry::Other) => return Ok(false),
                Err(e) => {
                    self.leave_out(&next, &e.to_string());
                    return Ok(false);
                }
            }
        }
        if !self.place(&at, path, depth)? {
            return Ok(false);
        }
        for (link, target) in links {
            if link.starts_with("etc") && self.done.insert(link.clone()) {
                self.skeleton.link(&link, &target)?;
            }
        }
        Ok(true)
    }

    /// Makes sure that the end of a chain is there inside.
    fn place(&mut self, end: &Path, asked: &Path, depth: usize) -> Result<bool, TemplateError> {
        if end.starts_with("usr") || self.done.contains(end) {
            return Ok(true);
        }
        if end == Path::new("etc") || self.refused.contains(end) {
            return Ok(false);
        }
        if !end.starts_with("etc") {
            let (asked, end) = (self.source.show(asked), self.source.show(end));
            self.warn(format!(
                "{} leads to {}, which is not part of the host template",
                asked.display(),
                end.display()
            ));
            return Ok(false);
        }
        match self.source.entry(end) {
            Ok(Entry::File) => self.copy_file(end),
            Ok(Entry::Directory(_)) => self.copy_directory(end, depth),
            _ => Ok(false),
        }
    }

    fn copy_directory(&mut self, path: &Path, depth: usize) -> Result<bool, TemplateError> {
        if depth == MAX_DEPTH {
            self.leave_out(path, "the folders are too deep");
            return Ok(false);
        }
        let names = match self.source.names(path) {
            Ok(names) => names,
            Err(e) => {
                self.leave_out(path, &e.to_string());
                return Ok(false);
            }
        };
        self.skeleton.directory(path, 0o755, 0)?;
        self.done.insert(path.to_owned());
        for name in names {
            self.chase_at(&path.join(name), depth + 1)?;
        }
        Ok(true)
    }

    fn copy_file(&mut self, path: &Path) -> Result<bool, TemplateError> {
        match self.read(path) {
            Ok((content, mode)) => {
                self.skeleton.file(path, &content, mode & MODE)?;
                self.files += 1;
                self.bytes += content.len() as u64;
                self.done.insert(path.to_owned());
                Ok(true)
            }
            Err(why) => {
                self.leave_out(path, &why);
                Ok(false)
            }
        }
    }

    /// The content and mode of a file that may be copied, or why it may not.
    fn read(&self, path: &Path) -> Result<(Vec<u8>, u32), String> {
        let open = || -> io::Result<(File, u32)> {
            let file = self.source.open_file(path)?;
            let mode = file.metadata()?.mode();
            Ok((file, mode))
        };
        let (file, mode) = open().map_err(|e| e.to_string())?;
        if mode & 0o004 == 0 {
            return Err("it is not readable for everyone".to_owned());
        }
        if self.files >= MAX_FILES || self.bytes >= MAX_BYTES {
            return Err(format!("the template already holds {MAX_FILES} files or {} MiB", MAX_BYTES >> 20));
        }
        let mut content = Vec::new();
        file.take(MAX_FILE_BYTES + 1).read_to_end(&mut content).map_err(|e| e.to_string())?;
        if content.len() as u64 > MAX_FILE_BYTES {
            return Err(format!("it is larger than {} MiB", MAX_FILE_BYTES >> 20));
        }
        match secrets::secret_in(&content) {
            Some(kind) => Err(format!("it seems to hold {kind}")),
            None => Ok((content, mode)),
        }
    }

    fn leave_out(&mut self, path: &Path, why: &str) {
        if self.refused.insert(path.to_owned()) {
            self.warn(format!("{} was left out of the template: {why}", self.source.show(path).display()));
        }
    }
}

/// The names of a path, `..` included, without the root.
fn parts(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    })
}
