//! One exec: its pipes, its group, its log and what was observed of it.

use crate::frames::HEADROOM;
use crate::group::Group;
use crate::log::Log;
use crate::meters::Counters;
use crate::pty;
use crate::stdin::Stdin;
use crate::sys;
use caisson_wire::agent::{ExecReason, ExecStart, Gap, Limit, LimitHit, OutputFd, Overflow, Pty, agent_frame::Body};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::time::{Duration, Instant};

/// Output read at once.
pub const CHUNK: usize = 64 << 10;
/// Size that a busy pipe grows to.
const BUSY_PIPE: usize = 512 << 10;
/// Output that an exec may keep however much the others keep.
const RESERVED: usize = 8 << 10;

/// How far an exec came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Waits for the spawner.
    Queued,
    /// The spawner has it.
    Starting,
    /// The command runs.
    Running,
    /// The main process is gone; its output is read to the end.
    Draining,
    /// `ExecEnded` is in the log.
    Ended,
}

/// What the child gets; kept until the command runs, so that a new spawner can try again.
pub struct ChildEnds {
    /// Read end, when the client wants to write.
    pub stdin: Option<OwnedFd>,
    /// Write end.
    pub stdout: OwnedFd,
    /// Write end.
    pub stderr: OwnedFd,
    /// `cgroup.procs` of its v1 memory group.
    pub memory: Option<OwnedFd>,
}

/// What is only needed until the command runs.
pub struct Launch {
    /// The request.
    pub start: ExecStart,
    /// Made at the first attempt.
    pub ends: Option<ChildEnds>,
    /// How often the spawner was asked.
    pub attempts: u32,
    /// Signals that came early.
    pub signals: Vec<(i32, bool)>,
}

/// An exec.
pub struct Exec {
    /// Names it for the client.
    pub stream: u64,
    /// Names its groups.
    pub name: String,
    /// Retained events.
    pub log: Log,
    /// The present connection wants its events.
    pub subscribed: bool,
    /// How far it came.
    pub phase: Phase,
    /// Until it runs.
    pub launch: Option<Box<Launch>>,
    /// The main process, until it is reaped.
    pub pid: Option<i32>,
    /// Read end of the status pipe, until the command runs.
    pub status: Option<OwnedFd>,
    /// Standard input.
    pub stdin: Stdin,
    /// Standard output and error.
    pub outputs: [OutputPipe; 2],
    /// It has a terminal instead of pipes.
    pub terminal: bool,
    /// A size that the terminal has not got yet.
    pub resize: Option<Pty>,
    /// RLIMIT_NOFILE of its processes.
    pub open_files: u64,
    /// Its group, until it ended.
    pub group: Option<Group>,
    /// Processes may live on.
    pub linger: bool,
    /// When the main process is told to end.
    pub deadline: Option<Instant>,
    /// When everything is killed.
    pub kill_at: Option<Instant>,
    /// Between the two.
    pub grace: Duration,
    /// From the request on.
    pub timeout: Option<Duration>,
    /// When the spawner got it.
    pub started: Instant,
    /// When the main process was reaped.
    pub ended: Option<Instant>,
    /// When reading of pipes that others hold is given up.
    pub drain_until: Option<Instant>,
    /// What ended it, when that was not the process itself.
    pub cause: Option<ExecReason>,
    /// (exit code, signal) of the main process.
    pub exit: (u32, u32),
    /// What was observed.
    pub observed: Observed,
    overflow: Overflow,
}

/// Counters at the start and what was seen since.
#[derive(Default)]
pub struct Observed {
    /// Limits hit, in the order in which they were seen.
    pub limits: Vec<Limit>,
    /// Pids and cpu at the start.
    pub at_start: Counters,
    /// v1 kills of the sandbox's group at the start.
    pub oom_kills_at_start: u64,
    /// What had gone through the way out.
    pub egress_at_start: u64,
    /// The sandbox's peak is this exec's own.
    pub owns_peak: bool,
    /// Highest sample of memory use.
    pub peak_memory: u64,
    /// Integral of memory use over time.
    pub memory_byte_millis: u64,
    /// The last sample.
    pub sampled: Option<(Instant, u64)>,
}

