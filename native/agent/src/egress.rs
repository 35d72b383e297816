//! The way out: the redirect's sockets on one side, the gateway's channel on the other. The agent decides nothing; it only says
//! where a program wanted to go. Without a channel every connection is reset and every question fails.

use crate::agent::{Agent, DATA_LIMIT};
use crate::egress_channel::{Broken, Channel, Incoming, next_frame};
use crate::egress_dns::Dns;
use crate::egress_proof::prove;
use crate::egress_stream::{Over, Stream};
use crate::egress_trust;
use crate::poll::{Poll, Ready, Source};
use crate::sys;
use caisson_wire::agent::{AgentNotice, EgressKind};
use caisson_wire::egress::{
    AgentHello, GatewayFrame, Open, Query, Reset, ResetReason, agent_frame::Body, gateway_frame,
};
use caisson_wire::{EGRESS_VERSION, EGRESS_WINDOW};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with, getsockname, sockopt};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

/// Connections at once, whatever the gateway says.
const MAX_STREAMS: usize = 1024;
/// New connections in one turn.
const ACCEPTS: usize = 64;
/// How much wider the windows of all connections together may be than they begin. Every window may be full at some time:
/// programs that read fast and then stop are enough.
const MAX_WIDER: usize = 8 << 20;

/// What the launcher laid.
pub struct Egress {
    listeners: Vec<OwnedFd>,
    accepting: Vec<bool>,
    /// Somebody waits at a listener for whom there was no descriptor.
    starved: bool,
    dns: Dns,
    /// Closed with the agent, and with it the redirect.
    _link: OwnedFd,
    channel: Option<Channel>,
    /// The gateway's answer to the hello came.
    ready: bool,
    most: usize,
    streams: BTreeMap<u32, Stream>,
    last: u32,
    /// Streams with something to do.
    active: BTreeSet<u32>,
    /// Bytes of all connections so far, both ways.
    pub moved: u64,
    /// Variables for commands that do not set them.
    pub env: Vec<String>,
}

impl Agent {
    /// A packet of the launcher about the way out.
    pub(crate) fn take_egress(&mut self, kind: EgressKind, fds: Vec<OwnedFd>) {
        let outcome = match kind {
            EgressKind::EgressNone => Ok(()),
            EgressKind::EgressLaid => self.egress_laid(fds),
            EgressKind::EgressChannel => fds.into_iter().next().map_or(Ok(()), |socket| self.egress_channel(socket)),
        };
        if let Err(fault) = outcome {
            self.notify(&AgentNotice { fault: format!("the way out cannot be used: {fault}"), ..Default::default() });
        }
    }

    fn egress_laid(&mut self, fds: Vec<OwnedFd>) -> Result<(), String> {
        let mut fds = fds.into_iter();
        let (Some(channel), Some(link)) = (fds.next(), fds.next()) else {
            return Err("a descriptor is missing".into());
        };
        let (mut listeners, mut questions) = (Vec::new(), Vec::new());
        while let (Some(listener), Some(question)) = (fds.next(), fds.next()) {
            listeners.push(listener);
            questions.push(question);
        }
        let dns = Dns::new(questions).map_err(|errno| format!("the DNS sockets: {errno}"))?;
        prove(&listeners, dns.sockets())?;
        egress_trust::write_resolver()?;
        let watch = |fd: &OwnedFd, source| self.poll.add(fd, source).map_err(|errno| errno.to_string());
        for (number, listener) in listeners.iter().enumerate() {
            watch(listener, Source::EgressListener(number as u64))?;
        }
        for (number, socket) in dns.sockets().iter().enumerate() {
            watch(socket, Source::EgressDns(number as u64))?;
        }
        self.egress = Some(Egress {
            accepting: vec![true; listeners.len()],
            starved: false,
            listeners,
            dns,
            _link: link,
            channel: None,
            ready: false,
            most: 0,
            streams: BTreeMap::new(),
            last: 0,
            active: BTreeSet::new(),
            moved: 0,
            env: Vec::new(),
        });
        self.egress_channel(channel)
    }

    fn egress_channel(&mut self, socket: OwnedFd) -> Result<(), String> {
        let Some(egress) = &mut self.egress else { return Ok(()) };
        egress.drop_channel();
        let mut channel = Channel::new(socket).map_err(|errno| errno.to_string())?;
        self.poll.add(channel.socket(), Source::EgressChannel).map_err(|errno| errno.to_string())?;
        channel.send(0, Body::Hello(AgentHello { version: EGRESS_VERSION }));
        egress.channel = Some(channel);
        Ok(())
    }

