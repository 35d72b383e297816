//! A data connection to the agent of a sandbox, and what lies around a sandbox on the host.

use super::Launcher;
use caisson_wire::agent::{agent_frame, client_frame::Body, *};
use caisson_wire::launcher as launcher_wire;
use caisson_wire::{FrameReader, MAX_AGENT_FRAME, MAX_LAUNCHER_FRAME, encode_frame};
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

static NEXT: AtomicU64 = AtomicU64::new(1);

pub const USER: u32 = 1000;
pub const HOME: &str = "/home/sandbox";

pub struct Agent {
    socket: UnixStream,
    reader: FrameReader,
    /// Frames of other streams that were read meanwhile.
    set_aside: VecDeque<AgentFrame>,
}

/// All that is known of an exec at its end.
#[derive(Debug, Default)]
pub struct Outcome {
    pub stdout: String,
    pub stderr: String,
    pub ended: ExecEnded,
}

impl Outcome {
    pub fn hit(&self, limit: Limit) -> bool {
        self.ended.limits_hit().any(|l| l == limit)
    }

    /// It ended with 0 and met no limit but, maybe, that of the cpu.
    pub fn is_fine(&self) -> bool {
        self.ended.reason() == ExecReason::ReasonExited
            && self.ended.exit_code == 0
            && self.ended.limits_hit().all(|l| l == Limit::Cpu)
    }

    pub fn usage(&self) -> Usage {
        self.ended.usage.unwrap()
    }
}

impl Agent {
    pub fn connect(launcher: &Launcher, sandbox: &str) -> Self {
        let mut socket = UnixStream::connect(&launcher.socket).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let epoch = NEXT.fetch_add(1, Ordering::Relaxed);
        let hello = launcher_wire::Hello {
            version: 1,
            role: launcher_wire::Role::Data.into(),
            sandbox: sandbox.into(),
            min_epoch: epoch,
        };
        let request = launcher_wire::Request { id: 1, body: Some(launcher_wire::request::Body::Hello(hello)) };
        let mut bytes = Vec::new();
        encode_frame(&request, &mut bytes);
        socket.write_all(&bytes).unwrap();
        let mut reader = FrameReader::new(MAX_LAUNCHER_FRAME);
        let reply: launcher_wire::Reply = next(&mut socket, &mut reader).expect("an answer");
        assert!(matches!(reply.body, Some(launcher_wire::reply::Body::Done(_))), "{reply:?}");
        let mut agent = Self { socket, reader: FrameReader::new(MAX_AGENT_FRAME), set_aside: VecDeque::new() };
        agent.send(0, Body::Hello(Hello { version: 1, epoch, resume: Vec::new() }));
        let welcome = agent.read();
        assert!(matches!(welcome.body, Some(agent_frame::Body::Welcome(_))), "{welcome:?}");
        agent
    }

    fn send(&mut self, stream: u64, body: Body) {
        let mut bytes = Vec::new();
        encode_frame(&ClientFrame { stream, body: Some(body) }, &mut bytes);
        self.socket.write_all(&bytes).unwrap();
    }

    fn read(&mut self) -> AgentFrame {
        next(&mut self.socket, &mut self.reader).expect("the agent closed the connection")
    }

    fn read_of(&mut self, stream: u64) -> AgentFrame {
        if let Some(at) = self.set_aside.iter().position(|frame| frame.stream == stream) {
            return self.set_aside.remove(at).unwrap();
        }
        loop {
            let frame = self.read();
            if frame.stream == stream {
                return frame;
            }
            self.set_aside.push_back(frame);
        }
    }

    /// Starts a command; the stream that names it.
    pub fn start(&mut self, start: ExecStart) -> u64 {
        let stream = NEXT.fetch_add(1, Ordering::Relaxed);
        self.send(stream, Body::ExecStart(start));
        stream
    }

    /// Waits until the command has written something.
    pub fn first_output(&mut self, stream: u64) {
        loop {
            let frame = self.read_of(stream);
            match frame.body {
                Some(agent_frame::Body::Output(_)) => {
                    self.set_aside.push_back(frame);
                    return;
                }
                Some(agent_frame::Body::ExecStarted(_) | agent_frame::Body::LimitHit(_)) => {}
                other => panic!("no output but {other:?}"),
            }
        }
    }

