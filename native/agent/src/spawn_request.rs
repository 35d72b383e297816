//! What agent and spawner say to each other. Private to this crate: both ends are always the same binary.

use crate::sys;
use caisson_wire::agent::ExecStart;
use prost::Message;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::MemfdFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};

/// Requests above this size travel in a memory file, since a packet must fit into the socket's buffer.
const MAX_INLINE: usize = 32 << 10;

/// The spawner's first packet: its pid.
pub fn hello(pid: i32) -> [u8; 5] {
    let [a, b, c, d] = pid.to_ne_bytes();
    [HELLO, a, b, c, d]
}

/// The pid in a first packet.
pub fn pid_of_hello(packet: &[u8]) -> Option<i32> {
    match packet {
        [HELLO, pid @ ..] => pid.try_into().ok().map(i32::from_ne_bytes),
        _ => None,
    }
}

const HELLO: u8 = 1;

/// One command to start. Descriptors: group folder, status pipe, stdout, stderr, then stdin and the `cgroup.procs` of
/// its v1 memory group when the flags say so.
#[derive(Clone, PartialEq, Message)]
pub struct SpawnRequest {
    /// The client's words, checked by the agent.
    #[prost(message, optional, tag = "1")]
    pub start: Option<ExecStart>,
    /// Which seccomp list.
    #[prost(int32, tag = "2")]
    pub families: i32,
    /// A descriptor for standard input is there; else it is /dev/null.
    #[prost(bool, tag = "3")]
    pub has_stdin: bool,
    /// A descriptor to join a memory group is there.
    #[prost(bool, tag = "4")]
    pub has_memory: bool,
    /// Standard input is a terminal that the session takes.
    #[prost(bool, tag = "5")]
    pub terminal: bool,
}

const INLINE: u8 = 0;
const IN_FILE: u8 = 1;

/// Sends a request without waiting; `AGAIN` when the spawner does not keep up.
pub fn send(channel: &OwnedFd, request: &SpawnRequest, fds: &[BorrowedFd<'_>]) -> Result<(), Errno> {
    let length = request.encoded_len();
    let mut bytes = Vec::with_capacity(length + 1);
    let in_file = length > MAX_INLINE;
    if !in_file {
        bytes.push(INLINE);
    }
    request.encode(&mut bytes).map_err(|_| Errno::NOMEM)?;
    if !in_file {
        return sys::send(channel, &bytes, fds, SendFlags::DONTWAIT);
    }
    let file = rustix::fs::memfd_create("request", MemfdFlags::CLOEXEC)?;
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        at += rustix::io::pwrite(&file, rest, at as u64)?;
    }
    let mut with_file = vec![file.as_fd()];
    with_file.extend_from_slice(fds);
    sys::send(channel, &[IN_FILE], &with_file, SendFlags::DONTWAIT)
}

/// Waits for the next request; `None` at the end of the channel.
pub fn receive(channel: &OwnedFd) -> Result<Option<(SpawnRequest, Vec<OwnedFd>)>, Errno> {
    let mut packet = sys::receive(channel, MAX_INLINE + 64, RecvFlags::empty())?;
    let Some((kind, inline)) = packet.bytes.split_first() else { return Ok(None) };
    let decoded = if *kind == IN_FILE {
        if packet.fds.is_empty() {
            return Err(Errno::BADMSG);
        }
        let file = packet.fds.remove(0);
        let mut bytes = Vec::new();
        loop {
            bytes.reserve(64 << 10);
            let at = bytes.len() as u64;
            if rustix::io::pread(&file, rustix::buffer::spare_capacity(&mut bytes), at)? == 0 {
                break;
            }
        }
        SpawnRequest::decode(&*bytes)
    } else {
        SpawnRequest::decode(inline)
    };
    let request = decoded.map_err(|_| Errno::BADMSG)?;
    Ok(Some((request, packet.fds)))
}

/// Where the way to a running command ended; told through the status pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Stage {
    /// Not an end: the child lives, the value is its pid.
    Alive = 0,
    /// The fork itself.
    Fork = 1,
    /// Joining the memory group.
    Join = 2,
    /// Standard descriptors, session or resource limits.
    Setup = 3,
    /// Becoming the user.
    User = 4,
    /// The working directory.
    Cwd = 5,
    /// The system call filter.
    Filter = 6,
    /// execve.
    Exec = 7,
}

/// A record of the status pipe; pipes write 8 bytes at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// How far it came.
    pub stage: Stage,
    /// Pid for `Alive`, else the error number.
    pub value: i32,
}

impl Status {
    /// Size on the pipe.
    pub const SIZE: usize = 8;

    /// For the pipe.
    pub fn to_bytes(self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        let (stage, value) = bytes.split_at_mut(4);
        stage.copy_from_slice(&(self.stage as u32).to_ne_bytes());
        value.copy_from_slice(&self.value.to_ne_bytes());
        bytes
    }

    /// From the pipe.
    pub fn from_bytes(bytes: [u8; Self::SIZE]) -> Option<Self> {
        let [a, b, c, d, value @ ..] = bytes;
        let stage = match u32::from_ne_bytes([a, b, c, d]) {
            0 => Stage::Alive,
            1 => Stage::Fork,
            2 => Stage::Join,
            3 => Stage::Setup,
            4 => Stage::User,
            5 => Stage::Cwd,
            6 => Stage::Filter,
            7 => Stage::Exec,
            _ => return None,
        };
        Some(Self { stage, value: i32::from_ne_bytes(value) })
    }
}
