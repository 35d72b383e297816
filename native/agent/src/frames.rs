//! Frames whose payload is read from the kernel straight behind the place of their header, so that it is copied once.

/// Bytes kept free in front of a payload: more than the longest header.
pub const HEADROOM: usize = 64;

/// One encoded frame, its length prefix included.
#[derive(Debug)]
pub struct Frame {
    buffer: Vec<u8>,
    start: usize,
    /// Bytes of output in it, which credit counts; 0 for anything but `Output`.
    pub output_bytes: usize,
}

impl Frame {
    /// Encodes any message.
    pub fn of(message: &impl prost::Message) -> Self {
        let mut buffer = Vec::with_capacity(caisson_wire::HEADER + message.encoded_len());
        caisson_wire::encode_frame(message, &mut buffer);
        Self { buffer, start: 0, output_bytes: 0 }
    }

    /// `Output` of `fd` (0 to 2) around `buffer[start..]`; `start` must be at least `HEADROOM`.
    pub fn output(stream: u64, seq: u64, fd: i32, offset: u64, buffer: Vec<u8>, start: usize) -> Self {
        let length = buffer.len() - start;
        let mut inner = Header::default();
        inner.field(1, fd as u64);
        inner.field(2, offset);
        inner.bytes(3, length);
        let frame = Self::sealed(stream, seq, 5, &inner, buffer, start);
        Self { output_bytes: length, ..frame }
    }

    /// `FileData` around `buffer[start..]`; `start` must be at least `HEADROOM`.
    pub fn file_data(stream: u64, last: bool, buffer: Vec<u8>, start: usize) -> Self {
        let mut inner = Header::default();
        inner.field(2, last.into());
        inner.bytes(1, buffer.len() - start);
        Self::sealed(stream, 0, 11, &inner, buffer, start)
    }

    /// Data of a stream of the egress channel around `buffer[start..]`; `start` must be at least `HEADROOM`.
    pub fn egress_data(stream: u32, buffer: Vec<u8>, start: usize) -> Self {
        Self::sealed(stream.into(), 0, 4, &Header::default(), buffer, start)
    }

    fn sealed(stream: u64, seq: u64, body_field: u64, inner: &Header, mut buffer: Vec<u8>, start: usize) -> Self {
        let payload = buffer.len() - start;
        let mut outer = Header::default();
        outer.field(1, stream);
        outer.field(2, seq);
        outer.bytes(body_field, inner.length + payload);
        let body = outer.length + inner.length + payload;
        let parts: [&[u8]; 3] = [&(body as u32).to_be_bytes(), outer.as_bytes(), inner.as_bytes()];
        let mut at = start - parts.iter().map(|part| part.len()).sum::<usize>();
        let first = at;
        for part in parts {
            buffer[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        Self { buffer, start: first, output_bytes: 0 }
    }

    /// The whole frame.
    pub fn as_bytes(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// The buffer, to be filled again.
    pub fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }
}

/// A few protobuf fields in a fixed buffer.
#[derive(Default)]
struct Header {
    bytes: [u8; 32],
    length: usize,
}

impl Header {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.byte(value as u8 | 0x80);
            value >>= 7;
        }
        self.byte(value as u8);
    }

    fn byte(&mut self, byte: u8) {
        self.bytes[self.length] = byte;
        self.length += 1;
    }

    /// A varint field; left out when it has the default value, as proto3 wants it.
    fn field(&mut self, number: u64, value: u64) {
        if value != 0 {
            self.varint(number << 3);
            self.varint(value);
        }
    }

    /// The head of a length-delimited field.
    fn bytes(&mut self, number: u64, length: usize) {
        self.varint(number << 3 | 2);
        self.varint(length as u64);
    }

    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caisson_wire::agent::{AgentFrame, FileData, Output, agent_frame::Body};
    use proptest::prelude::*;
    use prost::Message;

    fn decoded(frame: &Frame) -> AgentFrame {
        let (length, body) = frame.as_bytes().split_first_chunk::<4>().unwrap();
        assert_eq!(u32::from_be_bytes(*length) as usize, body.len());
        AgentFrame::decode(body).unwrap()
    }

    fn buffer(data: &[u8]) -> Vec<u8> {
        let mut buffer = vec![0xEE; HEADROOM];
        buffer.extend_from_slice(data);
        buffer
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn output_decodes_to_what_went_in(
            stream: u64, seq: u64, fd in 0..3i32, offset: u64, data in prop::collection::vec(any::<u8>(), 0..70_000usize)
        ) {
            let frame = Frame::output(stream, seq, fd, offset, buffer(&data), HEADROOM);
            prop_assert_eq!(frame.output_bytes, data.len());
            let body = Some(Body::Output(Output { fd, offset, data }));
            prop_assert_eq!(decoded(&frame), AgentFrame { stream, seq, body });
        }

        #[test]
        fn file_data_decodes_to_what_went_in(
            stream: u64, last: bool, data in prop::collection::vec(any::<u8>(), 0..1000)
        ) {
            let frame = Frame::file_data(stream, last, buffer(&data), HEADROOM);
            let body = Some(Body::FileData(FileData { data, last }));
            prop_assert_eq!(decoded(&frame), AgentFrame { stream, seq: 0, body });
        }
    }
}
