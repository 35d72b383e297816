//! The few messages to the kernel that lay a sandbox's network: an address and a route that makes every address local.
//! Formats: linux/netlink.h, linux/rtnetlink.h, linux/if_addr.h.

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, socket_with};
use std::io;
use std::os::fd::OwnedFd;

const NEW_ADDRESS: u16 = 20;
const NEW_ROUTE: u16 = 24;
/// REQUEST, ACK, CREATE.
const FLAGS: u16 = 0x1 | 0x4 | 0x400;
const LOOPBACK: u32 = 1;
const LOCAL_TABLE: u8 = 255;
const SCOPE_HOST: u8 = 254;
const PROTOCOL_STATIC: u8 = 4;
const TYPE_LOCAL: u8 = 2;
/// IFA_F_NODAD: the address is there at once.
const NO_DETECTION: u8 = 2;

/// A socket to the kernel, of the network namespace of now.
pub struct Netlink(OwnedFd);

impl Netlink {
    /// Opens one.
    pub fn open() -> io::Result<Self> {
        Ok(Self(socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?))
    }

    /// Gives `lo` an address of 4 or 16 bytes.
    pub fn add_address(&self, address: &[u8]) -> io::Result<()> {
        let bits = (address.len() * 8) as u8;
        let mut body = vec![family(address), bits, NO_DETECTION, SCOPE_HOST];
        body.extend(LOOPBACK.to_ne_bytes());
        attribute(&mut body, 1, address);
        attribute(&mut body, 2, address);
        self.ask(NEW_ADDRESS, &body)
    }

    /// Makes every address one of this machine, and `source` the one that connections begin from.
    pub fn make_all_local(&self, source: &[u8]) -> io::Result<()> {
        let mut body = vec![family(source), 0, 0, 0, LOCAL_TABLE, PROTOCOL_STATIC, SCOPE_HOST, TYPE_LOCAL];
        body.extend(0u32.to_ne_bytes());
        attribute(&mut body, 4, &LOOPBACK.to_ne_bytes());
        attribute(&mut body, 7, source);
        self.ask(NEW_ROUTE, &body)
    }

    fn ask(&self, kind: u16, body: &[u8]) -> io::Result<()> {
        let mut message = ((16 + body.len()) as u32).to_ne_bytes().to_vec();
        message.extend(kind.to_ne_bytes());
        message.extend(FLAGS.to_ne_bytes());
        message.extend(1u32.to_ne_bytes());
        message.extend(0u32.to_ne_bytes());
        message.extend(body);
        rustix::net::send(&self.0, &message, SendFlags::empty())?;
        let mut answer = [0u8; 1024];
        let (length, _) = rustix::net::recv(&self.0, &mut answer[..], RecvFlags::empty())?;
        // An NLMSG_ERROR: header, then the negative errno, 0 for done.
        let code =
            answer.get(16..20).filter(|_| length >= 20).and_then(|b| b.first_chunk()).map(|b| i32::from_ne_bytes(*b));
        match code {
            Some(0) => Ok(()),
            Some(errno) => Err(io::Error::from_raw_os_error(-errno)),
            None => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

fn family(address: &[u8]) -> u8 {
    if address.len() == 4 { libc::AF_INET as u8 } else { libc::AF_INET6 as u8 }
}

fn attribute(body: &mut Vec<u8>, kind: u16, value: &[u8]) {
    body.extend(((4 + value.len()) as u16).to_ne_bytes());
    body.extend(kind.to_ne_bytes());
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
}
