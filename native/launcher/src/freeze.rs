//! Freezing a living sandbox in place, and holding it for a moment to save its disk. Both by the v2 freezer of the sandbox's
//! folder, in which the spawner and the groups of all execs are. The agent is not among them: it answers, takes requests and
//! keeps output; an exec that it starts meanwhile waits with the spawner.
//!
//! What is frozen dies of SIGKILL as any other, so nothing here matters to an end.

use crate::cgroup::{Cgroups, field, read_at, write_at};
use crate::clients::check_askers;
use crate::error::{Doing, Error, Result};
use crate::sandbox::{Asker, Sandbox, State, Waiter};
use crate::server::{Server, find, find_for, no_sandbox};
use crate::worker::Ticket;
use caisson_wire::launcher::{self as wire, reply};
use std::time::{Duration, Instant};

/// How long the kernel may take to stop the last process: one in the middle of a read from a slow disk takes a while.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whether a sandbox runs.
#[derive(Default)]
pub struct Hold {
    /// A client froze it, and it is frozen.
    pub frozen: bool,
    /// Clients that wait for that, and how long they may.
    freezing: Option<(Instant, Vec<Waiter>)>,
    /// Its disk is being saved: held until this is taken out again.
    pub saving: Option<Saving>,
}

/// A disk that is being saved.
pub struct Saving {
    /// Who asked.
    pub asker: Asker,
    /// Uid of that client, to whom the snapshot will belong.
    pub uid: u32,
    /// Name of what comes out.
    pub snapshot: String,
    /// When the processes were told to stop.
    pub since: Instant,
    /// All are stopped.
    pub held: bool,
    /// Counts as one of the client's jobs all the while.
    pub ticket: Ticket,
}

impl Hold {
    /// Whether somebody waits for the processes to stand still, or a disk is being saved.
    pub fn is_open(&self) -> bool {
        self.freezing.is_some() || self.saving.is_some()
    }

    fn is_wanted(&self) -> bool {
        self.frozen || self.is_open()
    }

    /// Requests that wait for the processes to stand still.
    pub fn waiting(&self) -> &[Waiter] {
        self.freezing.as_ref().map_or(&[], |(_, waiters)| waiters)
    }

    /// Another one waits for that.
    pub fn wait(&mut self, waiter: Waiter) {
        self.freezing.get_or_insert_with(|| (Instant::now() + PATIENCE, Vec::new())).1.push(waiter);
    }

    /// Those whose answer is open, at the end of the sandbox.
    pub fn take_askers(&mut self) -> Vec<Asker> {
        self.frozen = false;
        let freezing = self.freezing.take().map(|(_, waiters)| waiters).unwrap_or_default();
        freezing.into_iter().map(|w| w.asker).chain(self.saving.take().map(|s| s.asker)).collect()
    }
}

impl Cgroups {
    /// Tells the kernel to stop all processes of a sandbox, or to let them go on.
    pub fn freeze(&self, path: &str, freeze: bool) -> Result<()> {
        write_at(self.v2(), &format!("{path}/cgroup.freeze"), if freeze { "1" } else { "0" })
            .doing(|| format!("{} {path}", if freeze { "freeze" } else { "thaw" }))
    }

    /// Whether all of them stand still.
    pub fn is_frozen(&self, path: &str) -> bool {
        read_at(self.v2(), &format!("{path}/cgroup.events")).is_ok_and(|t| field(&t, "frozen") == Some(1))
    }
}

/// A sandbox that lives, for whoever may touch it.
pub(crate) fn running<'a>(
    sandboxes: &'a mut std::collections::BTreeMap<String, Sandbox>,
    id: &str,
    uid: u32,
) -> Result<&'a mut Sandbox> {
    let sandbox = find_for(sandboxes, id, uid)?;
    match sandbox.state {
        State::Running => Ok(sandbox),
        State::Creating(_) => Err(Error::new(wire::ErrorKind::ErrorBusy, format!("sandbox {id} is still being made"))),
        State::Parked | State::Ending => Err(no_sandbox(id)),
    }
}

/// Stops the processes of a sandbox, once its spawner is there: the launcher's child that puts it there must not be stopped
/// halfway.
fn stand_still(cgroups: &Cgroups, sandbox: &Sandbox) -> Result<()> {
    if sandbox.user.is_some() {
        return Ok(());
    }
    cgroups.freeze(&sandbox.path, true)
}

