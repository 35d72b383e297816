//! `sudo`, the agent's side: who may, where the command belongs, and how it ended.
//!
//! A descriptor that a user process sends can make its receiver wait when it closes it (a socket that lingers), so the
//! agent takes nothing from `sudo` but bytes of a pipe. Connections belong to the doorman, a process beside the spawner.

use crate::agent::Agent;
use crate::doorman;
use crate::launch::refused_root;
use crate::poll::{Poll, Source};
use crate::spawn_request::{Stage, Status};
use crate::sudo_wire::{DOOR, End, Permit};
use crate::sys;
use prost::Message;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with, socketpair,
};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::WaitStatus;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Commands at once.
const MAX_COMMANDS: usize = 64;
/// Connections that wait for the doorman.
const BACKLOG: i32 = 32;
/// Questions of the doorman in one turn.
const TURN: usize = 8;
/// Between two doormen that die young.
const PAUSE: Duration = Duration::from_millis(500);
/// Of processes that an exec left behind.
const OPEN_FILES: u64 = 1024;

/// The door and whoever went through it.
#[derive(Default)]
pub struct Sudo {
    door: Option<OwnedFd>,
    doorman: Option<OwnedFd>,
    /// Its process, until it is reaped.
    pub doorman_pid: Option<i32>,
    born: Option<Instant>,
    /// When the next doorman may be made.
    pub again_at: Option<Instant>,
    commands: BTreeMap<u64, Command>,
    last: u64,
}

struct Command {
    /// Until it runs.
    status: Option<OwnedFd>,
    signals: OwnedFd,
    result: OwnedFd,
    pid: Option<i32>,
}

impl Sudo {
    /// Takes the name of the door, so that nobody else can have it; opens it when root is allowed.
    pub fn open(root: bool, poll: &Poll) -> Self {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let made = || -> Result<OwnedFd, Errno> {
            let door = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
            bind(&door, &SocketAddrUnix::new_abstract_name(DOOR)?)?;
            if root {
                listen(&door, BACKLOG)?;
                poll.add(&door, Source::Door)?;
            }
            Ok(door)
        };
        // Where the name is taken there is no sudo; everything else works.
        Self { door: made().ok(), ..Self::default() }
    }
}

impl Agent {
    /// Somebody is at the door: a doorman is made when there is none.
    pub(crate) fn on_door(&mut self) {
        let Some(door) = self.sudo.door.as_ref().filter(|_| self.sudo.doorman.is_none()) else { return };
        if self.sudo.born.is_some_and(|born| self.now < born + PAUSE) {
            self.sudo.again_at = Some(self.now + PAUSE);
            return;
        }
        self.sudo.born = Some(self.now);
        match doorman::make(door, &self.sandbox.joins) {
            Ok((channel, pid)) if self.poll.add(&channel, Source::Doorman).is_ok() => {
                self.sudo.doorman = Some(channel);
                self.sudo.doorman_pid = Some(pid);
            }
            _ => self.sudo.again_at = Some(self.now + PAUSE),
        }
    }

    /// A doorman that died young may be followed now.
    pub(crate) fn run_sudo_timer(&mut self) {
        if self.sudo.again_at.is_some_and(|at| at <= self.now) {
            self.sudo.again_at = None;
            self.on_door();
        }
    }

    /// The doorman asks for a caller, or died.
    pub(crate) fn on_doorman(&mut self) {
        for _ in 0..TURN {
            let Some(channel) = &self.sudo.doorman else { return };
            match sys::receive(channel, 16, RecvFlags::DONTWAIT) {
                Ok(packet) => match <[u8; 4]>::try_from(packet.bytes.as_slice()) {
                    Ok(pid) => self.answer_doorman(i32::from_ne_bytes(pid)),
                    Err(_) => break,
                },
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => {}
                Err(_) => break,
            }
        }
        self.sudo.doorman = None;
        self.sudo.again_at = Some(self.now);
    }

    fn answer_doorman(&mut self, caller: i32) {
        let permit = self.permit(caller);
        let Some(channel) = &self.sudo.doorman else { return };
        // It waits for this answer, so there is room; a doorman that is gone shows it by its channel.
        let _ = match permit {
            Ok((permit, fds)) => {
                let fds: Vec<BorrowedFd<'_>> = fds.iter().map(OwnedFd::as_fd).collect();
                sys::send(channel, &permit.encode_to_vec(), &fds, SendFlags::DONTWAIT)
            }
            Err(refusal) => {
                let permit = Permit { refusal, ..Permit::default() };
                sys::send(channel, &permit.encode_to_vec(), &[], SendFlags::DONTWAIT)
            }
        };
    }

