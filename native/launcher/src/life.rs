//! The life of sandboxes in the launcher's loop: parked, made, ended, cleared, and what time does to them.

use crate::cgroup::TOP;
use crate::clients::check_askers;
use crate::disk;
use crate::egress::Way;
use crate::error::{Error, Result};
use crate::janitor::Leftover;
use crate::request;
use crate::sandbox::{Asker, Sandbox, State, Waiter, Waiting};
use crate::seat::{self, Report};
use crate::server::{Hint, Server, Source, add, find_for, no_sandbox};
use crate::sys;
use caisson_wire::launcher::{self as wire, reply};
use prost::Message;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// Twenty years in milliseconds.
const LONGEST_LIFE: u64 = 20 * 366 * 24 * 60 * 60 * 1000;

/// Sandboxes that wait for a `Create`, per launcher.
const MAX_PARKED: usize = 16;
/// How long after a `Create` parking waits, so that the start and the first command are not held up.
pub(crate) const START_TAKES: Duration = Duration::from_millis(30);
/// How long after an attach the next one costs no grace period of the kernel.
const ATTACH_STAYS_CHEAP: Duration = Duration::from_millis(20);
/// How long a killed sandbox may take before it counts as stuck.
const STUCK_AFTER: Duration = Duration::from_secs(10);
/// How long a child that is joining may take to end after process 1.
const JOINING_ENDS: Duration = Duration::from_secs(1);

impl Server {
    pub(crate) fn prepare(&mut self, owner: u64, prepare: &wire::Prepare) -> Result<()> {
        request::group_id(&prepare.group)?;
        if self.stopping {
            return Err(stops());
        }
        for id in &prepare.sandboxes {
            request::sandbox_id(id)?;
            if self.sandboxes.contains_key(id)
                || self.hints.iter().any(|h| h.id == *id)
                || self.hints.len() >= MAX_PARKED
            {
                continue;
            }
            // A hint: what cannot be parked in time is made, or refused, at its Create.
            self.hints.push_back(Hint { group: prepare.group.clone(), id: id.clone(), owner });
        }
        self.park_hinted(Instant::now());
        Ok(())
    }

    fn parked(&self) -> usize {
        self.sandboxes.values().filter(|s| matches!(s.state, State::Parked)).count()
    }

    /// Parks hinted ids. Not while a sandbox starts: an attach to a v1 cgroup stops every fork of the host for as long as it
    /// waits, 10 ms on an idle one, and the first command of that sandbox would wait with it. Right after another attach
    /// it does not wait, so under load parking goes on at once.
    fn park_hinted(&mut self, now: Instant) {
        while self.parked() < MAX_PARKED {
            let cheap = now.saturating_duration_since(self.parked_at) < ATTACH_STAYS_CHEAP;
            if now < self.quiet_at && !cheap && self.parked() > 0 {
                return;
            }
            let Some(hint) = self.hints.pop_front() else { return };
            if self.clearing.contains(&hint.id) {
                continue; // made, if at all, at its Create
            }
            let _ = self.park(&hint.group, &hint.id, hint.owner);
        }
    }

    pub(crate) fn park(&mut self, group: &str, id: &str, owner: u64) -> Result<()> {
        self.parked_at = Instant::now();
        let group = self.enter_group(self.uid_of(owner), group)?;
        let path = format!("{TOP}/{}/{id}", group.folder);
        let base = self.parts.ids.take()?;
        self.parts.groups.mark_made(&group.folder, self.parked_at);
        let parked = self.parts.ids.login().and_then(|login| {
            self.parts.journal.intend(id, &path)?;
            Sandbox::park(&self.parts.cgroups, self.parts.agent.as_fd(), &group, id, base, login, owner)
        });
        let sandbox = match parked {
            Ok(sandbox) => sandbox,
            Err(error) => {
                self.clearing.insert(id.into());
                self.parts.janitor.clear(Leftover {
                    id: id.into(),
                    path,
                    uid_base: base,
                    disk: None,
                    volumes: Vec::new(),
                    tmpfs: Vec::new(),
                });
                return Err(error);
            }
        };
        let mut sandbox = sandbox;
        sandbox.owner_uid = self.uid_of(owner);
        let sockets = [(&sandbox.user, Source::User(id.into())), (&sandbox.root, Source::Root(id.into()))];
        for (child, source) in sockets {
            if let Some(child) = child {
                add(&self.epoll, &mut self.sources, &mut self.next_token, child.socket.as_fd(), source)?;
            }
        }
        self.sandboxes.insert(id.into(), sandbox);
        Ok(())
    }

