//! The root file system made from the host's own /usr.
//!
//! [`build_host`] makes the *skeleton*: the read-only lower layer of every `host` sandbox. It holds the top-level links
//! of a merged-/usr system, empty mount points, a synthetic /etc, and copies of what /usr links to beneath /etc. The
//! launcher mounts the host's /usr over `usr` and the kernel file systems over their mount points. Owners in the
//! skeleton are the ids seen inside the sandbox (0 and 1000); the launcher maps them.
//!
//! Nothing of the host's /home, /root and /var gets in, and of /etc only what the rules in `secrets` let through.

mod cache;
mod copy;
mod error;
mod known;
mod layout;
mod links;
mod local;
mod manifest;
mod secrets;
mod skeleton;
mod source;
mod synthetic;
mod walk;

use std::path::{Path, PathBuf};

pub use cache::prune;
pub use error::TemplateError;

/// The user name inside a `host` sandbox.
pub const USER: &str = "sandbox";
/// The uid and gid of [`USER`], as seen inside.
pub const USER_ID: u32 = 1000;

/// Where [`Tool`]s are, inside. /usr is the host's own and read-only, so it is a folder beside it, which comes first in PATH.
pub const TOOLS: &str = "/opt/caisson/bin";

/// A program that belongs to Caisson and not to the host.
#[derive(Debug, Clone, Copy)]
pub struct Tool<'a> {
    /// Its file name.
    pub name: &'a str,
    /// A static executable.
    pub content: &'a [u8],
}

/// A ready `host` template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostTemplate {
    /// The lower layer: a directory that never changes once it is returned. Its parent is for root only (0700), because
    /// files in it belong to ids that mean somebody else on the host.
    pub skeleton: PathBuf,
    /// What the operator should know: files left out, likely secrets beneath /usr/local. At most a few dozen lines.
    pub warnings: Vec<String>,
}

/// Builds the skeleton from this host, or reuses the one in `cache` when nothing that it was made from has changed.
///
/// Needs root. Any number of processes may call it at once; a build that died leaves nothing behind but a temporary
/// folder, which the next build removes. A returned skeleton stays until [`prune`] removes it.
///
/// # Errors
/// [`TemplateError`] says what is missing; nothing is weakened instead.
pub fn build_host(cache: &Path) -> Result<HostTemplate, TemplateError> {
    build_host_with(cache, &[])
}

/// The same, with programs of Caisson's own in [`TOOLS`].
///
/// # Errors
/// As [`build_host`].
pub fn build_host_with(cache: &Path, tools: &[Tool<'_>]) -> Result<HostTemplate, TemplateError> {
    if !rustix::process::geteuid().is_root() {
        return Err(TemplateError::NotRoot);
    }
    build_from(Path::new("/"), cache, tools)
}

/// The same with another source root. Without root the owners in the skeleton stay those of the caller (tests only).
fn build_from(root: &Path, cache: &Path, tools: &[Tool<'_>]) -> Result<HostTemplate, TemplateError> {
    let source = source::Source::open(root, tools)?;
    let cache = cache::Cache::open(cache)?;
    if let Some(found) = cache.find(&source) {
        return Ok(found);
    }
    let lock = cache.lock()?;
    if let Some(found) = cache.find(&source) {
        return Ok(found);
    }
    cache.build(&lock, &source, make)
}

/// What one build found out, beside the files themselves.
struct Made {
    manifest: manifest::Manifest,
    warnings: Vec<String>,
}

fn make(source: &source::Source<'_>, skeleton: &skeleton::Skeleton) -> Result<Made, TemplateError> {
    let mut manifest = manifest::Manifest::default();
    layout::write(source, skeleton, &mut manifest)?;
    for tool in source.tools() {
        skeleton.file(Path::new(&TOOLS[1..]).join(tool.name), tool.content, 0o755)?;
    }
    let synthetic = synthetic::write(source, skeleton, &mut manifest)?;
    let mut copier = copy::Copier::new(source, skeleton, &mut manifest, synthetic);
    known::copy(source, &mut copier)?;
    links::copy_linked(source, &mut copier)?;
    let mut warnings = copier.into_warnings();
    warnings.extend(local::suspects(source, &mut manifest));
    Ok(Made { manifest, warnings })
}

#[cfg(test)]
mod tests;
