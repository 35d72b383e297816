//! Removes what is left of ended sandboxes, on a thread of its own: cgroup folders, the disk's mount and device.
//!
//! The queue is bounded: who ends sandboxes faster than they can be cleared waits.

use crate::cgroup::Cgroups;
use crate::disk::Disk;
use crate::error::{Doing, Result};
use crate::volume::Attached;
use rustix::event::{EventfdFlags, eventfd};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long cgroup folders may refuse before they are given up as stuck.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is left of a sandbox whose processes are dead.
pub struct Leftover {
    /// Its id.
    pub id: String,
    /// Its cgroups.
    pub path: String,
    /// First host id of its range.
    pub uid_base: u32,
    /// Its disk.
    pub disk: Option<Disk>,
    /// Its volumes: free for others when their mounts are gone.
    pub volumes: Vec<Attached>,
    /// Its /dev/shm and /tmp: to let go of the last files may take a while.
    pub tmpfs: Vec<OwnedFd>,
}

/// A sandbox of which nothing is left.
pub struct Cleared {
    /// Its id.
    pub id: String,
    /// Its range, or `None` when something of it could not be removed: then the range is never used again.
    pub uid_base: Option<u32>,
}

/// The thread's handle.
pub struct Janitor {
    queue: Sender<Leftover>,
    cleared: Receiver<Cleared>,
    thread: JoinHandle<()>,
    /// Readable when something was cleared.
    pub bell: Arc<OwnedFd>,
}

impl Janitor {
    /// Starts the thread.
    pub fn start(cgroups: Arc<Cgroups>) -> Result<Self> {
        let (queue, leftovers) = channel();
        let (report, cleared) = channel();
        let bell =
            Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).doing(|| "make an eventfd".into())?);
        let ring = Arc::clone(&bell);
        let thread = std::thread::Builder::new()
            .name("janitor".into())
            .spawn(move || work(&cgroups, &leftovers, &report, &ring))
            .doing(|| "start a thread".into())?;
        Ok(Self { queue, cleared, thread, bell })
    }

    /// Hands over. No more than there are id ranges wait: one that is not cleared keeps its range.
    pub fn clear(&self, leftover: Leftover) {
        let _ = self.queue.send(leftover);
    }

    /// Waits until all is removed that was handed over; what was cleared meanwhile.
    pub fn finish(self) -> Vec<Cleared> {
        drop(self.queue);
        let _ = self.thread.join();
        self.cleared.try_iter().collect()
    }

    /// What was cleared since the last call.
    pub fn take_cleared(&self) -> Vec<Cleared> {
        let _ = rustix::io::read(&*self.bell, &mut [0u8; 8]);
        self.cleared.try_iter().collect()
    }
}

fn work(cgroups: &Cgroups, leftovers: &Receiver<Leftover>, report: &Sender<Cleared>, bell: &OwnedFd) {
    for leftover in leftovers {
        drop((leftover.volumes, leftover.tmpfs));
        let deadline = Instant::now() + PATIENCE;
        let mut pause = Duration::from_micros(200);
        let removed = loop {
            if cgroups.remove(&leftover.path) {
                break true;
            }
            if Instant::now() > deadline {
                break false;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        };
        let removed = leftover.disk.is_none_or(Disk::clear) && removed;
        let cleared = Cleared { id: leftover.id, uid_base: removed.then_some(leftover.uid_base) };
        if report.send(cleared).is_err() {
            return;
        }
        let _ = rustix::io::write(bell, &1u64.to_ne_bytes());
    }
}
