//! The connection to the egress gateway: bytes in, frames out. It knows nothing of what the frames mean.

use crate::frames::Frame;
use caisson_wire::egress::{AgentFrame, GatewayFrame, agent_frame::Body};
use caisson_wire::{HEADER, MAX_EGRESS_FRAME};
use prost::Message;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::collections::VecDeque;
use std::io::IoSlice;
use std::ops::Range;

/// Input read at once.
const READ: usize = 256 << 10;
/// Output that waits for the socket before streams are asked for more.
const QUEUE: usize = 512 << 10;
/// What may wait besides data of streams. A gateway that reads nothing for so long is none.
const MAX_QUEUE: usize = 4 << 20;
const BATCH: usize = 64;
/// Bytes in one turn of the loop, each way.
const TURN: usize = 2 << 20;

/// The channel is of no more use.
#[derive(Debug, PartialEq, Eq)]
pub struct Broken;

/// One frame of the gateway; data stays where it was read.
pub enum Incoming<'a> {
    /// Data of a stream.
    Data(u32, &'a [u8]),
    /// Anything else.
    Other(GatewayFrame),
}

/// The channel.
pub struct Channel {
    socket: OwnedFd,
    /// The kernel may have bytes for us, and room.
    pub readable: bool,
    pub writable: bool,
    waits_for_room: bool,
    input: Vec<u8>,
    parsed: usize,
    output: VecDeque<Frame>,
    queued: usize,
    written: usize,
    turn: usize,
}

impl Channel {
    /// Takes over a socket.
    pub fn new(socket: OwnedFd) -> Result<Self, Errno> {
        rustix::io::ioctl_fionbio(&socket, true)?;
        let _ = rustix::net::sockopt::set_socket_send_buffer_size(&socket, 1 << 20);
        Ok(Self {
            socket,
            readable: true,
            writable: true,
            waits_for_room: false,
            input: Vec::new(),
            parsed: 0,
            output: VecDeque::new(),
            queued: 0,
            written: 0,
            turn: 0,
        })
    }

    /// Its descriptor.
    pub fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// A new turn of the loop.
    pub fn begin_turn(&mut self) {
        self.turn = 0;
    }

    /// Reads once. False when there is nothing for now, or the turn is over.
    pub fn fill(&mut self) -> Result<bool, Broken> {
        if !self.readable || self.turn >= TURN {
            return Ok(false);
        }
        if self.parsed > 0 {
            self.input.drain(..self.parsed);
            self.parsed = 0;
        }
        self.input.reserve(READ);
        match rustix::io::read(&self.socket, rustix::buffer::spare_capacity(&mut self.input)) {
            Ok(0) => Err(Broken),
            Ok(bytes) => {
                self.turn += bytes;
                Ok(true)
            }
            Err(Errno::INTR) => Ok(true),
            Err(Errno::AGAIN) => {
                self.readable = false;
                if self.input.is_empty() {
                    self.input = Vec::new();
                }
                Ok(false)
            }
            Err(_) => Err(Broken),
        }
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

    /// More can be read at once.
    pub fn has_work(&self) -> bool {
        self.readable || (self.writable && !self.output.is_empty())
    }

    /// Queues a frame.
    pub fn send(&mut self, stream: u32, body: Body) {
        self.queue(Frame::of(&AgentFrame { stream, body: Some(body) }));
    }

    /// Queues data of a stream.
    pub fn queue(&mut self, frame: Frame) {
        self.queued += frame.as_bytes().len();
        self.output.push_back(frame);
    }

    /// True while streams may queue data.
    pub fn has_room(&self) -> bool {
        self.queued < QUEUE
    }

    /// Writes until the socket is full.
    pub fn flush(&mut self, spare: &mut Vec<Vec<u8>>) -> Result<(), Broken> {
        while self.writable && !self.output.is_empty() {
            let mut slices = Vec::with_capacity(BATCH.min(self.output.len()));
            let mut skip = self.written;
            for frame in self.output.iter().take(BATCH) {
                slices.push(IoSlice::new(frame.as_bytes().get(skip..).unwrap_or_default()));
                skip = 0;
            }
            match rustix::io::writev(&self.socket, &slices) {
                Ok(bytes) => self.advance(bytes, spare),
                Err(Errno::AGAIN) => self.writable = false,
                Err(Errno::INTR) => {}
                Err(_) => return Err(Broken),
            }
        }
        if self.queued > MAX_QUEUE { Err(Broken) } else { Ok(()) }
    }

    /// Whether the set must tell of room from now on, when that changed.
    pub fn wants_room(&mut self) -> Option<bool> {
        let wanted = !self.output.is_empty();
        (wanted != self.waits_for_room).then(|| {
            self.waits_for_room = wanted;
            wanted
        })
    }

    fn advance(&mut self, bytes: usize, spare: &mut Vec<Vec<u8>>) {
        self.written += bytes;
        while let Some(front) = self.output.front() {
            let length = front.as_bytes().len();
            if self.written < length {
                return;
            }
            self.written -= length;
            self.queued -= length;
            if let Some(frame) = self.output.pop_front() {
                spare.push(frame.into_buffer());
            }
        }
    }
}

/// The next frame of `input` behind `*at`, which moves on; `None` until more bytes come.
pub fn next_frame<'a>(input: &'a [u8], at: &mut usize) -> Result<Option<Incoming<'a>>, Broken> {
    let Some(range) = next_body(input, *at)? else { return Ok(None) };
    *at = range.end;
    let body = input.get(range).unwrap_or_default();
    match data(body) {
        Some(data) => Ok(Some(data)),
        None => GatewayFrame::decode(body).map(|frame| Some(Incoming::Other(frame))).map_err(|_| Broken),
    }
}

