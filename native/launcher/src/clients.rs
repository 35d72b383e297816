//! Clients of the launcher: their connections, and which part of it answers each request.

use crate::conn::{Conn, Read, Stage};
use crate::error::{Error, Result};
use crate::request;
use crate::sandbox::{Asker, Sandbox, State, Waiter, Waiting};
use crate::server::{Server, Source, add, find, find_for, no_sandbox};
use caisson_wire::launcher::{self as wire, reply, request::Body};
use rustix::event::epoll::{self, EventData, EventFlags};
use std::collections::BTreeMap;
use std::os::fd::AsFd;

const MAX_CONNECTIONS: usize = 4096;
/// Data connections that wait until one sandbox is made.
const WAITING_FOR_ONE: usize = 64;
/// Those of one user for all sandboxes: a client connects before it knows that its sandbox is made, to as many as a host has.
const WAITING_OF_USER: usize = 4096;
/// Requests of one user that wait for a freeze or an end for which another one waits already. The first of each sandbox is
/// never refused, so an end always begins.
const ASKERS_OF_USER: usize = 1024;
/// Requests of one connection before the others have their turn.
const REQUESTS_IN_TURN: usize = 64;

impl Server {
    pub(crate) fn accept(&mut self) {
        use rustix::net::SocketFlags;
        while let Ok(socket) =
            rustix::net::accept_with(&self.parts.listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)
        {
            let Ok(conn) = Conn::new(socket) else { continue };
            // With a socket group the file's mode has decided already who may connect.
            let allowed = self.parts.by_group || self.parts.allowed.contains(&conn.uid);
            if !allowed || self.stopping || self.conns.len() >= MAX_CONNECTIONS {
                continue;
            }
            if let Ok(token) =
                add(&self.epoll, &mut self.sources, &mut self.next_token, conn.socket.as_fd(), Source::Conn)
            {
                self.conns.insert(token, conn);
            }
        }
    }

