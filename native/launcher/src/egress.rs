//! Sandboxes with a way out, in the launcher's loop: their creation is answered when the way is laid and the agent has proved it
//! from inside; they get another channel when the gateway was started anew. What does the work is the outlet.

use crate::error::{Doing, Error, Result};
use crate::outlet::{self, Ask, Told};
use crate::sandbox::{Asker, Sandbox, State};
use crate::server::{Server, Source, add};
use crate::sys;
use caisson_wire::agent::{AgentNotice, Attach, EgressKind};
use caisson_wire::launcher::{self as wire, reply};
use prost::Message;
use std::collections::{BTreeMap, HashMap};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// How long a way out may take until it is proved.
const PROOF: Duration = Duration::from_secs(10);
/// After a channel broke, and after no other one could be had.
const FIRST_RETRY: Duration = Duration::from_millis(50);
const RETRY: Duration = Duration::from_secs(1);

/// How far a sandbox's way out is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Way {
    /// It has none.
    #[default]
    Closed,
    /// The outlet was asked, or the agent was told.
    Laying,
    /// Proved from inside.
    Open,
}

enum Asked {
    Start(Asker),
    Lay(String),
    Channel(String),
}

impl Asked {
    fn is_about(&self, id: &str) -> bool {
        matches!(self, Self::Lay(other) | Self::Channel(other) if other == id)
    }
}

/// The outlet and what was asked of it.
#[derive(Default)]
pub struct Outlet {
    /// Empty: this launcher has none.
    pub channel: Option<OwnedFd>,
    /// The helper; unknown after an upgrade.
    process: Option<OwnedFd>,
    /// Of the gateway.
    pub control: String,
    last: u64,
    asked: HashMap<u64, Asked>,
    /// When to look at a sandbox again: a proof that does not come, or a channel that could not be had.
    due: BTreeMap<String, Instant>,
}

impl Outlet {
    /// The helper at the other end.
    pub fn new(channel: OwnedFd, process: Option<OwnedFd>, control: String) -> Self {
        Self { channel: Some(channel), process, control, ..Default::default() }
    }

    /// Ends the helper, and with it the gateway, before their folder is removed.
    pub fn end(self) {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        drop(self.channel);
        if let Some(process) = self.process {
            let patience = Timespec { tv_sec: 2, tv_nsec: 0 };
            let _ = poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&patience));
        }
    }

    /// An answer is waited for.
    pub fn is_busy(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Sandboxes that lost their channel and have no other one yet.
    pub fn lost(&self) -> Vec<String> {
        self.due.keys().cloned().collect()
    }

    /// These have none, as the launcher before this one knew: another is asked for at once.
    pub fn find_lost(&mut self, ids: Vec<String>) {
        self.due.extend(ids.into_iter().map(|id| (id, Instant::now())));
    }

    /// The next moment at which something is due.
    pub fn next_due(&self) -> Option<Instant> {
        self.due.values().min().copied()
    }

    fn ask(&mut self, ask: Ask, asked: Asked, fd: Option<&OwnedFd>) -> Result<()> {
        let Some(channel) = &self.channel else { return Err(no_gateway()) };
        self.last += 1;
        let packet = Ask { number: self.last, ..ask }.encode_to_vec();
        let fds: Vec<_> = fd.iter().map(|fd| fd.as_fd()).collect();
        sys::send_packet(channel.as_fd(), &packet, &fds).doing(|| "ask the outlet".into())?;
        self.asked.insert(self.last, asked);
        Ok(())
    }
}

fn no_gateway() -> Error {
    Error::new(wire::ErrorKind::ErrorNotSupported, "this launcher has no egress gateway")
        .remedy("start it with --gateway-java and --gateway-jars, or leave the way out closed")
}

impl Server {
    pub(crate) fn watch_outlet(&mut self) -> Result<()> {
        let Some(channel) = &self.parts.outlet.channel else { return Ok(()) };
        add(&self.epoll, &mut self.sources, &mut self.next_token, channel.as_fd(), Source::Outlet).map(drop)
    }