    pub(crate) fn check_room(&self) -> Result<()> {
        disk::spare(&self.parts.state, 0)
    }

    /// When a sandbox ends by itself.
    pub(crate) fn set_deadlines(&mut self, id: &str, lease: Option<Instant>, max_life: Option<Instant>) {
        let Some(sandbox) = self.sandboxes.get_mut(id) else { return };
        let before = sandbox.deadline();
        (sandbox.lease, sandbox.max_life) = (lease, max_life);
        self.deadlines.set(id, before, sandbox.deadline());
    }

    pub(crate) fn renew(&mut self, asker: Asker, uid: u32, renew: &wire::Renew) -> Result<()> {
        if renew.lease_millis > 0 {
            request::millis("lease_millis", renew.lease_millis)?;
        }
        let sandbox = find_for(&mut self.sandboxes, &renew.sandbox, uid)?;
        let after = |millis| Instant::now().checked_add(Duration::from_millis(millis));
        let (mut lease, mut max_life) = (sandbox.lease(), sandbox.max_life());
        if renew.lease_millis > 0 && sandbox.leased {
            lease = after(renew.lease_millis);
            sandbox.owner = asker.conn;
        }
        if renew.max_life_millis > 0 {
            // A paused sandbox asks for as good as none; what is beyond that would not survive an upgrade.
            max_life = after(renew.max_life_millis.min(LONGEST_LIFE));
        }
        // One that is ending stays so.
        if !matches!(sandbox.state, State::Ending) {
            self.set_deadlines(&renew.sandbox, lease, max_life);
        }
        self.answer(asker, reply::Body::Done(wire::Done {}));
        Ok(())
    }

    /// Renews the leases of many. Those that are gone are told of first, by an event for each.
    pub(crate) fn renew_many(&mut self, asker: Asker, uid: u32, renew: &wire::RenewMany) -> Result<()> {
        if renew.lease_millis == 0 {
            return Err(Error::invalid("lease_millis is missing"));
        }
        request::millis("lease_millis", renew.lease_millis)?;
        renew.sandboxes.iter().try_for_each(|id| request::sandbox_id(id))?;
        let lease = Instant::now().checked_add(Duration::from_millis(renew.lease_millis));
        for id in &renew.sandboxes {
            let alive = |s: &&mut Sandbox| matches!(s.state, State::Running | State::Creating(_));
            match find_for(&mut self.sandboxes, id, uid).ok().filter(alive) {
                Some(sandbox) if sandbox.leased => {
                    sandbox.owner = asker.conn;
                    let max_life = sandbox.max_life();
                    self.set_deadlines(id, lease, max_life);
                }
                Some(_) => {}
                None => {
                    let detail = "there is no such sandbox".into();
                    let ended = wire::Ended { sandbox: id.clone(), detail, ..Default::default() };
                    self.answer(Asker { conn: asker.conn, request: 0 }, reply::Body::Ended(ended));
                }
            }
        }
        self.answer(asker, reply::Body::Done(wire::Done {}));
        Ok(())
    }

    pub(crate) fn user_report(&mut self, token: u64, id: &str) {
        let Some(sandbox) = self.sandboxes.get_mut(id) else { return self.forget(token) };
        let Some(child) = &sandbox.user else { return self.forget(token) };
        match seat::receive(child.socket.as_fd()) {
            Ok(Report::Parked { login, fds }) => {
                let outcome = sandbox.set_parked(&self.parts.cgroups, login, fds);
                let creating = matches!(sandbox.state, State::Creating(_));
                match outcome {
                    Ok(()) if creating => self.go(id),
                    Ok(()) => {}
                    Err(error) => self.fail_creation(id, &error),
                }
            }
            Ok(Report::Failed { step, error }) => self.child_failed(id, &step, &error),
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {}
            _ => {
                // It joined and is done, or it died.
                let joined = matches!(sandbox.state, State::Running | State::Ending) || sandbox.made.is_some();
                self.forget(token);
                if let Some(sandbox) = self.sandboxes.get_mut(id) {
                    sandbox.user = None;
                }
                self.hold_joined(id);
                self.finish_if_dead(id);
                if !joined {
                    let gone = Error::new(
                        wire::ErrorKind::ErrorSetup,
                        "the child that was parked in the sandbox's cgroups died",
                    );
                    self.fail_creation(id, &gone);
                }
            }
        }
    }

    fn child_failed(&mut self, id: &str, step: &str, error: &std::io::Error) {
        let error = Error {
            kind: wire::ErrorKind::ErrorSetup,
            message: format!("could not {step}: {error}"),
            remedy: String::new(),
            errno: error.raw_os_error().unwrap_or(0),
        };
        self.fail_creation(id, &error);
    }

