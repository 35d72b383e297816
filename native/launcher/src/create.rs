//! `Create`: from the request to the order for process 1. What takes long is made ready by a worker: copies of snapshots, mounts of
//! volumes, the first disk of a size.

use crate::disk::{Disk, Shape, Wanted};
use crate::error::{Error, Result};
use crate::life::{START_TAKES, stops};
use crate::request;
use crate::sandbox::{Asker, State};
use crate::server::{Server, Source, add, find, no_sandbox};
use crate::store::no_room;
use crate::sys;
use crate::volume::{Attached, attach};
use crate::worker::Ticket;
use caisson_wire::launcher as wire;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A disk, unless the stock has it, and the volumes.
type Ready = (Option<Disk>, Vec<Attached>);

impl Server {
    pub(crate) fn create(&mut self, asker: Asker, create: wire::Create) -> Result<()> {
        let shape = request::create(&create)?;
        if self.stopping {
            return Err(stops());
        }
        self.check_room()?;
        let id = create.sandbox.clone();
        let uid = self.uid_of(asker.conn);
        self.check_snapshot(uid, &create, shape)?;
        self.check_volumes(uid, &create)?;
        self.check_egress(&create)?;
        self.hints.retain(|h| h.id != id);
        self.quiet_at = Instant::now() + START_TAKES;
        match self.sandboxes.get(&id) {
            None if self.clearing.contains(&id) => return self.defer(asker, create),
            None => self.park(&create.group, &id, asker.conn)?,
            Some(s) if matches!(s.state, State::Parked) && s.group == create.group && s.owner_uid == uid => {}
            Some(_) => return Err(Error::new(wire::ErrorKind::ErrorExists, format!("sandbox {id} exists"))),
        }
        let now = Instant::now();
        let sandbox = find(&mut self.sandboxes, &id)?;
        let after = |millis: u64| if millis == 0 { None } else { now.checked_add(Duration::from_millis(millis)) };
        sandbox.owner = asker.conn;
        sandbox.leased = create.leased;
        let (lease, max_life) =
            (if create.leased { after(create.lease_millis) } else { None }, after(create.max_life_millis));
        sandbox.started = now;
        sandbox.state = State::Creating(asker);
        sandbox.request = Some(create);
        let parked = sandbox.is_parked();
        self.set_deadlines(&id, lease, max_life);
        if parked {
            self.go(&id);
        }
        Ok(())
    }

    /// An id may come back as soon as its sandbox is dead: a paused one is resumed from its disk. Its cgroups and its line in
    /// the journal have the same names, so the janitor must be done with them first, which takes it milliseconds.
    fn defer(&mut self, asker: Asker, create: wire::Create) -> Result<()> {
        let id = create.sandbox.clone();
        if self.returning.contains_key(&id) {
            return Err(Error::new(wire::ErrorKind::ErrorExists, format!("sandbox {id} exists")));
        }
        self.returning.insert(id, (asker, create));
        Ok(())
    }

    pub(crate) fn go(&mut self, id: &str) {
        let outcome = self.try_go(id);
        if let Err(error) = outcome {
            self.fail_creation(id, &error);
        }
    }

    fn try_go(&mut self, id: &str) -> Result<()> {
        let sandbox = find(&mut self.sandboxes, id)?;
        let Some(request) = &sandbox.request else { return Ok(()) };
        let shape: Shape = request::create(request)?;
        if request.snapshot.is_empty() && request.volumes.is_empty() {
            return self.go_with(id, None, Vec::new());
        }
        let request = request.clone();
        self.gather(id, &request, shape);
        Ok(())
    }

    /// Lets a worker copy the snapshot and mount the volumes of a sandbox that is being made.
    fn gather(&mut self, id: &str, create: &wire::Create, shape: Shape) {
        let (snapshots, volumes, maker) =
            (self.parts.snapshots.clone(), self.parts.volumes.clone(), self.parts.stock.maker());
        let create = create.clone();
        self.make_ready(id, move || {
            let attached = create.volumes.iter().map(|v| attach(&volumes, v)).collect::<Result<_>>()?;
            let disk = match create.snapshot.as_str() {
                "" => None,
                snapshot => Some(maker.copy_of(&snapshots.image(snapshot, false)?, shape).map_err(no_room)?),
            };
            Ok((disk, attached))
        });
    }

    /// Lets a worker make something ready for a sandbox that is being made.
    fn make_ready(&mut self, id: &str, job: impl FnOnce() -> Result<Ready> + Send + 'static) {
        let id = id.to_string();
        let Some(sandbox) = self.sandboxes.get(&id) else { return };
        let ending = Arc::clone(&sandbox.ending);
        // At most one for each sandbox.
        self.workers.submit(Ticket::uncounted(sandbox.owner_uid), move || {
            // What was ended while it waited for its turn is not begun.
            let outcome = if ending.load(Ordering::SeqCst) { Err(no_sandbox(&id)) } else { job() };
            // One of the same name may have come after it.
            Box::new(move |server| {
                if server.sandboxes.get(&id).is_some_and(|s| Arc::ptr_eq(&s.ending, &ending)) {
                    server.gathered(&id, outcome);
                }
            })
        });
    }

    /// What a worker made ready for a sandbox.
    fn gathered(&mut self, id: &str, outcome: Result<Ready>) {
        if !self.sandboxes.get(id).is_some_and(|s| matches!(s.state, State::Creating(_))) {
            return;
        }
        if let Err(error) = outcome.and_then(|(disk, volumes)| self.go_with(id, disk, volumes)) {
            self.fail_creation(id, &error);
        }
    }

    fn go_with(&mut self, id: &str, disk: Option<Disk>, volumes: Vec<Attached>) -> Result<()> {
        let sandbox = find(&mut self.sandboxes, id)?;
        let Some(request) = &sandbox.request else { return Ok(()) };
        let shape: Shape = request::create(request)?;
        let needs_device = request.limits.is_some_and(|l| l.io_bytes_per_second > 0);
        let wanted = Wanted { name: id, uid_base: sandbox.uid_base, shape, needs_device };
        let disk = match disk {
            Some(disk) => Some(disk),
            None => self.parts.stock.take(&wanted)?,
        };
        let Some(disk) = disk else {
            let maker = self.parts.stock.maker();
            self.make_ready(id, move || Ok((Some(maker.make(shape)?), volumes)));
            return Ok(());
        };
        sandbox.go(&self.parts.cgroups, disk, volumes)?;
        if let Some(life) = &sandbox.life {
            sys::refuse_descriptors(life);
            add(&self.epoll, &mut self.sources, &mut self.next_token, life.as_fd(), Source::Life(id.into()))?;
        }
        Ok(())
    }

    pub(crate) fn fail_creation(&mut self, id: &str, error: &Error) {
        let Some(sandbox) = self.sandboxes.get(id) else { return };
        if let State::Creating(asker) = sandbox.state {
            self.refuse(asker, error);
        }
        self.end(id, wire::EndReason::EndEngineFailed, &error.message.clone());
    }
}