    /// The kernel told of one of the way's descriptors.
    pub(crate) fn egress_event(&mut self, source: Source, ready: Ready) {
        let Some(egress) = &mut self.egress else { return };
        match source {
            Source::EgressListener(number) => {
                if let Some(accepting) = egress.accepting.get_mut(number as usize) {
                    *accepting = true;
                }
            }
            Source::EgressDns(number) => egress.dns.mark(number as usize),
            Source::EgressChannel => {
                if let Some(channel) = &mut egress.channel {
                    channel.input.readable |= ready.read;
                    channel.output.writable |= ready.write;
                }
            }
            Source::EgressStream(number) => {
                if let Some(stream) = u32::try_from(number).ok().and_then(|n| egress.streams.get_mut(&n)) {
                    stream.mark(ready);
                    egress.active.insert(number as u32);
                }
            }
            _ => {}
        }
    }

    /// Moves bytes once. True when there is more to do at once.
    pub(crate) fn step_egress(&mut self) -> bool {
        let Some(mut egress) = self.egress.take() else { return false };
        let outcome = self.move_egress(&mut egress);
        let lost = outcome.is_err() && egress.channel.is_some();
        if lost {
            egress.drop_channel();
            self.notify(&AgentNotice { egress_lost: true, ..Default::default() });
        }
        let more = egress.has_work();
        self.egress = Some(egress);
        more
    }

    fn move_egress(&mut self, egress: &mut Egress) -> Result<(), Broken> {
        egress.accept(&self.poll);
        egress.serve_dns();
        let was_ready = egress.ready;
        egress.read_channel()?;
        egress.pump(&mut self.spare);
        if let Some(channel) = &mut egress.channel {
            channel.flush(&mut self.spare)?;
            if let Some(wanted) = channel.wants_room() {
                self.poll.want_room(channel.socket(), Source::EgressChannel, wanted);
            }
        }
        if egress.ready && !was_ready {
            sys::set_soft_data_limit(Some(DATA_LIMIT + egress.most_held()));
            self.notify(&AgentNotice { egress_ready: true, ..Default::default() });
        }
        Ok(())
    }
}

impl Egress {
    fn drop_channel(&mut self) {
        self.channel = None;
        self.ready = false;
        self.active.clear();
        for (_, stream) in std::mem::take(&mut self.streams) {
            stream.reset();
        }
        self.dns.forget();
    }

    /// The most that connections may hold here. A buffer may have grown to twice of what is in it.
    fn most_held(&self) -> u64 {
        2 * (self.most as u64 * u64::from(EGRESS_WINDOW) + MAX_WIDER as u64)
    }

    /// The gateway is there and behind: what comes anew waits in the kernel until it has caught up.
    fn is_behind(&self) -> bool {
        self.ready && self.channel.as_ref().is_some_and(|channel| !channel.has_room())
    }

    fn has_work(&self) -> bool {
        (!self.is_behind() && (self.accepting.contains(&true) || self.dns.has_work()))
            || self.channel.as_ref().is_some_and(Channel::has_work)
            || (!self.active.is_empty() && self.channel.as_ref().is_some_and(Channel::has_room))
    }