    pub(crate) fn root_report(&mut self, token: u64, id: &str) {
        let Some(sandbox) = self.sandboxes.get_mut(id) else { return self.forget(token) };
        let Some(child) = &sandbox.root else { return self.forget(token) };
        match seat::receive(child.socket.as_fd()) {
            Ok(Report::Cloned { pid, pidfd }) => {
                let watched = add(
                    &self.epoll,
                    &mut self.sources,
                    &mut self.next_token,
                    pidfd.as_fd(),
                    Source::Process(id.into()),
                );
                if matches!(sandbox.state, State::Ending) {
                    sandbox.process = Some(pidfd);
                    sandbox.kill();
                } else {
                    let cloned = sandbox.cloned(&self.parts.cgroups, pid, pidfd).and(watched);
                    if let Err(error) = cloned.and_then(|_| self.lay_egress(id)) {
                        self.fail_creation(id, &error);
                    }
                }
            }
            Ok(Report::Rooted { tmpfs }) => self.rooted(id, tmpfs),
            Ok(Report::Failed { step, error }) => self.child_failed(id, &step, &error),
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {}
            _ => {
                let creating = matches!(sandbox.state, State::Creating(_) | State::Parked) && sandbox.made.is_none();
                self.forget(token);
                if let Some(sandbox) = self.sandboxes.get_mut(id) {
                    sandbox.end_root();
                }
                if creating {
                    self.fail_creation(
                        id,
                        &Error::new(wire::ErrorKind::ErrorSetup, "process 1 died while it was set up"),
                    );
                }
            }
        }
    }

    fn rooted(&mut self, id: &str, tmpfs: Vec<OwnedFd>) {
        let Some(sandbox) = self.sandboxes.get_mut(id) else { return };
        let State::Creating(asker) = sandbox.state else { return };
        match sandbox.rooted(tmpfs) {
            Ok(created) => {
                sandbox.made = Some((asker, created));
                self.complete(id);
            }
            Err(error) => self.fail_creation(id, &error),
        }
    }

    /// Answers a creation when all of it is there, and lets clients in.
    pub(crate) fn complete(&mut self, id: &str) {
        let Some(sandbox) = self.sandboxes.get_mut(id).filter(|s| s.way != Way::Laying) else { return };
        if !matches!(sandbox.state, State::Creating(_)) {
            return;
        }
        let Some((asker, created)) = sandbox.made.take() else { return };
        sandbox.state = State::Running;
        let waiting = std::mem::take(&mut sandbox.waiting);
        for Waiting { socket, min_epoch, .. } in waiting {
            // A connection that cannot be handed over closes, which its client sees.
            let _ = sandbox.attach(&socket, min_epoch);
        }
        self.answer(asker, reply::Body::Created(created));
    }

    pub(crate) fn life_event(&mut self, token: u64, id: &str) {
        let Some(sandbox) = self.sandboxes.get_mut(id) else { return self.forget(token) };
        let Some(life) = &sandbox.life else { return self.forget(token) };
        let mut buffer = [0u8; 4096];
        match sys::receive_packet(life.as_fd(), &mut buffer) {
            Ok((1.., fds)) if !fds.is_empty() => {} // Nobody asked for descriptors; they close here.
            Ok((length @ 1.., _)) => {
                if let Ok(notice) = caisson_wire::agent::AgentNotice::decode(&buffer[..length]) {
                    if !notice.fault.is_empty() {
                        sandbox.detail = notice.fault.chars().filter(|c| !c.is_control()).take(300).collect();
                    }
                    self.note_egress(id, &notice);
                }
            }
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {}
            // An agent without its life channel is none.
            _ => {
                // When it died, its pidfd tells more.
                let alive = sandbox.process.as_ref().is_some_and(|p| !is_dead(p));
                self.forget(token);
                if alive {
                    self.end(id, wire::EndReason::EndEngineFailed, "the agent closed its life channel");
                }
            }
        }
    }

    pub(crate) fn process_ended(&mut self, token: u64, id: &str) {
        self.forget(token);
        let Some(sandbox) = self.sandboxes.get_mut(id) else { return };
        let how = sandbox.process.as_ref().map_or_else(String::new, |process| sys::reap(process.as_fd()));
        if let State::Creating(_) = sandbox.state {
            let detail = if sandbox.detail.is_empty() {
                "process 1 died while it was set up".into()
            } else {
                sandbox.detail.clone()
            };
            self.fail_creation(id, &Error::new(wire::ErrorKind::ErrorSetup, detail));
        } else {
            self.end(id, wire::EndReason::EndEngineFailed, &format!("process 1 ended {how}"));
        }
        if let Some(sandbox) = self.sandboxes.get_mut(id) {
            sandbox.process = None;
        }
        self.finish_if_dead(id);
    }

