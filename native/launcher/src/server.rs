//! The launcher's loop: one thread, one epoll. It alone changes sandboxes; the disk stock and the janitor only make and
//! remove what is handed over.

use crate::cgroup::Cgroups;
use crate::conn::{Conn, Read, Stage};
use crate::disk::{Disk, Shape, Stock};
use crate::error::{Doing, Error, Result};
use crate::ids::Ids;
use crate::janitor::{Janitor, Leftover};
use crate::journal::Journal;
use crate::request;
use crate::sandbox::{Asker, Sandbox, State};
use crate::seat::{self, Report};
use crate::sys;
use caisson_wire::launcher::{self as wire, reply, request::Body};
use prost::Message;
use rustix::event::epoll::{self, EventData, EventFlags};
use std::collections::{BTreeMap, HashMap};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Sandboxes that wait for a `Create`, per launcher.
const MAX_PARKED: usize = 16;
const MAX_CONNECTIONS: usize = 4096;
/// How long a killed sandbox may take before it counts as stuck.
const STUCK_AFTER: Duration = Duration::from_secs(10);
/// How long a child that is joining may take to end after process 1.
const JOINING_ENDS: Duration = Duration::from_secs(1);
/// Free bytes that the state folder's disk must keep.
const KEEP_FREE: u64 = 512 << 20;

#[derive(Clone, PartialEq, Eq, Debug)]
enum Source {
    Listener,
    Stdin,
    Signal,
    Janitor,
    Conn,
    User(String),
    Root(String),
    Process(String),
    Life(String),
}

/// What `main` prepared.
pub struct Parts {
    /// Hierarchies.
    pub cgroups: Arc<Cgroups>,
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
    /// Tells of SIGTERM.
    pub signals: OwnedFd,
    /// Uids that may speak to the launcher.
    pub allowed: Vec<u32>,
    /// State folder, whose disk must keep some room.
    pub state: PathBuf,
    /// Said to each client.
    pub degraded: Vec<String>,
}

