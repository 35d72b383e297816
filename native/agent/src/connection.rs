//! One data connection: bytes in, frames out. It knows nothing of what the frames mean.

use crate::frames::Frame;
use crate::input::{Filled, Input, next_body, varint};
use crate::output::{Framed, Output};
use caisson_wire::MAX_AGENT_FRAME;
use caisson_wire::agent::{AgentFrame, ClientFrame, agent_frame::Body};
use prost::Message;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::rc::Rc;
use std::time::Instant;

/// Output that waits for the socket before streams are asked for more.
const QUEUE: usize = 512 << 10;
/// Answers that wait for a client that does not read, before its requests are not read either.
const ANSWERS: usize = 256 << 10;
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
    /// The set tells of room.
    pub waits_for_room: bool,
    /// What came.
    pub input: Input,
    /// What waits to go.
    pub output: Output<Queued>,
    socket: OwnedFd,
    answers: usize,
}

/// A frame for the client; one that a stream retains is shared with it.
pub struct Queued {
    frame: Rc<Frame>,
    answer: bool,
}

impl Framed for Queued {
    fn frame(&self) -> &Frame {
        &self.frame
    }
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
            waits_for_room: false,
            input: Input::new(),
            output: Output::new(),
            socket,
            answers: 0,
        })
    }

    /// Its descriptor.
    pub fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// Reads once. Frames that came whole wait in the buffer, which holds one frame and one read at most.
    pub fn fill(&mut self) -> Result<(), Broken> {
        if !self.input.readable || self.input.has_whole_frame(MAX_AGENT_FRAME) {
            return Ok(());
        }
        match self.input.fill(&self.socket) {
            Filled::More(_) | Filled::Nothing => Ok(()),
            Filled::End => Err(Broken::Gone),
        }
    }

    /// True while the client reads its answers well enough to get more of them.
    pub fn takes_requests(&self) -> bool {
        self.answers < ANSWERS
    }

    /// There is something to do without waiting for the kernel.
    pub fn has_work(&self) -> bool {
        self.takes_requests() && (self.input.readable || self.input.has_whole_frame(MAX_AGENT_FRAME))
    }

    /// Queues a frame that is not retained.
    pub fn answer(&mut self, stream: u64, body: Body) {
        let frame = Rc::new(Frame::of(&AgentFrame { stream, seq: 0, body: Some(body) }));
        self.answers += frame.as_bytes().len();
        self.output.push(Queued { frame, answer: true });
    }

    /// True while streams may queue frames.
    pub fn has_room(&self) -> bool {
        self.output.queued() < QUEUE
    }

    /// Queues a frame of a stream.
    pub fn queue(&mut self, frame: Rc<Frame>) {
        self.output.push(Queued { frame, answer: false });
    }

    /// Writes until the socket or the turn is full.
    pub fn flush(&mut self, spare: &mut Vec<Vec<u8>>) -> Result<(), Broken> {
        let mut turn = 0;
        while self.output.writable && turn < TURN && !self.output.is_empty() {
            let answers = &mut self.answers;
            let done = |queued: Queued| {
                if queued.answer {
                    *answers -= queued.frame.as_bytes().len();
                } else if let Some(frame) = Rc::into_inner(queued.frame) {
                    spare.push(frame.into_buffer());
                }
            };
            turn += self.output.write(&self.socket, done).map_err(|_| Broken::Gone)?;
        }
        Ok(())
    }

    /// Frames wait and the socket has room.
    pub fn has_output(&self) -> bool {
        self.output.writable && !self.output.is_empty()
    }

    /// Last words: what must be whole goes first, then the error, as far as the socket takes it.
    pub fn close_with(mut self, body: Body) {
        self.output.forget();
        self.answer(0, body);
        self.output.writable = true;
        let _ = self.flush(&mut Vec::new());
        let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Write);
    }
}

/// The next frame of `input` behind `*at`, which moves on; `None` until more bytes come.
pub fn next_frame<'a>(input: &'a [u8], at: &mut usize) -> Result<Option<Incoming<'a>>, Broken> {
    let next = next_body(input, *at, MAX_AGENT_FRAME).map_err(|e| Broken::Protocol(e.to_string()))?;
    let Some(range) = next else { return Ok(None) };
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