    pub(crate) fn destroy(&mut self, asker: Asker, uid: u32, id: &str) -> Result<()> {
        if self.returning.get(id).is_some_and(|(creator, _)| uid == 0 || self.uid_of(creator.conn) == uid) {
            if let Some((creator, _)) = self.returning.remove(id) {
                let ended = format!("sandbox {id} ended before it was made");
                self.refuse(creator, &Error::new(wire::ErrorKind::ErrorBusy, ended));
            }
            return Err(no_sandbox(id));
        }
        let sandbox = find_for(&mut self.sandboxes, id, uid)?;
        if matches!(sandbox.state, State::Parked) {
            return Err(no_sandbox(id));
        }
        if !sandbox.destroyers.is_empty() {
            check_askers(&self.sandboxes, uid)?;
        }
        find_for(&mut self.sandboxes, id, uid)?.destroyers.push(Waiter { uid, asker });
        self.end(id, wire::EndReason::EndDeleted, "");
        Ok(())
    }

    /// Starts the end; the first reason stays.
    pub(crate) fn end(&mut self, id: &str, reason: wire::EndReason, detail: &str) {
        let Some(sandbox) = self.sandboxes.get_mut(id) else { return };
        if !matches!(sandbox.state, State::Ending) {
            sandbox.reason = reason;
            if sandbox.detail.is_empty() {
                sandbox.detail = detail.into();
            }
            if let State::Creating(asker) = sandbox.state {
                let error =
                    Error::new(wire::ErrorKind::ErrorBusy, format!("sandbox {id} ended while it was made: {detail}"));
                // After a refusal this second answer has no reader; a destroyed creation needs it.
                if reason != wire::EndReason::EndEngineFailed {
                    self.refuse(asker, &error);
                }
            }
            self.detach_children(id);
            let mut waiting = Vec::new();
            if let Some(sandbox) = self.sandboxes.get_mut(id) {
                waiting = sandbox.hold.take_askers();
                sandbox.waiting.clear();
                sandbox.kill();
                self.pending.insert(id.into());
            }
            self.set_deadlines(id, None, None);
            let gone = Error::new(wire::ErrorKind::ErrorNotFound, format!("sandbox {id} ended meanwhile"));
            waiting.into_iter().for_each(|asker| self.refuse(asker, &gone));
        }
        self.finish_if_dead(id);
    }

    /// Children die with `kill`; their channels must leave the epoll first.
    fn detach_children(&mut self, id: &str) {
        let joining = self.sandboxes.get(id).is_some_and(|s| s.joining);
        let tokens: Vec<_> = self
            .sources
            .iter()
            .filter(|(_, s)| match s {
                Source::User(i) => i == id && !joining,
                Source::Root(i) => i == id,
                _ => false,
            })
            .map(|(t, _)| *t)
            .collect();
        // A process 1 that was cloned but not yet reported would be missed.
        if let Some(sandbox) = self.sandboxes.get_mut(id) {
            if let (None, Some(root)) = (&sandbox.process, &sandbox.root) {
                if let Ok(Report::Cloned { pid, pidfd }) = seat::receive(root.socket.as_fd()) {
                    let _ = add(
                        &self.epoll,
                        &mut self.sources,
                        &mut self.next_token,
                        pidfd.as_fd(),
                        Source::Process(id.into()),
                    );
                    sandbox.pid = pid;
                    sandbox.process = Some(pidfd);
                }
            }
        }
        for token in tokens {
            self.forget(token);
        }
    }

    /// When all processes are dead: answers and hands the rest to the janitor.
    fn finish_if_dead(&mut self, id: &str) {
        let Some(sandbox) = self.sandboxes.get_mut(id) else { return };
        if !matches!(sandbox.state, State::Ending) || sandbox.process.is_some() {
            return;
        }
        if sandbox.user.is_some() && sandbox.killed.is_none_or(|k| k.elapsed() < JOINING_ENDS) {
            return;
        }
        if self.parts.cgroups.populated(&sandbox.path) {
            self.parts.cgroups.kill(&sandbox.path);
            return;
        }
        self.finish(id, false);
    }

