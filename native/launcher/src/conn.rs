//! A client's connection: frames in, frames out, without ever blocking.

use caisson_wire::launcher::{Reply, Request};
use caisson_wire::{FrameError, FrameReader, HEADER, MAX_LAUNCHER_FRAME, encode_frame};
use rustix::net::RecvFlags;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// Replies that a client may leave unread before its connection is closed, in bytes.
const MAX_UNREAD: usize = 1 << 20;

/// What a connection is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// No `Hello` yet.
    New,
    /// Requests and replies.
    Control,
}

/// One connection.
pub struct Conn {
    /// The socket, non-blocking.
    pub socket: OwnedFd,
    /// Uid of the peer, from the kernel.
    pub uid: u32,
    /// See [`Stage`].
    pub stage: Stage,
    reader: FrameReader,
    out: Vec<u8>,
}

/// What reading brought.
pub enum Read {
    /// A whole request.
    Request(Box<Request>),
    /// Nothing more for now.
    Later,
    /// The peer is gone, or sent what is no frame.
    End(Option<FrameError>),
}

impl Conn {
    /// Takes over a connected socket.
    pub fn new(socket: OwnedFd) -> io::Result<Self> {
        let uid = rustix::net::sockopt::socket_peercred(&socket)?.uid.as_raw();
        crate::sys::refuse_descriptors(&socket);
        Ok(Self { socket, uid, stage: Stage::New, reader: FrameReader::new(MAX_LAUNCHER_FRAME), out: Vec::new() })
    }

    /// The next request. Before `Hello` not a byte more than that frame is taken: what follows may be for an agent.
    ///
    /// `receive`: false: only what was received before.
    pub fn read(&mut self, receive: bool) -> Read {
        loop {
            match self.reader.next_frame::<Request>() {
                Ok(Some(request)) => return Read::Request(Box::new(request)),
                Ok(None) if !receive => return Read::Later,
                Ok(None) => {}
                Err(e) => return Read::End(Some(e)),
            }
            let mut buffer = [0u8; 16 << 10];
            let want = match self.want(&mut buffer) {
                Ok(0) => return Read::Later,
                Ok(want) => want,
                Err(end) => return end,
            };
            match rustix::io::read(&self.socket, &mut buffer[..want]) {
                Ok(0) => return Read::End(None),
                Ok(got) => self.reader.push(&buffer[..got]),
                Err(rustix::io::Errno::AGAIN) => return Read::Later,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return Read::End(None),
            }
        }
    }

    /// How many bytes may be read now; 0 until a whole first frame is there to be taken.
    fn want(&self, buffer: &mut [u8]) -> Result<usize, Read> {
        if self.stage == Stage::Control {
            return Ok(buffer.len());
        }
        // A first frame is small; whatever does not fit the peeked bytes is refused.
        let peeked = match rustix::net::recv(&self.socket, &mut *buffer, RecvFlags::PEEK) {
            Ok((_, 0)) => return Err(Read::End(None)),
            Ok((_, got)) => got,
            Err(rustix::io::Errno::AGAIN) => return Ok(0),
            Err(_) => return Err(Read::End(None)),
        };
        let Some(header) = buffer[..peeked].first_chunk::<HEADER>() else { return Ok(0) };
        let length = u32::from_be_bytes(*header) as usize;
        let max = buffer.len() - HEADER;
        if length > max {
            return Err(Read::End(Some(FrameError::TooLong { length, max })));
        }
        Ok(if peeked >= HEADER + length { HEADER + length } else { 0 })
    }

    /// Queues a reply and writes what the socket takes. False: the connection is of no more use.
    pub fn send(&mut self, reply: &Reply) -> bool {
        encode_frame(reply, &mut self.out);
        self.flush() && self.out.len() <= MAX_UNREAD
    }

    /// Writes what the socket takes.
    pub fn flush(&mut self) -> bool {
        while !self.out.is_empty() {
            match rustix::net::send(self.socket.as_fd(), &self.out, rustix::net::SendFlags::NOSIGNAL) {
                Ok(sent) => drop(self.out.drain(..sent)),
                Err(rustix::io::Errno::AGAIN) => return true,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return false,
            }
        }
        true
    }

    /// Whether replies wait for the socket.
    pub fn has_unsent(&self) -> bool {
        !self.out.is_empty()
    }
}
