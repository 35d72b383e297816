//! The few system calls that rustix does not wrap, and packets with descriptors. All unsafe code of the agent is here
//! and in `child`.

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Most descriptors in one packet.
pub const MAX_PACKET_FDS: usize = 32;

/// One packet of a SOCK_SEQPACKET channel.
pub struct Packet {
    /// Its bytes; empty at the end of the channel.
    pub bytes: Vec<u8>,
    /// Its descriptors, close-on-exec.
    pub fds: Vec<OwnedFd>,
}

/// Receives one packet of at most `max` bytes. A packet that was cut (bytes or descriptors) is `MSGSIZE`.
pub fn receive(socket: impl AsFd, max: usize, flags: RecvFlags) -> Result<Packet, Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_PACKET_FDS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut bytes = vec![0u8; max];
    let got = rustix::net::recvmsg(
        socket,
        &mut [IoSliceMut::new(&mut bytes)],
        &mut control,
        flags | RecvFlags::CMSG_CLOEXEC,
    )?;
    let mut fds = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            fds.extend(received);
        }
    }
    if got.flags.contains(rustix::net::ReturnFlags::TRUNC) || got.flags.contains(rustix::net::ReturnFlags::CTRUNC) {
        return Err(Errno::MSGSIZE);
    }
    bytes.truncate(got.bytes);
    Ok(Packet { bytes, fds })
}

/// Sends one packet; never raises SIGPIPE.
pub fn send(socket: impl AsFd, bytes: &[u8], fds: &[BorrowedFd<'_>], flags: SendFlags) -> Result<(), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_PACKET_FDS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(Errno::TOOBIG);
    }
    rustix::net::sendmsg(socket, &[IoSlice::new(bytes)], &mut control, flags | SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Writes what a stream socket takes; never raises SIGPIPE.
pub fn send_some(socket: impl AsFd, bytes: &[u8]) -> Result<usize, Errno> {
    rustix::net::send(socket, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)
}

/// False when the process that connected is known to be gone.
pub fn peer_lives(socket: impl AsFd) -> bool {
    const SO_PEERPIDFD: i32 = 77;
    let mut fd: libc::c_int = -1;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the pointers are to locals of the length told.
    let got = unsafe { libc::getsockopt(socket, libc::SOL_SOCKET, SO_PEERPIDFD, (&raw mut fd).cast(), &mut length) };
    if got < 0 {
        // A kernel before 6.5 has no such question; a process that is gone has no descriptor.
        return last_errno() == Errno::NOPROTOOPT;
    }
    // SAFETY: the kernel just made it; nobody else owns it.
    let pidfd = unsafe { OwnedFd::from_raw_fd(fd) };
    let mut poll = [rustix::event::PollFd::new(&pidfd, rustix::event::PollFlags::IN)];
    rustix::event::poll(&mut poll, Some(&rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 })) == Ok(0)
}

fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// Where a datagram came from, and which address it was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Who sent it.
    pub peer: SocketAddr,
    /// The address that was asked: the answer comes from there.
    pub local: IpAddr,
}

const MAX_NAME: usize = size_of::<libc::sockaddr_in6>();
/// Room for one control message with an address and an interface.
const CONTROL: usize = 64;

/// Lets a UDP socket tell for which address each datagram was.
pub fn tell_destinations(socket: impl AsFd) -> Result<(), Errno> {
    let on: libc::c_int = 1;
    let (level, option) = match rustix::net::sockopt::socket_domain(&socket)? {
        rustix::net::AddressFamily::INET6 => (libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO),
        _ => (libc::IPPROTO_IP, libc::IP_PKTINFO),
    };
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the option's value is an int, which lives until the call returns.
    let set = unsafe { libc::setsockopt(socket.as_fd().as_raw_fd(), level, option, (&raw const on).cast(), length) };
    if set < 0 { Err(last_errno()) } else { Ok(()) }
}

#[repr(align(8))]
struct Control([u8; CONTROL]);