impl Server {
    pub(crate) fn freeze(&mut self, asker: Asker, uid: u32, id: &str) -> Result<()> {
        let sandbox = running(&mut self.sandboxes, id, uid)?;
        if sandbox.hold.frozen {
            self.answer(asker, reply::Body::Done(wire::Done {}));
            return Ok(());
        }
        if !sandbox.hold.waiting().is_empty() {
            check_askers(&self.sandboxes, uid)?;
        }
        let sandbox = running(&mut self.sandboxes, id, uid)?;
        stand_still(&self.parts.cgroups, sandbox)?;
        sandbox.hold.wait(Waiter { uid, asker });
        self.pending.insert(id.into());
        self.check_held(id);
        Ok(())
    }

    pub(crate) fn thaw(&mut self, asker: Asker, uid: u32, id: &str) -> Result<()> {
        let sandbox = running(&mut self.sandboxes, id, uid)?;
        sandbox.hold.frozen = false;
        let waiting = sandbox.hold.freezing.take();
        let outcome = self.let_go(id);
        let crossed = Error::new(wire::ErrorKind::ErrorBusy, format!("sandbox {id} was thawed meanwhile"));
        for waiter in waiting.into_iter().flat_map(|(_, waiters)| waiters) {
            self.refuse(waiter.asker, &crossed);
        }
        outcome?;
        self.answer(asker, reply::Body::Done(wire::Done {}));
        Ok(())
    }

    /// Stops a sandbox's processes to save its disk; `held` is called when they stand still.
    pub(crate) fn hold(&mut self, id: &str, saving: Saving) -> Result<()> {
        let sandbox = find(&mut self.sandboxes, id)?;
        stand_still(&self.parts.cgroups, sandbox)?;
        sandbox.hold.saving = Some(saving);
        self.pending.insert(id.into());
        self.check_held(id);
        Ok(())
    }

    /// The launcher's own child has left the sandbox's groups: what waited for that begins.
    pub(crate) fn hold_joined(&mut self, id: &str) {
        let Some(sandbox) = self.sandboxes.get_mut(id).filter(|s| s.hold.is_open()) else { return };
        // One that cannot be told is refused when its time is over.
        let _ = stand_still(&self.parts.cgroups, sandbox);
        self.check_held(id);
    }

    /// Lets the processes go on unless somebody else wants them to stand still.
    pub(crate) fn let_go(&mut self, id: &str) -> Result<()> {
        let sandbox = find(&mut self.sandboxes, id)?;
        if sandbox.hold.is_wanted() || !matches!(sandbox.state, State::Running) {
            return Ok(());
        }
        self.parts.cgroups.freeze(&sandbox.path, false)
    }

    /// Looks whether a sandbox that was told to stand still does.
    pub(crate) fn check_held(&mut self, id: &str) {
        let Some(sandbox) = self.sandboxes.get_mut(id) else { return };
        let hold = &mut sandbox.hold;
        let saving = hold.saving.as_ref().filter(|s| !s.held).map(|s| s.since + PATIENCE);
        let Some(deadline) = hold.freezing.as_ref().map(|(at, _)| *at).into_iter().chain(saving).min() else {
            self.settle(id);
            return;
        };
        if self.parts.cgroups.is_frozen(&sandbox.path) {
            let waiting = hold.freezing.take();
            hold.frozen |= waiting.is_some();
            let begins = hold.saving.as_mut().is_some_and(|s| !std::mem::replace(&mut s.held, true));
            for waiter in waiting.into_iter().flat_map(|(_, waiters)| waiters) {
                self.answer(waiter.asker, reply::Body::Done(wire::Done {}));
            }
            if begins {
                self.held(id);
            }
            self.settle(id);
        } else if deadline <= Instant::now() {
            let waiters = hold.freezing.take().map(|(_, waiters)| waiters).unwrap_or_default();
            let mut askers: Vec<_> = waiters.into_iter().map(|w| w.asker).collect();
            askers.extend(hold.saving.take_if(|s| !s.held).map(|s| s.asker));
            let error = Error::new(
                wire::ErrorKind::ErrorBusy,
                format!(
                    "the processes of sandbox {id} did not stand still within {} s; they go on",
                    PATIENCE.as_secs()
                ),
            )
            .remedy("try again; a process that waits for a slow disk cannot be stopped");
            let _ = self.let_go(id);
            askers.into_iter().for_each(|asker| self.refuse(asker, &error));
            self.settle(id);
        }
    }

    /// Nothing of this sandbox needs to be looked at again and again.
    fn settle(&mut self, id: &str) {
        let pending = self.sandboxes.get(id).is_some_and(|s| {
            matches!(s.state, State::Ending)
                || s.hold.freezing.is_some()
                || s.hold.saving.as_ref().is_some_and(|s| !s.held)
        });
        if !pending {
            self.pending.remove(id);
        }
    }
}
