//! What a template was made from: one line per source path with the attributes by which a change is noticed.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::Stat;

use crate::source::Source;

/// The code that decides what a skeleton holds: another text of it gives another version.
const RULES: [&[u8]; 9] = [
    include_bytes!("copy.rs"),
    include_bytes!("known.rs"),
    include_bytes!("layout.rs"),
    include_bytes!("links.rs"),
    include_bytes!("local.rs"),
    include_bytes!("manifest.rs"),
    include_bytes!("secrets.rs"),
    include_bytes!("skeleton.rs"),
    include_bytes!("synthetic.rs"),
];

/// Computed by the compiler.
const VERSION: u64 = {
    let mut hash = FNV_START;
    let mut i = 0;
    while i < RULES.len() {
        hash = fnv(hash, RULES[i]);
        i += 1;
    }
    hash
};

/// The sources consulted so far, each as it was when it was first looked at: a file that changes while it is copied no
/// longer matches, so the next start builds again.
#[derive(Default)]
pub(crate) struct Manifest {
    sources: BTreeMap<PathBuf, String>,
}

impl Manifest {
    /// Notes a path, existing or not.
    pub(crate) fn watch(&mut self, source: &Source<'_>, path: &Path) {
        // A line break would split the line; such a name is never copied either.
        if !path.as_os_str().as_bytes().contains(&b'\n') && !self.sources.contains_key(path) {
            self.sources.insert(path.to_owned(), signature(source.stat(path).as_ref()));
        }
    }

    /// The text that is kept beside the skeleton.
    pub(crate) fn text(&self, source: &Source<'_>) -> Vec<u8> {
        let mut text = header(source);
        for (path, signature) in &self.sources {
            text.extend_from_slice(signature.as_bytes());
            text.push(b'\t');
            text.extend_from_slice(path.as_os_str().as_bytes());
            text.push(b'\n');
        }
        text
    }
}

/// True when the kept text was written by this version for this root and every source is as it was.
pub(crate) fn is_current(text: &[u8], source: &Source<'_>) -> bool {
    let Some(lines) = text.strip_prefix(header(source).as_slice()).and_then(|rest| rest.strip_suffix(b"\n")) else {
        return false;
    };
    lines.split(|&b| b == b'\n').all(|line| {
        let Some(tab) = line.iter().position(|&b| b == b'\t') else { return false };
        let path = Path::new(std::ffi::OsStr::from_bytes(&line[tab + 1..]));
        signature(source.stat(path).as_ref()).as_bytes() == &line[..tab]
    })
}

/// The name of a template folder. It only names; what decides is the manifest itself.
pub(crate) fn fingerprint(text: &[u8]) -> String {
    format!("{:016x}", fnv(FNV_START, text))
}

const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a, 64 bits.
const fn fnv(mut hash: u64, bytes: &[u8]) -> u64 {
    let mut i = 0;
    while i < bytes.len() {
        hash = (hash ^ bytes[i] as u64).wrapping_mul(0x0000_0100_0000_01b3);
        i += 1;
    }
    hash
}

fn header(source: &Source<'_>) -> Vec<u8> {
    let mut header = format!("caisson-template {} {VERSION:016x}\t", env!("CARGO_PKG_VERSION")).into_bytes();
    header.extend_from_slice(source.show(Path::new("")).as_os_str().as_bytes());
    for tool in source.tools() {
        header.extend_from_slice(format!("\t{} {:016x}", tool.name, fnv(FNV_START, tool.content)).as_bytes());
    }
    header.push(b'\n');
    header
}

/// Mode, owner, size and both times; the change time also tells a `chmod` or a restored modification time. No device and
/// inode: they differ after a reboot on some file systems.
fn signature(stat: Option<&Stat>) -> String {
    let mut text = String::with_capacity(64);
    let Some(s) = stat else { return "-".to_owned() };
    let times = (s.st_mtime, s.st_mtime_nsec, s.st_ctime, s.st_ctime_nsec);
    // Writing to a String cannot fail.
    let _ = write!(text, "{:o} {} {} {} {} {} {}", s.st_mode, s.st_uid, s.st_size, times.0, times.1, times.2, times.3);
    text
}
