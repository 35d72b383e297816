//! The events of one exec that stay in the agent until the client acknowledged them (docs/wire.md, rules 3 and 4).
//!
//! Output has no number until it is first sent: then credit decides how many of its bytes go into one frame. What has a
//! number never changes and is sent again as it was.

use crate::frames::{Frame, HEADROOM};
use caisson_wire::agent::{AgentFrame, ExecEnded, Gap, agent_frame::Body};
use std::collections::VecDeque;
use std::rc::Rc;

/// What one event costs beyond its data, so that many small ones are bounded as well.
pub const EVENT_COST: usize = 256;

/// The client broke the rules of the log; its connection ends.
#[derive(Debug, PartialEq, Eq)]
pub struct BeyondLog {
    /// What the client named.
    pub seq: u64,
    /// The last event that it can have seen.
    pub last: u64,
}

enum Pending {
    Output { fd: i32, offset: u64, buffer: Vec<u8>, start: usize },
    Gap(Gap),
    Ended(Box<ExecEnded>),
}

/// The retained events of one exec.
pub struct Log {
    stream: u64,
    /// Numbered events, the oldest unacknowledged first; its number is `first_seq`.
    numbered: VecDeque<Rc<Frame>>,
    first_seq: u64,
    /// How many of `numbered` went out on this connection.
    sent: usize,
    pending: VecDeque<Pending>,
    credit: u64,
    kept_bytes: usize,
    cost: usize,
    ended: bool,
}

impl Log {
    /// A log that keeps at most `kept_bytes` and may send `credit` bytes of output.
    pub fn new(stream: u64, kept_bytes: usize, credit: u64) -> Self {
        Self {
            stream,
            numbered: VecDeque::new(),
            first_seq: 1,
            sent: 0,
            pending: VecDeque::new(),
            credit,
            kept_bytes,
            cost: 0,
            ended: false,
        }
    }

    /// Bytes of output that it takes now; 0 until the client acknowledges some.
    pub fn room(&self) -> usize {
        self.kept_bytes.saturating_sub(self.cost)
    }

    /// What it holds, in bytes with overhead.
    pub fn cost(&self) -> usize {
        self.cost
    }

    /// Number of the oldest event still kept; one above `last_seq` when none is.
    pub fn first_seq(&self) -> u64 {
        self.first_seq
    }

    /// Number of the newest event that has one.
    pub fn last_seq(&self) -> u64 {
        self.first_seq + self.numbered.len() as u64 - 1
    }

    /// The exec ended and everything is acknowledged: it can be forgotten.
    pub fn is_done(&self) -> bool {
        self.ended && self.numbered.is_empty() && self.pending.is_empty()
    }

    /// The last event has its number: `last_seq` is the end of the exec.
    pub fn is_told(&self) -> bool {
        self.ended && self.pending.is_empty()
    }

    /// Adds an event that credit does not hold back and that overtakes waiting output.
    pub fn push_event(&mut self, body: Body) {
        self.number(body);
    }

    /// Adds output: `buffer[HEADROOM..]` is the data.
    pub fn push_output(&mut self, fd: i32, offset: u64, buffer: Vec<u8>) {
        self.cost += buffer.len() - HEADROOM + EVENT_COST;
        self.pending.push_back(Pending::Output { fd, offset, buffer, start: HEADROOM });
    }

    /// Adds the count of dropped output.
    pub fn push_gap(&mut self, gap: Gap) {
        self.pending.push_back(Pending::Gap(gap));
    }

    /// Adds the last event.
    pub fn push_ended(&mut self, ended: ExecEnded) {
        self.ended = true;
        self.pending.push_back(Pending::Ended(Box::new(ended)));
    }

    /// The next frame for the wire, or `None` until there is an event or credit for it.
    pub fn next(&mut self) -> Option<Rc<Frame>> {
        if self.sent == self.numbered.len() {
            self.number_next()?;
        }
        let frame = self.numbered.get(self.sent)?;
        let bytes = frame.output_bytes as u64;
        if bytes > self.credit {
            return None;
        }
        self.credit -= bytes;
        self.sent += 1;
        Some(Rc::clone(frame))
    }

