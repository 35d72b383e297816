//! The agent's side of the spawner: asks it, and builds a new one when it died.

use crate::poll::{Poll, Source};
use crate::spawn_request;
use crate::spawner;
use crate::sys;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, socketpair};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The present spawner and the execs that wait for it.
pub struct Link {
    channel: Option<OwnedFd>,
    /// Counts spawners, so that events of an old one are told apart.
    pub generation: u64,
    /// It said hello.
    pub ready: bool,
    /// Its process, once known.
    pub pid: Option<i32>,
    /// Execs to start, in order.
    pub queue: VecDeque<u64>,
    /// When the next one is built.
    pub rebuild_at: Option<Instant>,
    pause: Duration,
    built: Option<Instant>,
}

const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// A spawner that lived this long did not die of its birth.
const SETTLED: Duration = Duration::from_secs(5);

impl Link {
    /// The spawner that the launcher made.
    pub fn new(channel: OwnedFd) -> Self {
        Self {
            channel: Some(channel),
            generation: 1,
            ready: false,
            pid: None,
            queue: VecDeque::new(),
            rebuild_at: None,
            pause: Duration::ZERO,
            built: None,
        }
    }

    /// Adds its channel to the set.
    pub fn watch(&self, poll: &Poll) -> Result<(), Errno> {
        match &self.channel {
            Some(channel) => poll.add(channel, Source::Spawner(self.generation)),
            None => Ok(()),
        }
    }

    /// Asks to be told when the spawner takes requests again.
    pub fn await_room(&self, poll: &Poll) {
        if let Some(channel) = &self.channel {
            poll.want_room(channel, Source::Spawner(self.generation), true);
        }
    }

    /// The channel, when requests may be sent.
    pub fn open_channel(&self) -> Option<&OwnedFd> {
        self.channel.as_ref().filter(|_| self.ready)
    }

    /// Reads what the spawner said. False when it is gone.
    pub fn listen(&mut self) -> bool {
        loop {
            let Some(channel) = &self.channel else { return true };
            match sys::receive(channel, 64, RecvFlags::DONTWAIT) {
                Ok(packet) if packet.bytes.is_empty() => return false,
                Ok(packet) => {
                    let pid = spawn_request::pid_of_hello(&packet.bytes);
                    self.ready |= pid.is_some();
                    self.pid = pid.or(self.pid);
                }
                Err(Errno::AGAIN) => return true,
                Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }

    /// The spawner is gone: another one follows, later when they die fast.
    pub fn lose(&mut self, now: Instant) {
        self.channel = None;
        self.ready = false;
        let settled = self.built.is_none_or(|built| now - built > SETTLED);
        self.pause = if settled { Duration::ZERO } else { (self.pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE) };
        self.rebuild_at = Some(now + self.pause);
    }

    /// Forks a new spawner out of the agent. `joins` bring it into the limits of the user's processes.
    pub fn rebuild(&mut self, poll: &Poll, joins: &[OwnedFd], now: Instant) -> Result<(), Errno> {
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        let Some(pid) = sys::fork()? else { become_spawner(theirs, joins) };
        self.generation += 1;
        self.channel = Some(ours);
        self.pid = Some(pid);
        self.ready = false;
        self.rebuild_at = None;
        self.built = Some(now);
        self.watch(poll)
    }
}

/// In the forked child. A spawner outside the limits must not be: it ends rather.
fn become_spawner(channel: OwnedFd, joins: &[OwnedFd]) -> ! {
    let joined = joins.iter().all(|join| rustix::io::write(join, b"0").is_ok());
    let code = match sys::move_to(channel, spawner::CHANNEL) {
        Ok(channel) if joined => {
            sys::close_from(spawner::CHANNEL + 1);
            i32::from(spawner::run(channel, true).is_err())
        }
        _ => 1,
    };
    sys::exit_now(code)
}