    fn accept(&mut self, poll: &Poll) {
        if self.is_behind() {
            return;
        }
        for (listener, accepting) in self.listeners.iter().zip(&mut self.accepting) {
            for _ in 0..ACCEPTS {
                if !*accepting {
                    break;
                }
                let socket = match accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
                    Ok(socket) => socket,
                    // Another may be behind the one that went away.
                    Err(Errno::CONNABORTED | Errno::INTR) => continue,
                    Err(errno) => {
                        // Nobody is there, or there are no descriptors: then trying at once again would only burn time.
                        self.starved |= errno != Errno::AGAIN;
                        *accepting = false;
                        break;
                    }
                };
                let Some(channel) = self.channel.as_mut().filter(|_| self.ready) else {
                    reset(&socket);
                    continue;
                };
                let Some(to) = destination(&socket).filter(|_| self.streams.len() < self.most) else {
                    reset(&socket);
                    continue;
                };
                self.last += 1;
                if poll.add(&socket, Source::EgressStream(self.last.into())).is_err() {
                    reset(&socket);
                    continue;
                }
                channel.send(self.last, Body::Open(open(to)));
                self.streams.insert(self.last, Stream::new(socket));
                self.active.insert(self.last);
            }
        }
    }

    /// Takes one out; with its descriptor, whoever waited for one has another try.
    fn remove(&mut self, number: u32) -> Option<Stream> {
        self.active.remove(&number);
        if std::mem::take(&mut self.starved) {
            self.accepting.fill(true);
        }
        self.streams.remove(&number)
    }

    fn serve_dns(&mut self) {
        if self.is_behind() {
            return;
        }
        let (ready, channel) = (self.ready, &mut self.channel);
        self.dns.serve(|id, message| match channel.as_mut().filter(|_| ready) {
            Some(channel) => {
                channel.send(0, Body::Query(Query { id, message }));
                true
            }
            None => false,
        });
    }

    fn read_channel(&mut self) -> Result<(), Broken> {
        let Some(channel) = &mut self.channel else { return Ok(()) };
        channel.begin_turn();
        while self.channel.as_mut().map_or(Ok(false), Channel::fill)? {
            let Some(channel) = &mut self.channel else { return Ok(()) };
            let (input, mut at) = channel.input.take();
            let outcome = self.read_frames(&input, &mut at);
            if let Some(channel) = &mut self.channel {
                channel.input.put_back(input, at);
            }
            outcome?;
        }
        Ok(())
    }

    fn read_frames(&mut self, input: &[u8], at: &mut usize) -> Result<(), Broken> {
        while let Some(frame) = next_frame(input, at)? {
            match frame {
                Incoming::Data(stream, data) => self.take(stream, data)?,
                Incoming::Other(frame) => self.on_frame(frame)?,
            }
        }
        Ok(())
    }

    fn on_frame(&mut self, frame: GatewayFrame) -> Result<(), Broken> {
        use gateway_frame::Body as Gateway;
        match (frame.stream, frame.body.ok_or(Broken)?) {
            (0, Gateway::Ready(ready)) if ready.version == EGRESS_VERSION => {
                self.ready = true;
                self.most = (ready.connections as usize).min(MAX_STREAMS);
            }
            (0, Gateway::Answer(answer)) => self.dns.answer(answer.id, &answer.message),
            (0, Gateway::Trust(trust)) => self.env = egress_trust::take(trust).map_err(|_| Broken)?,
            (1.., Gateway::Opened(_)) => {}
            (stream @ 1.., Gateway::Data(data)) => self.take(stream, &data)?,
            (stream @ 1.., Gateway::Close(_)) => self.on(stream, Stream::end)?,
            (stream @ 1.., Gateway::Credit(credit)) => self.on(stream, |s| {
                s.grant(credit.bytes);
                Ok(())
            })?,
            (stream @ 1.., Gateway::Reset(_)) => {
                if let Some(stream) = self.remove(stream) {
                    stream.reset();
                }
            }
            _ => return Err(Broken),
        }
        Ok(())
    }

    fn take(&mut self, stream: u32, data: &[u8]) -> Result<(), Broken> {
        self.moved += data.len() as u64;
        self.on(stream, |s| s.take(data))
    }

    /// Something for a stream; one that is over already is no error, for the two sides may end it at once.
    fn on(&mut self, number: u32, act: impl FnOnce(&mut Stream) -> Result<(), Over>) -> Result<(), Broken> {
        let Some(stream) = self.streams.get_mut(&number) else {
            return if number <= self.last { Ok(()) } else { Err(Broken) };
        };
        self.active.insert(number);
        act(stream).or_else(|over| self.over(number, over))
    }

    fn over(&mut self, number: u32, over: Over) -> Result<(), Broken> {
        let Some(stream) = self.remove(number) else { return Ok(()) };
        match over {
            Over::Done => Ok(()),
            Over::Aborted => {
                if let Some(channel) = &mut self.channel {
                    channel.send(number, Body::Reset(Reset { reason: ResetReason::ResetAborted.into() }));
                }
                stream.reset();
                Ok(())
            }
            Over::Protocol => {
                stream.reset();
                Err(Broken)
            }
        }
    }

    /// Moves bytes of the streams that have any to move.
    fn pump(&mut self, spare: &mut Vec<Vec<u8>>) {
        if self.active.is_empty() {
            return;
        }
        let mut room = MAX_WIDER.saturating_sub(self.streams.values().map(Stream::wider).sum());
        for number in self.active.iter().copied().collect::<Vec<_>>() {
            let (Some(stream), Some(channel)) = (self.streams.get_mut(&number), &mut self.channel) else { continue };
            let moved = stream.write().and_then(|()| {
                room -= stream.tell_credit(number, channel, room);
                stream.read(number, channel, spare, &mut self.moved)
            });
            match moved {
                Ok(true) => {}
                Ok(false) => {
                    // Who waits for room in the channel stays; all else is told by the kernel or the gateway.
                    if channel.has_room() {
                        self.active.remove(&number);
                    }
                }
                Err(over) => drop(self.over(number, over)),
            }
        }
    }
}

fn reset(socket: &OwnedFd) {
    let _ = sockopt::set_socket_linger(socket, Some(std::time::Duration::ZERO));
}

/// Where a program wanted to go: the redirect leaves the address as it was.
fn destination(socket: &OwnedFd) -> Option<SocketAddr> {
    SocketAddr::try_from(getsockname(socket).ok()?).ok()
}

