//! Questions of programs inside for names: any datagram for port 53 of any address, carried to the gateway and answered from the
//! very address that was asked, for resolvers take an answer from no other.

use crate::sys::{self, Datagram};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::collections::BTreeMap;

/// Questions that wait for the gateway.
const MAX_WAITING: usize = 64;
/// The longest question that is carried.
const MAX_QUESTION: usize = 4096;
/// Datagrams in one turn.
const TURN: usize = 64;
const HEADER: usize = 12;
const SERVER_FAILED: u8 = 2;

/// The sockets and who waits.
pub struct Dns {
    sockets: Vec<OwnedFd>,
    readable: Vec<bool>,
    waiting: BTreeMap<u32, (usize, Datagram)>,
    last: u32,
}

impl Dns {
    /// IPv4's socket, then IPv6's where there is one.
    pub fn new(sockets: Vec<OwnedFd>) -> Result<Self, Errno> {
        for socket in &sockets {
            sys::tell_destinations(socket)?;
        }
        Ok(Self { readable: vec![true; sockets.len()], sockets, waiting: BTreeMap::new(), last: 0 })
    }

    /// Their descriptors.
    pub fn sockets(&self) -> &[OwnedFd] {
        &self.sockets
    }

    /// The kernel told of one.
    pub fn mark(&mut self, number: usize) {
        if let Some(readable) = self.readable.get_mut(number) {
            *readable = true;
        }
    }

    /// There is more to do at once.
    pub fn has_work(&self) -> bool {
        self.readable.contains(&true)
    }

    /// Reads questions; `ask` carries one to the gateway, or says that it cannot.
    pub fn serve(&mut self, mut ask: impl FnMut(u32, Vec<u8>) -> bool) {
        for number in 0..self.sockets.len() {
            for _ in 0..TURN {
                let Some(socket) = self.sockets.get(number) else { break };
                match sys::receive_datagram(socket, MAX_QUESTION) {
                    Ok((message, from)) => self.question(number, message, from, &mut ask),
                    Err(Errno::AGAIN) => {
                        if let Some(readable) = self.readable.get_mut(number) {
                            *readable = false;
                        }
                        break;
                    }
                    // A datagram that is too long, or an error of an earlier answer.
                    Err(_) => {}
                }
            }
        }
    }

    fn question(
        &mut self,
        socket: usize,
        message: Vec<u8>,
        from: Datagram,
        ask: &mut impl FnMut(u32, Vec<u8>) -> bool,
    ) {
        if message.len() < HEADER {
            return;
        }
        self.last = self.last.wrapping_add(1);
        let failed = failed(&message);
        if self.waiting.len() >= MAX_WAITING || !ask(self.last, message) {
            return self.send(socket, &failed, &from);
        }
        self.waiting.insert(self.last, (socket, from));
    }

    /// The gateway's answer.
    pub fn answer(&mut self, id: u32, message: &[u8]) {
        if let Some((socket, to)) = self.waiting.remove(&id) {
            self.send(socket, message, &to);
        }
    }

    /// The gateway is gone: nobody answers any more.
    pub fn forget(&mut self) {
        self.waiting.clear();
    }

    fn send(&self, socket: usize, message: &[u8], to: &Datagram) {
        // A datagram may always be lost.
        if let Some(socket) = self.sockets.get(socket) {
            let _ = sys::send_datagram(socket, message, to);
        }
    }
}

/// The question's header as an answer: SERVFAIL.
fn failed(question: &[u8]) -> Vec<u8> {
    let mut answer = question.to_vec();
    if let Some([_, _, flags, code]) = answer.first_chunk_mut() {
        *flags |= 0x80;
        *code = SERVER_FAILED;
    }
    answer
}
