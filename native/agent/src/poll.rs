//! The epoll set, edge-triggered: whoever owns a descriptor remembers that it is ready until the kernel says AGAIN.

use crate::error::{Context, Fatal};
use rustix::event::{Timespec, epoll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use std::time::Duration;

/// Whose descriptor became ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The launcher's channel.
    Life,
    /// The spawner's channel, with the generation of the spawner.
    Spawner(u64),
    /// SIGCHLD.
    Signals,
    /// The kernel's out-of-memory event (v1).
    OutOfMemory,
    /// A client's connection, by its number.
    Client(u64),
    /// The status pipe of a starting exec.
    Status(u64),
    /// Standard input of an exec.
    Stdin(u64),
    /// Standard output of an exec.
    Stdout(u64),
    /// Standard error of an exec.
    Stderr(u64),
    /// A connection to a port, or a watch, by its number.
    Transfer(u64),
    /// The socket that `sudo` connects to.
    Door,
    /// The channel to the doorman.
    Doorman,
    /// The status pipe of a command of `sudo`.
    SudoStatus(u64),
    /// Signals for it.
    SudoSignals(u64),
    /// A listener of the way out.
    EgressListener(u64),
    /// A DNS socket of it.
    EgressDns(u64),
    /// The channel to the gateway.
    EgressChannel,
    /// A connection that goes out, by its number.
    EgressStream(u64),
}

const KIND_SHIFT: u32 = 56;
const ID_MASK: u64 = (1 << KIND_SHIFT) - 1;

impl Source {
    fn token(self) -> u64 {
        let (kind, id) = match self {
            Self::Life => (0, 0),
            Self::Spawner(id) => (1, id),
            Self::Signals => (2, 0),
            Self::OutOfMemory => (3, 0),
            Self::Client(id) => (4, id),
            Self::Status(id) => (5, id),
            Self::Stdin(id) => (6, id),
            Self::Stdout(id) => (7, id),
            Self::Stderr(id) => (8, id),
            Self::Transfer(id) => (9, id),
            Self::Door => (10, 0),
            Self::Doorman => (11, 0),
            Self::SudoStatus(id) => (12, id),
            Self::SudoSignals(id) => (13, id),
            Self::EgressListener(id) => (14, id),
            Self::EgressDns(id) => (15, id),
            Self::EgressChannel => (16, 0),
            Self::EgressStream(id) => (17, id),
        };
        kind << KIND_SHIFT | id & ID_MASK
    }

    fn of_token(token: u64) -> Option<Self> {
        let id = token & ID_MASK;
        Some(match token >> KIND_SHIFT {
            0 => Self::Life,
            1 => Self::Spawner(id),
            2 => Self::Signals,
            3 => Self::OutOfMemory,
            4 => Self::Client(id),
            5 => Self::Status(id),
            6 => Self::Stdin(id),
            7 => Self::Stdout(id),
            8 => Self::Stderr(id),
            9 => Self::Transfer(id),
            10 => Self::Door,
            11 => Self::Doorman,
            12 => Self::SudoStatus(id),
            13 => Self::SudoSignals(id),
            14 => Self::EgressListener(id),
            15 => Self::EgressDns(id),
            16 => Self::EgressChannel,
            17 => Self::EgressStream(id),
            _ => return None,
        })
    }
}

/// What is ready on a descriptor.
#[derive(Clone, Copy, Debug)]
pub struct Ready {
    /// Bytes, or the end.
    pub read: bool,
    /// Room.
    pub write: bool,
    /// The other side is gone.
    pub error: bool,
}

/// The set and the events of the last wait.
pub struct Poll {
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
}

impl Poll {
    /// An empty set.
    pub fn new() -> Result<Self, Fatal> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).or_fatal("make an epoll set")?;
        Ok(Self { epoll, events: Vec::with_capacity(64) })
    }

    /// Watches a descriptor until it is closed.
    pub fn add(&self, fd: impl AsFd, source: Source) -> Result<(), Errno> {
        use epoll::EventFlags as F;
        let flags = match source {
            Source::Stdin(_) => F::OUT | F::ET,
            Source::Transfer(_) | Source::EgressStream(_) => F::IN | F::OUT | F::RDHUP | F::ET,
            _ => F::IN | F::RDHUP | F::ET,
        };
        epoll::add(&self.epoll, fd, epoll::EventData::new_u64(source.token()), flags)
    }

    /// Tells of room as well, or no longer. Only who waits for room asks: each read of the other side would wake us.
    pub fn want_room(&self, fd: impl AsFd, source: Source, wanted: bool) {
        use epoll::EventFlags as F;
        let flags = if wanted { F::IN | F::RDHUP | F::OUT | F::ET } else { F::IN | F::RDHUP | F::ET };
        // The descriptor is in the set, so only want of memory could refuse this, and a change needs none.
        let _ = epoll::modify(&self.epoll, fd, epoll::EventData::new_u64(source.token()), flags);
    }

    /// Waits for events, at most for `timeout`, and hands out each once.
    pub fn wait(&mut self, timeout: Option<Duration>) -> Result<Vec<(Source, Ready)>, Fatal> {
        // Whole milliseconds, rounded up, so that a timer never spins on what is left of one.
        let timeout = timeout.map(|t| {
            let millis = t.as_nanos().div_ceil(1_000_000).min(60_000) as i64;
            Timespec { tv_sec: millis / 1000, tv_nsec: millis % 1000 * 1_000_000 }
        });
        self.events.clear();
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut self.events), timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(self.events.iter().filter_map(decoded).collect()),
            Err(errno) => Err(Fatal::Kernel("wait for events", errno)),
        }
    }
}

fn decoded(event: &epoll::Event) -> Option<(Source, Ready)> {
    use epoll::EventFlags as F;
    let (flags, data) = (event.flags, event.data);
    let source = Source::of_token(data.u64())?;
    let ready = Ready {
        read: flags.intersects(F::IN | F::HUP | F::ERR | F::RDHUP),
        write: flags.intersects(F::OUT | F::ERR),
        error: flags.intersects(F::HUP | F::ERR),
    };
    Some((source, ready))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_back_as_the_source_they_were_made_of() {
        for source in [Source::Life, Source::Client(7), Source::Status(1), Source::Stderr(ID_MASK), Source::Spawner(3)]
        {
            assert_eq!(Source::of_token(source.token()), Some(source));
        }
        assert_eq!(Source::of_token(u64::MAX), None);
    }
}
