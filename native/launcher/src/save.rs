//! Snapshots of disks: `Save`, what is listed and dropped, and starts from them.
//!
//! While a disk is copied nothing may change it, or the copy would be torn. So the sandbox's processes are frozen, and its
//! agent, which writes files for clients, is stopped by a signal. Not by FIFREEZE: a launcher that is killed would leave
//! behind a frozen file system that nothing can thaw, while what was stopped dies with it. The processes go on as soon as the
//! bytes are copied; checking, tidying and writing them out comes after.

use crate::disk::{self, Shape, check, copy_sparse, mkfs, mount_image};
use crate::error::{Doing, Error, Result};
use crate::freeze::{Saving, running};
use crate::observe::PER_REPLY;
use crate::project;
use crate::sandbox::{Asker, Sandbox};
use crate::server::{Server, no_sandbox};
use crate::setup::MEMINFO;
use crate::store::{Meta, Store, no_room};
use crate::sys;
use crate::tree;
use crate::volume::answer_with;
use crate::worker::Ticket;
use caisson_wire::launcher::{self as wire, reply};
use rustix::fs::{AtFlags, Mode, OFlags};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long the agent may take to stop: it may be in the middle of a write.
const PATIENCE: Duration = Duration::from_secs(5);
/// What ext4 keeps of each inode.
const INODE_BYTES: u64 = 256;

/// Where the bytes of a disk are.
enum Source {
    Image(OwnedFd),
    Folder(OwnedFd),
}

/// The disk of a sandbox that stands still. Copies of descriptors, since the sandbox may end meanwhile.
struct Still {
    store: Store,
    process: OwnedFd,
    mount: OwnedFd,
    source: Source,
    shape: Shape,
    ending: Arc<AtomicBool>,
}

/// Lets the agent go on.
struct Stopped<'a>(&'a OwnedFd);

impl<'a> Stopped<'a> {
    fn new(process: &'a OwnedFd) -> Result<Self> {
        let step = || "stop the agent".to_string();
        sys::pidfd_signal(process.as_fd(), libc::SIGSTOP).doing(step)?;
        let stopped = Self(process);
        let deadline = Instant::now() + PATIENCE;
        while !sys::is_stopped(process.as_fd()).doing(step)? {
            if Instant::now() > deadline {
                return Err(Error::new(wire::ErrorKind::ErrorBusy, "the agent did not stand still in time"));
            }
            std::thread::sleep(Duration::from_micros(100));
        }
        Ok(stopped)
    }
}

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        let _ = sys::pidfd_signal(self.0.as_fd(), libc::SIGCONT);
    }
}

impl Still {
    /// A copy of the disk as it is now.
    fn copy(&self) -> Result<OwnedFd> {
        let _stopped = Stopped::new(&self.process)?;
        disk::sync(&self.mount).doing(|| "write the disk out".into())?;
        let copy = match &self.source {
            Source::Image(image) => {
                let copy = self.store.unnamed(0)?;
                copy_sparse(image, &copy, Some(self.store.path())).map_err(no_room)?;
                copy
            }
            Source::Folder(folder) => self.copy_folder(folder)?,
        };
        let ended = self.ending.load(Ordering::SeqCst) || !matches!(sys::is_stopped(self.process.as_fd()), Ok(true));
        if ended {
            return Err(Error::new(wire::ErrorKind::ErrorNotFound, "the sandbox ended while its disk was saved"));
        }
        Ok(copy)
    }