    pub(crate) fn start_gateway(&mut self, asker: Asker) -> Result<()> {
        self.parts.outlet.ask(Ask { kind: outlet::ASK_START, ..Default::default() }, Asked::Start(asker), None)
    }

    /// Refuses what could never get its way out.
    pub(crate) fn check_egress(&self, create: &wire::Create) -> Result<()> {
        if create.egress && self.parts.outlet.channel.is_none() { Err(no_gateway()) } else { Ok(()) }
    }

    /// Process 1 exists, and with it the network namespace.
    pub(crate) fn lay_egress(&mut self, id: &str) -> Result<()> {
        let Some(sandbox) = self.sandboxes.get_mut(id) else { return Ok(()) };
        if !sandbox.request.as_ref().is_some_and(|r| r.egress) {
            return Ok(());
        }
        let path = format!("/proc/{}/ns/net", sandbox.pid);
        let namespace = std::fs::File::open(path).doing(|| "open the sandbox's network namespace".into())?;
        sandbox.way = Way::Laying;
        // What was asked for an earlier one of this name is not for this one.
        self.parts.outlet.asked.retain(|_, asked| !asked.is_about(id));
        let ask = Ask { kind: outlet::ASK_LAY, sandbox: id.into(), owner_uid: sandbox.owner_uid, ..Default::default() };
        self.parts.outlet.due.insert(id.into(), Instant::now() + PROOF);
        self.parts.outlet.ask(ask, Asked::Lay(id.into()), Some(&namespace.into()))
    }

    pub(crate) fn outlet_event(&mut self, token: u64) {
        let Some(channel) = &self.parts.outlet.channel else { return self.forget(token) };
        let mut buffer = [0u8; outlet::PACKET];
        match sys::receive_packet(channel.as_fd(), &mut buffer) {
            Ok((length @ 1.., fds)) => {
                let told = Told::decode(&buffer[..length]).unwrap_or_default();
                self.outlet_told(&told, fds);
            }
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {}
            _ => {
                eprintln!(
                    "caisson-launcher: the outlet is gone: no sandbox gets a way out until the launcher is started anew"
                );
                self.forget(token);
                self.parts.outlet.channel = None;
                let asked: Vec<_> = self.parts.outlet.asked.drain().collect();
                let error = "the launcher's outlet is gone".to_string();
                asked.into_iter().for_each(|(_, asked)| {
                    self.answered(asked, &Told { error: error.clone(), ..Default::default() }, Vec::new());
                });
            }
        }
    }

    fn outlet_told(&mut self, told: &Told, fds: Vec<OwnedFd>) {
        if told.listening {
            let open = |s: &&Sandbox| s.way == Way::Open && matches!(s.state, State::Running);
            let all: Vec<_> = self.sandboxes.values().filter(open).map(|s| s.id.clone()).collect();
            all.iter().for_each(|id| self.ask_channel(id));
        }
        if let Some(asked) = self.parts.outlet.asked.remove(&told.number) {
            self.answered(asked, told, fds);
        }
    }

    fn answered(&mut self, asked: Asked, told: &Told, fds: Vec<OwnedFd>) {
        let outcome = match told.error.as_str() {
            "" => Ok(fds),
            error => Err(Error::new(wire::ErrorKind::ErrorSetup, error).remedy(told.remedy.as_str())),
        };
        match (asked, outcome) {
            (Asked::Start(asker), Ok(_)) => self.answer(asker, reply::Body::Done(wire::Done {})),
            (Asked::Start(asker), Err(error)) => self.refuse(asker, &error),
            (Asked::Lay(id), outcome) => {
                if self.sandboxes.get(&id).is_some_and(|s| s.way == Way::Laying) {
                    let sent = outcome.and_then(|fds| self.hand_over(&id, EgressKind::EgressLaid, &fds));
                    sent.unwrap_or_else(|error| self.fail_creation(&id, &error));
                }
            }
            (Asked::Channel(id), outcome) => {
                if outcome.and_then(|fds| self.hand_over(&id, EgressKind::EgressChannel, &fds)).is_err() {
                    self.retry_channel(&id, RETRY);
                }
            }
        }
    }