    /// Everything of an exec to its end, or why it did not start.
    pub fn finish(&mut self, stream: u64) -> Result<Outcome, StreamError> {
        let mut outcome = Outcome::default();
        loop {
            let frame = self.read_of(stream);
            match frame.body.unwrap() {
                agent_frame::Body::Output(output) => {
                    let credit_bytes = output.data.len() as u64;
                    self.send(stream, Body::Ack(Ack { seq: frame.seq, credit_bytes }));
                    let text = String::from_utf8_lossy(&output.data);
                    if output.fd == 0 { outcome.stdout += &text } else { outcome.stderr += &text }
                }
                agent_frame::Body::Error(error) => return Err(error),
                agent_frame::Body::ExecEnded(ended) => {
                    self.send(stream, Body::Ack(Ack { seq: frame.seq, credit_bytes: 0 }));
                    return Ok(Outcome { ended, ..outcome });
                }
                _ => {}
            }
        }
    }

    pub fn run(&mut self, start: ExecStart) -> Outcome {
        let stream = self.start(start);
        self.finish(stream).unwrap()
    }

    /// Runs a shell script in the user's home.
    pub fn sh(&mut self, script: &str) -> Outcome {
        self.run(shell(script))
    }

    pub fn ping(&mut self) {
        let value = NEXT.fetch_add(1, Ordering::Relaxed);
        self.send(0, Body::Ping(Ping { value }));
        let pong = self.read_of(0);
        assert!(matches!(pong.body, Some(agent_frame::Body::Pong(Pong { value: v })) if v == value), "{pong:?}");
    }
}

fn next<T: prost::Message + Default>(socket: &mut UnixStream, reader: &mut FrameReader) -> Option<T> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        if let Some(frame) = reader.next_frame().unwrap() {
            return Some(frame);
        }
        match socket.read(&mut buffer).expect("an answer within a minute") {
            0 => return None,
            length => reader.push(&buffer[..length]),
        }
    }
}

/// A script as an exec of its own name.
pub fn shell(script: &str) -> ExecStart {
    ExecStart {
        exec: format!("ex{}", NEXT.fetch_add(1, Ordering::Relaxed)),
        argv: ["sh", "-c", script].iter().map(|a| a.as_bytes().to_vec()).collect(),
        env: vec![b"PATH=/usr/local/bin:/usr/bin:/bin".to_vec()],
        cwd: HOME.into(),
        uid: USER,
        gid: USER,
        output_credit: 1 << 20,
        open_files: 1024,
        ..ExecStart::default()
    }
}

/// Whether the limits of this host are in v1 hierarchies.
pub fn limits_in_v1() -> bool {
    !std::fs::read_to_string(v2_mount().join("cgroup.controllers")).is_ok_and(|t| t.contains("memory"))
}

fn v2_mount() -> PathBuf {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    let line = mounts.lines().find(|l| l.split(' ').nth(2) == Some("cgroup2")).expect("a cgroup2 mount");
    line.split(' ').nth(1).unwrap().into()
}

/// Where the cgroup `path` beneath `caisson` has the files of a controller; an empty one means the v2 folder.
pub fn cgroup_of(controller: &str, path: &str) -> PathBuf {
    let top = if limits_in_v1() && !controller.is_empty() {
        PathBuf::from("/sys/fs/cgroup").join(controller)
    } else {
        v2_mount()
    };
    top.join("caisson").join(path)
}

/// Host pids of the processes whose cgroup path has `part`, with their names.
pub fn processes_in(part: &str) -> Vec<(u32, String)> {
    let read = |pid: u32, file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let pids = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|e| e.file_name().to_str()?.parse().ok());
    pids.filter(|pid| super::alive(*pid) && read(*pid, "cgroup").contains(part))
        .map(|pid| (pid, read(pid, "comm").trim().to_string()))
        .collect()
}
