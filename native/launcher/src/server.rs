//! The launcher's loop: one thread, one epoll. It alone changes sandboxes; the disk stock and the janitor only make and
//! remove what is handed over.

use crate::cgroup::Cgroups;
use crate::conn::{Conn, Read, Stage};
use crate::deadlines::Deadlines;
use crate::disk::Stock;
use crate::egress::Outlet;
use crate::error::{Doing, Error, Result};
use crate::group::Groups;
use crate::ids::Ids;
use crate::janitor::Janitor;
use crate::journal::Journal;
use crate::request;
use crate::sandbox::{Asker, Sandbox, State, Waiter, Waiting};
use crate::store::Store;
use crate::sys;
use crate::upgrade::Program;
use crate::worker::Workers;
use caisson_wire::launcher::{self as wire, reply, request::Body};
use rustix::event::epoll::{self, EventData, EventFlags};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

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

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    Listener,
    Stdin,
    Signal,
    Janitor,
    Workers,
    Conn,
    User(String),
    Root(String),
    Process(String),
    Life(String),
    Outlet,
}

/// What `main` prepared.
pub struct Parts {
    /// Hierarchies.
    pub cgroups: Arc<Cgroups>,
    /// Groups.
    pub groups: Groups,
    /// Journal of this launcher.
    pub journal: Journal,
    /// Host ids.
    pub ids: Ids,
    /// Disks.
    pub stock: Stock,
    /// Remover.
    pub janitor: Janitor,
    /// Sealed agent.
    pub agent: OwnedFd,
    /// Listening socket.
    pub listener: OwnedFd,
    /// Ends the launcher when it closes, if asked.
    pub stdin: Option<OwnedFd>,
    /// Tells of SIGTERM and SIGUSR2.
    pub signals: OwnedFd,
    /// Uids that may speak to the launcher.
    pub allowed: Vec<u32>,
    /// Whoever the socket's group lets connect may speak, too.
    pub by_group: bool,
    /// State folder, whose disk must keep some room.
    pub state: PathBuf,
    /// Said to each client.
    pub degraded: Vec<String>,
    /// Folder of the socket.
    pub socket_folder: OwnedFd,
    /// This program, where its next version will lie.
    pub program: Program,
    /// The agent's.
    pub agent_program: Program,
    /// What lays the way out of sandboxes.
    pub outlet: Outlet,
    /// Saved disks.
    pub snapshots: Store,
    /// Disks that outlive sandboxes.
    pub volumes: Store,
    /// Ends the launcher when it has had neither connection nor sandbox for so long.
    pub exit_when_idle: Option<Duration>,
}

/// The loop's state.
pub struct Server {
    pub(crate) parts: Parts,
    pub(crate) epoll: OwnedFd,
    pub(crate) sources: HashMap<u64, Source>,
    pub(crate) next_token: u64,
    conns: HashMap<u64, Conn>,
    pub(crate) sandboxes: BTreeMap<String, Sandbox>,
    /// Ids that will be created, to be parked when nothing else is going on.
    pub(crate) hints: VecDeque<Hint>,
    /// When parking may go on.
    pub(crate) quiet_at: Instant,
    /// When the last one was parked.
    pub(crate) parked_at: Instant,
    pub(crate) stopping: bool,
    /// When sandboxes end by themselves.
    pub(crate) deadlines: Deadlines,
    /// Sandboxes to be looked at every millisecond: they end, or are told to stand still.
    pub(crate) pending: BTreeSet<String>,
    /// Threads for what takes long.
    pub(crate) workers: Workers,
    /// An upgrade is under way, and until when it may be.
    pub(crate) upgrading: Option<Instant>,
    /// Ended sandboxes that the janitor has.
    pub(crate) clearing: BTreeSet<String>,
    /// Sandboxes to be made when what was left of one of the same id is cleared.
    pub(crate) returning: BTreeMap<String, (Asker, wire::Create)>,
    /// Since when there has been neither connection nor sandbox.
    pub(crate) idle_since: Option<Instant>,
}

