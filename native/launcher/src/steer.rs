//! The redirect of a sandbox's network: an SK_LOOKUP program in its network namespace that hands every TCP connection and every
//! datagram for port 53 to the agent's sockets, whatever address they are for. Loopback is left alone. No packet filter and
//! no connection tracking is involved; without the program, or its link, nobody listens and everything is refused.
//!
//! `struct bpf_sk_lookup`, `union bpf_attr`: linux/bpf.h.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

const MAP_CREATE: libc::c_long = 0;
const MAP_UPDATE_ELEM: libc::c_long = 2;
const PROG_LOAD: libc::c_long = 5;
const LINK_CREATE: libc::c_long = 28;
const SOCKMAP: u32 = 15;
const PROG_SK_LOOKUP: u32 = 30;
const ATTACH_SK_LOOKUP: u32 = 36;

/// The sandbox's own addresses, of a range that is local to a link by definition (RFC 7335) so that nobody else has them. They are as good as loopback: what listens on them inside is reached there.
pub const OWN_V4: [u8; 4] = [192, 0, 0, 2];
/// The same for IPv6: of a range of ours (RFC 4193).
pub const OWN_V6: [u8; 16] = [0xfd, 0xca, 0x15, 0x5a, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];

/// Sockets of the agent, in the order of the map: TCP and DNS of IPv4, then of IPv6.
pub struct Sockets<'a> {
    /// IPv4.
    pub v4: [BorrowedFd<'a>; 2],
    /// IPv6, where the host has it.
    pub v6: Option<[BorrowedFd<'a>; 2]>,
}

/// Attaches the redirect to the network namespace; it holds as long as the link that is returned is open.
pub fn attach(namespace: BorrowedFd<'_>, sockets: &Sockets<'_>) -> io::Result<OwnedFd> {
    let map = make_map()?;
    let all = sockets.v4.iter().chain(sockets.v6.iter().flatten());
    for (key, socket) in all.enumerate() {
        put(&map, key as u32, *socket)?;
    }
    let program = load(&program(map.as_raw_fd()))?;
    let mut attr = Attr::default();
    attr.u32(0, program.as_raw_fd() as u32);
    attr.u32(4, namespace.as_raw_fd() as u32);
    attr.u32(8, ATTACH_SK_LOOKUP);
    attr.call(LINK_CREATE)
}

/// `union bpf_attr`.
#[repr(align(8))]
struct Attr([u8; 128]);

impl Default for Attr {
    fn default() -> Self {
        Self([0; 128])
    }
}

impl Attr {
    fn u32(&mut self, at: usize, value: u32) {
        self.0[at..at + 4].copy_from_slice(&value.to_ne_bytes());
    }

    fn u64(&mut self, at: usize, value: u64) {
        self.0[at..at + 8].copy_from_slice(&value.to_ne_bytes());
    }

    /// A call that makes a descriptor.
    fn call(&self, command: libc::c_long) -> io::Result<OwnedFd> {
        let fd = self.raw(command)?;
        // SAFETY: the kernel has just made it for us.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }

    fn raw(&self, command: libc::c_long) -> io::Result<i32> {
        // SAFETY: every pointer that was put into the attributes is of memory that outlives the call; what the kernel does not
        // know of 128 bytes must be zero, and is.
        let result = unsafe { libc::syscall(libc::SYS_bpf, command, self.0.as_ptr(), self.0.len()) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as i32) }
    }
}

fn make_map() -> io::Result<OwnedFd> {
    let mut attr = Attr::default();
    for (at, value) in [(0, SOCKMAP), (4, 4), (8, 8), (12, 4)] {
        attr.u32(at, value);
    }
    attr.call(MAP_CREATE)
}

fn put(map: &OwnedFd, key: u32, socket: BorrowedFd<'_>) -> io::Result<()> {
    let value = socket.as_raw_fd() as u64;
    let mut attr = Attr::default();
    attr.u32(0, map.as_raw_fd() as u32);
    attr.u64(8, (&raw const key) as u64);
    attr.u64(16, (&raw const value) as u64);
    attr.raw(MAP_UPDATE_ELEM).map(drop)
}

fn load(program: &[u64]) -> io::Result<OwnedFd> {
    let license = c"GPL";
    let mut attr = Attr::default();
    attr.u32(0, PROG_SK_LOOKUP);
    attr.u32(4, program.len() as u32);
    attr.u64(8, program.as_ptr() as u64);
    attr.u64(16, license.as_ptr() as u64);
    // Behind log level, size and buffer, kernel version and flags: 16 bytes of name.
    attr.0[48..55].copy_from_slice(b"caisson");
    attr.u32(68, ATTACH_SK_LOOKUP);
    attr.call(PROG_LOAD)
}

/// One instruction, or the second half of one.
fn op(code: u8, dst: u8, src: u8, off: i16, imm: i32) -> u64 {
    u64::from(code) | u64::from(dst | src << 4) << 8 | u64::from(off as u16) << 16 | u64::from(imm as u32) << 32
}

/// Instructions with jumps to places that come later.
#[derive(Default)]
struct Assembler {
    code: Vec<u64>,
    open: Vec<(usize, Place)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    V6,
    NotOwnV6,
    Protocol,
    Lookup,
    Pass,
    Drop,
}

const LOAD_WORD: u8 = 0x61;
const STORE_WORD: u8 = 0x63;
const MOVE: u8 = 0xbf;
const SET: u8 = 0xb7;
const ADD: u8 = 0x07;
const AND_32: u8 = 0x54;
const JUMP: u8 = 0x05;
const IF_EQUAL: u8 = 0x15;
const IF_EQUAL_32: u8 = 0x16;
const IF_NOT_32: u8 = 0x56;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
const LOAD_MAP: u8 = 0x18;
const MAP_LOOKUP: i32 = 1;
const SK_ASSIGN: i32 = 124;
const SK_RELEASE: i32 = 86;

impl Assembler {
    fn add(&mut self, code: u8, dst: u8, src: u8, off: i16, imm: i32) {
        self.code.push(op(code, dst, src, off, imm));
    }

    fn jump(&mut self, code: u8, register: u8, imm: i32, to: Place) {
        self.open.push((self.code.len(), to));
        self.add(code, register, 0, 0, imm);
    }

    fn place(&mut self, here: Place) {
        let at = self.code.len();
        for (from, _) in self.open.iter().filter(|(_, to)| *to == here) {
            self.code[*from] |= u64::from((at - from - 1) as u16) << 16;
        }
        self.open.retain(|(_, to)| *to != here);
    }
}

fn word(bytes: &[u8]) -> i32 {
    i32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

/// r6: context, r3: protocol, r7: key of the map.
fn program(map: i32) -> Vec<u64> {
    let mut a = Assembler::default();
    a.add(MOVE, 6, 1, 0, 0);
    a.add(LOAD_WORD, 2, 6, 8, 0); // family
    a.add(LOAD_WORD, 3, 6, 12, 0); // protocol
    a.jump(IF_NOT_32, 2, libc::AF_INET, Place::V6);
    a.add(LOAD_WORD, 4, 6, 40, 0); // local address
    a.jump(IF_EQUAL_32, 4, word(&OWN_V4), Place::Pass);
    a.add(AND_32, 4, 0, 0, word(&[0xff, 0, 0, 0]));
    a.jump(IF_EQUAL_32, 4, word(&[127, 0, 0, 0]), Place::Pass);
    a.add(SET, 7, 0, 0, 0);
    a.jump(JUMP, 0, 0, Place::Protocol);
    a.place(Place::V6);
    a.jump(IF_NOT_32, 2, libc::AF_INET6, Place::Pass);
    loopback_v6(&mut a);
    a.add(SET, 7, 0, 0, 2);
    a.place(Place::Protocol);
    a.jump(IF_EQUAL_32, 3, libc::IPPROTO_TCP, Place::Lookup);
    a.jump(IF_NOT_32, 3, libc::IPPROTO_UDP, Place::Pass);
    a.add(LOAD_WORD, 4, 6, 60, 0); // local port, in the machine's order
    a.jump(IF_NOT_32, 4, 53, Place::Pass);
    a.add(ADD, 7, 0, 0, 1);
    a.place(Place::Lookup);
    a.add(STORE_WORD, 10, 7, -4, 0);
    a.add(MOVE, 2, 10, 0, 0);
    a.add(ADD, 2, 0, 0, -4);
    a.add(LOAD_MAP, 1, 1, 0, map);
    a.add(0, 0, 0, 0, 0);
    a.add(CALL, 0, 0, 0, MAP_LOOKUP);
    a.jump(IF_EQUAL, 0, 0, Place::Pass); // no such socket: nobody listens
    a.add(MOVE, 8, 0, 0, 0);
    a.add(MOVE, 1, 6, 0, 0);
    a.add(MOVE, 2, 8, 0, 0);
    a.add(SET, 3, 0, 0, 0);
    a.add(CALL, 0, 0, 0, SK_ASSIGN);
    a.add(MOVE, 9, 0, 0, 0);
    a.add(MOVE, 1, 8, 0, 0);
    a.add(CALL, 0, 0, 0, SK_RELEASE);
    a.jump(IF_NOT_32, 9, 0, Place::Drop);
    a.place(Place::Pass);
    a.add(SET, 0, 0, 0, 1);
    a.add(EXIT, 0, 0, 0, 0);
    a.place(Place::Drop);
    a.add(SET, 0, 0, 0, 0);
    a.add(EXIT, 0, 0, 0, 0);
    a.code
}

/// `::1` and the sandbox's own address pass.
fn loopback_v6(a: &mut Assembler) {
    for bytes in [OWN_V6, std::net::Ipv6Addr::LOCALHOST.octets()] {
        // The places are open until the next `place`, so the same name serves both addresses.
        for (number, four) in bytes.chunks(4).enumerate() {
            a.add(LOAD_WORD, 4, 6, 44 + 4 * number as i16, 0);
            a.jump(IF_NOT_32, 4, word(four), Place::NotOwnV6);
        }
        a.jump(JUMP, 0, 0, Place::Pass);
        a.place(Place::NotOwnV6);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_jump_of_the_program_has_its_place() {
        let mut a = Assembler::default();
        a.jump(JUMP, 0, 0, Place::Pass);
        a.add(SET, 0, 0, 0, 1);
        a.place(Place::Pass);
        assert_eq!(a.code[0] >> 16 & 0xffff, 1);
        assert!(a.open.is_empty());
        assert!(program(3).len() < 100);
    }
}