    pub(crate) fn serve(&mut self, token: u64, flags: EventFlags) {
        if flags.contains(EventFlags::OUT) {
            let alive = self.conns.get_mut(&token).is_some_and(Conn::flush);
            if !alive {
                return self.disconnect(token);
            }
            self.want_output(token);
        }
        if flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR | EventFlags::RDHUP) {
            // The others take their turns: what is left on the socket brings this one back.
            for handled in 0.. {
                let Some(conn) = self.conns.get_mut(&token) else { return };
                match conn.read(handled < REQUESTS_IN_TURN) {
                    Read::Later => break,
                    Read::Request(request) => self.handle(token, *request),
                    Read::End(error) => {
                        if let Some(error) = error {
                            let error = Error::new(wire::ErrorKind::ErrorProtocol, error.to_string());
                            self.answer(Asker { conn: token, request: 0 }, reply::Body::Error(error.to_wire()));
                        }
                        return self.disconnect(token);
                    }
                }
            }
        }
    }

    fn want_output(&mut self, token: u64) {
        let Some(conn) = self.conns.get(&token) else { return };
        let mut flags = EventFlags::IN | EventFlags::RDHUP;
        if conn.has_unsent() {
            flags |= EventFlags::OUT;
        }
        let _ = epoll::modify(&self.epoll, &conn.socket, EventData::new_u64(token), flags);
    }

    pub(crate) fn answer(&mut self, to: Asker, body: reply::Body) {
        let Some(conn) = self.conns.get_mut(&to.conn) else { return };
        let had_unsent = conn.has_unsent();
        if !conn.send(&wire::Reply { id: to.request, body: Some(body) }) {
            return self.disconnect(to.conn);
        }
        let has_unsent = conn.has_unsent();
        if had_unsent != has_unsent {
            self.want_output(to.conn);
        }
    }

    pub(crate) fn refuse(&mut self, to: Asker, error: &Error) {
        self.answer(to, reply::Body::Error(error.to_wire()));
    }

    /// A client is gone: what it owns ends.
    pub(crate) fn disconnect(&mut self, token: u64) {
        self.forget(token);
        self.conns.remove(&token);
        self.hints.retain(|h| h.owner != token);
        self.returning.retain(|_, (asker, _)| asker.conn != token);
        let owned: Vec<_> =
            self.sandboxes.values().filter(|s| s.owner == token && !s.leased).map(|s| s.id.clone()).collect();
        for id in owned {
            self.end(&id, wire::EndReason::EndOwnerGone, "its client is gone");
        }
    }

    fn handle(&mut self, token: u64, request: wire::Request) {
        let asker = Asker { conn: token, request: request.id };
        let stage = self.conns.get(&token).map(|c| c.stage);
        let outcome = match (stage, request.body) {
            (Some(Stage::New), Some(Body::Hello(hello))) => self.hello(asker, &hello),
            (Some(Stage::Control), Some(body)) if request.id > 0 => self.control(asker, body),
            _ => {
                let error = Error::new(
                    wire::ErrorKind::ErrorProtocol,
                    "a connection starts with Hello, and every request has an id and a body",
                );
                self.refuse(asker, &error);
                return self.disconnect(token);
            }
        };
        if let Err(error) = outcome {
            self.refuse(asker, &error);
        }
    }

    fn control(&mut self, asker: Asker, body: Body) -> Result<()> {
        let done = reply::Body::Done(wire::Done {});
        let uid = self.uid_of(asker.conn);
        match body {
            Body::Hello(_) => Err(Error::new(wire::ErrorKind::ErrorProtocol, "Hello comes once")),
            Body::Prepare(prepare) => {
                self.prepare(asker.conn, &prepare)?;
                self.answer(asker, done);
                Ok(())
            }
            Body::Create(create) => self.create(asker, create),
            Body::Destroy(destroy) => self.destroy(asker, uid, &destroy.sandbox),
            Body::Renew(renew) => self.renew(asker, uid, &renew),
            Body::RenewMany(renew) => self.renew_many(asker, uid, &renew),
            Body::SetGroup(group) => self.set_group(asker, uid, &group),
            Body::Observe(observe) => {
                let observed = self.observe(uid, &observe.sandbox)?;
                self.answer(asker, reply::Body::Observed(observed));
                Ok(())
            }
            Body::ObserveAll(_) => {
                self.observe_all(asker, uid);
                Ok(())
            }
            Body::List(_) => {
                self.list(asker, uid);
                Ok(())
            }
            Body::Freeze(freeze) => self.freeze(asker, uid, &freeze.sandbox),
            Body::Thaw(thaw) => self.thaw(asker, uid, &thaw.sandbox),
            Body::SetLimits(change) => self.set_limits(asker, uid, &change),
            Body::Save(save) => self.save(asker, uid, save),
            Body::DropSnapshot(drop) => self.drop_snapshot(asker, uid, &drop.snapshot),
            Body::ListSnapshots(_) => self.list_disks(asker, uid, self.parts.snapshots.clone()),
            Body::MakeVolume(make) => self.make_volume(asker, uid, &make),
            Body::DropVolume(drop) => self.drop_volume(asker, uid, &drop.volume),
            Body::StartGateway(_) => self.start_gateway(asker),
            Body::ListVolumes(_) => self.list_disks(asker, uid, self.parts.volumes.clone()),
        }
    }

    /// Uid of a connection's peer; of one that is gone, nobody's.
    pub(crate) fn uid_of(&self, conn: u64) -> u32 {
        self.conns.get(&conn).map_or(u32::MAX, |c| c.uid)
    }

    fn hello(&mut self, asker: Asker, hello: &wire::Hello) -> Result<()> {
        if hello.version != caisson_wire::PROTOCOL_VERSION {
            return Err(Error::new(
                wire::ErrorKind::ErrorProtocol,
                format!(
                    "the client speaks protocol {}, this launcher {}",
                    hello.version,
                    caisson_wire::PROTOCOL_VERSION
                ),
            )
            .remedy("use client and launcher of one release"));
        }
        if hello.role() == wire::Role::Data {
            return self.take_data(asker, hello);
        }
        if let Some(conn) = self.conns.get_mut(&asker.conn) {
            conn.stage = Stage::Control;
        }
        let welcome = wire::Welcome {
            gateway: self.parts.outlet.control.clone(),
            version: caisson_wire::PROTOCOL_VERSION,
            launcher_version: env!("CARGO_PKG_VERSION").into(),
            cgroup_v1: self.parts.cgroups.limits_in_v1(),
            degraded: self.parts.degraded.clone(),
            kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
            templates: request::TEMPLATES.map(str::to_string).to_vec(),
        };
        self.answer(asker, reply::Body::Welcome(welcome));
        Ok(())
    }

    /// A data connection goes to the agent, now or as soon as there is one.
    fn take_data(&mut self, asker: Asker, hello: &wire::Hello) -> Result<()> {
        let uid = self.uid_of(asker.conn);
        let sandbox = find_for(&mut self.sandboxes, &hello.sandbox, uid)?;
        match sandbox.state {
            State::Running => {}
            State::Creating(_) => check_waiting(&self.sandboxes, &hello.sandbox, uid)?,
            State::Parked | State::Ending => return Err(no_sandbox(&hello.sandbox)),
        }
        self.answer(asker, reply::Body::Done(wire::Done {}));
        self.forget(asker.conn);
        let Some(conn) = self.conns.remove(&asker.conn) else { return Ok(()) };
        let sandbox = find(&mut self.sandboxes, &hello.sandbox)?;
        if matches!(sandbox.state, State::Running) {
            sandbox.attach(&conn.socket, hello.min_epoch)
        } else {
            sandbox.waiting.push(Waiting { uid, socket: conn.socket, min_epoch: hello.min_epoch });
            Ok(())
        }
    }
}