    /// Releases events up to `seq` and grants `credit` more bytes. Returns buffers that can be filled again.
    pub fn acknowledge(&mut self, seq: u64, credit: u64, spare: &mut Vec<Vec<u8>>) -> Result<(), BeyondLog> {
        let last = self.first_seq + self.sent as u64 - 1;
        if seq > last {
            return Err(BeyondLog { seq, last });
        }
        self.credit = self.credit.saturating_add(credit);
        self.release(seq, spare);
        Ok(())
    }

    /// A new connection goes on behind `acked_seq` with `credit`.
    pub fn resume(&mut self, acked_seq: u64, credit: u64, spare: &mut Vec<Vec<u8>>) -> Result<(), BeyondLog> {
        let last = self.last_seq();
        if acked_seq > last {
            return Err(BeyondLog { seq: acked_seq, last });
        }
        self.sent = self.numbered.len();
        self.release(acked_seq, spare);
        self.sent = 0;
        self.credit = credit;
        Ok(())
    }

    fn release(&mut self, seq: u64, spare: &mut Vec<Vec<u8>>) {
        while self.first_seq <= seq {
            let Some(frame) = self.numbered.pop_front() else { return };
            self.first_seq += 1;
            self.sent = self.sent.saturating_sub(1);
            self.cost = self.cost.saturating_sub(cost_of(&frame));
            // The connection may still hold the frame: then the buffer is freed with it.
            if let Some(frame) = Rc::into_inner(frame) {
                spare.push(frame.into_buffer());
            }
        }
    }

    fn number_next(&mut self) -> Option<()> {
        match self.pending.pop_front()? {
            Pending::Output { fd, offset, buffer, start } => self.number_output(fd, offset, buffer, start),
            Pending::Gap(gap) => {
                self.number(Body::Gap(gap));
                Some(())
            }
            Pending::Ended(ended) => {
                self.number(Body::ExecEnded(*ended));
                Some(())
            }
        }
    }

    /// Numbers as much of the output as credit allows; the rest stays in front of the queue.
    fn number_output(&mut self, fd: i32, offset: u64, buffer: Vec<u8>, start: usize) -> Option<()> {
        let length = buffer.len() - start;
        let allowed = usize::try_from(self.credit).unwrap_or(usize::MAX);
        if allowed == 0 {
            self.pending.push_front(Pending::Output { fd, offset, buffer, start });
            return None;
        }
        let seq = self.last_seq() + 1;
        if length <= allowed {
            self.numbered.push_back(Rc::new(Frame::output(self.stream, seq, fd, offset, buffer, start)));
            return Some(());
        }
        // A client that grants crumbs and acknowledges nothing does not multiply frames without end.
        if self.cost > 2 * self.kept_bytes + 64 * EVENT_COST {
            self.pending.push_front(Pending::Output { fd, offset, buffer, start });
            return None;
        }
        let mut head = vec![0; HEADROOM];
        head.extend_from_slice(&buffer[start..start + allowed]);
        self.cost += EVENT_COST;
        self.numbered.push_back(Rc::new(Frame::output(self.stream, seq, fd, offset, head, HEADROOM)));
        let rest = Pending::Output { fd, offset: offset + allowed as u64, buffer, start: start + allowed };
        self.pending.push_front(rest);
        Some(())
    }

    fn number(&mut self, body: Body) {
        let seq = self.last_seq() + 1;
        self.numbered.push_back(Rc::new(Frame::of(&AgentFrame { stream: self.stream, seq, body: Some(body) })));
    }
}

