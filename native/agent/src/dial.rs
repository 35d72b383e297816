//! Connections of the client to ports of the sandbox's own loopback.

use crate::connection::{Broken, Connection};
use crate::error::Refusal;
use crate::exec::{CHUNK, chunk};
use crate::frames::{Frame, HEADROOM};
use crate::poll::{Poll, Ready, Source};
use crate::requests::protocol;
use crate::sys;
use crate::transfers::Progress;
use caisson_wire::agent::{Dial as Request, ErrorKind, FileCredit, agent_frame::Body};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{AddressFamily, Shutdown, SocketFlags, SocketType, connect, socket_with, sockopt};
use std::collections::VecDeque;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::rc::Rc;

/// Connections at once.
pub const MAX_DIALS: usize = 256;
/// Bytes that wait for ports, of all connections together.
pub const MAX_HELD: usize = 8 << 20;
/// Bytes that the client may be ahead of the port.
const WINDOW: u64 = 32 << 10;
/// What the protocol lets a client send before it was told anything.
const UNTOLD: u64 = 1 << 20;
/// What the kernel holds of one connection in each direction, before it doubles that for itself.
const KERNEL_BUFFER: usize = 128 << 10;
/// Reads of one connection in one turn.
const CHUNKS: usize = 4;

/// One connection.
pub struct Dial {
    /// Its number in the set.
    pub number: u64,
    port: u16,
    socket: OwnedFd,
    family: AddressFamily,
    connected: bool,
    /// The client knows that it is connected.
    told_connected: bool,
    readable: bool,
    writable: bool,
    /// From the client, not yet written.
    buffer: VecDeque<u8>,
    received: u64,
    told: u64,
    /// Bytes that the client takes.
    credit: u64,
    /// Nothing more comes from the client; then, the port was told.
    client_done: bool,
    shut: bool,
    /// Nothing more comes from the port, and the client was told.
    port_done: bool,
}

impl Dial {
    /// Begins to connect.
    pub fn begin(request: &Request, number: u64, poll: &Poll) -> Result<Self, Refusal> {
        let port = u16::try_from(request.port).ok().filter(|port| *port > 0);
        let port = port.ok_or_else(|| Refusal::invalid("a port is 1 to 65535"))?;
        let family = AddressFamily::INET;
        let socket = match start(family, port) {
            Err(Errno::CONNREFUSED) => start(AddressFamily::INET6, port).map(|socket| (socket, AddressFamily::INET6)),
            other => other.map(|socket| (socket, family)),
        };
        let (socket, family) = socket.map_err(|errno| refusal(port, errno))?;
        poll.add(&socket, Source::Transfer(number)).map_err(|errno| refusal(port, errno))?;
        Ok(Self {
            number,
            port,
            socket,
            family,
            connected: false,
            told_connected: false,
            readable: false,
            writable: false,
            buffer: VecDeque::new(),
            received: 0,
            told: 0,
            credit: request.credit_bytes,
            client_done: false,
            shut: false,
            port_done: false,
        })
    }

    /// The kernel told of it.
    pub fn mark(&mut self, ready: Ready) {
        self.readable |= ready.read;
        self.writable |= ready.write || ready.error;
    }

    /// Bytes that wait for the port.
    pub fn held(&self) -> usize {
        self.buffer.len()
    }

    /// The client takes more.
    pub fn grant(&mut self, bytes: u64) {
        self.credit = self.credit.saturating_add(bytes);
    }

    /// Takes what the client sent.
    pub fn take(&mut self, data: &[u8], last: bool) -> Result<(), Broken> {
        if self.client_done {
            return Err(protocol("data behind the last of a connection"));
        }
        if self.received + data.len() as u64 > self.told.max(UNTOLD) {
            return Err(protocol("more data for a port than was granted"));
        }
        self.received += data.len() as u64;
        // No more than is needed: many of these may wait at once, and the agent's memory is limited.
        self.buffer.reserve_exact(data.len());
        self.buffer.extend(data);
        self.client_done = last;
        Ok(())
    }

    /// Connects, and writes what the port takes.
    pub fn advance(&mut self, poll: &Poll) -> Result<(), Refusal> {
        if !self.connected && !self.connect(poll)? {
            return Ok(());
        }
        while self.writable && !self.buffer.is_empty() {
            match sys::send_some(&self.socket, self.buffer.as_slices().0) {
                Ok(bytes) => drop(self.buffer.drain(..bytes)),
                Err(Errno::AGAIN) => self.writable = false,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(refusal(self.port, errno)),
            }
        }
        if self.buffer.is_empty() && self.buffer.capacity() > 0 {
            self.buffer = VecDeque::new();
        }
        if self.buffer.is_empty() && self.client_done && !self.shut {
            self.shut = true;
            let _ = rustix::net::shutdown(&self.socket, Shutdown::Write);
        }
        Ok(())
    }