/// Refuses a data connection where too many wait for an agent: those of one user, or for one sandbox.
fn check_waiting(sandboxes: &BTreeMap<String, Sandbox>, id: &str, uid: u32) -> Result<()> {
    let here = sandboxes.get(id).map_or(0, |s| s.waiting.len());
    let own = || sandboxes.values().flat_map(|s| &s.waiting).filter(|w| w.uid == uid).count();
    if here < WAITING_FOR_ONE && own() < WAITING_OF_USER {
        return Ok(());
    }
    Err(Error::new(
        wire::ErrorKind::ErrorBusy,
        format!("too many data connections wait until sandbox {id} or others are made"),
    )
    .remedy("connect when the sandbox is made"))
}

fn beside(waiters: &[Waiter], uid: u32) -> usize {
    waiters.iter().skip(1).filter(|w| w.uid == uid).count()
}

/// Refuses a request that would wait beside others for a freeze or an end, where too many of one user do.
pub(crate) fn check_askers(sandboxes: &BTreeMap<String, Sandbox>, uid: u32) -> Result<()> {
    let own = |s: &Sandbox| beside(s.hold.waiting(), uid) + beside(&s.destroyers, uid);
    if sandboxes.values().map(own).sum::<usize>() < ASKERS_OF_USER {
        return Ok(());
    }
    Err(Error::new(
        wire::ErrorKind::ErrorBusy,
        format!("{ASKERS_OF_USER} requests of this user wait beside others for a freeze or an end"),
    )
    .remedy("wait for the answer of some, then ask again"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_so_many_requests_that_wait_beside_others() {
        let mut sandboxes: BTreeMap<_, _> =
            ["sb0", "sb1"].map(|id| (id.to_string(), Sandbox::bare(id, "", "", 0, 0))).into();
        let mut wait = |id: &str, uid: u32, freeze: bool| {
            let waits = sandboxes.get(id).unwrap();
            let first = if freeze { waits.hold.waiting().is_empty() } else { waits.destroyers.is_empty() };
            if !first {
                check_askers(&sandboxes, uid)?;
            }
            let waiter = Waiter { uid, asker: Asker { conn: 1, request: 1 } };
            let sandbox = sandboxes.get_mut(id).unwrap();
            if freeze {
                sandbox.hold.wait(waiter);
            } else {
                sandbox.destroyers.push(waiter);
            }
            Ok::<_, Error>(())
        };
        for _ in 0..=ASKERS_OF_USER / 2 {
            wait("sb0", 1, true).unwrap();
            wait("sb0", 1, false).unwrap();
        }
        assert_eq!(wait("sb0", 1, true).unwrap_err().kind, wire::ErrorKind::ErrorBusy);
        assert!(wait("sb0", 1, false).is_err());
        wait("sb1", 1, true).unwrap();
        wait("sb1", 1, false).unwrap();
        assert!(wait("sb1", 1, false).is_err(), "those of all sandboxes count together");
        wait("sb0", 2, true).unwrap();
        wait("sb0", 2, false).unwrap();
    }

    #[test]
    fn a_user_has_so_many_connections_that_wait() {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let most = getrlimit(Resource::Nofile).maximum;
        if most.is_some_and(|most| most < 3 * WAITING_OF_USER as u64) {
            println!("SKIPPED a_user_has_so_many_connections_that_wait: needs many open files");
            return;
        }
        setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most }).unwrap();
        let mut sandboxes: BTreeMap<_, _> = (0..WAITING_OF_USER / WAITING_FOR_ONE + 1)
            .map(|n| (format!("sb{n}"), Sandbox::bare(&format!("sb{n}"), "", "", 0, 0)))
            .collect();
        let mut wait = |id: &str, uid: u32| {
            check_waiting(&sandboxes, id, uid)?;
            let socket = std::fs::File::open("/dev/null").unwrap().into();
            sandboxes.get_mut(id).unwrap().waiting.push(Waiting { uid, socket, min_epoch: 1 });
            Ok::<_, Error>(())
        };
        for n in 0..WAITING_OF_USER {
            wait(&format!("sb{}", n / WAITING_FOR_ONE), 1).unwrap();
        }
        let last = format!("sb{}", WAITING_OF_USER / WAITING_FOR_ONE);
        assert_eq!(wait(&last, 1).unwrap_err().kind, wire::ErrorKind::ErrorBusy);
        wait(&last, 2).unwrap();
        assert!(wait("sb0", 2).is_err(), "a sandbox has so many, whoever they belong to");
    }
}
