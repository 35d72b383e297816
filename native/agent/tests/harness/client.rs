//! The client's side of a data connection.

use super::USER;
use caisson_wire::agent::{agent_frame, client_frame::Body, *};
use caisson_wire::{FrameReader, MAX_AGENT_FRAME, encode_frame};
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};

pub struct Client {
    pub socket: UnixStream,
    reader: FrameReader,
    buffer: Vec<u8>,
    pub welcome: Option<Welcome>,
    /// Frames of other streams that were read meanwhile.
    set_aside: VecDeque<AgentFrame>,
}

/// All that is known of an exec at its end.
#[derive(Debug, Default)]
pub struct Outcome {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub gap_bytes: u64,
    pub limits: Vec<Limit>,
    pub pid: u32,
    pub ended: ExecEnded,
    pub last_seq: u64,
}

impl Outcome {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

impl Client {
    pub fn new(socket: UnixStream) -> Self {
        Self {
            socket,
            reader: FrameReader::new(MAX_AGENT_FRAME),
            buffer: vec![0; 256 << 10],
            welcome: None,
            set_aside: VecDeque::new(),
        }
    }

    pub fn stream(&mut self) -> u64 {
        // A session uses a stream once, over all its connections.
        static NEXT: AtomicU64 = AtomicU64::new(1);
        NEXT.fetch_add(1, Ordering::Relaxed)
    }

    pub fn hello(&mut self, epoch: u64, resume: Vec<Resume>) -> Welcome {
        self.send(0, Body::Hello(Hello { version: 1, epoch, resume }));
        match self.read().unwrap() {
            AgentFrame { stream: 0, body: Some(agent_frame::Body::Welcome(welcome)), .. } => {
                self.welcome = Some(welcome.clone());
                welcome
            }
            other => panic!("no welcome but {other:?}"),
        }
    }

    pub fn send(&mut self, stream: u64, body: Body) {
        let mut bytes = Vec::new();
        encode_frame(&ClientFrame { stream, body: Some(body) }, &mut bytes);
        self.socket.write_all(&bytes).unwrap();
    }

    /// The next frame of any stream; `None` at the end.
    pub fn read(&mut self) -> Option<AgentFrame> {
        loop {
            if let Some(frame) = self.reader.next_frame().unwrap() {
                return Some(frame);
            }
            match self.socket.read(&mut self.buffer) {
                Ok(0) => return None,
                Ok(length) => self.reader.push(&self.buffer[..length]),
                Err(e) if e.kind() == std::io::ErrorKind::ConnectionReset => return None,
                Err(e) => panic!("nothing came: {e}"),
            }
        }
    }

    /// The next frame of one stream.
    pub fn read_of(&mut self, stream: u64) -> AgentFrame {
        if let Some(at) = self.set_aside.iter().position(|frame| frame.stream == stream) {
            return self.set_aside.remove(at).unwrap();
        }
        loop {
            let frame = self.read().expect("the agent closed the connection");
            if frame.stream == stream {
                return frame;
            }
            assert!(frame.stream > 0 || !matches!(frame.body, Some(agent_frame::Body::Error(_))), "{frame:?}");
            self.set_aside.push_back(frame);
        }
    }

