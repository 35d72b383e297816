//! The top level: links into /usr, mount points, homes.

use std::path::{Component, Path, PathBuf};

use crate::manifest::Manifest;
use crate::skeleton::Skeleton;
use crate::source::{Entry, Source};
use crate::{TemplateError, USER_ID};

/// Must be links into /usr.
const MERGED: [&str; 3] = ["bin", "sbin", "lib"];
/// Links into /usr where the host has them.
const MERGED_IF_PRESENT: [&str; 3] = ["lib64", "lib32", "libx32"];

/// Path, permissions, owner inside.
const DIRECTORIES: [(&str, u32, u32); 26] = [
    ("usr", 0o755, 0),
    ("proc", 0o755, 0),
    ("sys", 0o755, 0),
    ("sys/fs/cgroup", 0o755, 0),
    ("sys/fs/cgroup/memory", 0o755, 0),
    ("sys/fs/cgroup/cpu", 0o755, 0),
    ("sys/fs/cgroup/cpuacct", 0o755, 0),
    ("sys/fs/cgroup/cpuset", 0o755, 0),
    ("sys/fs/cgroup/pids", 0o755, 0),
    ("dev", 0o755, 0),
    ("tmp", 0o1777, 0),
    ("run", 0o755, 0),
    ("run/lock", 0o1777, 0),
    ("var", 0o755, 0),
    ("var/tmp", 0o1777, 0),
    ("var/lib", 0o755, 0),
    ("var/log", 0o755, 0),
    ("var/cache", 0o755, 0),
    ("var/spool", 0o755, 0),
    ("root", 0o700, 0),
    ("opt", 0o755, 0),
    ("srv", 0o755, 0),
    ("etc", 0o755, 0),
    ("home", 0o755, 0),
    ("home/sandbox", 0o700, USER_ID),
    ("work", 0o755, USER_ID),
];

pub(crate) fn write(source: &Source<'_>, skeleton: &Skeleton, manifest: &mut Manifest) -> Result<(), TemplateError> {
    for (path, mode, owner) in DIRECTORIES {
        skeleton.directory(path, mode, owner)?;
    }
    skeleton.link("var/run", "/run")?;
    skeleton.link("var/lock", "/run/lock")?;
    for name in MERGED {
        manifest.watch(source, Path::new(name));
        let target = merged_target(source, name)?.ok_or_else(|| not_merged(source, name))?;
        skeleton.link(name, target)?;
    }
    for name in MERGED_IF_PRESENT {
        manifest.watch(source, Path::new(name));
        if let Some(target) = merged_target(source, name)? {
            skeleton.link(name, target)?;
        }
    }
    Ok(())
}

/// Where a top-level link leads, as `usr/...`; `None` when there is nothing, an error when it is no link into /usr.
fn merged_target(source: &Source<'_>, name: &str) -> Result<Option<PathBuf>, TemplateError> {
    match source.entry(Path::new(name)).map_err(|e| TemplateError::io("read", &source.show(Path::new(name)), e))? {
        Entry::Missing => Ok(None),
        Entry::Link(target) => {
            let target = target.strip_prefix("/").unwrap_or(&target).to_owned();
            let plain = target.components().all(|c| matches!(c, Component::Normal(_)));
            if plain && target.starts_with("usr") { Ok(Some(target)) } else { Err(not_merged(source, name)) }
        }
        _ => Err(not_merged(source, name)),
    }
}

fn not_merged(source: &Source<'_>, name: &str) -> TemplateError {
    TemplateError::NotMerged { path: source.show(Path::new(name)) }
}