    /// The folder of a disk with a project quota becomes an image, a little larger, since a quota counts no metadata.
    fn copy_folder(&self, folder: &OwnedFd) -> Result<OwnedFd> {
        let used = rustix::fs::fstatvfs(&self.mount).map_or(0, |s| (s.f_blocks - s.f_bfree) * s.f_frsize);
        let image = self.store.unnamed(used)?;
        let metadata = (self.shape.inodes * INODE_BYTES + self.shape.bytes / 32 + (4 << 20)) & !4095;
        mkfs(Shape { bytes: self.shape.bytes + metadata, inodes: self.shape.inodes + 64 }, &image, &disk::OPTIONS)?;
        let (mount, _) = mount_image(&image, false, false)?;
        let copied = || -> std::io::Result<()> {
            rustix::fs::mkdirat(&mount, "u", Mode::RWXU)?;
            let scratch = tree::open_folder(&mount, ".")?;
            tree::copy(tree::open_folder(folder, "u")?, tree::open_folder(&mount, "u")?, scratch.as_fd())
        };
        copied().doing(|| "copy the files of the disk".into()).map_err(no_room)?;
        rustix::fs::mkdirat(&mount, "w", Mode::RWXU).doing(|| "make a folder on the copy".into())?;
        disk::sync(&mount).doing(|| "write the copy out".into()).map_err(no_room)?;
        Ok(image)
    }
}

/// Makes of a copy what a sandbox can start with: checked, without open files that had no name, without the bytes of removed
/// files, and without what belongs to a mount.
fn tidy(image: &OwnedFd) -> Result<()> {
    check(image, "-y")?;
    let (mount, _) = mount_image(image, false, false)?;
    let step = || "tidy the copy of the disk".to_string();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let work = rustix::fs::openat(&mount, "w", flags, Mode::empty()).doing(step)?;
    project::empty(work.as_fd()).doing(step)?;
    let _ = rustix::fs::unlinkat(&mount, MEMINFO, AtFlags::empty());
    drop(work);
    // Where the host's file system cannot make holes it stays as large as it is.
    let _ = disk::trim(&mount);
    disk::sync(&mount).doing(step).map_err(no_room)
}

impl Server {
    pub(crate) fn save(&mut self, asker: Asker, uid: u32, save: wire::Save) -> Result<()> {
        let sandbox = running(&mut self.sandboxes, &save.sandbox, uid)?;
        self.parts.snapshots.check_free(&save.snapshot)?;
        if sandbox.hold.saving.is_some() {
            return Err(Error::new(
                wire::ErrorKind::ErrorBusy,
                format!("the disk of sandbox {} is being saved", save.sandbox),
            ));
        }
        self.check_room()?;
        let ticket = self.workers.admit(uid)?;
        let saving = Saving { asker, uid, snapshot: save.snapshot, since: Instant::now(), held: false, ticket };
        self.hold(&save.sandbox, saving)
    }

    /// The sandbox stands still: a worker copies its disk.
    pub(crate) fn held(&mut self, id: &str) {
        let Some(sandbox) = self.sandboxes.get(id) else { return };
        match still(sandbox, &self.parts.snapshots) {
            Ok(still) => {
                let id = id.to_string();
                // The request's own ticket is with it.
                let uid = sandbox.hold.saving.as_ref().map_or(sandbox.owner_uid, |s| s.uid);
                self.workers.submit(Ticket::uncounted(uid), move || {
                    let outcome = still.copy();
                    Box::new(move |server| server.copied(&id, &still.ending, outcome))
                });
            }
            Err(error) => self.saved(id, Err(error)),
        }
    }

    /// The bytes are copied: the sandbox goes on.
    fn copied(&mut self, id: &str, ending: &Arc<AtomicBool>, outcome: Result<OwnedFd>) {
        // One that ended has answered, and one of the same name that came after it is another.
        let Some(sandbox) = self.sandboxes.get_mut(id).filter(|s| Arc::ptr_eq(&s.ending, ending)) else { return };
        match outcome {
            Err(error) => self.saved(id, Err(error)),
            Ok(image) => {
                let Some(saving) = sandbox.hold.saving.take() else { return };
                let request = sandbox.request.as_ref();
                let shape = sandbox.disk.as_ref().map(|d| d.shape);
                let meta = Meta {
                    owner: saving.uid,
                    shape: shape.unwrap_or(Shape { bytes: 0, inodes: 0 }),
                    template: request.map(|r| r.template.clone()).unwrap_or_default(),
                };
                let Saving { asker, snapshot, since, ticket, .. } = saving;
                let _ = self.let_go(id);
                let held_micros = since.elapsed().as_micros() as u64;
                let store = self.parts.snapshots.clone();
                self.workers.submit(ticket, move || {
                    let outcome = tidy(&image).and_then(|()| store.publish(&snapshot, &image, &meta));
                    Box::new(move |server| match outcome {
                        Ok(bytes) => {
                            server.answer(asker, reply::Body::Saved(wire::Saved { snapshot, bytes, held_micros }))
                        }
                        Err(error) => server.refuse(asker, &error),
                    })
                });
            }
        }
    }

