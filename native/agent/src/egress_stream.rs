//! One connection of a program inside, carried to the gateway.

use crate::egress_channel::Channel;
use crate::exec::{CHUNK, chunk};
use crate::frames::{Frame, HEADROOM};
use crate::poll::Ready;
use crate::sys;
use caisson_wire::EGRESS_WINDOW;
use caisson_wire::egress::{Close, Credit, agent_frame::Body};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{Shutdown, sockopt};
use std::collections::VecDeque;

/// What the kernel holds of one connection in each direction, before it doubles that for itself.
const KERNEL_BUFFER: usize = 128 << 10;
/// How far a window may grow while little is held.
const WIDE: u32 = 1 << 20;
/// Reads in one turn.
const CHUNKS: usize = 8;
/// Bytes in one frame, as the protocol allows.
const MOST: usize = 64 << 10;

/// The program inside did something, or the gateway did, that ends the connection.
#[derive(Debug, PartialEq, Eq)]
pub enum Over {
    /// Both directions came to their end.
    Done,
    /// The program reset it, or is gone.
    Aborted,
    /// The gateway sent more than was granted.
    Protocol,
}

/// One connection.
pub struct Stream {
    socket: OwnedFd,
    readable: bool,
    writable: bool,
    /// What the gateway takes.
    credit: u64,
    /// What the gateway may send.
    granted: u64,
    /// Taken by the program and not granted anew.
    consumed: u32,
    window: u32,
    /// From the gateway, not yet taken by the program.
    buffer: VecDeque<u8>,
    read_done: bool,
    gateway_done: bool,
    shut: bool,
}

impl Stream {
    /// Takes over an accepted connection.
    pub fn new(socket: OwnedFd) -> Self {
        // The kernel would let these grow to megabytes each.
        let _ = sockopt::set_socket_send_buffer_size(&socket, KERNEL_BUFFER);
        let _ = sockopt::set_tcp_nodelay(&socket, true);
        Self {
            socket,
            readable: true,
            writable: true,
            credit: EGRESS_WINDOW.into(),
            granted: EGRESS_WINDOW.into(),
            consumed: 0,
            window: EGRESS_WINDOW,
            buffer: VecDeque::new(),
            read_done: false,
            gateway_done: false,
            shut: false,
        }
    }

    /// The kernel told of it.
    pub fn mark(&mut self, ready: Ready) {
        self.readable |= ready.read;
        self.writable |= ready.write || ready.error;
    }

    /// How much wider its window is than it began.
    pub fn wider(&self) -> usize {
        (self.window - EGRESS_WINDOW) as usize
    }

    /// Bytes that wait for the program.
    #[cfg(test)]
    pub fn held(&self) -> usize {
        self.buffer.len()
    }

    /// What the gateway may send.
    #[cfg(test)]
    pub fn granted(&self) -> usize {
        self.granted as usize
    }

    /// The gateway takes more.
    pub fn grant(&mut self, bytes: u32) {
        self.credit = self.credit.saturating_add(bytes.into());
    }

    /// The gateway sends nothing more.
    pub fn end(&mut self) -> Result<(), Over> {
        self.gateway_done = true;
        self.write()
    }

    /// Takes data of the gateway.
    pub fn take(&mut self, mut data: &[u8]) -> Result<(), Over> {
        let length = data.len() as u64;
        if self.gateway_done || length > self.granted {
            return Err(Over::Protocol);
        }
        self.granted -= length;
        if self.buffer.is_empty() && self.writable {
            match sys::send_some(&self.socket, data) {
                Ok(bytes) => {
                    self.consumed += bytes as u32;
                    data = data.get(bytes..).unwrap_or_default();
                }
                Err(Errno::AGAIN) => self.writable = false,
                Err(Errno::INTR) => {}
                Err(_) => return Err(Over::Aborted),
            }
        }
        self.buffer.extend(data);
        Ok(())
    }

    /// Writes what the program takes.
    pub fn write(&mut self) -> Result<(), Over> {
        while self.writable && !self.buffer.is_empty() {
            match sys::send_some(&self.socket, self.buffer.as_slices().0) {
                Ok(bytes) => {
                    drop(self.buffer.drain(..bytes));
                    self.consumed += bytes as u32;
                }
                Err(Errno::AGAIN) => self.writable = false,
                Err(Errno::INTR) => {}
                Err(_) => return Err(Over::Aborted),
            }
        }
        if self.buffer.is_empty() {
            if self.buffer.capacity() > 0 {
                self.buffer = VecDeque::new();
            }
            if self.gateway_done && !self.shut {
                self.shut = true;
                let _ = rustix::net::shutdown(&self.socket, Shutdown::Write);
            }
        }
        if self.shut && self.read_done { Err(Over::Done) } else { Ok(()) }
    }

    /// Grants the gateway what the program took, and more while there is room for so many bytes. How much wider the window is
    /// now.
    pub fn tell_credit(&mut self, number: u32, channel: &mut Channel, room: usize) -> usize {
        if self.consumed < self.window / 4 || self.gateway_done {
            return 0;
        }
        // It took a whole window at once: the next one may be wider.
        let grows = self.buffer.is_empty() && self.window < WIDE && self.window as usize <= room;
        let wider = if grows { self.window } else { 0 };
        let bytes = self.consumed + wider;
        self.window += wider;
        self.consumed = 0;
        self.granted += u64::from(bytes);
        channel.send(number, Body::Credit(Credit { bytes }));
        wider as usize
    }

    /// Hands the gateway what the program said, and counts it. True when there is more at once.
    pub fn read(
        &mut self,
        number: u32,
        channel: &mut Channel,
        spare: &mut Vec<Vec<u8>>,
        moved: &mut u64,
    ) -> Result<bool, Over> {
        for _ in 0..CHUNKS {
            if !self.readable || self.read_done || self.credit == 0 || !channel.has_room() {
                break;
            }
            let most = usize::try_from(self.credit).unwrap_or(MOST).min(MOST).min(CHUNK);
            let mut buffer = chunk(spare);
            match sys::read_into(&self.socket, &mut buffer, most) {
                Ok(0) => {
                    spare.push(buffer);
                    self.read_done = true;
                    channel.send(number, Body::Close(Close {}));
                }
                Ok(bytes) => {
                    self.credit -= bytes as u64;
                    *moved += bytes as u64;
                    channel.output.push(Frame::egress_data(number, buffer, HEADROOM));
                }
                Err(Errno::AGAIN) => {
                    spare.push(buffer);
                    self.readable = false;
                }
                Err(Errno::INTR) => spare.push(buffer),
                Err(_) => return Err(Over::Aborted),
            }
        }
        if self.shut && self.read_done {
            return Err(Over::Done);
        }
        Ok(self.readable && !self.read_done && self.credit > 0 && channel.has_room())
    }

    /// Ends it so that the program sees a reset.
    pub fn reset(self) {
        let _ = sockopt::set_socket_linger(&self.socket, Some(std::time::Duration::ZERO));
    }
}