/// An id that a client will create.
pub(crate) struct Hint {
    pub(crate) group: String,
    pub(crate) id: String,
    pub(crate) owner: u64,
}

impl Server {
    /// Registers what is there from the start.
    pub fn new(parts: Parts) -> Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).doing(|| "make an epoll".into())?;
        let mut server = Self {
            parts,
            epoll,
            sources: HashMap::new(),
            next_token: 1,
            conns: HashMap::new(),
            sandboxes: BTreeMap::new(),
            hints: VecDeque::new(),
            quiet_at: Instant::now(),
            parked_at: Instant::now(),
            stopping: false,
            deadlines: Deadlines::default(),
            pending: BTreeSet::new(),
            workers: Workers::start()?,
            upgrading: None,
            clearing: BTreeSet::new(),
            returning: BTreeMap::new(),
            idle_since: Some(Instant::now()),
        };
        let own = [
            (Source::Listener, Some(server.parts.listener.as_fd())),
            (Source::Signal, Some(server.parts.signals.as_fd())),
            (Source::Janitor, Some(server.parts.janitor.bell.as_fd())),
            (Source::Workers, Some(server.workers.bell.as_fd())),
            (Source::Stdin, server.parts.stdin.as_ref().map(AsFd::as_fd)),
        ];
        for (source, fd) in own {
            if let Some(fd) = fd {
                add(&server.epoll, &mut server.sources, &mut server.next_token, fd, source)?;
            }
        }
        server.watch_outlet()?;
        Ok(server)
    }

    /// Runs until it is told to stop and everything is cleared.
    pub fn run(mut self) -> Result<()> {
        let mut events = Vec::with_capacity(64);
        while !(self.stopping && self.sandboxes.is_empty()) {
            let timeout = self.next_deadline().map(|at| {
                let left = at.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
                rustix::event::Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) }
            });
            events.clear();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), timeout.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(e).doing(|| "wait for events".into()),
            }
            for event in &events {
                self.dispatch(event.data.u64(), event.flags);
            }
            self.note_idle();
            self.expire();
            self.go_on_with_upgrade();
        }
        let Parts { cgroups, mut journal, janitor, outlet, .. } = self.parts;
        outlet.end();
        for cleared in janitor.finish().into_iter().filter(|c| c.uid_base.is_some()) {
            let _ = journal.gone(&cleared.id);
        }
        journal.close();
        cgroups.leave();
        Ok(())
    }

    pub(crate) fn watch_listener(&mut self) -> Result<()> {
        let listener = self.parts.listener.as_fd();
        add(&self.epoll, &mut self.sources, &mut self.next_token, listener, Source::Listener).map(drop)
    }

    /// Whoever connects waits.
    pub(crate) fn ignore_listener(&mut self) {
        let token = self.sources.iter().find(|(_, s)| **s == Source::Listener).map(|(t, _)| *t);
        token.into_iter().for_each(|token| self.forget(token));
    }

    pub(crate) fn disconnect_all(&mut self) {
        let all: Vec<_> = self.conns.keys().copied().collect();
        all.into_iter().for_each(|token| self.disconnect(token));
    }

    fn note_idle(&mut self) {
        let idle = self.conns.is_empty() && self.sandboxes.is_empty() && !self.workers.is_busy();
        self.idle_since = if idle { self.idle_since.or_else(|| Some(Instant::now())) } else { None };
    }

    fn dispatch(&mut self, token: u64, flags: EventFlags) {
        let Some(source) = self.sources.get(&token).cloned() else { return };
        match source {
            Source::Listener => self.accept(),
            Source::Stdin => {
                if !matches!(self.parts.stdin.as_ref().map(|s| rustix::io::read(s, &mut [0u8; 256])), Some(Ok(1..))) {
                    self.forget(token);
                    self.stop();
                }
            }
            Source::Signal => match sys::read_signal(self.parts.signals.as_fd()) {
                Some(libc::SIGUSR2) => self.begin_upgrade(),
                Some(_) => {
                    self.forget(token);
                    self.stop();
                }
                None => {}
            },
            Source::Janitor => self.cleared(),
            Source::Workers => self.workers.take_done().into_iter().for_each(|then| then(self)),
            Source::Conn => self.serve(token, flags),
            Source::User(id) => self.user_report(token, &id),
            Source::Root(id) => self.root_report(token, &id),
            Source::Process(id) => self.process_ended(token, &id),
            Source::Life(id) => self.life_event(token, &id),
            Source::Outlet => self.outlet_event(token),
        }
    }

    /// Takes a source out. The descriptor itself may live on in another process, so closing ours is not enough.
    pub(crate) fn forget(&mut self, token: u64) {
        let Some(source) = self.sources.remove(&token) else { return };
        let sandbox = |id: &str| self.sandboxes.get(id);
        let fd = match &source {
            Source::Listener => Some(self.parts.listener.as_fd()),
            Source::Stdin => self.parts.stdin.as_ref().map(AsFd::as_fd),
            Source::Signal => Some(self.parts.signals.as_fd()),
            Source::Janitor => Some(self.parts.janitor.bell.as_fd()),
            Source::Workers => Some(self.workers.bell.as_fd()),
            Source::Conn => self.conns.get(&token).map(|c| c.socket.as_fd()),
            Source::User(id) => sandbox(id).and_then(|s| s.user.as_ref()).map(|c| c.socket.as_fd()),
            Source::Root(id) => sandbox(id).and_then(|s| s.root.as_ref()).map(|c| c.socket.as_fd()),
            Source::Process(id) => sandbox(id).and_then(|s| s.process.as_ref()).map(AsFd::as_fd),
            Source::Life(id) => sandbox(id).and_then(|s| s.life.as_ref()).map(AsFd::as_fd),
            Source::Outlet => self.parts.outlet.channel.as_ref().map(AsFd::as_fd),
        };
        if let Some(fd) = fd {
            let _ = epoll::delete(&self.epoll, fd);
        }
    }

    pub(crate) fn forget_sandbox(&mut self, id: &str) {
        let of = |source: &Source| match source {
            Source::User(i) | Source::Root(i) | Source::Process(i) | Source::Life(i) => i == id,
            _ => false,
        };
        let tokens: Vec<_> = self.sources.iter().filter(|(_, s)| of(s)).map(|(t, _)| *t).collect();
        for token in tokens {
            self.forget(token);
        }
    }

    // ---- connections ----

    fn accept(&mut self) {
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

    fn serve(&mut self, token: u64, flags: EventFlags) {
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
    fn disconnect(&mut self, token: u64) {
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

pub(crate) fn add(
    epoll: &OwnedFd,
    sources: &mut HashMap<u64, Source>,
    next: &mut u64,
    fd: BorrowedFd<'_>,
    source: Source,
) -> Result<u64> {
    let token = *next;
    *next += 1;
    epoll::add(epoll, fd, EventData::new_u64(token), EventFlags::IN | EventFlags::RDHUP)
        .doing(|| "watch a descriptor".into())?;
    sources.insert(token, source);
    Ok(token)
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

pub(crate) fn no_sandbox(id: &str) -> Error {
    Error::new(wire::ErrorKind::ErrorNotFound, format!("there is no sandbox {id}"))
}

/// A sandbox that this client may touch: its own user's, or any for root. Others do not exist for it.
pub(crate) fn find_for<'a>(
    sandboxes: &'a mut BTreeMap<String, Sandbox>,
    id: &str,
    uid: u32,
) -> Result<&'a mut Sandbox> {
    find(sandboxes, id).and_then(|s| if uid == 0 || s.owner_uid == uid { Ok(s) } else { Err(no_sandbox(id)) })
}

pub(crate) fn find<'a>(sandboxes: &'a mut BTreeMap<String, Sandbox>, id: &str) -> Result<&'a mut Sandbox> {
    sandboxes.get_mut(id).ok_or_else(|| no_sandbox(id))
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
