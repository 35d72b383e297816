//! One data connection: bytes in, frames out. It knows nothing of what the frames mean.

use crate::frames::Frame;
use caisson_wire::agent::{AgentFrame, ClientFrame, agent_frame::Body};
use caisson_wire::{HEADER, MAX_AGENT_FRAME};
use prost::Message;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::collections::VecDeque;
use std::io::IoSlice;
use std::rc::Rc;
use std::time::Instant;

/// Input read at once.
const READ: usize = 256 << 10;
/// Output that waits for the socket before streams are asked for more.
const QUEUE: usize = 512 << 10;
/// Answers that wait for a client that does not read, before its requests are not read either.
const ANSWERS: usize = 256 << 10;
/// Frames per writev.
const BATCH: usize = 64;
/// Bytes written before others get their turn.
const TURN: usize = 2 << 20;

/// Why a connection ends.
#[derive(Debug, PartialEq, Eq)]
pub enum Broken {
    /// The client is gone.
    Gone,
    /// The client broke the protocol; the sentence is for its error frame.
    Protocol(String),
}

/// A client's connection.
pub struct Connection {
    /// Number of the connection, never used twice.
    pub id: u64,
    /// A `Hello` with a lower epoch is refused.
    pub min_epoch: u64,
    /// When it was attached.
    pub since: Instant,
    /// The kernel may have bytes for us.
    pub readable: bool,
    /// The kernel may have room for us.
    pub writable: bool,
    /// The set tells of room.
    pub waits_for_room: bool,
    socket: OwnedFd,
    input: Vec<u8>,
    parsed: usize,
    output: VecDeque<Queued>,
    queued: usize,
    answers: usize,
    written: usize,
}

struct Queued {
    frame: Rc<Frame>,
    answer: bool,
}

/// One frame of the client; file data stays where it was read.
pub enum Incoming<'a> {
    /// `FileData` of a put.
    FileData {
        /// The transfer.
        stream: u64,
        /// The bytes.
        data: &'a [u8],
        /// Nothing follows.
        last: bool,
    },
    /// Anything else.
    Other(ClientFrame),
}

impl Connection {
    /// Takes over a socket.
    pub fn new(id: u64, socket: OwnedFd, min_epoch: u64) -> Result<Self, Errno> {
        rustix::io::ioctl_fionbio(&socket, true)?;
        // As much as the host allows; it halves the number of wakeups at full speed.
        let _ = rustix::net::sockopt::set_socket_send_buffer_size(&socket, 1 << 20);
        Ok(Self {
            id,
            min_epoch,
            since: Instant::now(),
            readable: true,
            writable: true,
            waits_for_room: false,
            socket,
            input: Vec::new(),
            parsed: 0,
            output: VecDeque::new(),
            queued: 0,
            answers: 0,
            written: 0,
        })
    }

    /// Its descriptor.
    pub fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// Reads once. Frames that came whole wait in the buffer, which holds one frame and one read at most.
    pub fn fill(&mut self) -> Result<(), Broken> {
        if !self.readable || self.has_whole_frame() {
            return Ok(());
        }
        self.compact();
        self.input.reserve(READ);
        match rustix::io::read(&self.socket, rustix::buffer::spare_capacity(&mut self.input)) {
            Ok(0) => Err(Broken::Gone),
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(Errno::AGAIN) => {
                self.readable = false;
                if self.input.is_empty() {
                    self.input = Vec::new();
                }
                Ok(())
            }
            Err(_) => Err(Broken::Gone),
        }
    }

    fn compact(&mut self) {
        if self.parsed > 0 {
            self.input.drain(..self.parsed);
            self.parsed = 0;
        }
    }

    fn has_whole_frame(&self) -> bool {
        matches!(next_body(&self.input, self.parsed), Ok(Some(_)) | Err(_))
    }

    /// Takes the input out, so that frames can be handled while they borrow from it. `put_back` follows.
    pub fn take_input(&mut self) -> (Vec<u8>, usize) {
        (std::mem::take(&mut self.input), self.parsed)
    }

    /// Ends what `take_input` began.
    pub fn put_back(&mut self, input: Vec<u8>, parsed: usize) {
        self.input = input;
        self.parsed = parsed;
        if self.parsed == self.input.len() {
            self.input.clear();
            self.parsed = 0;
        }
    }

    /// True while the client reads its answers well enough to get more of them.
    pub fn takes_requests(&self) -> bool {
        self.answers < ANSWERS
    }

    /// There is something to do without waiting for the kernel.
    pub fn has_work(&self) -> bool {
        self.takes_requests() && (self.readable || self.has_whole_frame())
    }

    /// Queues a frame that is not retained.
    pub fn answer(&mut self, stream: u64, body: Body) {
        let frame = Rc::new(Frame::of(&AgentFrame { stream, seq: 0, body: Some(body) }));
        self.answers += frame.as_bytes().len();
        self.queued += frame.as_bytes().len();
        self.output.push_back(Queued { frame, answer: true });
    }

    /// True while streams may queue frames.
    pub fn has_room(&self) -> bool {
        self.queued < QUEUE
    }

    /// Queues a frame of a stream.
    pub fn queue(&mut self, frame: Rc<Frame>) {
        self.queued += frame.as_bytes().len();
        self.output.push_back(Queued { frame, answer: false });
    }