fn open(to: SocketAddr) -> Open {
    let address = match to.ip() {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    Open { address, port: to.port().into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;

    /// One listener, and a gateway that is ready and reads nothing.
    fn egress() -> (Egress, TcpListener, UnixStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (link, _) = UnixStream::pair().unwrap();
        let egress = Egress {
            listeners: vec![listener.try_clone().unwrap().into()],
            accepting: vec![true],
            starved: false,
            dns: Dns::new(Vec::new()).unwrap(),
            _link: link.into(),
            channel: Some(Channel::new(ours.into()).unwrap()),
            ready: true,
            most: 100,
            streams: BTreeMap::new(),
            last: 0,
            active: BTreeSet::new(),
            moved: 0,
            env: Vec::new(),
        };
        (egress, listener, theirs)
    }

    #[test]
    fn who_comes_while_the_gateway_is_behind_waits_and_is_not_reset() {
        let (mut egress, listener, _gateway) = egress();
        let poll = Poll::new().unwrap();
        let channel = egress.channel.as_mut().unwrap();
        while channel.has_room() {
            channel.send(1, Body::Data(vec![0; 60_000]));
        }
        (channel.output.writable, channel.input.readable) = (false, false);
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        egress.accept(&poll);
        assert!(egress.streams.is_empty());
        assert!(!egress.has_work(), "it would turn round and round");
        client.set_nonblocking(true).unwrap();
        assert_eq!((&client).read(&mut [0; 1]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);

        egress.channel.as_mut().unwrap().output.forget();
        assert!(egress.has_work());
        egress.accept(&poll);
        assert_eq!(egress.streams.len(), 1);
    }

    #[test]
    fn without_a_gateway_whoever_comes_is_reset() {
        let (mut egress, listener, _gateway) = egress();
        egress.drop_channel();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        egress.accept(&Poll::new().unwrap());
        assert_eq!(client.read(&mut [0; 1]).unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
    }

    #[test]
    fn one_for_whom_there_is_no_descriptor_is_taken_when_another_ends() {
        let (mut egress, listener, _gateway) = egress();
        let poll = Poll::new().unwrap();
        let channel = egress.channel.as_mut().unwrap();
        (channel.output.writable, channel.input.readable) = (false, false);
        // A socket that does not listen fails as one does for which there is no descriptor: at once, and again and again.
        let broken =
            rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::STREAM, None).unwrap();
        let working = std::mem::replace(&mut egress.listeners[0], broken);
        egress.accept(&poll);
        assert!(!egress.has_work(), "it would turn round and round");
        egress.listeners[0] = working;
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        egress.accept(&poll);
        assert!(egress.streams.is_empty());
        egress.remove(7);
        egress.accept(&poll);
        assert_eq!(egress.streams.len(), 1);
    }

    #[test]
    fn windows_grow_no_wider_than_may_be_held_when_all_programs_stop_at_once() {
        let (mut egress, ..) = egress();
        let count = 3 * MAX_WIDER as u32 / (1 << 20);
        for number in 1..=count {
            let (ours, mut program) = UnixStream::pair().unwrap();
            ours.set_nonblocking(true).unwrap();
            program.set_nonblocking(true).unwrap();
            egress.last = number;
            egress.streams.insert(number, Stream::new(ours.into()));
            let mut sink = vec![0; 1 << 20];
            for _ in 0..8 {
                let all = vec![0; egress.streams[&number].granted()];
                egress.on(number, |stream| stream.take(&all)).unwrap();
                while egress.streams[&number].held() > 0 {
                    let _ = program.read(&mut sink);
                    egress.egress_writable(number);
                    egress.pump(&mut Vec::new());
                }
                while program.read(&mut sink).is_ok() {}
                egress.channel.as_mut().unwrap().output.forget();
                egress.on(number, |_| Ok(())).unwrap();
                egress.pump(&mut Vec::new());
            }
            // It stands still from now on, as if the kernel had nothing to tell of it.
            egress.active.clear();
            std::mem::forget(program);
        }
        let wider: usize = egress.streams.values().map(Stream::wider).sum();
        assert!(wider > MAX_WIDER / 2, "control: windows grow at all: {wider}");
        assert!(wider <= MAX_WIDER, "{wider}");
        assert!(egress.streams.values().map(|s| s.granted() + s.held()).sum::<usize>() as u64 <= egress.most_held());
    }

    impl Egress {
        fn egress_writable(&mut self, number: u32) {
            let ready = Ready { read: false, write: true, error: false };
            self.streams.get_mut(&number).unwrap().mark(ready);
            self.active.insert(number);
        }
    }
}