    fn connect(&mut self, poll: &Poll) -> Result<bool, Refusal> {
        if !self.writable {
            return Ok(false);
        }
        match sockopt::socket_error(&self.socket).and_then(|result| result) {
            Ok(()) => self.connected = rustix::net::getpeername(&self.socket).is_ok_and(|peer| peer.is_some()),
            Err(Errno::CONNREFUSED) if self.family == AddressFamily::INET => {
                let fail = |errno| refusal(self.port, errno);
                self.family = AddressFamily::INET6;
                self.socket = start(self.family, self.port).map_err(fail)?;
                (self.readable, self.writable) = (false, false);
                poll.add(&self.socket, Source::Transfer(self.number)).map_err(fail)?;
            }
            Err(errno) => return Err(refusal(self.port, errno)),
        }
        Ok(self.connected)
    }

    /// Tells the client of credit, and hands it what the port said.
    pub fn relay(
        &mut self,
        stream: u64,
        client: &mut Connection,
        spare: &mut Vec<Vec<u8>>,
    ) -> Result<Progress, Refusal> {
        if !self.connected {
            return Ok(Progress::Waits);
        }
        self.tell_credit(stream, client);
        for _ in 0..CHUNKS {
            if !self.readable || self.port_done || self.credit == 0 || !client.has_room() {
                break;
            }
            if let Some(frame) = self.read(stream, spare)? {
                client.queue(Rc::new(frame));
            }
        }
        Ok(if self.shut && self.port_done {
            Progress::Over
        } else if self.readable && !self.port_done && self.credit > 0 && client.has_room() {
            Progress::More
        } else {
            Progress::Waits
        })
    }

    fn tell_credit(&mut self, stream: u64, client: &mut Connection) {
        let limit = self.received - self.buffer.len() as u64 + WINDOW;
        if !self.told_connected || limit >= self.told + WINDOW / 4 {
            self.told_connected = true;
            client.answer(stream, Body::FileCredit(FileCredit { limit }));
            self.told = limit;
        }
    }

    fn read(&mut self, stream: u64, spare: &mut Vec<Vec<u8>>) -> Result<Option<Frame>, Refusal> {
        let most = usize::try_from(self.credit).unwrap_or(CHUNK).min(CHUNK);
        let mut buffer = chunk(spare);
        let bytes = match sys::read_into(&self.socket, &mut buffer, most) {
            Ok(bytes) => bytes,
            Err(errno @ (Errno::AGAIN | Errno::INTR)) => {
                self.readable = errno == Errno::INTR;
                spare.push(buffer);
                return Ok(None);
            }
            Err(errno) => return Err(refusal(self.port, errno)),
        };
        self.port_done = bytes == 0;
        self.credit -= bytes as u64;
        if bytes < CHUNK / 2 {
            let exact = buffer.clone();
            spare.push(buffer);
            buffer = exact;
        }
        Ok(Some(Frame::file_data(stream, self.port_done, buffer, HEADROOM)))
    }
}

fn start(family: AddressFamily, port: u16) -> Result<OwnedFd, Errno> {
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None);
    // A kernel without IPv6 listens on no such port.
    let socket = socket.map_err(|errno| if errno == Errno::AFNOSUPPORT { Errno::CONNREFUSED } else { errno })?;
    // The kernel would let these grow to megabytes each.
    let _ = sockopt::set_socket_send_buffer_size(&socket, KERNEL_BUFFER);
    let _ = sockopt::set_socket_recv_buffer_size(&socket, KERNEL_BUFFER);
    let address: SocketAddr = match family {
        AddressFamily::INET6 => (Ipv6Addr::LOCALHOST, port).into(),
        _ => (Ipv4Addr::LOCALHOST, port).into(),
    };
    match connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(Errno::ADDRNOTAVAIL | Errno::NETUNREACH) => Err(Errno::CONNREFUSED),
        Err(errno) => Err(errno),
    }
}

fn refusal(port: u16, errno: Errno) -> Refusal {
    match errno {
        Errno::CONNREFUSED => {
            Refusal::with_errno(ErrorKind::ErrorNotFound, errno, format!("port {port} is not open in the sandbox"))
        }
        Errno::PIPE | Errno::CONNRESET => {
            Refusal::with_errno(ErrorKind::ErrorIo, errno, format!("port {port} closed the connection"))
        }
        _ => Refusal::with_errno(
            crate::error::kind_of(errno),
            errno,
            format!("the connection to port {port} of the sandbox failed"),
        ),
    }
}
