//! The connection to the egress gateway: bytes in, frames out. It knows nothing of what the frames mean.

use crate::frames::Frame;
use crate::input::{Filled, Input, next_body, varint};
use crate::output::Output;
use caisson_wire::MAX_EGRESS_FRAME;
use caisson_wire::egress::{AgentFrame, GatewayFrame, agent_frame::Body};
use prost::Message;
use rustix::fd::OwnedFd;
use rustix::io::Errno;

/// Output that waits for the socket before streams are asked for more.
const QUEUE: usize = 512 << 10;
/// What may wait besides data of streams. A gateway that reads nothing for so long is none.
const MAX_QUEUE: usize = 4 << 20;
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
    /// What came.
    pub input: Input,
    /// What waits to go.
    pub output: Output<Frame>,
    socket: OwnedFd,
    waits_for_room: bool,
    turn: usize,
}

impl Channel {
    /// Takes over a socket.
    pub fn new(socket: OwnedFd) -> Result<Self, Errno> {
        rustix::io::ioctl_fionbio(&socket, true)?;
        let _ = rustix::net::sockopt::set_socket_send_buffer_size(&socket, 1 << 20);
        Ok(Self { input: Input::new(), output: Output::new(), socket, waits_for_room: false, turn: 0 })
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
        if !self.input.readable || self.turn >= TURN {
            return Ok(false);
        }
        match self.input.fill(&self.socket) {
            Filled::More(bytes) => {
                self.turn += bytes;
                Ok(true)
            }
            Filled::Nothing => Ok(false),
            Filled::End => Err(Broken),
        }
    }

    /// More can be read at once.
    pub fn has_work(&self) -> bool {
        self.input.readable || (self.output.writable && !self.output.is_empty())
    }

    /// Queues a frame.
    pub fn send(&mut self, stream: u32, body: Body) {
        self.output.push(Frame::of(&AgentFrame { stream, body: Some(body) }));
    }

    /// True while streams may queue data.
    pub fn has_room(&self) -> bool {
        self.output.queued() < QUEUE
    }

    /// Writes until the socket is full.
    pub fn flush(&mut self, spare: &mut Vec<Vec<u8>>) -> Result<(), Broken> {
        while self.output.writable && !self.output.is_empty() {
            let done = |frame: Frame| spare.push(frame.into_buffer());
            self.output.write(&self.socket, done).map_err(|_| Broken)?;
        }
        if self.output.queued() > MAX_QUEUE { Err(Broken) } else { Ok(()) }
    }

    /// Whether the set must tell of room from now on, when that changed.
    pub fn wants_room(&mut self) -> Option<bool> {
        let wanted = !self.output.is_empty();
        (wanted != self.waits_for_room).then(|| {
            self.waits_for_room = wanted;
            wanted
        })
    }
}

/// The next frame of `input` behind `*at`, which moves on; `None` until more bytes come.
pub fn next_frame<'a>(input: &'a [u8], at: &mut usize) -> Result<Option<Incoming<'a>>, Broken> {
    let Some(range) = next_body(input, *at, MAX_INPUT).map_err(|_| Broken)? else { return Ok(None) };
    *at = range.end;
    let body = input.get(range).unwrap_or_default();
    match data(body) {
        Some(data) => Ok(Some(data)),
        None => GatewayFrame::decode(body).map(|frame| Some(Incoming::Other(frame))).map_err(|_| Broken),
    }
}

/// Trust stores make frames longer than those of streams.
const MAX_INPUT: usize = 4 << 20;

/// Data of a stream in the order that every encoder writes it; anything else goes the ordinary way.
fn data(body: &[u8]) -> Option<Incoming<'_>> {
    let mut rest = body.strip_prefix(&[0x08])?;
    let stream = u32::try_from(varint(&mut rest)?).ok()?;
    rest = rest.strip_prefix(&[0x2a])?;
    let length = varint(&mut rest)?;
    (length == rest.len() as u64 && rest.len() <= MAX_EGRESS_FRAME).then_some(Incoming::Data(stream, rest))
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