    fn permit(&mut self, caller: i32) -> Result<(Permit, Vec<OwnedFd>), String> {
        if !self.sandbox.root {
            return Err(refused_root().to_owned());
        }
        if self.sudo.commands.len() >= MAX_COMMANDS {
            return Err(format!("{MAX_COMMANDS} commands of sudo are running; more are refused"));
        }
        let alive = self.execs.values().filter_map(|exec| Some((exec.group.as_ref()?, exec.open_files)));
        let left = self.leftovers.iter().map(|leftover| (leftover.group(), OPEN_FILES));
        let found = alive.chain(left).find(|(group, _)| group.pids().contains(&caller));
        let (group, open_files) = found.ok_or("the calling process belongs to no command of this sandbox")?;
        let no_room = |errno: Errno| format!("there is no room for another command: {errno}");
        let folder =
            group.folder().try_clone_to_owned().map_err(|e| format!("there is no room for another command: {e}"))?;
        let memory = group.join_memory().map_err(no_room)?;
        let (status, status_end) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).map_err(no_room)?;
        let (result_end, result) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).map_err(no_room)?;
        let (signals, signals_end) = pipe_with(PipeFlags::CLOEXEC).map_err(no_room)?;
        rustix::io::ioctl_fionbio(&signals, true).map_err(no_room)?;
        self.sudo.last += 1;
        let number = self.sudo.last;
        self.poll.add(&status, Source::SudoStatus(number)).map_err(no_room)?;
        self.poll.add(&signals, Source::SudoSignals(number)).map_err(no_room)?;
        let permit = Permit { refusal: String::new(), families: self.sandbox.families.into(), open_files };
        let mut fds = vec![folder, status_end, result_end, signals_end];
        fds.extend(memory);
        self.sudo.commands.insert(number, Command { status: Some(status), signals, result, pid: None });
        Ok((permit, fds))
    }

    /// The way to a running command.
    pub(crate) fn read_sudo_status(&mut self, number: u64) {
        let Some(command) = self.sudo.commands.get_mut(&number) else { return };
        let Some(status) = &command.status else { return };
        loop {
            let mut bytes = [0; Status::SIZE];
            match rustix::io::read(status, &mut bytes) {
                Ok(0) => break,
                Ok(Status::SIZE) => match Status::from_bytes(bytes) {
                    Some(Status { stage: Stage::Alive, value }) => command.pid = Some(value),
                    Some(Status { value, .. }) => {
                        return self.end_sudo(number, End::Failed(u8::try_from(value).unwrap_or(u8::MAX)));
                    }
                    None => {}
                },
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => {}
                _ => break,
            }
        }
        command.status = None;
        match command.pid {
            Some(_) => self.read_sudo_signals(number),
            None => self.end_sudo(number, End::Signalled(9)),
        }
    }

    /// Signals that `sudo` hands on, each once a turn. When it is gone its command is told to end.
    pub(crate) fn read_sudo_signals(&mut self, number: u64) {
        let Some(command) = self.sudo.commands.get(&number).filter(|command| command.status.is_none()) else { return };
        let mut asked = 0u64;
        let mut bytes = [0; 256];
        for _ in 0..16 {
            match rustix::io::read(&command.signals, &mut bytes) {
                Ok(0) => {
                    asked |= 1 << (libc::SIGTERM - 1);
                    break;
                }
                Ok(length) => {
                    let known = bytes.iter().take(length).filter(|byte| (1..=64).contains(*byte));
                    asked = known.fold(asked, |asked, byte| asked | 1 << (byte - 1));
                }
                Err(_) => break,
            }
        }
        (1..=64).filter(|signal| asked >> (signal - 1) & 1 == 1).for_each(|signal| command.signal(signal));
    }

    /// True when the process was a command of `sudo`.
    pub(crate) fn sudo_reaped(&mut self, pid: i32, status: WaitStatus) -> bool {
        let pending: Vec<u64> =
            self.sudo.commands.iter().filter(|(_, c)| c.status.is_some()).map(|(number, _)| *number).collect();
        for number in pending {
            self.read_sudo_status(number);
        }
        let Some(number) = self.sudo.commands.iter().find(|(_, c)| c.pid == Some(pid)).map(|(number, _)| *number)
        else {
            return false;
        };
        let byte = |n: i32| u8::try_from(n & 0xff).unwrap_or(1);
        let end = match status.terminating_signal() {
            Some(signal) => End::Signalled(byte(signal)),
            None => End::Exited(byte(status.exit_status().unwrap_or(0))),
        };
        self.end_sudo(number, end);
        true
    }

    fn end_sudo(&mut self, number: u64, end: End) {
        if let Some(command) = self.sudo.commands.remove(&number) {
            // Two bytes into an empty pipe; whoever is not there any more does not read them.
            let _ = rustix::io::write(&command.result, &end.to_bytes());
        }
    }
}

impl Command {
    fn signal(&self, signal: i32) {
        if let Some(pid) = self.pid {
            sys::kill_session(pid, signal);
        }
    }
}

/// The agent's end of a new doorman's channel.
pub fn channel() -> Result<(OwnedFd, OwnedFd), Errno> {
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
}