/// The loop's state.
pub struct Server {
    parts: Parts,
    epoll: OwnedFd,
    sources: HashMap<u64, Source>,
    next_token: u64,
    conns: HashMap<u64, Conn>,
    sandboxes: BTreeMap<String, Sandbox>,
    stopping: bool,
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
            stopping: false,
        };
        let own = [
            (Source::Listener, Some(server.parts.listener.as_fd())),
            (Source::Signal, Some(server.parts.signals.as_fd())),
            (Source::Janitor, Some(server.parts.janitor.bell.as_fd())),
            (Source::Stdin, server.parts.stdin.as_ref().map(AsFd::as_fd)),
        ];
        for (source, fd) in own {
            if let Some(fd) = fd {
                add(&server.epoll, &mut server.sources, &mut server.next_token, fd, source)?;
            }
        }
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
            self.expire();
        }
        let Parts { cgroups, journal, .. } = self.parts;
        journal.close();
        cgroups.leave();
        Ok(())
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
            Source::Signal => {
                self.forget(token);
                self.stop();
            }
            Source::Janitor => self.cleared(),
            Source::Conn => self.serve(token, flags),
            Source::User(id) => self.user_report(token, &id),
            Source::Root(id) => self.root_report(token, &id),
            Source::Process(id) => self.process_ended(token, &id),
            Source::Life(id) => self.life_event(token, &id),
        }
    }

    /// Takes a source out. The descriptor itself may live on in another process, so closing ours is not enough.
    fn forget(&mut self, token: u64) {
        let Some(source) = self.sources.remove(&token) else { return };
        let sandbox = |id: &str| self.sandboxes.get(id);
        let fd = match &source {
            Source::Listener => Some(self.parts.listener.as_fd()),
            Source::Stdin => self.parts.stdin.as_ref().map(AsFd::as_fd),
            Source::Signal => Some(self.parts.signals.as_fd()),
            Source::Janitor => Some(self.parts.janitor.bell.as_fd()),
            Source::Conn => self.conns.get(&token).map(|c| c.socket.as_fd()),
            Source::User(id) => sandbox(id).and_then(|s| s.user.as_ref()).map(|c| c.socket.as_fd()),
            Source::Root(id) => sandbox(id).and_then(|s| s.root.as_ref()).map(|c| c.socket.as_fd()),
            Source::Process(id) => sandbox(id).and_then(|s| s.process.as_ref()).map(AsFd::as_fd),
            Source::Life(id) => sandbox(id).and_then(|s| s.life.as_ref()).map(AsFd::as_fd),
        };
        if let Some(fd) = fd {
            let _ = epoll::delete(&self.epoll, fd);
        }
    }

    fn forget_sandbox(&mut self, id: &str) {
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
            let conn = Conn::new(socket);
            let allowed = conn.peer_uid().is_ok_and(|uid| self.parts.allowed.contains(&uid));
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
            loop {
                let Some(conn) = self.conns.get_mut(&token) else { return };
                match conn.read() {
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

    fn answer(&mut self, to: Asker, body: reply::Body) {
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

    fn refuse(&mut self, to: Asker, error: &Error) {
        self.answer(to, reply::Body::Error(error.to_wire()));
    }

    /// A client is gone: what it owns ends.
    fn disconnect(&mut self, token: u64) {
        self.forget(token);
        self.conns.remove(&token);
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
        match body {
            Body::Hello(_) => Err(Error::new(wire::ErrorKind::ErrorProtocol, "Hello comes once")),
            Body::Prepare(prepare) => {
                self.prepare(asker.conn, &prepare)?;
                self.answer(asker, done);
                Ok(())
            }
            Body::Create(create) => self.create(asker, create),
            Body::Destroy(destroy) => self.destroy(asker, &destroy.sandbox),
            Body::Renew(renew) => {
                let sandbox = find(&mut self.sandboxes, &renew.sandbox)?;
                let now = Instant::now();
                if renew.lease_millis > 0 && sandbox.leased {
                    sandbox.lease = now.checked_add(Duration::from_millis(renew.lease_millis));
                    sandbox.owner = asker.conn;
                }
                if renew.max_life_millis > 0 {
                    sandbox.max_life = now.checked_add(Duration::from_millis(renew.max_life_millis));
                }
                self.answer(asker, done);
                Ok(())
            }
            Body::SetGroup(group) => {
                request::set_group(&group)?;
                self.parts.cgroups.limit_group(&group)?;
                self.answer(asker, done);
                Ok(())
            }
            Body::Observe(observe) => {
                let observed = self.observe(&observe.sandbox)?;
                self.answer(asker, reply::Body::Observed(observed));
                Ok(())
            }
            Body::List(_) => {
                let alive = |s: &&Sandbox| matches!(s.state, State::Running | State::Creating(_));
                let sandboxes = self.sandboxes.values().filter(alive).map(|s| s.id.clone()).collect();
                self.answer(asker, reply::Body::Listed(wire::Listed { sandboxes }));
                Ok(())
            }
        }
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
        let sandbox = find(&mut self.sandboxes, &hello.sandbox)?;
        match sandbox.state {
            State::Running => {}
            State::Creating(_) => {}
            State::Parked | State::Ending => return Err(no_sandbox(&hello.sandbox)),
        }
        self.answer(asker, reply::Body::Done(wire::Done {}));
        self.forget(asker.conn);
        let Some(conn) = self.conns.remove(&asker.conn) else { return Ok(()) };
        let sandbox = find(&mut self.sandboxes, &hello.sandbox)?;
        if matches!(sandbox.state, State::Running) {
            sandbox.attach(&conn.socket, hello.min_epoch)
        } else {
            sandbox.waiting.push((asker, conn.socket, hello.min_epoch));
            Ok(())
        }
    }

    // ---- sandboxes ----

    fn prepare(&mut self, owner: u64, prepare: &wire::Prepare) -> Result<()> {
        request::group_id(&prepare.group)?;
        for id in &prepare.sandboxes {
            request::sandbox_id(id)?;
            let parked = self.sandboxes.values().filter(|s| matches!(s.state, State::Parked)).count();
            if parked >= MAX_PARKED || self.sandboxes.contains_key(id) {
                continue;
            }
            // A hint: what cannot be parked now is made, or refused, at its Create.
            let _ = self.park(&prepare.group, id, owner);
        }
        Ok(())
    }

    fn park(&mut self, group: &str, id: &str, owner: u64) -> Result<()> {
        let base = self.parts.ids.take()?;
        let parked = self.parts.ids.login().and_then(|login| {
            self.parts.journal.intend(id, &format!("caisson/{group}/{id}"))?;
            Sandbox::park(&self.parts.cgroups, self.parts.agent.as_fd(), group, id, base, login, owner)
        });
        let sandbox = match parked {
            Ok(sandbox) => sandbox,
            Err(error) => {
                self.parts.janitor.clear(Leftover {
                    id: id.into(),
                    path: format!("caisson/{group}/{id}"),
                    uid_base: base,
                    disk: None,
                });
                return Err(error);
            }
        };
        let sockets = [(&sandbox.user, Source::User(id.into())), (&sandbox.root, Source::Root(id.into()))];
        for (child, source) in sockets {
            if let Some(child) = child {
                add(&self.epoll, &mut self.sources, &mut self.next_token, child.socket.as_fd(), source)?;
            }
        }
        self.sandboxes.insert(id.into(), sandbox);
        Ok(())
    }

    fn create(&mut self, asker: Asker, create: wire::Create) -> Result<()> {
        request::create(&create)?;
        self.check_room()?;
        let id = create.sandbox.clone();
        match self.sandboxes.get(&id) {
            None => self.park(&create.group, &id, asker.conn)?,
            Some(s) if matches!(s.state, State::Parked) && s.group == create.group => {}
            Some(_) => return Err(Error::new(wire::ErrorKind::ErrorExists, format!("sandbox {id} exists"))),
        }
        let now = Instant::now();
        let sandbox = find(&mut self.sandboxes, &id)?;
        let after = |millis: u64| if millis == 0 { None } else { now.checked_add(Duration::from_millis(millis)) };
        sandbox.owner = asker.conn;
        sandbox.leased = create.leased;
        sandbox.lease = if create.leased { after(create.lease_millis) } else { None };
        sandbox.max_life = after(create.max_life_millis);
        sandbox.started = now;
        sandbox.state = State::Creating(asker);
        sandbox.request = Some(create);
        if sandbox.is_parked() {
            self.go(&id);
        }
        Ok(())
    }

    fn check_room(&self) -> Result<()> {
        let stat = rustix::fs::statvfs(&self.parts.state).doing(|| "ask for free disk".into())?;
        let free = stat.f_bavail * stat.f_frsize;
        if free < KEEP_FREE {
            return Err(Error::new(
                wire::ErrorKind::ErrorNoCapacity,
                format!(
                    "the host's disk has {} MiB free, below the {} MiB that must stay",
                    free >> 20,
                    KEEP_FREE >> 20
                ),
            )
            .remedy(format!("make room on the disk of {}", self.parts.state.display())));
        }
        Ok(())
    }

    fn go(&mut self, id: &str) {
        let outcome = self.try_go(id);
        if let Err(error) = outcome {
            self.fail_creation(id, &error);
        }
    }

    fn try_go(&mut self, id: &str) -> Result<()> {
        let sandbox = find(&mut self.sandboxes, id)?;
        let Some(request) = &sandbox.request else { return Ok(()) };
        let shape: Shape = request::create(request)?;
        let disk: Disk = self.parts.stock.take(shape)?;
        sandbox.go(&self.parts.cgroups, disk)?;
        if let Some(life) = &sandbox.life {
            add(&self.epoll, &mut self.sources, &mut self.next_token, life.as_fd(), Source::Life(id.into()))?;
        }
        Ok(())
    }

    fn fail_creation(&mut self, id: &str, error: &Error) {
        let Some(sandbox) = self.sandboxes.get(id) else { return };
        if let State::Creating(asker) = sandbox.state {
            self.refuse(asker, error);
        }
        self.end(id, wire::EndReason::EndEngineFailed, &error.message.clone());
    }

    fn user_report(&mut self, token: u64, id: &str) {
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
                let joined = matches!(sandbox.state, State::Running | State::Ending);
                self.forget(token);
                if let Some(sandbox) = self.sandboxes.get_mut(id) {
                    sandbox.user = None;
                }
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

    fn root_report(&mut self, token: u64, id: &str) {
        let Some(sandbox) = self.sandboxes.get_mut(id) else { return self.forget(token) };
        let Some(child) = &sandbox.root else { return self.forget(token) };
        match seat::receive(child.socket.as_fd()) {
            Ok(Report::Cloned { pid, pidfd, usr_mapped }) => {
                if !usr_mapped {
                    sandbox
                        .degraded
                        .push("files of /usr appear to belong to nobody: its file system cannot be idmapped".into());
                }
                let watched = add(
                    &self.epoll,
                    &mut self.sources,
                    &mut self.next_token,
                    pidfd.as_fd(),
                    Source::Process(id.into()),
                );
                sandbox.pid = pid;
                sandbox.process = Some(pidfd);
                if matches!(sandbox.state, State::Ending) {
                    sandbox.kill();
                } else if let Err(error) = watched {
                    self.fail_creation(id, &error);
                }
            }
            Ok(Report::Rooted) => self.rooted(id),
            Ok(Report::Failed { step, error }) => self.child_failed(id, &step, &error),
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {}
            _ => {
                let creating = matches!(sandbox.state, State::Creating(_) | State::Parked);
                self.forget(token);
                if let Some(sandbox) = self.sandboxes.get_mut(id) {
                    sandbox.root = None;
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

    fn rooted(&mut self, id: &str) {
        let Some(sandbox) = self.sandboxes.get_mut(id) else { return };
        let State::Creating(asker) = sandbox.state else { return };
        match sandbox.rooted(&self.parts.cgroups) {
            Ok(created) => {
                let waiting = std::mem::take(&mut sandbox.waiting);
                for (_, socket, min_epoch) in waiting {
                    // A connection that cannot be handed over closes, which its client sees.
                    let _ = sandbox.attach(&socket, min_epoch);
                }
                self.answer(asker, reply::Body::Created(created));
            }
            Err(error) => self.fail_creation(id, &error),
        }
    }

    fn life_event(&mut self, token: u64, id: &str) {
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

    fn process_ended(&mut self, token: u64, id: &str) {
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

    fn destroy(&mut self, asker: Asker, id: &str) -> Result<()> {
        let sandbox = find(&mut self.sandboxes, id)?;
        if matches!(sandbox.state, State::Parked) {
            return Err(no_sandbox(id));
        }
        sandbox.destroyers.push(asker);
        self.end(id, wire::EndReason::EndDeleted, "");
        Ok(())
    }

    /// Starts the end; the first reason stays.
    fn end(&mut self, id: &str, reason: wire::EndReason, detail: &str) {
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
            if let Some(sandbox) = self.sandboxes.get_mut(id) {
                sandbox.kill();
            }
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
                if let Ok(Report::Cloned { pid, pidfd, .. }) = seat::receive(root.socket.as_fd()) {
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
        let usage = sandbox.usage(&self.parts.cgroups);
        let owner = sandbox.owner;
        let existed = sandbox.request.is_some();
        for asker in std::mem::take(&mut sandbox.destroyers) {
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
        self.parts.janitor.clear(Leftover {
            id: id.into(),
            path: sandbox.path.clone(),
            uid_base: sandbox.uid_base,
            disk,
        });
    }

    fn cleared(&mut self) {
        for cleared in self.parts.janitor.take_cleared() {
            if let Some(base) = cleared.uid_base {
                self.parts.ids.give(base);
                let _ = self.parts.journal.gone(&cleared.id);
            }
        }
    }

    fn observe(&mut self, id: &str) -> Result<wire::Observed> {
        let sandbox = find(&mut self.sandboxes, id)?;
        let (memory_bytes, pids) = self.parts.cgroups.current(&sandbox.path);
        let (disk_used_bytes, inodes_used) = sandbox.disk.as_ref().and_then(Disk::used).unwrap_or_default();
        let usage = Some(sandbox.usage(&self.parts.cgroups));
        Ok(wire::Observed { sandbox: id.into(), usage, memory_bytes, pids, disk_used_bytes, inodes_used })
    }

    // ---- time ----

    fn next_deadline(&self) -> Option<Instant> {
        let poll = |s: &Sandbox| matches!(s.state, State::Ending).then(|| Instant::now() + Duration::from_millis(1));
        self.sandboxes.values().flat_map(|s| [s.max_life, s.lease, poll(s)]).flatten().min()
    }

    fn expire(&mut self) {
        let now = Instant::now();
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        let mut ends = Vec::new();
        let mut dying = Vec::new();
        for sandbox in self.sandboxes.values() {
            match sandbox.state {
                State::Ending => {
                    dying.push((sandbox.id.clone(), sandbox.killed.is_some_and(|k| now - k > STUCK_AFTER)))
                }
                _ if due(sandbox.max_life) => {
                    ends.push((sandbox.id.clone(), wire::EndReason::EndMaxLife, "its longest life is over"))
                }
                _ if due(sandbox.lease) => {
                    ends.push((sandbox.id.clone(), wire::EndReason::EndLease, "its lease ran out"))
                }
                _ => {}
            }
        }
        for (id, reason, detail) in ends {
            self.end(&id, reason, detail);
        }
        for (id, stuck) in dying {
            if stuck {
                self.finish(&id, true);
            } else {
                self.finish_if_dead(&id);
            }
        }
    }

    fn stop(&mut self) {
        self.stopping = true;
        let all: Vec<_> = self.sandboxes.keys().cloned().collect();
        for id in all {
            self.end(&id, wire::EndReason::EndOwnerGone, "the launcher stops");
        }
    }
}

fn add(
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

fn is_dead(process: &OwnedFd) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    // Dying takes a moment after the descriptors are closed.
    let patience = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
    let mut fds = [PollFd::new(process, PollFlags::IN)];
    poll(&mut fds, Some(&patience)).is_ok_and(|ready| ready > 0)
}

fn no_sandbox(id: &str) -> Error {
    Error::new(wire::ErrorKind::ErrorNotFound, format!("there is no sandbox {id}"))
}

fn find<'a>(sandboxes: &'a mut BTreeMap<String, Sandbox>, id: &str) -> Result<&'a mut Sandbox> {
    sandboxes.get_mut(id).ok_or_else(|| no_sandbox(id))
}