/// Trust stores make frames longer than those of streams.
const MAX_INPUT: usize = 4 << 20;

fn next_body(input: &[u8], at: usize) -> Result<Option<Range<usize>>, Broken> {
    let Some((header, rest)) = input.get(at..).and_then(|rest| rest.split_first_chunk::<HEADER>()) else {
        return Ok(None);
    };
    let length = u32::from_be_bytes(*header) as usize;
    if length > MAX_INPUT {
        return Err(Broken);
    }
    let begin = at + HEADER;
    Ok((rest.len() >= length).then_some(begin..begin + length))
}

/// Data of a stream in the order that every encoder writes it; anything else goes the ordinary way.
fn data(body: &[u8]) -> Option<Incoming<'_>> {
    let mut rest = body.strip_prefix(&[0x08])?;
    let stream = varint(&mut rest)?;
    rest = rest.strip_prefix(&[0x2a])?;
    let length = varint(&mut rest)?;
    (length as usize == rest.len() && rest.len() <= MAX_EGRESS_FRAME).then_some(Incoming::Data(stream, rest))
}

fn varint(rest: &mut &[u8]) -> Option<u32> {
    let mut value = 0u64;
    for shift in (0..35).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return u32::try_from(value).ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use caisson_wire::egress::gateway_frame;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn data_is_read_as_prost_wrote_it(stream in 1..u32::MAX, bytes in prop::collection::vec(any::<u8>(), 0..70_000usize)) {
            let mut wire = Vec::new();
            let body = Some(gateway_frame::Body::Data(bytes.clone()));
            caisson_wire::encode_frame(&GatewayFrame { stream, body }, &mut wire);
            let mut at = 0;
            let Ok(Some(Incoming::Data(s, d))) = next_frame(&wire, &mut at) else { panic!("not read as data") };
            prop_assert_eq!((s, d), (stream, &bytes[..]));
            prop_assert_eq!(at, wire.len());
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
            let mut at = 0;
            while let Ok(Some(_)) = next_frame(&bytes, &mut at) {}
            let mut framed = (bytes.len() as u32).to_be_bytes().to_vec();
            framed.extend_from_slice(&bytes);
            let mut at = 0;
            while let Ok(Some(_)) = next_frame(&framed, &mut at) {}
        }
    }
}
