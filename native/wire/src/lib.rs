//! The messages of `proto/` and the frame codec that both native programs use. The rules are in `docs/wire.md`.

use prost::Message;

/// Messages between client and agent, and between launcher and agent.
pub mod agent {
    #![allow(missing_docs, clippy::all)]
    include!(concat!(env!("OUT_DIR"), "/caisson.agent.rs"));
}

/// Messages between client and launcher.
pub mod launcher {
    #![allow(missing_docs, clippy::all)]
    include!(concat!(env!("OUT_DIR"), "/caisson.launcher.rs"));
}

/// Messages of the way out: between agent, launcher and egress gateway.
pub mod egress {
    #![allow(missing_docs, clippy::all)]
    include!(concat!(env!("OUT_DIR"), "/caisson.egress.rs"));
}

/// Version said in every `Hello` and in `Boot`.
pub const PROTOCOL_VERSION: u32 = 1;
/// Longest body of a frame on a data channel, in bytes.
pub const MAX_AGENT_FRAME: usize = 1 << 20;
/// Version of the egress channel.
pub const EGRESS_VERSION: u32 = 1;
/// Longest body of a frame on an egress channel, in bytes.
pub const MAX_EGRESS_FRAME: usize = 128 << 10;
/// What each direction of a stream of the egress channel may send before it is granted more, in bytes.
pub const EGRESS_WINDOW: u32 = 64 << 10;
/// Longest body of a frame on a launcher connection, in bytes.
pub const MAX_LAUNCHER_FRAME: usize = 64 << 10;
/// Bytes in front of each body: its length, big-endian.
pub const HEADER: usize = 4;

/// Why bytes from a peer are not a frame. Either ends the connection.
#[derive(Debug, PartialEq, Eq)]
pub enum FrameError {
    /// The length in the header is above the limit of this connection.
    TooLong {
        /// What the header said, in bytes.
        length: usize,
        /// What is allowed, in bytes.
        max: usize,
    },
    /// The body is not a message of the expected type.
    Malformed(String),
}

impl std::fmt::Display for FrameError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooLong { length, max } => write!(f, "a frame of {length} bytes is longer than the {max} allowed"),
            Self::Malformed(cause) => write!(f, "a frame does not decode: {cause}"),
        }
    }
}

impl std::error::Error for FrameError {}

/// Appends `message` to `out` as one frame.
pub fn encode_frame<M: Message>(message: &M, out: &mut Vec<u8>) {
    let length = message.encoded_len();
    out.reserve(HEADER + length);
    out.extend_from_slice(&(length as u32).to_be_bytes());
    // Encoding into a Vec cannot run out of room.
    let _ = message.encode(out);
}

/// Collects bytes of a stream and hands out whole frames. Holds at most one frame's worth and what one read brought.
pub struct FrameReader {
    buffer: Vec<u8>,
    start: usize,
    max: usize,
}

impl FrameReader {
    /// A reader that refuses bodies above `max` bytes.
    pub fn new(max: usize) -> Self {
        Self { buffer: Vec::new(), start: 0, max }
    }

    /// Adds what was read from the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole frame, or `None` until more bytes come.
    ///
    /// # Errors
    /// A length above the limit, or a body that does not decode; the stream is of no more use then.
    pub fn next_frame<M: Message + Default>(&mut self) -> Result<Option<M>, FrameError> {
        let rest = &self.buffer[self.start..];
        let Some((header, body)) = rest.split_first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes(*header) as usize;
        if length > self.max {
            return Err(FrameError::TooLong { length, max: self.max });
        }
        let Some(body) = body.get(..length) else {
            return Ok(None);
        };
        let message = M::decode(body).map_err(|e| FrameError::Malformed(e.to_string()))?;
        self.start += HEADER + length;
        if self.start == self.buffer.len() {
            self.buffer.clear();
            self.start = 0;
        }
        Ok(Some(message))
    }

    /// Bytes that were pushed and not yet handed out.
    pub fn pending(&self) -> usize {
        self.buffer.len() - self.start
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent::{AgentFrame, ClientFrame, client_frame};
    use proptest::prelude::*;

    fn varint(value: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        prost::encoding::encode_varint(value.into(), &mut bytes);
        bytes
    }

    fn ping(value: u64) -> ClientFrame {
        ClientFrame { stream: 0, body: Some(client_frame::Body::Ping(agent::Ping { value })) }
    }

    #[test]
    fn hands_out_frames_however_the_bytes_are_cut() {
        let mut bytes = Vec::new();
        for value in 0..50 {
            encode_frame(&ping(value), &mut bytes);
        }
        for cut in 1..9 {
            let mut reader = FrameReader::new(MAX_AGENT_FRAME);
            let mut seen = Vec::new();
            for piece in bytes.chunks(cut) {
                reader.push(piece);
                while let Some(frame) = reader.next_frame::<ClientFrame>().unwrap() {
                    seen.push(frame);
                }
            }
            assert_eq!(seen, (0..50).map(ping).collect::<Vec<_>>());
            assert_eq!(reader.pending(), 0);
        }
    }

    #[test]
    fn refuses_a_length_above_the_limit_before_the_body_comes() {
        let mut reader = FrameReader::new(100);
        reader.push(&u32::MAX.to_be_bytes());
        assert_eq!(
            reader.next_frame::<ClientFrame>(),
            Err(FrameError::TooLong { length: u32::MAX as usize, max: 100 })
        );
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..64), 0..32)) {
            let mut reader = FrameReader::new(256);
            for piece in pieces {
                reader.push(&piece);
                while let Ok(Some(_)) = reader.next_frame::<AgentFrame>() {}
            }
        }

        /// Each kind of request gets random bytes, so that decoding goes past the outer message.
        #[test]
        fn no_body_of_any_request_makes_it_panic(
            kind in 2..20u8, stream: u8, body in prop::collection::vec(any::<u8>(), 0..120)
        ) {
            let mut frame = vec![0x08, stream & 0x7f];
            frame.extend(varint(u32::from(kind) << 3 | 2));
            frame.extend(varint(body.len() as u32));
            frame.extend(&body);
            if let Ok(decoded) = ClientFrame::decode(frame.as_slice()) {
                let again = ClientFrame::decode(decoded.encode_to_vec().as_slice());
                prop_assert_eq!(again, Ok(decoded));
            }
        }
    }
}
