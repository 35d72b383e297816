//! What came from a socket and is not handled yet. Frames borrow from it; only the rest of a cut one is ever moved.

use caisson_wire::{FrameError, HEADER};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::ops::Range;

/// Bytes read at once.
const READ: usize = 256 << 10;

/// What a read brought.
pub enum Filled {
    /// So many bytes, or a reason to read again.
    More(usize),
    /// Nothing for now.
    Nothing,
    /// The other side is gone.
    End,
}

/// The input of one socket.
pub struct Input {
    /// The kernel may have bytes for us.
    pub readable: bool,
    bytes: Vec<u8>,
    parsed: usize,
}

impl Input {
    /// Of a socket that may have bytes already.
    pub fn new() -> Self {
        Self { readable: true, bytes: Vec::new(), parsed: 0 }
    }

    /// Reads once behind what is there.
    pub fn fill(&mut self, socket: &OwnedFd) -> Filled {
        if self.parsed > 0 {
            self.bytes.drain(..self.parsed);
            self.parsed = 0;
        }
        self.bytes.reserve(READ);
        match rustix::io::read(socket, rustix::buffer::spare_capacity(&mut self.bytes)) {
            Ok(0) => Filled::End,
            Ok(bytes) => Filled::More(bytes),
            Err(Errno::INTR) => Filled::More(0),
            Err(Errno::AGAIN) => {
                self.readable = false;
                if self.bytes.is_empty() {
                    self.bytes = Vec::new();
                }
                Filled::Nothing
            }
            Err(_) => Filled::End,
        }
    }

    /// Whether there is something to handle: a frame, or what can be none.
    pub fn has_whole_frame(&self, max: usize) -> bool {
        matches!(next_body(&self.bytes, self.parsed, max), Ok(Some(_)) | Err(_))
    }

    /// Takes the bytes out, so that frames can be handled while they borrow from them. `put_back` follows.
    pub fn take(&mut self) -> (Vec<u8>, usize) {
        (std::mem::take(&mut self.bytes), self.parsed)
    }

    /// Ends what `take` began.
    pub fn put_back(&mut self, bytes: Vec<u8>, parsed: usize) {
        self.bytes = bytes;
        self.parsed = parsed;
        if self.parsed == self.bytes.len() {
            self.bytes.clear();
            self.parsed = 0;
        }
    }
}

/// The range of the next whole body behind `at`; `None` until more bytes come.
pub fn next_body(input: &[u8], at: usize, max: usize) -> Result<Option<Range<usize>>, FrameError> {
    let Some((header, rest)) = input.get(at..).and_then(|rest| rest.split_first_chunk::<HEADER>()) else {
        return Ok(None);
    };
    let length = u32::from_be_bytes(*header) as usize;
    if length > max {
        return Err(FrameError::TooLong { length, max });
    }
    let begin = at + HEADER;
    Ok((rest.len() >= length).then_some(begin..begin + length))
}

/// A number of protobuf in front of `rest`, which moves on.
pub fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..63).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}