/// Receives one datagram of at most `max` bytes; a longer one is `MSGSIZE`.
pub fn receive_datagram(socket: impl AsFd, max: usize) -> Result<(Vec<u8>, Datagram), Errno> {
    let mut bytes = vec![0u8; max];
    let mut name = [0u8; MAX_NAME];
    let mut control = Control([0; CONTROL]);
    let mut slice = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: max };
    // SAFETY: an all-zero msghdr is valid.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_name = name.as_mut_ptr().cast();
    header.msg_namelen = MAX_NAME as libc::socklen_t;
    header.msg_iov = &raw mut slice;
    header.msg_iovlen = 1;
    header.msg_control = control.0.as_mut_ptr().cast();
    header.msg_controllen = CONTROL;
    // SAFETY: every pointer is to a local of the length told, which outlives the call.
    let got = unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut header, libc::MSG_DONTWAIT) };
    if got < 0 {
        return Err(last_errno());
    }
    if header.msg_flags & libc::MSG_TRUNC != 0 {
        return Err(Errno::MSGSIZE);
    }
    bytes.truncate(got as usize);
    let peer = socket_address(&name).ok_or(Errno::AFNOSUPPORT)?;
    // SAFETY: the kernel filled header and control buffer.
    let local = unsafe { destination(&header) }.ok_or(Errno::NOMSG)?;
    Ok((bytes, Datagram { peer, local }))
}

/// # Safety
/// The header and its control buffer are as the kernel filled them.
unsafe fn destination(header: &libc::msghdr) -> Option<IpAddr> {
    // SAFETY: CMSG_FIRSTHDR and CMSG_NXTHDR stay within the control buffer; the data of these types is as long as read here.
    unsafe {
        let mut message = libc::CMSG_FIRSTHDR(header);
        while let Some(found) = message.as_ref() {
            match (found.cmsg_level, found.cmsg_type) {
                (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                    let info: libc::in_pktinfo = libc::CMSG_DATA(message).cast::<libc::in_pktinfo>().read_unaligned();
                    return Some(Ipv4Addr::from(info.ipi_addr.s_addr.to_ne_bytes()).into());
                }
                (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                    let info = libc::CMSG_DATA(message).cast::<libc::in6_pktinfo>().read_unaligned();
                    return Some(Ipv6Addr::from(info.ipi6_addr.s6_addr).into());
                }
                _ => message = libc::CMSG_NXTHDR(header, message),
            }
        }
    }
    None
}

fn socket_address(name: &[u8; MAX_NAME]) -> Option<SocketAddr> {
    let (family, rest) = name.split_first_chunk::<2>()?;
    let (port, rest) = rest.split_first_chunk::<2>()?;
    let port = u16::from_be_bytes(*port);
    match i32::from(u16::from_ne_bytes(*family)) {
        libc::AF_INET => Some((Ipv4Addr::from(*rest.first_chunk::<4>()?), port).into()),
        libc::AF_INET6 => Some((Ipv6Addr::from(*rest.get(4..)?.first_chunk::<16>()?), port).into()),
        _ => None,
    }
}

/// Sends an answer to a datagram, from the address that was asked.
pub fn send_datagram(socket: impl AsFd, bytes: &[u8], to: &Datagram) -> Result<(), Errno> {
    let (name, length) = raw_address(to.peer);
    let mut control = Control([0; CONTROL]);
    let mut slice = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // SAFETY: an all-zero msghdr is valid.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_name = name.as_ptr().cast_mut().cast();
    header.msg_namelen = length;
    header.msg_iov = &raw mut slice;
    header.msg_iovlen = 1;
    header.msg_control = control.0.as_mut_ptr().cast();
    header.msg_controllen = CONTROL;
    // SAFETY: the control buffer has room for one header and the longer of the two structures, which is written within it;
    // every pointer is to a local that outlives the call.
    let sent = unsafe {
        let message = libc::CMSG_FIRSTHDR(&raw const header);
        header.msg_controllen = match to.local {
            IpAddr::V4(address) => {
                let mut info: libc::in_pktinfo = std::mem::zeroed();
                info.ipi_spec_dst.s_addr = u32::from_ne_bytes(address.octets());
                fill(message, libc::IPPROTO_IP, libc::IP_PKTINFO, info)
            }
            IpAddr::V6(address) => {
                let mut info: libc::in6_pktinfo = std::mem::zeroed();
                info.ipi6_addr.s6_addr = address.octets();
                fill(message, libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, info)
            }
        };
        libc::sendmsg(socket.as_fd().as_raw_fd(), &raw const header, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL)
    };
    if sent < 0 { Err(last_errno()) } else { Ok(()) }
}

/// Writes one control message; how much of the buffer it takes.
///
/// # Safety
/// `message` is the first header of a buffer that has room for `info`.
unsafe fn fill<T>(message: *mut libc::cmsghdr, level: i32, kind: i32, info: T) -> usize {
    let size = size_of::<T>() as u32;
    // SAFETY: as promised by the caller.
    unsafe {
        (*message).cmsg_level = level;
        (*message).cmsg_type = kind;
        (*message).cmsg_len = libc::CMSG_LEN(size) as usize;
        libc::CMSG_DATA(message).cast::<T>().write_unaligned(info);
        libc::CMSG_SPACE(size) as usize
    }
}

