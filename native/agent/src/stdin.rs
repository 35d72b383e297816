//! Standard input of an exec: offsets, a small buffer, and the pipe (docs/wire.md, rule 5).

use caisson_wire::agent::{StdinCredit, StdinData};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::collections::VecDeque;

/// Bytes that the client may be ahead of the program.
const WINDOW: u64 = 65_536;

/// What to do after an event.
#[derive(Debug, PartialEq, Eq)]
pub enum StdinError {
    /// Bytes are missing in between.
    Hole,
    /// More than was granted.
    BeyondLimit,
}

/// The agent's side of standard input.
pub struct Stdin {
    pipe: Option<OwnedFd>,
    buffer: VecDeque<u8>,
    received: u64,
    /// The last limit that the client was told.
    told: u64,
    eof: bool,
    /// The program or the agent closed it.
    closed: bool,
    used: bool,
    tell: bool,
    /// The client's last byte was written, and nobody acted on it.
    ended: bool,
    /// The kernel may have room.
    pub writable: bool,
}

impl Stdin {
    /// Standard input that is open to the client, or empty.
    pub fn new(open: bool) -> Self {
        Self {
            pipe: None,
            buffer: VecDeque::new(),
            received: 0,
            told: WINDOW,
            eof: false,
            closed: !open,
            used: open,
            tell: false,
            ended: false,
            writable: false,
        }
    }

    /// The client asked for it.
    pub fn is_used(&self) -> bool {
        self.used
    }

    /// Bytes accepted so far.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Writes into `pipe` from now on.
    pub fn open(&mut self, pipe: OwnedFd) {
        self.pipe = Some(pipe);
        self.writable = true;
    }

    /// Takes what the client sent.
    pub fn push(&mut self, data: &StdinData) -> Result<(), StdinError> {
        if self.closed {
            self.tell = true;
            return Ok(());
        }
        let skip = self.received.checked_sub(data.offset).ok_or(StdinError::Hole)?;
        let end = data.offset.checked_add(data.data.len() as u64).ok_or(StdinError::BeyondLimit)?;
        if end > self.told {
            return Err(StdinError::BeyondLimit);
        }
        if !self.eof {
            let fresh = usize::try_from(skip).ok().and_then(|skip| data.data.get(skip..)).unwrap_or_default();
            self.buffer.extend(fresh);
            self.received += fresh.len() as u64;
            self.eof = data.eof && end == self.received;
        }
        self.flush();
        Ok(())
    }

    /// Writes what the program takes.
    pub fn flush(&mut self) {
        while let (Some(pipe), true) = (&self.pipe, self.writable) {
            let (front, _) = self.buffer.as_slices();
            if front.is_empty() {
                if self.eof {
                    self.ended = true;
                    self.close();
                }
                return;
            }
            match rustix::io::write(pipe, front) {
                Ok(bytes) => {
                    self.buffer.drain(..bytes);
                }
                Err(Errno::AGAIN) => self.writable = false,
                Err(Errno::INTR) => {}
                Err(_) => self.hang_up(),
            }
        }
    }

    /// The program closed its end.
    pub fn hang_up(&mut self) {
        if !self.closed {
            self.tell = true;
        }
        self.close();
    }

    /// Ends it from the agent's side.
    pub fn close(&mut self) {
        self.pipe = None;
        self.buffer = VecDeque::new();
        self.closed = true;
    }

    /// True once, when all that the client typed is written and it said that nothing follows.
    pub fn take_hang_up(&mut self) -> bool {
        std::mem::take(&mut self.ended)
    }

    /// A new connection is told where it stands.
    pub fn tell_again(&mut self) {
        self.tell = true;
    }

    /// What the client must be told now.
    pub fn credit(&mut self) -> Option<StdinCredit> {
        let limit = self.received + WINDOW - self.buffer.len() as u64;
        let grown = !self.closed && limit >= self.told + WINDOW / 4;
        if !grown && !std::mem::take(&mut self.tell) {
            return None;
        }
        self.tell = false;
        self.told = self.told.max(limit);
        Some(StdinCredit { received: self.received, limit: self.told, closed: self.closed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(offset: u64, data: &[u8], eof: bool) -> StdinData {
        StdinData { offset, data: data.to_vec(), eof }
    }

    fn piped() -> (Stdin, OwnedFd) {
        let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::NONBLOCK).unwrap();
        let mut stdin = Stdin::new(true);
        stdin.open(write);
        (stdin, read)
    }

    fn read(fd: &OwnedFd) -> Vec<u8> {
        let mut bytes = vec![0; 1 << 17];
        let length = rustix::io::read(fd, &mut bytes[..]).unwrap();
        bytes.truncate(length);
        bytes
    }

    #[test]
    fn repeated_bytes_are_skipped_and_eof_closes() {
        let (mut stdin, pipe) = piped();
        stdin.push(&data(0, b"abc", false)).unwrap();
        stdin.push(&data(0, b"abcde", false)).unwrap();
        stdin.push(&data(2, b"c", true)).unwrap();
        assert!(!stdin.closed, "an eof in the middle of what was received is an old one");
        stdin.push(&data(5, b"", true)).unwrap();
        assert_eq!(read(&pipe), b"abcde");
        assert_eq!(read(&pipe), b"");
    }

    #[test]
    fn refuses_holes_and_bytes_beyond_the_limit() {
        let (mut stdin, _pipe) = piped();
        assert_eq!(stdin.push(&data(1, b"x", false)), Err(StdinError::Hole));
        assert_eq!(stdin.push(&data(0, &vec![0; 65_537], false)), Err(StdinError::BeyondLimit));
        assert_eq!(stdin.push(&data(u64::MAX, b"x", false)), Err(StdinError::Hole));
    }

    #[test]
    fn a_program_that_closes_is_told_once() {
        let (mut stdin, pipe) = piped();
        drop(pipe);
        stdin.push(&data(0, b"x", false)).unwrap();
        assert!(stdin.credit().unwrap().closed);
        assert_eq!(stdin.credit(), None);
        stdin.push(&data(9, b"more", false)).unwrap();
        assert!(stdin.credit().unwrap().closed);
    }
}