    /// Writes until the socket or the turn is full.
    pub fn flush(&mut self, spare: &mut Vec<Vec<u8>>) -> Result<(), Broken> {
        let mut turn = 0;
        while self.writable && turn < TURN && !self.output.is_empty() {
            let mut slices = Vec::with_capacity(BATCH.min(self.output.len()));
            let mut skip = self.written;
            for queued in self.output.iter().take(BATCH) {
                slices.push(IoSlice::new(queued.frame.as_bytes().get(skip..).unwrap_or_default()));
                skip = 0;
            }
            match rustix::io::writev(&self.socket, &slices) {
                Ok(bytes) => {
                    turn += bytes;
                    self.advance(bytes, spare);
                }
                Err(Errno::AGAIN) => self.writable = false,
                Err(Errno::INTR) => {}
                Err(_) => return Err(Broken::Gone),
            }
        }
        Ok(())
    }

    /// Frames wait and the socket has room.
    pub fn has_output(&self) -> bool {
        self.writable && !self.output.is_empty()
    }

    fn advance(&mut self, bytes: usize, spare: &mut Vec<Vec<u8>>) {
        self.written += bytes;
        while let Some(front) = self.output.front() {
            let length = front.frame.as_bytes().len();
            if self.written < length {
                return;
            }
            self.written -= length;
            self.queued -= length;
            if let Some(Queued { frame, answer }) = self.output.pop_front() {
                if answer {
                    self.answers -= length;
                } else if let Some(frame) = Rc::into_inner(frame) {
                    spare.push(frame.into_buffer());
                }
            }
        }
    }

    /// Last words: what must be whole goes first, then the error, as far as the socket takes it.
    pub fn close_with(mut self, body: Body) {
        let keep = usize::from(self.written > 0);
        self.output.truncate(keep);
        self.answer(0, body);
        self.writable = true;
        let _ = self.flush(&mut Vec::new());
        let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Write);
    }
}

/// The range of the next whole body behind `at`.
fn next_body(input: &[u8], at: usize) -> Result<Option<std::ops::Range<usize>>, Broken> {
    let Some((header, rest)) = input.get(at..).and_then(|rest| rest.split_first_chunk::<HEADER>()) else {
        return Ok(None);
    };
    let length = u32::from_be_bytes(*header) as usize;
    if length > MAX_AGENT_FRAME {
        let cause = caisson_wire::FrameError::TooLong { length, max: MAX_AGENT_FRAME };
        return Err(Broken::Protocol(cause.to_string()));
    }
    let begin = at + HEADER;
    Ok((rest.len() >= length).then_some(begin..begin + length))
}

/// The next frame of `input` behind `*at`, which moves on; `None` until more bytes come.
pub fn next_frame<'a>(input: &'a [u8], at: &mut usize) -> Result<Option<Incoming<'a>>, Broken> {
    let Some(range) = next_body(input, *at)? else { return Ok(None) };
    *at = range.end;
    let body = input.get(range).unwrap_or_default();
    if let Some(data) = file_data(body) {
        return Ok(Some(data));
    }
    let frame = ClientFrame::decode(body).map_err(|e| Broken::Protocol(format!("a frame does not decode: {e}")))?;
    Ok(Some(Incoming::Other(frame)))
}

/// `FileData` in the order that every encoder writes it; anything else goes the ordinary way.
fn file_data(body: &[u8]) -> Option<Incoming<'_>> {
    let mut rest = body.strip_prefix(&[0x08])?;
    let stream = varint(&mut rest)?;
    rest = rest.strip_prefix(&[0x4a])?;
    let length = varint(&mut rest)?;
    if length != rest.len() as u64 {
        return None;
    }
    let mut data: &[u8] = &[];
    if let Some(after) = rest.strip_prefix(&[0x0a]) {
        rest = after;
        let length = usize::try_from(varint(&mut rest)?).ok()?;
        data = rest.get(..length)?;
        rest = rest.get(length..)?;
    }
    let last = match rest {
        [] => false,
        [0x10, 1] => true,
        _ => return None,
    };
    Some(Incoming::FileData { stream, data, last })
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use caisson_wire::agent::{FileData, Ping, client_frame};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn file_data_is_read_as_prost_wrote_it(
            stream in 0..u64::MAX >> 1, last: bool, data in prop::collection::vec(any::<u8>(), 0..70_000usize)
        ) {
            let body = Some(client_frame::Body::FileData(FileData { data: data.clone(), last }));
            let mut bytes = Vec::new();
            caisson_wire::encode_frame(&ClientFrame { stream, body }, &mut bytes);
            let mut at = 0;
            match next_frame(&bytes, &mut at).unwrap().unwrap() {
                Incoming::FileData { stream: s, data: d, last: l } => {
                    prop_assert_eq!((s, d, l), (stream, &data[..], last));
                }
                // Stream 0 is not written by proto3.
                Incoming::Other(frame) => prop_assert_eq!((frame.stream, stream), (0, 0)),
            }
            prop_assert_eq!(at, bytes.len());
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
            let mut at = 0;
            while let Ok(Some(_)) = next_frame(&bytes, &mut at) {}
            let _ = file_data(&bytes);
            let mut framed = (bytes.len() as u32).to_be_bytes().to_vec();
            framed.extend_from_slice(&bytes);
            let mut at = 0;
            while let Ok(Some(_)) = next_frame(&framed, &mut at) {}
        }
    }

    #[test]
    fn refuses_an_absurd_length_before_its_body_comes() {
        let mut at = 0;
        assert!(matches!(next_frame(&[0xff; 4], &mut at), Err(Broken::Protocol(_))));
    }

    #[test]
    fn hands_out_a_frame_only_when_it_is_whole() {
        let body = Some(client_frame::Body::Ping(Ping { value: 300 }));
        let mut bytes = Vec::new();
        caisson_wire::encode_frame(&ClientFrame { stream: 0, body }, &mut bytes);
        for cut in 0..bytes.len() {
            let mut at = 0;
            assert!(matches!(next_frame(&bytes[..cut], &mut at), Ok(None)));
            assert_eq!(at, 0);
        }
    }
}