fn raw_address(address: SocketAddr) -> ([u8; MAX_NAME], libc::socklen_t) {
    let mut name = [0u8; MAX_NAME];
    let (family, length) = match address {
        SocketAddr::V4(_) => (libc::AF_INET, size_of::<libc::sockaddr_in>()),
        SocketAddr::V6(_) => (libc::AF_INET6, size_of::<libc::sockaddr_in6>()),
    };
    name[..2].copy_from_slice(&(family as u16).to_ne_bytes());
    name[2..4].copy_from_slice(&address.port().to_be_bytes());
    match address.ip() {
        IpAddr::V4(ip) => name[4..8].copy_from_slice(&ip.octets()),
        IpAddr::V6(ip) => name[8..24].copy_from_slice(&ip.octets()),
    }
    (name, length as libc::socklen_t)
}

/// Reads at most `most` bytes behind what `buffer` holds, without growing it.
pub fn read_into(fd: impl AsFd, buffer: &mut Vec<u8>, most: usize) -> Result<usize, Errno> {
    let room = buffer.spare_capacity_mut();
    let most = most.min(room.len());
    let bytes = match room.get_mut(..most) {
        Some(room) => rustix::io::read(fd, room)?.0.len(),
        None => 0,
    };
    // SAFETY: the kernel wrote that many bytes from the start of the spare capacity.
    unsafe { buffer.set_len(buffer.len() + bytes) };
    Ok(bytes)
}

/// Makes the process unreachable for ptrace, /proc/PID/{mem,fd,environ} and pidfd_getfd of other users.
pub fn forbid_dumping() -> Result<(), Errno> {
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
}

/// Blocks every signal and returns a descriptor that tells of SIGCHLD.
pub fn child_signals() -> Result<OwnedFd, Errno> {
    // SAFETY: a zeroed sigset_t is valid memory for sigfillset, sigemptyset and sigaddset; the pointers live for the calls.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut set);
        // The signals of faults stay open: blocked, they would end the process in a less telling way.
        for fault in [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT, libc::SIGSYS] {
            libc::sigdelset(&mut set, fault);
        }
        if libc::sigprocmask(libc::SIG_SETMASK, &set, std::ptr::null_mut()) != 0 {
            return Err(last_errno());
        }
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGCHLD);
        let fd = libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        if fd < 0 {
            return Err(last_errno());
        }
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// True when a change from uid 0 to another leaves the capabilities as they are.
pub fn keeps_capabilities_of_root() -> bool {
    // SAFETY: asks for a number.
    let bits = unsafe { libc::prctl(libc::PR_GET_SECUREBITS, 0, 0, 0, 0) };
    bits < 0 || bits & libc::SECBIT_NO_SETUID_FIXUP != 0
}

/// Blocks the signals and returns a descriptor that tells of them.
pub fn take_signals(signals: &[i32]) -> Result<OwnedFd, Errno> {
    // SAFETY: a zeroed sigset_t is valid memory for sigemptyset and sigaddset; the pointers live for the calls.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        for signal in signals {
            libc::sigaddset(&mut set, *signal);
        }
        if libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) != 0 {
            return Err(last_errno());
        }
        let fd = libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        if fd < 0 { Err(last_errno()) } else { Ok(OwnedFd::from_raw_fd(fd)) }
    }
}

/// The next signal of such a descriptor.
pub fn next_signal(signals: &OwnedFd) -> Option<u8> {
    let mut record = [0u8; size_of::<libc::signalfd_siginfo>()];
    match rustix::io::read(signals, &mut record) {
        // The number stands first, in the machine's order.
        Ok(1..) => u8::try_from(u32::from_ne_bytes(*record.first_chunk()?)).ok(),
        _ => None,
    }
}

/// Ends this process by a signal; returns when it is one that does not end a process.
pub fn die_of(signal: i32) {
    // SAFETY: plain calls on local memory.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut set);
        libc::sigprocmask(libc::SIG_UNBLOCK, &set, std::ptr::null_mut());
        libc::raise(signal);
    }
}

/// Default dispositions and an empty mask, as a new program expects them.
pub fn reset_signals() {
    // SAFETY: plain calls on local memory. Numbers that cannot be set (KILL, STOP) answer an error, ignored. The raw call,
    // since glibc keeps 32 and 33 to itself; a zeroed kernel sigaction is SIG_DFL, no flags, an empty mask.
    unsafe {
        let default = [0u64; 4];
        for signal in 1..=64 {
            libc::syscall(libc::SYS_rt_sigaction, signal, default.as_ptr(), std::ptr::null::<u64>(), 8);
        }
        // Rust's runtime made an alternate stack; exec drops it.
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigprocmask(libc::SIG_SETMASK, &set, std::ptr::null_mut());
    }
}