    fn hand_over(&mut self, id: &str, kind: EgressKind, fds: &[OwnedFd]) -> Result<()> {
        let Some(life) = self.sandboxes.get(id).and_then(|s| s.life.as_ref()) else { return Ok(()) };
        let packet = Attach { min_epoch: 0, egress: kind.into() }.encode_to_vec();
        let fds: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
        sys::send_packet(life.as_fd(), &packet, &fds).doing(|| format!("hand the way out to the agent of {id}"))
    }

    fn ask_channel(&mut self, id: &str) {
        let Some(sandbox) = self.sandboxes.get(id).filter(|s| matches!(s.state, State::Running)) else { return };
        let ask =
            Ask { kind: outlet::ASK_CHANNEL, sandbox: id.into(), owner_uid: sandbox.owner_uid, ..Default::default() };
        let asked = |a: &Asked| matches!(a, Asked::Channel(other) if other == id);
        if !self.parts.outlet.asked.values().any(asked)
            && self.parts.outlet.ask(ask, Asked::Channel(id.into()), None).is_err()
        {
            self.retry_channel(id, RETRY);
        }
    }

    fn retry_channel(&mut self, id: &str, pause: Duration) {
        if self.parts.outlet.channel.is_some() && self.sandboxes.contains_key(id) {
            self.parts.outlet.due.insert(id.into(), Instant::now() + pause);
        }
    }

    /// What the agent says of the way out.
    pub(crate) fn note_egress(&mut self, id: &str, notice: &AgentNotice) {
        let Some(sandbox) = self.sandboxes.get_mut(id).filter(|s| s.way != Way::Closed) else { return };
        if !notice.fault.is_empty() && sandbox.way == Way::Laying {
            let error = Error::new(wire::ErrorKind::ErrorSetup, sandbox.detail.clone())
                .remedy("look at the launcher's and the egress gateway's log; the sandbox is not started with a network that is not confirmed");
            self.fail_creation(id, &error);
        } else if notice.egress_ready && sandbox.way == Way::Laying {
            sandbox.way = Way::Open;
            self.parts.outlet.due.remove(id);
            self.complete(id);
        } else if notice.egress_lost {
            self.retry_channel(id, FIRST_RETRY);
        }
    }

    /// Does what is due.
    pub(crate) fn expire_egress(&mut self, now: Instant) {
        let due: Vec<_> =
            self.parts.outlet.due.iter().filter(|(_, at)| **at <= now).map(|(id, _)| id.clone()).collect();
        for id in due {
            self.parts.outlet.due.remove(&id);
            match self.sandboxes.get(&id).map(|s| (&s.state, s.way)) {
                Some((State::Creating(_), Way::Laying)) => {
                    let error = Error::new(
                        wire::ErrorKind::ErrorSetup,
                        format!(
                            "the way out of sandbox {id} was not confirmed from inside within {} s",
                            PROOF.as_secs()
                        ),
                    );
                    self.fail_creation(&id, &error);
                }
                Some((State::Running, Way::Open)) => self.ask_channel(&id),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_for_a_channel_during_an_upgrade_is_asked_for_behind_it() {
        let mut before = Outlet::default();
        before.due.insert("sb1".into(), Instant::now() + RETRY);
        assert!(!before.is_busy(), "control: nothing keeps the upgrade waiting");
        let mut after = Outlet::default();
        after.find_lost(before.lost());
        assert!(after.next_due().is_some_and(|at| at <= Instant::now()));
        assert_eq!(after.lost(), ["sb1"]);
    }

    #[test]
    fn what_was_asked_for_one_is_known_by_its_name() {
        assert!(Asked::Lay("sb1".into()).is_about("sb1") && Asked::Channel("sb1".into()).is_about("sb1"));
        assert!(!Asked::Lay("sb10".into()).is_about("sb1"));
        assert!(!Asked::Start(Asker { conn: 1, request: 1 }).is_about("sb1"));
    }
}