    fn saved(&mut self, id: &str, outcome: Result<()>) {
        let Some(saving) = self.sandboxes.get_mut(id).and_then(|s| s.hold.saving.take()) else { return };
        let _ = self.let_go(id);
        if let Err(error) = outcome {
            self.refuse(saving.asker, &error);
        }
    }

    pub(crate) fn drop_snapshot(&mut self, asker: Asker, uid: u32, id: &str) -> Result<()> {
        self.parts.snapshots.meta(id, uid)?;
        let ticket = self.workers.admit(uid)?;
        let (store, id) = (self.parts.snapshots.clone(), id.to_string());
        self.workers.submit(ticket, move || answer_with(asker, store.remove(&id)));
        Ok(())
    }

    pub(crate) fn list_disks(&mut self, asker: Asker, uid: u32, store: Store) -> Result<()> {
        let ticket = self.workers.admit(uid)?;
        self.workers.submit(ticket, move || {
            let outcome = store.list(uid);
            Box::new(move |server| match outcome {
                Ok(disks) => server.answer_disks(asker, &disks),
                Err(error) => server.refuse(asker, &error),
            })
        });
        Ok(())
    }

    fn answer_disks(&mut self, asker: Asker, disks: &[wire::Disk]) {
        let mut chunks = disks.chunks(PER_REPLY).peekable();
        if chunks.peek().is_none() {
            self.answer(asker, reply::Body::Disks(wire::Disks::default()));
        }
        while let Some(chunk) = chunks.next() {
            let part = wire::Disks { disks: chunk.to_vec(), more: chunks.peek().is_some() };
            self.answer(asker, reply::Body::Disks(part));
        }
    }

    /// Refuses a snapshot that does not exist for this user or does not fit what is asked.
    pub(crate) fn check_snapshot(&self, uid: u32, create: &wire::Create, shape: Shape) -> Result<()> {
        if create.snapshot.is_empty() {
            return Ok(());
        }
        let meta = self.parts.snapshots.meta(&create.snapshot, uid)?;
        if meta.template != create.template {
            return Err(Error::invalid(format!(
                "snapshot {} belongs to the template '{}', not to '{}'",
                create.snapshot, meta.template, create.template
            )));
        }
        if shape.bytes < meta.shape.bytes || shape.inodes < meta.shape.inodes {
            return Err(Error::invalid(format!(
                "snapshot {} needs a disk of its own size at least: disk_bytes {} and inodes {}",
                create.snapshot, meta.shape.bytes, meta.shape.inodes
            )));
        }
        Ok(())
    }
}

fn still(sandbox: &Sandbox, store: &Store) -> Result<Still> {
    let (Some(process), Some(disk)) = (&sandbox.process, &sandbox.disk) else { return Err(no_sandbox(&sandbox.id)) };
    let copy = |fd: &OwnedFd| rustix::io::fcntl_dupfd_cloexec(fd, 3).doing(|| "copy a descriptor".into());
    let source = match (&disk.image, &disk.folder) {
        (Some(image), _) => Source::Image(copy(image)?),
        (None, Some(folder)) => Source::Folder(folder.open().doing(|| "open the disk".into())?),
        (None, None) => return Err(no_sandbox(&sandbox.id)),
    };
    Ok(Still {
        store: store.clone(),
        process: copy(process)?,
        mount: copy(&disk.mount)?,
        source,
        shape: disk.shape,
        ending: Arc::clone(&sandbox.ending),
    })
}