/// The other end of a terminal, by its master.
pub fn terminal_peer(master: impl AsFd) -> Result<OwnedFd, Errno> {
    let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
    // SAFETY: TIOCGPTPEER takes open flags and returns a new descriptor or an error.
    let fd = unsafe { libc::ioctl(master.as_fd().as_raw_fd(), libc::TIOCGPTPEER, flags) };
    if fd < 0 {
        return Err(last_errno());
    }
    // SAFETY: the kernel just made it; nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Sends a signal to the foreground of a terminal, by its master.
pub fn signal_foreground(master: impl AsFd, signal: i32) {
    const TIOCSIG: libc::c_ulong = 0x4004_5436;
    // SAFETY: TIOCSIG takes a number.
    unsafe { libc::ioctl(master.as_fd().as_raw_fd(), TIOCSIG, signal) };
}

/// Sends a signal by number; a process that is gone is no error.
pub fn kill(pid: i32, signal: i32) {
    if pid > 0 {
        // SAFETY: kill takes two integers.
        unsafe { libc::kill(pid, signal) };
    }
}

/// Sends a signal to the process group that a session began with.
pub fn kill_session(leader: i32, signal: i32) {
    if leader > 1 {
        // SAFETY: kill takes two integers.
        unsafe { libc::kill(-leader, signal) };
    }
}

/// Lowers or restores the soft limit of the process's own data; the hard limit stays.
pub fn set_soft_data_limit(bytes: Option<u64>) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let hard = getrlimit(Resource::Data).maximum;
    let soft = match (bytes, hard) {
        (Some(bytes), Some(hard)) => Some(bytes.min(hard)),
        (Some(bytes), None) => Some(bytes),
        (None, hard) => hard,
    };
    // Lowering or restoring a soft limit beneath the hard one is always allowed.
    let _ = setrlimit(Resource::Data, Rlimit { current: soft, maximum: hard });
}

/// As many descriptors as the launcher allows.
pub fn raise_descriptor_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let hard = getrlimit(Resource::Nofile).maximum;
    let _ = setrlimit(Resource::Nofile, Rlimit { current: hard, maximum: hard });
}

/// Forks the process. The agent has one thread, so the child may go on with everything.
pub fn fork() -> Result<Option<i32>, Errno> {
    // SAFETY: the process has one thread; no lock of another thread can be left held in the child.
    match unsafe { libc::fork() } {
        0 => Ok(None),
        pid if pid > 0 => Ok(Some(pid)),
        _ => Err(last_errno()),
    }
}

/// Closes every descriptor from `first` on.
pub fn close_from(first: i32) {
    // SAFETY: the callers own no descriptor in the range afterwards: the forked child that calls this never returns
    // into code that uses them.
    unsafe { libc::syscall(libc::SYS_close_range, first as libc::c_uint, libc::c_uint::MAX, 0) };
}

/// Moves `fd` to the number `to`, close-on-exec.
pub fn move_to(fd: OwnedFd, to: i32) -> Result<OwnedFd, Errno> {
    if fd.as_raw_fd() == to {
        return Ok(fd);
    }
    // SAFETY: dup3 makes `to` a new descriptor; whatever had the number is closed, which the spawner wants.
    let made = unsafe { libc::dup3(fd.as_raw_fd(), to, libc::O_CLOEXEC) };
    if made < 0 {
        return Err(last_errno());
    }
    // SAFETY: dup3 returned a descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(made) })
}

/// Takes descriptor 3, which the launcher put there, close-on-exec from now on.
pub fn take_channel() -> Result<OwnedFd, Errno> {
    // SAFETY: the launcher's contract gives the process descriptor 3 and nothing else here uses the number.
    let fd = unsafe { OwnedFd::from_raw_fd(3) };
    rustix::io::fcntl_setfd(&fd, rustix::io::FdFlags::CLOEXEC)?;
    Ok(fd)
}

/// Gives freed memory back to the kernel.
pub fn trim_heap() {
    // SAFETY: malloc_trim has no preconditions.
    unsafe { libc::malloc_trim(0) };
}

/// Ends the process without running anything of the one that it was forked from.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: _exit never returns and has no preconditions.
    unsafe { libc::_exit(code) }
}
