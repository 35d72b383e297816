//! The launcher's loop: one thread, one epoll. It alone changes sandboxes; the disk stock and the janitor only make and
//! remove what is handed over.

use crate::cgroup::Cgroups;
use crate::conn::Conn;
use crate::deadlines::Deadlines;
use crate::disk::Stock;
use crate::egress::Outlet;
use crate::error::{Doing, Error, Result};
use crate::group::Groups;
use crate::ids::Ids;
use crate::janitor::Janitor;
use crate::journal::Journal;
use crate::sandbox::{Asker, Sandbox};
use crate::store::Store;
use crate::sys;
use crate::upgrade::Program;
use crate::worker::Workers;
use caisson_wire::launcher as wire;
use rustix::event::epoll::{self, EventData, EventFlags};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

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
    pub(crate) conns: HashMap<u64, Conn>,
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