    /// Everything of a stream to its end, or the error that ended it.
    pub fn finish(&mut self, stream: u64) -> Result<Outcome, StreamError> {
        let mut outcome = Outcome::default();
        let mut seq = 0;
        loop {
            let frame = self.read_of(stream);
            if frame.seq > 0 {
                assert_eq!(frame.seq, seq + 1, "events have no holes");
                seq = frame.seq;
            }
            match frame.body.unwrap() {
                agent_frame::Body::ExecStarted(started) => outcome.pid = started.pid,
                agent_frame::Body::Output(output) => {
                    let credit_bytes = output.data.len() as u64;
                    self.send(stream, Body::Ack(Ack { seq, credit_bytes }));
                    if output.fd == 1 { outcome.stderr.extend(output.data) } else { outcome.stdout.extend(output.data) }
                }
                agent_frame::Body::Gap(gap) => outcome.gap_bytes += gap.bytes,
                agent_frame::Body::LimitHit(hit) => outcome.limits.push(hit.limit()),
                agent_frame::Body::StdinCredit(_) => {}
                agent_frame::Body::Error(error) => return Err(error),
                agent_frame::Body::ExecEnded(ended) => {
                    self.send(stream, Body::Ack(Ack { seq, credit_bytes: 0 }));
                    return Ok(Outcome { ended, last_seq: seq, ..outcome });
                }
                other => panic!("{other:?} does not belong to an exec"),
            }
        }
    }

    pub fn start(&mut self, start: ExecStart) -> u64 {
        let stream = self.stream();
        self.send(stream, Body::ExecStart(start));
        stream
    }

    pub fn run(&mut self, start: ExecStart) -> Result<Outcome, StreamError> {
        let stream = self.start(start);
        self.finish(stream)
    }

    /// Runs a shell script.
    pub fn sh(&mut self, script: &str) -> Outcome {
        self.run(shell(script)).unwrap()
    }

    pub fn stdin(&mut self, stream: u64, offset: u64, data: &[u8], eof: bool) {
        self.send(stream, Body::StdinData(StdinData { offset, data: data.to_vec(), eof }));
    }

    pub fn ack(&mut self, stream: u64, seq: u64, credit_bytes: u64) {
        self.send(stream, Body::Ack(Ack { seq, credit_bytes }));
    }

    pub fn signal(&mut self, stream: u64, signal: i32, whole_exec: bool, reason: ExecReason) {
        let signal = Signal { signal: signal as u32, whole_exec, reason: reason.into() };
        self.send(stream, Body::Signal(signal));
    }

    /// Credit that lets a transfer begin, as the first frame of its stream.
    pub fn credit(&mut self, stream: u64) -> u64 {
        match self.read_of(stream).body {
            Some(agent_frame::Body::FileCredit(credit)) => credit.limit,
            other => panic!("no credit but {other:?}"),
        }
    }

    /// Output of an exec until it contains `text`.
    pub fn read_until(&mut self, stream: u64, text: &str) -> String {
        let mut seen = Vec::new();
        while !String::from_utf8_lossy(&seen).contains(text) {
            let frame = self.read_of(stream);
            match frame.body {
                Some(agent_frame::Body::Output(output)) => {
                    self.ack(stream, frame.seq, output.data.len() as u64);
                    seen.extend(output.data);
                }
                Some(agent_frame::Body::ExecEnded(_) | agent_frame::Body::Error(_)) => {
                    panic!("no {text:?} in {:?}", String::from_utf8_lossy(&seen))
                }
                _ => {}
            }
        }
        String::from_utf8_lossy(&seen).into_owned()
    }

    pub fn error(&mut self, stream: u64) -> StreamError {
        match self.read_of(stream).body {
            Some(agent_frame::Body::Error(error)) => error,
            other => panic!("no error but {other:?}"),
        }
    }

    pub fn assert_closed(&mut self) {
        while self.read().is_some() {}
    }
}

/// A name that no other exec of this process has.
pub fn exec_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("ex{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

pub fn command(argv: &[&str]) -> ExecStart {
    ExecStart {
        exec: exec_name(),
        argv: argv.iter().map(|a| a.as_bytes().to_vec()).collect(),
        env: vec![b"PATH=/usr/local/bin:/usr/bin:/bin".to_vec()],
        cwd: b"/".to_vec(),
        uid: USER,
        gid: USER,
        output_credit: 1 << 20,
        open_files: 1024,
        ..ExecStart::default()
    }
}

pub fn shell(script: &str) -> ExecStart {
    command(&["sh", "-c", script])
}