fn cost_of(frame: &Frame) -> usize {
    match frame.output_bytes {
        0 => 0,
        bytes => bytes + EVENT_COST,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caisson_wire::agent::ExecStarted;
    use proptest::prelude::*;
    use prost::Message;

    #[derive(Clone, Debug)]
    enum Action {
        Output(usize),
        Event,
        Send(usize),
        Ack { back: u64, credit: u64 },
        Reconnect { lost: u64, credit: u64 },
    }

    fn action() -> impl Strategy<Value = Action> {
        prop_oneof![
            4 => (1..5000usize).prop_map(Action::Output),
            1 => Just(Action::Event),
            6 => (1..10usize).prop_map(Action::Send),
            3 => (0..4u64, 0..8000u64).prop_map(|(back, credit)| Action::Ack { back, credit }),
            1 => (0..6u64, 0..20_000u64).prop_map(|(lost, credit)| Action::Reconnect { lost, credit }),
        ]
    }

    /// A client that believes the wire only.
    struct Model {
        log: Log,
        written: u64,
        output: Vec<u8>,
        seq: u64,
        acked: u64,
        /// What went out under each number, for "unchanged".
        seen: Vec<Vec<u8>>,
        allowance: u64,
    }

    impl Model {
        fn new() -> Self {
            let log = Log::new(1, 20_000, 10_000);
            Self { log, written: 0, output: Vec::new(), seq: 0, acked: 0, seen: Vec::new(), allowance: 10_000 }
        }

        fn write(&mut self, bytes: usize) {
            let bytes = bytes.min(self.log.room());
            if bytes > 0 {
                let mut buffer = vec![0; HEADROOM];
                buffer.extend((0..bytes as u64).map(|i| (((self.written + i) * 31) >> 4) as u8));
                self.log.push_output(0, self.written, buffer);
                self.written += bytes as u64;
            }
        }

        fn receive(&mut self) -> bool {
            let Some(frame) = self.log.next() else { return false };
            let decoded = AgentFrame::decode(&frame.as_bytes()[4..]).unwrap();
            assert_eq!(decoded.seq, self.seq + 1, "numbers have no holes");
            self.seq = decoded.seq;
            match self.seen.get(decoded.seq as usize - 1) {
                Some(before) => assert_eq!(before, frame.as_bytes(), "sent again unchanged"),
                None => self.seen.push(frame.as_bytes().to_vec()),
            }
            if let Some(Body::Output(output)) = decoded.body {
                let bytes = output.data.len() as u64;
                assert!(bytes <= self.allowance, "more than was granted");
                self.allowance -= bytes;
                if output.offset == self.output.len() as u64 {
                    self.output.extend(output.data);
                }
            }
            true
        }

        fn act(&mut self, action: Action) {
            match action {
                Action::Output(bytes) => self.write(bytes),
                Action::Event => self.log.push_event(Body::ExecStarted(ExecStarted { pid: 1 })),
                Action::Send(frames) => {
                    for _ in 0..frames {
                        self.receive();
                    }
                }
                Action::Ack { back, credit } => {
                    let seq = self.seq.saturating_sub(back);
                    self.log.acknowledge(seq, credit, &mut Vec::new()).unwrap();
                    self.acked = self.acked.max(seq);
                    self.allowance += credit;
                    assert!(self.log.acknowledge(self.log.last_seq() + 1, 0, &mut Vec::new()).is_err());
                }
                Action::Reconnect { lost, credit } => {
                    let seq = self.seq.saturating_sub(lost).max(self.acked);
                    self.log.resume(seq, credit, &mut Vec::new()).unwrap();
                    self.seq = seq;
                    self.acked = seq;
                    self.allowance = credit;
                }
            }
            assert!(self.log.cost() <= 2 * 20_000 + 80 * EVENT_COST, "memory stays bounded: {}", self.log.cost());
        }

        fn drain(&mut self) {
            self.log.push_ended(ExecEnded::default());
            while !self.log.is_done() {
                while self.receive() {}
                self.act(Action::Ack { back: 0, credit: 50_000 });
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn nothing_is_lost_doubled_changed_or_sent_without_credit(actions in prop::collection::vec(action(), 0..200)) {
            let mut model = Model::new();
            for action in actions {
                model.act(action);
            }
            model.drain();
            let expected: Vec<u8> = (0..model.written).map(|i| ((i * 31) >> 4) as u8).collect();
            prop_assert!(model.output == expected);
        }
    }

    #[test]
    fn other_events_overtake_output_that_waits_for_credit() {
        let mut log = Log::new(1, 1000, 0);
        let mut buffer = vec![0; HEADROOM];
        buffer.push(b'x');
        log.push_output(0, 0, buffer);
        log.push_event(Body::ExecStarted(ExecStarted { pid: 1 }));
        assert_eq!(log.next().unwrap().output_bytes, 0);
        assert!(log.next().is_none());
        log.acknowledge(1, 1, &mut Vec::new()).unwrap();
        assert_eq!(log.next().unwrap().output_bytes, 1);
    }
}
