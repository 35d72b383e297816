//! Host id ranges and audit login ids. A sandbox has 65,536 host ids of its own, out of spans that belong to one launcher
//! at a time: a span is a lock file, held as long as its launcher lives.

use crate::error::{Doing, Error, Result};
use crate::upgrade::{LauncherState, Legacy};
use caisson_wire::launcher as wire;
use rustix::fs::FlockOperation;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Ids of one sandbox.
pub const RANGE: u32 = 65_536;
/// First host id given out: above what systemd hands to containers (524288 to 1879048191, systemd's UIDS-GIDS.md).
const FIRST: u32 = 0x7000_0000;
/// Sandboxes whose ids come from one span.
const SPAN: u32 = 32;
/// Spans in all: ends below 2^31 - 1, which some file systems cannot store.
const SPANS: u32 = 127;
/// Login ids are a counter in a range of its own, so that a range of host ids used again is a new login id.
const LOGIN_FIRST: u32 = 0x5000_0000;
const LOGIN_COUNT: u32 = 0x1000_0000;

/// Hands out ranges and login ids; takes another span when its own are used up.
pub struct Ids {
    folder: PathBuf,
    spans: Vec<File>,
    free: std::collections::VecDeque<u32>,
    logins: File,
}

impl Ids {
    /// Locks are in `folder`, shared by all launchers of this host.
    pub fn open(folder: &Path) -> Result<Self> {
        let spans = folder.join("span");
        std::fs::create_dir_all(&spans).doing(|| format!("make {}", spans.display()))?;
        let path = folder.join("login");
        let logins = open_lock(&path).doing(|| format!("open {}", path.display()))?;
        Ok(Self { folder: spans, spans: Vec::new(), free: std::collections::VecDeque::new(), logins })
    }

    /// Names spans and free ranges for the launcher that comes after.
    pub fn hand_on(&self, state: &mut LauncherState) {
        use std::os::fd::AsRawFd;
        state.spans = self.spans.iter().map(AsRawFd::as_raw_fd).collect();
        state.free_ids = self.free.iter().copied().collect();
    }

    /// Takes over spans and free ranges; those of living sandboxes are not among them.
    pub fn resume(folder: &Path, legacy: &mut Legacy) -> Result<Self> {
        let mut ids = Self::open(folder)?;
        for span in std::mem::take(&mut legacy.state.spans) {
            ids.spans.push(legacy.heirs.take(span)?.into());
        }
        ids.free.extend(std::mem::take(&mut legacy.state.free_ids));
        Ok(ids)
    }

    /// First host id of a fresh range. Used ranges come back last, so that reuse is late.
    pub fn take(&mut self) -> Result<u32> {
        if self.free.is_empty() {
            self.take_span()?;
        }
        self.free.pop_front().ok_or_else(|| Error::new(wire::ErrorKind::ErrorNoCapacity, "no host id range is free"))
    }

    /// Gives a range back, when nothing of its sandbox is left.
    pub fn give(&mut self, base: u32) {
        self.free.push_back(base);
    }

    fn take_span(&mut self) -> Result<()> {
        for number in 0..SPANS {
            let path = self.folder.join(number.to_string());
            let file = open_lock(&path).doing(|| format!("open {}", path.display()))?;
            if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
                self.spans.push(file);
                self.free.extend((0..SPAN).map(|i| FIRST + (number * SPAN + i) * RANGE));
                return Ok(());
            }
        }
        Err(Error::new(
            wire::ErrorKind::ErrorNoCapacity,
            format!("all {} host id ranges of this host are in use", SPANS * SPAN),
        )
        .remedy("end sandboxes that are not needed"))
    }

    /// The next login id of this host.
    pub fn login(&mut self) -> Result<u32> {
        use std::os::unix::fs::FileExt;
        let next = || -> std::io::Result<u32> {
            rustix::fs::flock(&self.logins, FlockOperation::LockExclusive)?;
            let mut bytes = [0; 4];
            let last = if self.logins.read_at(&mut bytes, 0)? == 4 { u32::from_ne_bytes(bytes) } else { 0 };
            let value = (last + 1) % LOGIN_COUNT;
            self.logins.write_all_at(&value.to_ne_bytes(), 0)?;
            rustix::fs::flock(&self.logins, FlockOperation::Unlock)?;
            Ok(LOGIN_FIRST + value)
        };
        next().doing(|| "count the audit login id".into())
    }
}

/// Opens a lock file, making it when it is not there.
pub fn open_lock(path: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    File::options().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("caisson-ids-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    #[test]
    fn two_launchers_never_share_a_range_and_a_dead_one_gives_its_spans_back() {
        let folder = folder("spans");
        let mut a = Ids::open(&folder).unwrap();
        let mut b = Ids::open(&folder).unwrap();
        let of_a: Vec<_> = (0..SPAN + 1).map(|_| a.take().unwrap()).collect();
        let of_b: Vec<_> = (0..SPAN).map(|_| b.take().unwrap()).collect();
        assert!(of_a.iter().all(|r| !of_b.contains(r)));
        drop(a);
        let mut c = Ids::open(&folder).unwrap();
        assert_eq!(c.take().unwrap(), FIRST);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn ranges_end_below_two_to_the_31() {
        assert!(u64::from(FIRST) + u64::from(SPANS * SPAN) * u64::from(RANGE) < (1 << 31) - 1);
    }

    #[test]
    fn login_ids_never_repeat_between_launchers() {
        let folder = folder("login");
        let mut a = Ids::open(&folder).unwrap();
        let mut b = Ids::open(&folder).unwrap();
        let ids = [a.login().unwrap(), b.login().unwrap(), a.login().unwrap()];
        assert_eq!(ids, [LOGIN_FIRST + 1, LOGIN_FIRST + 2, LOGIN_FIRST + 3]);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
