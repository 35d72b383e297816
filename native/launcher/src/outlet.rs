//! The launcher's helper for the way out of sandboxes: a small process of root that was forked before the launcher moved into its
//! own root and took its filter. It keeps the egress gateway running and lays the network of sandboxes that have a way
//! out. It speaks to nobody but the launcher, and ends with it.

use crate::error::{Doing, Error, Result};
use crate::gateway::{Gateway, Running};
use crate::netlink::Netlink;
use crate::setup::{capset, last_capability, loopback_up, permitted};
use crate::steer;
use crate::sys::{self, Forked};
use caisson_wire::egress::{Admitted, Introduce};
use prost::Message;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// Room for a question or an answer.
pub const PACKET: usize = 4096;
/// How long the gateway may take to admit a sandbox.
const ADMISSION: Duration = Duration::from_secs(5);
/// Connections that wait for the agent; the kernel's own limit is the same.
const BACKLOG: i32 = 4096;
/// The agent's listeners lie at an address that nobody has a reason to ask for; the redirect leads there, not the port.
const LISTENER_V4: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 1);
const LISTENER_V6: Ipv6Addr = Ipv6Addr::new(0xfdca, 0x155a, 0, 0, 0, 0, 0, 1);
const LISTENER_PORT: u16 = 9;
const DNS_PORT: u16 = 53;
/// CHOWN, DAC_OVERRIDE, FOWNER, KILL, SETGID, SETUID, SETPCAP, NET_BIND_SERVICE, NET_ADMIN, SYS_PTRACE, SYS_ADMIN, SYS_RESOURCE,
/// BPF.
const NEEDED: [u32; 13] = [0, 1, 3, 5, 6, 7, 8, 10, 12, 19, 21, 24, 39];

/// From the launcher.
#[derive(Clone, PartialEq, Message)]
pub struct Ask {
    /// Comes back in the answer.
    #[prost(uint64, tag = "1")]
    pub number: u64,
    /// `ASK_*`.
    #[prost(uint32, tag = "2")]
    pub kind: u32,
    /// Whose way out.
    #[prost(string, tag = "3")]
    pub sandbox: String,
    /// Uid of its client.
    #[prost(uint32, tag = "4")]
    pub owner_uid: u32,
}

/// Start the gateway.
pub const ASK_START: u32 = 1;
/// Lay the way out; the network namespace is attached. Answered with descriptors as in `EGRESS_LAID`.
pub const ASK_LAY: u32 = 2;
/// Another channel. Answered with it.
pub const ASK_CHANNEL: u32 = 3;

/// To the launcher.
#[derive(Clone, PartialEq, Message)]
pub struct Told {
    /// Of the question; 0: unasked.
    #[prost(uint64, tag = "1")]
    pub number: u64,
    /// Why not; empty: done.
    #[prost(string, tag = "2")]
    pub error: String,
    /// What a person can do about it.
    #[prost(string, tag = "3")]
    pub remedy: String,
    /// Unasked: the gateway listens, and it may be a new one.
    #[prost(bool, tag = "4")]
    pub listening: bool,
}

/// Forks the helper. The caller has one thread. Returns the launcher's end of the channel, and a pidfd.
pub fn fork(gateway: Gateway) -> Result<(OwnedFd, OwnedFd)> {
    let (ours, theirs) = sys::packet_pair().doing(|| "make the outlet's channel".into())?;
    let parent = rustix::process::getpid();
    // SAFETY: the launcher has one thread yet.
    match unsafe { sys::fork() }.doing(|| "fork the outlet".into())? {
        Forked::Parent(pid) => {
            rustix::io::ioctl_fionbio(&ours, true).doing(|| "make a channel non-blocking".into())?;
            Ok((ours, sys::pidfd_open(pid).doing(|| "open a pidfd".into())?))
        }
        Forked::Child => {
            drop(ours);
            let _ = rustix::thread::set_name(c"caisson-outlet");
            let _ = sys::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as u64, 0);
            let alive = rustix::process::getppid() == Some(parent);
            let code = i32::from(!(alive && confine().and_then(|()| Outlet::new(theirs, gateway)?.serve()).is_ok()));
            // SAFETY: ends the process; what it owns closes with it.
            unsafe { libc::_exit(code) }
        }
    }
}