impl Exec {
    /// An exec that waits for the spawner.
    pub fn new(stream: u64, start: ExecStart, now: Instant) -> Self {
        let kept = match start.kept_bytes {
            0 => 256 << 10,
            bytes => usize::try_from(bytes).unwrap_or(usize::MAX).min(1 << 20),
        };
        let timeout = (start.timeout_millis > 0).then(|| Duration::from_millis(start.timeout_millis));
        Self {
            stream,
            name: start.exec.clone(),
            log: Log::new(stream, kept, start.output_credit),
            subscribed: true,
            phase: Phase::Queued,
            pid: None,
            status: None,
            stdin: Stdin::new(start.stdin_open || start.pty.is_some()),
            outputs: match start.pty {
                Some(_) => [OutputPipe::new(OutputFd::Pty), OutputPipe::new(OutputFd::Stderr)],
                None => [OutputPipe::new(OutputFd::Stdout), OutputPipe::new(OutputFd::Stderr)],
            },
            terminal: start.pty.is_some(),
            resize: None,
            open_files: start.open_files,
            group: None,
            linger: start.linger,
            deadline: timeout.and_then(|timeout| now.checked_add(timeout)),
            kill_at: None,
            grace: Duration::from_millis(start.grace_millis.min(24 * 3600 * 1000)),
            timeout,
            started: now,
            ended: None,
            drain_until: None,
            cause: None,
            exit: (0, 0),
            observed: Observed::default(),
            overflow: start.overflow(),
            launch: Some(Box::new(Launch { start, ends: None, attempts: 0, signals: Vec::new() })),
        }
    }

    /// Processes of it may live.
    pub fn is_alive(&self) -> bool {
        matches!(self.phase, Phase::Starting | Phase::Running | Phase::Draining)
    }

    /// Notes a limit once, and tells the client.
    pub fn hit(&mut self, limit: Limit) {
        if !self.observed.limits.contains(&limit) {
            self.observed.limits.push(limit);
            if self.phase != Phase::Queued && self.phase != Phase::Starting {
                self.log.push_event(Body::LimitHit(LimitHit { limit: limit.into() }));
            }
        }
    }

    /// Kills everything; the first cause is the one that is told.
    pub fn kill_for(&mut self, cause: ExecReason) {
        self.cause.get_or_insert(cause);
        if let Some(group) = &self.group {
            group.kill();
        }
    }

    /// Reads one chunk of each pipe. True when there may be more at once.
    pub fn pump(&mut self, spare: &mut Vec<Vec<u8>>, crowded: bool) -> bool {
        let mut more = false;
        for pipe in &mut self.outputs {
            let room = if crowded && self.log.cost() >= RESERVED { 0 } else { self.log.room() };
            more |= match (room, self.overflow) {
                (0, Overflow::Block) => false,
                (0, Overflow::Drop) => pipe.discard(spare),
                (room, _) => pipe.read(room, &mut self.log, spare),
            };
        }
        more
    }

    /// Gives the terminal the last size that was asked for: one system call a turn, however many there were.
    pub fn apply_size(&mut self) {
        if let (Some(size), Some(terminal)) = (&self.resize, self.outputs.first().and_then(|pipe| pipe.fd.as_ref())) {
            pty::resize(terminal, size);
            self.resize = None;
        }
    }

    /// After the client's last byte: whoever uses the terminal is told that it is gone, and it goes with its last output.
    pub fn hang_up_terminal(&mut self, now: Instant) {
        if self.phase != Phase::Running || !self.stdin.take_hang_up() {
            return;
        }
        if let Some(terminal) = self.outputs.first().and_then(|pipe| pipe.fd.as_ref()) {
            pty::hang_up(terminal);
        }
        self.signal(libc::SIGHUP, false);
        self.signal(libc::SIGCONT, false);
        self.drain_until.get_or_insert(now + crate::life::DRAIN);
    }

    /// At the drain deadline: what is in the pipes now is still read, then they are closed.
    pub fn cut_drain(&mut self) {
        for pipe in &mut self.outputs {
            pipe.cut();
        }
        self.drain_until = None;
    }
}

/// The agent's end of standard output or error.
pub struct OutputPipe {
    /// As on the wire.
    number: i32,
    fd: Option<OwnedFd>,
    /// The kernel may have bytes.
    pub readable: bool,
    /// Bytes read, dropped ones included.
    pub offset: u64,
    /// Bytes dropped in all.
    pub dropped: u64,
    /// Bytes dropped since the last event.
    gap: u64,
    grown: bool,
    /// Bytes that are still read after the drain deadline.
    left: Option<u64>,
    /// It was closed before its end.
    pub was_cut: bool,
}

