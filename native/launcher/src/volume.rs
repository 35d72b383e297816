//! Volumes: disks with a journal that outlive sandboxes. One writer or many readers, by a lock on the image that the loop device
//! shares with us: as long as anything is mounted of it, here or in another launcher, alive or just killed, it is held.

use crate::disk::{Shape, check, mkfs, mount_image};
use crate::error::{Error, Result};
use crate::request;
use crate::sandbox::{Asker, State};
use crate::server::Server;
use crate::store::{Meta, Store};
use crate::worker::Then;
use caisson_wire::launcher::{self as wire, reply};
use rustix::fs::{AtFlags, FlockOperation};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// How long a mount on its way out may still hold the image of a volume.
const PATIENCE: Duration = Duration::from_secs(5);
const OPTIONS: [&str; 4] =
    ["-O", "has_journal,^resize_inode,64bit,metadata_csum", "-E", "lazy_itable_init=1,nodiscard,root_owner=1000:1000"];

/// A volume of a sandbox, mounted detached.
pub struct Attached {
    /// The mount; its root belongs to the user inside.
    pub mount: OwnedFd,
    /// Where it is inside.
    pub path: Vec<u8>,
    /// Has the lock as long as it is open.
    pub image: OwnedFd,
}

/// Mounts a volume for a sandbox. It waits a little for one that is just being given up.
pub fn attach(store: &Store, wanted: &wire::VolumeMount) -> Result<Attached> {
    let id = &wanted.volume;
    let deadline = Instant::now() + PATIENCE;
    if wanted.read_only {
        // A reader that is the first sees to it that nothing has to be repaired while others read.
        let image = store.image(id, true)?;
        if rustix::fs::flock(&image, FlockOperation::NonBlockingLockExclusive).is_ok() {
            repair(id, &image)?;
        }
    }
    let image = store.image(id, !wanted.read_only)?;
    let kind =
        if wanted.read_only { FlockOperation::NonBlockingLockShared } else { FlockOperation::NonBlockingLockExclusive };
    while rustix::fs::flock(&image, kind).is_err() {
        if Instant::now() > deadline {
            return Err(in_use(id));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    if !wanted.read_only {
        repair(id, &image)?;
    }
    let (mount, _) = mount_image(&image, wanted.read_only, true)?;
    if !wanted.read_only {
        // What mke2fs and e2fsck make is not the user's business.
        let _ = rustix::fs::unlinkat(&mount, "lost+found", AtFlags::REMOVEDIR);
    }
    Ok(Attached { mount, path: wanted.path.clone(), image })
}

/// Replays the journal, and repairs what a crash of the machine may have left.
fn repair(id: &str, image: &OwnedFd) -> Result<()> {
    check(image, "-p").map_err(|e| {
        Error { message: format!("volume {id} is damaged: {}", e.message), ..e }
            .remedy("repair its image in the state folder by `e2fsck -f`, or drop the volume")
    })
}

fn in_use(id: &str) -> Error {
    Error::new(wire::ErrorKind::ErrorBusy, format!("volume {id} is in use: it has one writer or many readers"))
        .remedy("end the sandbox that has it, or mount it read-only everywhere")
}

fn make(store: &Store, id: &str, owner: u32, shape: Shape) -> Result<()> {
    store.check_free(id)?;
    let image = store.unnamed(0)?;
    mkfs(shape, &image, &OPTIONS)?;
    store.publish(id, &image, &Meta { owner, shape, template: String::new() }).map(drop)
}

fn remove(store: &Store, id: &str) -> Result<()> {
    let image = store.image(id, true)?;
    let deadline = Instant::now() + PATIENCE;
    while rustix::fs::flock(&image, FlockOperation::NonBlockingLockExclusive).is_err() {
        if Instant::now() > deadline {
            return Err(in_use(id));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    store.remove(id)
}

impl Server {
    pub(crate) fn make_volume(&mut self, asker: Asker, uid: u32, make_volume: &wire::MakeVolume) -> Result<()> {
        let shape = request::make_volume(make_volume)?;
        self.check_room()?;
        let ticket = self.workers.admit(uid)?;
        let (store, id) = (self.parts.volumes.clone(), make_volume.volume.clone());
        self.workers.submit(ticket, move || answer_with(asker, make(&store, &id, uid, shape)));
        Ok(())
    }

    pub(crate) fn drop_volume(&mut self, asker: Asker, uid: u32, id: &str) -> Result<()> {
        self.parts.volumes.meta(id, uid)?;
        if self.has_volume(id, |_| true) {
            return Err(in_use(id));
        }
        let ticket = self.workers.admit(uid)?;
        let (store, id) = (self.parts.volumes.clone(), id.to_string());
        self.workers.submit(ticket, move || answer_with(asker, remove(&store, &id)));
        Ok(())
    }

    /// Refuses volumes that do not exist for this user or cannot be had as asked. What another launcher has is found out
    /// when they are mounted.
    pub(crate) fn check_volumes(&self, uid: u32, create: &wire::Create) -> Result<()> {
        for wanted in &create.volumes {
            self.parts.volumes.meta(&wanted.volume, uid)?;
            if self.has_volume(&wanted.volume, |other| !other.read_only || !wanted.read_only) {
                return Err(in_use(&wanted.volume));
            }
        }
        Ok(())
    }

    /// Whether a sandbox that is not about to end has this volume in such a way.
    fn has_volume(&self, id: &str, way: impl Fn(&wire::VolumeMount) -> bool) -> bool {
        let living = self.sandboxes.values().filter(|s| matches!(s.state, State::Running | State::Creating(_)));
        living.filter_map(|s| s.request.as_ref()).flat_map(|r| &r.volumes).any(|v| v.volume == *id && way(v))
    }
}

/// Done, or why not.
pub fn answer_with(asker: Asker, outcome: Result<()>) -> Then {
    Box::new(move |server| match outcome {
        Ok(()) => server.answer(asker, reply::Body::Done(wire::Done {})),
        Err(error) => server.refuse(asker, &error),
    })
}