fn confine() -> Result<()> {
    let has = permitted().doing(|| "read the outlet's capabilities".into())?;
    let kept = NEEDED.iter().fold(0u64, |set, cap| set | 1 << cap) & has;
    for cap in (0..=last_capability()).filter(|cap| kept >> cap & 1 == 0) {
        sys::prctl(libc::PR_CAPBSET_DROP, u64::from(cap), 0).doing(|| "drop a capability".into())?;
    }
    capset(kept, 0).doing(|| "drop capabilities".into())?;
    sys::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0).doing(|| "set no_new_privs".into())?;
    caisson_seccomp::install(caisson_seccomp::outlet()).doing(|| "put the outlet's filter on".into())
}

struct Outlet {
    channel: OwnedFd,
    gateway: Gateway,
    running: Option<Running>,
    /// Questions that wait until the gateway listens.
    starting: Vec<u64>,
    wanted: bool,
    start_at: Option<Instant>,
    home: OwnedFd,
}

impl Outlet {
    fn new(channel: OwnedFd, gateway: Gateway) -> Result<Self> {
        let home = std::fs::File::open("/proc/self/ns/net").doing(|| "open this network namespace".into())?;
        Ok(Self {
            channel,
            gateway,
            running: None,
            starting: Vec::new(),
            wanted: false,
            start_at: None,
            home: home.into(),
        })
    }

    /// Until the launcher is gone.
    fn serve(&mut self) -> Result<()> {
        loop {
            self.start_when_due();
            let (asked, spoke, died) = self.wait()?;
            if asked && !self.answer_one() {
                return Ok(());
            }
            if spoke && self.running.as_mut().is_some_and(Running::hear) {
                self.listening("");
            }
            if died {
                self.gateway_died();
            }
        }
    }