impl OutputPipe {
    fn new(fd: OutputFd) -> Self {
        Self {
            number: fd.into(),
            fd: None,
            readable: false,
            offset: 0,
            dropped: 0,
            gap: 0,
            grown: false,
            left: None,
            was_cut: false,
        }
    }

    /// Reads from `fd` from now on.
    pub fn open(&mut self, fd: OwnedFd) {
        self.fd = Some(fd);
    }

    /// Nothing more comes.
    pub fn is_closed(&self) -> bool {
        self.fd.is_none()
    }

    /// Puts a gap that is still untold into the log.
    pub fn tell_gap(&mut self, log: &mut Log) {
        if self.gap > 0 {
            let offset = self.offset - self.gap;
            log.push_gap(Gap { fd: self.number, offset, bytes: std::mem::take(&mut self.gap) });
        }
    }

    fn read(&mut self, room: usize, log: &mut Log, spare: &mut Vec<Vec<u8>>) -> bool {
        if !self.readable {
            return false;
        }
        let mut buffer = chunk(spare);
        let bytes = self.read_into(&mut buffer, room.min(CHUNK));
        if bytes == 0 {
            spare.push(buffer);
            return false;
        }
        self.grow(bytes);
        let offset = self.offset;
        self.tell_gap(log);
        self.offset += bytes as u64;
        if bytes < CHUNK / 2 {
            let exact = buffer.clone();
            spare.push(buffer);
            buffer = exact;
        }
        log.push_output(self.number, offset, buffer);
        self.readable
    }

    fn discard(&mut self, spare: &mut Vec<Vec<u8>>) -> bool {
        if !self.readable {
            return false;
        }
        let mut buffer = chunk(spare);
        let bytes = self.read_into(&mut buffer, CHUNK) as u64;
        spare.push(buffer);
        self.offset += bytes;
        self.dropped += bytes;
        self.gap += bytes;
        self.readable
    }

    /// Reads at most `most` bytes behind the headroom; notes AGAIN and the end.
    fn read_into(&mut self, buffer: &mut Vec<u8>, most: usize) -> usize {
        let Some(fd) = &self.fd else {
            self.readable = false;
            return 0;
        };
        if self.left == Some(0) {
            // Only the end may follow; one more byte means that somebody still writes.
            self.was_cut = !matches!(rustix::io::read(fd, &mut [0u8]), Ok(0) | Err(Errno::IO));
            self.close();
            return 0;
        }
        let most = self.left.map_or(most, |left| most.min(usize::try_from(left).unwrap_or(most)));
        match sys::read_into(fd, buffer, most) {
            Ok(0) => {
                self.close();
                0
            }
            Ok(bytes) => {
                self.left = self.left.map(|left| left - bytes as u64);
                bytes
            }
            Err(Errno::AGAIN) => {
                self.readable = false;
                if self.left.is_some() {
                    self.was_cut = true;
                    self.close();
                }
                0
            }
            Err(Errno::INTR) => 0,
            Err(_) => {
                self.close();
                0
            }
        }
    }

    /// A command that fills its pipe gets a larger one; the others never pay for it.
    fn grow(&mut self, bytes: usize) {
        if bytes >= CHUNK / 2 && !self.grown {
            self.grown = true;
            if let Some(fd) = &self.fd {
                let _ = rustix::pipe::fcntl_setpipe_size(fd, BUSY_PIPE);
            }
        }
    }

    fn cut(&mut self) {
        if let Some(fd) = &self.fd {
            self.left = Some(rustix::io::ioctl_fionread(fd).unwrap_or(0));
            self.readable = true;
        }
    }

    /// Closes it.
    pub fn close(&mut self) {
        self.fd = None;
        self.readable = false;
    }
}

/// A buffer of a whole chunk, its headroom in use.
pub fn chunk(spare: &mut Vec<Vec<u8>>) -> Vec<u8> {
    while let Some(mut buffer) = spare.pop() {
        if buffer.capacity() >= HEADROOM + CHUNK {
            buffer.truncate(HEADROOM);
            buffer.resize(HEADROOM, 0);
            return buffer;
        }
    }
    let mut buffer = Vec::with_capacity(HEADROOM + CHUNK);
    buffer.resize(HEADROOM, 0);
    buffer
}
