//! Proof from inside, before any foreign code runs, that everything which leaves a program comes to the agent: connections and
//! questions for names of any address, and nothing else gets anywhere.

use crate::sys;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, accept_with, connect, getsockname, recv, send,
    socket_with,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const PATIENCE: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };
/// Of documentation (RFC 5737, RFC 3849): nobody has them.
const SOMEWHERE: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(203, 0, 113, 77)), IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0x77))];
const TCP_PORT: u16 = 4321;
const DNS_PORT: u16 = 53;
/// QUIC; any would do.
const OTHER_PORT: u16 = 443;

/// The sockets of IPv4, then of IPv6 where there are some.
pub fn prove(listeners: &[OwnedFd], dns: &[OwnedFd]) -> Result<(), String> {
    if listeners.is_empty() || listeners.len() > SOMEWHERE.len() || listeners.len() != dns.len() {
        return Err("the redirect has the wrong number of sockets".into());
    }
    for ((listener, dns), address) in listeners.iter().zip(dns).zip(SOMEWHERE) {
        let tell = |what: &str, errno: Errno| format!("{what} of {address}: {errno}");
        connection(listener, SocketAddr::new(address, TCP_PORT)).map_err(|e| tell("a connection", e))?;
        question(dns, SocketAddr::new(address, DNS_PORT)).map_err(|e| tell("a question for a name", e))?;
        other(SocketAddr::new(address, OTHER_PORT)).map_err(|e| tell("another datagram", e))?;
    }
    if listeners.len() < SOMEWHERE.len() {
        // No IPv6 inside: then there must be no way for it at all.
        let [_, v6] = SOMEWHERE;
        return match start(SocketType::STREAM, SocketAddr::new(v6, TCP_PORT)) {
            Err(_) => Ok(()),
            Ok(_) => Err("IPv6 has no redirect and yet a way".into()),
        };
    }
    Ok(())
}

fn start(kind: SocketType, to: SocketAddr) -> Result<OwnedFd, Errno> {
    let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, kind, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?;
    match connect(&socket, &to) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(errno) => Err(errno),
    }
}

fn wait(fd: &OwnedFd) -> Result<(), Errno> {
    match poll(&mut [PollFd::new(fd, PollFlags::IN)], Some(&PATIENCE))? {
        0 => Err(Errno::TIMEDOUT),
        _ => Ok(()),
    }
}

fn connection(listener: &OwnedFd, to: SocketAddr) -> Result<(), Errno> {
    let _client = start(SocketType::STREAM, to)?;
    wait(listener)?;
    let taken = accept_with(listener, SocketFlags::CLOEXEC)?;
    let name = SocketAddr::try_from(getsockname(&taken)?).map_err(|_| Errno::AFNOSUPPORT)?;
    if name == to { Ok(()) } else { Err(Errno::ADDRNOTAVAIL) }
}

fn question(dns: &OwnedFd, to: SocketAddr) -> Result<(), Errno> {
    let asker = start(SocketType::DGRAM, to)?;
    send(&asker, b"proof", SendFlags::empty())?;
    wait(dns)?;
    let (message, from) = sys::receive_datagram(dns, 64)?;
    if message != b"proof" || from.local != to.ip() {
        return Err(Errno::ADDRNOTAVAIL);
    }
    // Resolvers take an answer from nowhere else.
    sys::send_datagram(dns, b"answer", &from)?;
    wait(&asker)?;
    let mut answer = [0u8; 16];
    let (length, _) = recv(&asker, &mut answer[..], RecvFlags::empty())?;
    if answer.get(..length) == Some(b"answer") { Ok(()) } else { Err(Errno::BADMSG) }
}

/// Any other datagram is refused at once, so that programs fall back to TCP.
fn other(to: SocketAddr) -> Result<(), Errno> {
    let sender = start(SocketType::DGRAM, to)?;
    match send(&sender, b"proof", SendFlags::empty()) {
        Err(Errno::CONNREFUSED) => return Ok(()),
        other => other.map(drop)?,
    }
    wait(&sender)?;
    match recv(&sender, &mut [0u8; 16][..], RecvFlags::empty()) {
        Err(Errno::CONNREFUSED) => Ok(()),
        Err(errno) => Err(errno),
        Ok(_) => Err(Errno::ISCONN),
    }
}