    fn wait(&self) -> Result<(bool, bool, bool)> {
        let left = self.start_at.map(|at| at.saturating_duration_since(Instant::now()) + Duration::from_millis(1));
        let timeout = left.map(|d| Timespec { tv_sec: d.as_secs() as i64, tv_nsec: i64::from(d.subsec_nanos()) });
        let mut fds = vec![PollFd::new(&self.channel, PollFlags::IN)];
        if let Some(running) = &self.running {
            fds.push(PollFd::new(&running.pidfd, PollFlags::IN));
            if let Some(words) = &running.words {
                fds.push(PollFd::new(words, PollFlags::IN));
            }
        }
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e).doing(|| "wait".into()),
        }
        let ready = |at: usize| fds.get(at).is_some_and(|fd: &PollFd<'_>| !fd.revents().is_empty());
        Ok((ready(0), ready(2), ready(1)))
    }

    fn start_when_due(&mut self) {
        let due = self.start_at.is_none_or(|at| at <= Instant::now());
        if !self.wanted || self.running.is_some() || !due {
            return;
        }
        match self.gateway.start() {
            Ok(running) => {
                self.running = Some(running);
                self.start_at = None;
            }
            Err(error) => {
                self.start_at = Some(Instant::now() + self.gateway.pause());
                self.listening(&error.message);
            }
        }
    }

    fn gateway_died(&mut self) {
        let Some(running) = self.running.take() else { return };
        let listened = running.listens;
        let how = running.reap();
        self.start_at = Some(Instant::now() + self.gateway.pause());
        if !listened {
            let error = format!("the egress gateway ended before it listened ({how}): {}", self.gateway.last_words());
            self.listening(&error);
        }
    }

    /// Tells whoever waits for the gateway, and, when it listens, the launcher.
    fn listening(&mut self, error: &str) {
        for number in std::mem::take(&mut self.starting) {
            self.tell(&Told { number, error: error.into(), ..Default::default() }, &[]);
        }
        if error.is_empty() {
            self.gateway.listens();
            self.tell(&Told { listening: true, ..Default::default() }, &[]);
        }
    }

    fn tell(&self, told: &Told, fds: &[BorrowedFd<'_>]) {
        let mut told = told.clone();
        told.error = told.error.chars().take(500).collect();
        // A launcher that is gone needs no word.
        let _ = sys::send_packet(self.channel.as_fd(), &told.encode_to_vec(), fds);
    }

    /// False at the end.
    fn answer_one(&mut self) -> bool {
        let mut buffer = [0u8; PACKET];
        let Ok((length @ 1.., fds)) = sys::receive_packet(self.channel.as_fd(), &mut buffer) else { return false };
        let Ok(ask) = Ask::decode(&buffer[..length]) else { return true };
        let outcome = match ask.kind {
            ASK_START => {
                self.wanted = true;
                if !self.running.as_ref().is_some_and(|r| r.listens) {
                    self.starting.push(ask.number);
                    return true;
                }
                Ok(Vec::new())
            }
            ASK_LAY => self.lay(&ask, fds),
            _ => self.connect(&ask).map(|channel| vec![channel]),
        };
        match outcome {
            Ok(fds) => {
                let fds: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
                self.tell(&Told { number: ask.number, ..Default::default() }, &fds);
            }
            Err(error) => {
                let (error, remedy) = (error.message, error.remedy);
                self.tell(&Told { number: ask.number, error, remedy, ..Default::default() }, &[]);
            }
        }
        true
    }

    fn connect(&self, ask: &Ask) -> Result<OwnedFd> {
        if !self.running.as_ref().is_some_and(|r| r.listens) {
            return Err(Error::new(
                caisson_wire::launcher::ErrorKind::ErrorSetup,
                "the egress gateway does not run at the moment",
            ));
        }
        let talk = || -> io::Result<(UnixStream, Admitted)> {
            let mut stream = reach(&self.gateway.agents(), ADMISSION)?;
            let mut bytes = Vec::new();
            let introduce = Introduce {
                version: caisson_wire::EGRESS_VERSION,
                sandbox: ask.sandbox.clone(),
                owner_uid: ask.owner_uid,
            };
            caisson_wire::encode_frame(&introduce, &mut bytes);
            stream.write_all(&bytes)?;
            let mut header = [0u8; caisson_wire::HEADER];
            stream.read_exact(&mut header)?;
            let length = u32::from_be_bytes(header) as usize;
            if length > PACKET {
                return Err(io::ErrorKind::InvalidData.into());
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body)?;
            // The agent's reads and writes never wait.
            stream.set_read_timeout(None)?;
            stream.set_write_timeout(None)?;
            let admitted =
                Admitted::decode(body.as_slice()).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
            Ok((stream, admitted))
        };
        let (stream, admitted) = talk().doing(|| "speak to the egress gateway".into())?;
        if !admitted.admitted {
            let message = format!("the egress gateway does not admit the sandbox: {}", admitted.message);
            return Err(Error::new(caisson_wire::launcher::ErrorKind::ErrorSetup, message));
        }
        Ok(stream.into())
    }

    fn lay(&self, ask: &Ask, fds: Vec<OwnedFd>) -> Result<Vec<OwnedFd>> {
        let Some(namespace) = fds.into_iter().next() else { return Err(Error::invalid("no network namespace")) };
        let channel = self.connect(ask)?;
        sys::setns(namespace.as_fd(), libc::CLONE_NEWNET).doing(|| "enter the sandbox's network".into())?;
        let laid = lay_here(namespace.as_fd());
        if let Err(error) = sys::setns(self.home.as_fd(), libc::CLONE_NEWNET) {
            // Nothing else may be done from within a sandbox's network.
            eprintln!("caisson-launcher: the outlet cannot leave a sandbox's network: {error}");
            std::process::abort();
        }
        let mut all = vec![channel];
        all.extend(laid?);
        Ok(all)
    }
}