    fn finish(&mut self, id: &str, stuck: bool) {
        self.forget_sandbox(id);
        let Some(mut sandbox) = self.sandboxes.remove(id) else { return };
        self.pending.remove(id);
        self.deadlines.set(id, sandbox.deadline(), None);
        let usage = sandbox.usage(&self.parts.cgroups);
        let owner = sandbox.owner;
        let existed = sandbox.request.is_some();
        for Waiter { asker, .. } in std::mem::take(&mut sandbox.destroyers) {
            let destroyed = wire::Destroyed { sandbox: id.into(), usage: Some(usage), stuck };
            self.answer(asker, reply::Body::Destroyed(destroyed));
        }
        if existed {
            let ended = wire::Ended {
                sandbox: id.into(),
                reason: sandbox.reason.into(),
                detail: sandbox.detail.clone(),
                usage: Some(usage),
            };
            self.answer(Asker { conn: owner, request: 0 }, reply::Body::Ended(ended));
        }
        if stuck {
            // Quarantined: neither ids nor cgroups are used again; the journal keeps the entry for the next start.
            return;
        }
        let disk = sandbox.disk.take();
        let (volumes, tmpfs) = (std::mem::take(&mut sandbox.volumes), std::mem::take(&mut sandbox.tmpfs));
        self.clearing.insert(id.into());
        self.parts.janitor.clear(Leftover {
            id: id.into(),
            path: sandbox.path.clone(),
            uid_base: sandbox.uid_base,
            disk,
            volumes,
            tmpfs,
        });
    }

    pub(crate) fn cleared(&mut self) {
        for cleared in self.parts.janitor.take_cleared() {
            self.clearing.remove(&cleared.id);
            if let Some(base) = cleared.uid_base {
                self.parts.ids.give(base);
                let _ = self.parts.journal.gone(&cleared.id);
            }
            if let Some((asker, create)) = self.returning.remove(&cleared.id) {
                if let Err(error) = self.create(asker, create) {
                    self.refuse(asker, &error);
                }
            }
        }
    }

    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let poll = (!self.pending.is_empty()).then(|| Instant::now() + Duration::from_millis(1));
        let parking = (!self.hints.is_empty() && self.parked() < MAX_PARKED).then_some(self.quiet_at);
        let poll = poll.or_else(|| self.upgrading.map(|_| Instant::now() + Duration::from_millis(2)));
        let groups = self.parts.groups.next_sweep();
        [self.deadlines.next(), poll, parking, groups, self.idle_end(), self.parts.outlet.next_due()]
            .into_iter()
            .flatten()
            .min()
    }

    pub(crate) fn expire(&mut self) {
        let now = Instant::now();
        if !self.hints.is_empty() {
            self.park_hinted(now);
        }
        self.sweep_groups(now);
        self.expire_egress(now);
        for id in self.deadlines.due(now) {
            let over = self.sandboxes.get(&id).and_then(Sandbox::max_life).is_some_and(|at| at <= now);
            let (reason, detail) = if over {
                (wire::EndReason::EndMaxLife, "its longest life is over")
            } else {
                (wire::EndReason::EndLease, "its lease ran out")
            };
            self.end(&id, reason, detail);
        }
        for id in self.pending.iter().cloned().collect::<Vec<_>>() {
            let Some(sandbox) = self.sandboxes.get(&id) else {
                self.pending.remove(&id);
                continue;
            };
            match (&sandbox.state, sandbox.killed) {
                (State::Ending, Some(killed)) if now.saturating_duration_since(killed) > STUCK_AFTER => {
                    self.finish(&id, true)
                }
                (State::Ending, _) => self.finish_if_dead(&id),
                _ => self.check_held(&id),
            }
        }
        if self.idle_end().is_some_and(|at| at <= now) {
            self.stop();
        }
    }

    /// When the launcher ends for want of anything to do.
    fn idle_end(&self) -> Option<Instant> {
        self.idle_since
            .filter(|_| self.upgrading.is_none())
            .and_then(|since| since.checked_add(self.parts.exit_when_idle?))
    }

    pub(crate) fn stop(&mut self) {
        self.stopping = true;
        self.hints.clear();
        for (_, (asker, _)) in std::mem::take(&mut self.returning) {
            self.refuse(asker, &stops());
        }
        let all: Vec<_> = self.sandboxes.keys().cloned().collect();
        for id in all {
            self.end(&id, wire::EndReason::EndOwnerGone, "the launcher stops");
        }
    }
}

/// What nobody would end any more is not begun.
pub(crate) fn stops() -> Error {
    Error::new(wire::ErrorKind::ErrorBusy, "the launcher stops")
}

fn is_dead(process: &OwnedFd) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    // Dying takes a moment after the descriptors are closed.
    let patience = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
    let mut fds = [PollFd::new(process, PollFlags::IN)];
    poll(&mut fds, Some(&patience)).is_ok_and(|ready| ready > 0)
}