/// A connection whose reads and writes have a timeout. So has the connecting itself: a gateway that accepts nothing would hold
/// up the outlet for good once as many wait as may.
fn reach(socket: &Path, patience: Duration) -> io::Result<UnixStream> {
    let connection = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    for way in [Timeout::Recv, Timeout::Send] {
        set_socket_timeout(&connection, way, Some(patience))?;
    }
    connect(&connection, &SocketAddrUnix::new(socket)?)?;
    Ok(connection.into())
}

/// In the sandbox's network namespace: the link, then the sockets.
fn lay_here(namespace: BorrowedFd<'_>) -> Result<Vec<OwnedFd>> {
    // Process 1 does it as well, maybe later.
    loopback_up().doing(|| "bring lo up".into())?;
    let netlink = Netlink::open().doing(|| "speak to the kernel's network".into())?;
    let addressed = netlink.add_address(&steer::OWN_V4).and_then(|()| netlink.make_all_local(&steer::OWN_V4));
    addressed.doing(|| "give the sandbox's network an address and a route".into())?;
    let v4 = sockets(LISTENER_V4.into()).doing(|| "listen for the sandbox's connections".into())?;
    // A host without IPv6 has none inside either; there, everything of it is refused.
    let v6 = match netlink.add_address(&steer::OWN_V6) {
        Err(_) => None,
        Ok(()) => {
            let laid = netlink.make_all_local(&steer::OWN_V6).and_then(|()| sockets(LISTENER_V6.into()));
            Some(laid.doing(|| "listen for the sandbox's connections over IPv6".into())?)
        }
    };
    let sockets =
        steer::Sockets { v4: v4.each_ref().map(AsFd::as_fd), v6: v6.as_ref().map(|v6| v6.each_ref().map(AsFd::as_fd)) };
    let link = steer::attach(namespace, &sockets).doing(|| "attach the redirect".into()).map_err(|e| {
        Error { kind: caisson_wire::launcher::ErrorKind::ErrorNotSupported, ..e }
            .remedy("a sandbox with a way out needs Linux 5.9 or later with BPF_SYSCALL, and a launcher with CAP_BPF and CAP_NET_ADMIN")
    })?;
    Ok([link].into_iter().chain(v4).chain(v6.into_iter().flatten()).collect())
}

/// A TCP listener and a DNS socket.
fn sockets(address: std::net::IpAddr) -> io::Result<[OwnedFd; 2]> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let make = |kind| -> io::Result<OwnedFd> {
        let socket = socket_with(family, kind, flags, None)?;
        // IPv6 takes no address of a route for its own, neither to listen nor to answer from.
        if address.is_ipv6() {
            rustix::net::sockopt::set_ipv6_v6only(&socket, true)?;
            rustix::net::sockopt::set_ipv6_freebind(&socket, true)?;
        }
        Ok(socket)
    };
    let tcp = make(SocketType::STREAM)?;
    bind(&tcp, &SocketAddr::new(address, LISTENER_PORT))?;
    listen(&tcp, BACKLOG)?;
    let udp = make(SocketType::DGRAM)?;
    let any = if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    bind(&udp, &SocketAddr::new(any, DNS_PORT))?;
    Ok([tcp, udp])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gateway_that_accepts_nothing_is_not_waited_for_without_end() {
        let path = std::env::temp_dir().join(format!("caisson-full-{}", std::process::id()));
        let listener = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
        bind(&listener, &SocketAddrUnix::new(&path).unwrap()).unwrap();
        listen(&listener, 1).unwrap();
        let patience = Duration::from_millis(50);
        let waiting: Vec<_> = (0..10).map(|_| reach(&path, patience)).collect();
        assert!(waiting.first().unwrap().is_ok(), "control");
        assert_eq!(waiting.last().unwrap().as_ref().unwrap_err().kind(), io::ErrorKind::WouldBlock);
        std::fs::remove_file(path).unwrap();
    }
}
