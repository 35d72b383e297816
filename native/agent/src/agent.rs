//! The loop of process 1.

use crate::boot::{self, Sandbox};
use crate::connection::Connection;
use crate::egress::Egress;
use crate::error::{Context, Fatal};
use crate::exec::Exec;
use crate::life::Leftover;
use crate::link::Link;
use crate::poll::{Poll, Ready, Source};
use crate::sudo::Sudo;
use crate::sys;
use crate::transfers::Transfers;
use caisson_wire::agent::{AgentNotice, Attach, EgressKind};
use prost::Message;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The agent's own data: more than its bounded buffers can need.
pub(crate) const DATA_LIMIT: u64 = 32 << 20;
/// Buffers kept for reuse.
const SPARE: usize = 8;
/// Retained output of all execs together, before pipes are not read.
const RETAINED: usize = 8 << 20;
const MAX_ATTACH: usize = 4096;

/// Process 1.
pub struct Agent {
    pub(crate) poll: Poll,
    life: OwnedFd,
    signals: OwnedFd,
    pub(crate) link: Link,
    pub(crate) sandbox: Sandbox,
    /// By a number of the agent's own, never used twice.
    pub(crate) execs: BTreeMap<u64, Exec>,
    pub(crate) next_exec: u64,
    /// The connection whose `Hello` was accepted.
    pub(crate) client: Option<Connection>,
    /// Connections that have not said `Hello`.
    pub(crate) greeting: Vec<Connection>,
    pub(crate) next_connection: u64,
    pub(crate) last_epoch: u64,
    pub(crate) transfers: Transfers,
    pub(crate) sudo: Sudo,
    /// The way out, where the policy opens one.
    pub(crate) egress: Option<Egress>,
    pub(crate) leftovers: Vec<Leftover>,
    pub(crate) oom_checks: Vec<Instant>,
    pub(crate) oom_kills_seen: u64,
    /// Kernel kills of spawners: no exec is to blame for these.
    pub(crate) spawner_kills: u64,
    pub(crate) next_tick: Option<Instant>,
    pub(crate) spare: Vec<Vec<u8>>,
    /// Exec whose events go first in the next turn, so that none is starved.
    pub(crate) first_exec: u64,
    pub(crate) now: Instant,
}

/// Serves the sandbox until the life channel ends.
pub fn run(life: OwnedFd) -> Result<(), Fatal> {
    sys::forbid_dumping().or_fatal("become unreachable")?;
    let mut agent = match Agent::boot(&life) {
        Ok(parts) => parts.into_agent(life),
        Err(fault) => {
            tell(&life, &AgentNotice { fault: fault.to_string(), ..Default::default() });
            return Err(fault);
        }
    };
    agent
        .serve()
        .inspect_err(|fault| tell(&agent.life, &AgentNotice { fault: fault.to_string(), ..Default::default() }))
}

struct Parts {
    poll: Poll,
    signals: OwnedFd,
    sandbox: Sandbox,
    link: Link,
    sudo: Sudo,
}

impl Parts {
    fn into_agent(self, life: OwnedFd) -> Agent {
        Agent {
            poll: self.poll,
            life,
            signals: self.signals,
            link: self.link,
            sandbox: self.sandbox,
            execs: BTreeMap::new(),
            next_exec: 1,
            client: None,
            greeting: Vec::new(),
            next_connection: 1,
            last_epoch: 0,
            transfers: Transfers::default(),
            sudo: self.sudo,
            egress: None,
            leftovers: Vec::new(),
            oom_checks: Vec::new(),
            oom_kills_seen: 0,
            spawner_kills: 0,
            next_tick: None,
            spare: Vec::new(),
            first_exec: 0,
            now: Instant::now(),
        }
    }
}

fn tell(life: &OwnedFd, notice: &AgentNotice) {
    let _ = sys::send(life, &notice.encode_to_vec(), &[], SendFlags::DONTWAIT);
}

impl Agent {
    fn boot(life: &OwnedFd) -> Result<Parts, Fatal> {
        let signals = sys::child_signals().or_fatal("take SIGCHLD")?;
        sys::set_soft_data_limit(Some(DATA_LIMIT));
        sys::raise_descriptor_limit();
        rustix::thread::clear_ambient_capability_set().or_fatal("clear the ambient capabilities")?;
        // Modes are what the client asks for.
        rustix::process::umask(rustix::fs::Mode::empty());
        let (sandbox, spawner) = boot::receive(life)?;
        let poll = Poll::new()?;
        poll.add(life, Source::Life).or_fatal("watch the life channel")?;
        poll.add(&signals, Source::Signals).or_fatal("watch for signals")?;
        if let Some(event) = &sandbox.oom_event {
            poll.add(event, Source::OutOfMemory).or_fatal("watch for out-of-memory events")?;
        }
        let link = Link::new(spawner);
        link.watch(&poll).or_fatal("watch the spawner")?;
        let sudo = Sudo::open(sandbox.root, &poll);
        caisson_seccomp::install(caisson_seccomp::agent()).map_err(Fatal::Filter)?;
        tell(life, &AgentNotice { ready: true, ..Default::default() });
        Ok(Parts { poll, signals, sandbox, link, sudo })
    }

    fn serve(&mut self) -> Result<(), Fatal> {
        let mut busy = true;
        loop {
            let timeout = if busy { Some(Duration::ZERO) } else { self.until_next_timer() };
            let events = self.poll.wait(timeout)?;
            self.now = Instant::now();
            for (source, ready) in events {
                if !self.dispatch(source, ready)? {
                    return Ok(());
                }
            }
            self.run_timers();
            busy = self.work();
        }
    }

    /// One event. False at the end of the life channel.
    fn dispatch(&mut self, source: Source, ready: Ready) -> Result<bool, Fatal> {
        match source {
            Source::Life => return self.attach_all(),
            Source::Signals => self.reap(),
            Source::Spawner(generation) => self.on_spawner(generation, ready),
            Source::OutOfMemory => self.on_oom_event(),
            Source::Client(id) => {
                if let Some(connection) = self.client.iter_mut().chain(&mut self.greeting).find(|c| c.id == id) {
                    connection.input.readable |= ready.read;
                    connection.output.writable |= ready.write;
                }
            }
            Source::Transfer(number) => self.transfer_ready(number, ready),
            Source::EgressListener(_) | Source::EgressDns(_) | Source::EgressChannel | Source::EgressStream(_) => {
                self.egress_event(source, ready);
            }
            Source::Door => self.on_door(),
            Source::Doorman => self.on_doorman(),
            Source::SudoStatus(number) => self.read_sudo_status(number),
            Source::SudoSignals(number) => self.read_sudo_signals(number),
            Source::Status(key) => self.read_status(key),
            Source::Stdin(key) => {
                if let Some(exec) = self.execs.get_mut(&key) {
                    exec.stdin.writable = true;
                    if ready.error { exec.stdin.hang_up() } else { exec.stdin.flush() }
                }
            }
            Source::Stdout(key) => self.mark_readable(key, 0),
            Source::Stderr(key) => self.mark_readable(key, 1),
        }
        Ok(true)
    }

    fn mark_readable(&mut self, key: u64, pipe: usize) {
        if let Some(pipe) = self.execs.get_mut(&key).and_then(|exec| exec.outputs.get_mut(pipe)) {
            pipe.readable = true;
        }
    }

    /// Takes connections from the launcher.
    fn attach_all(&mut self) -> Result<bool, Fatal> {
        loop {
            match sys::receive(&self.life, MAX_ATTACH, RecvFlags::DONTWAIT) {
                Ok(packet) if packet.bytes.is_empty() && packet.fds.is_empty() => return Ok(false),
                Ok(packet) => {
                    // The launcher is trusted; a packet that makes no sense is of a newer one.
                    let attach = Attach::decode(&*packet.bytes).unwrap_or_default();
                    match attach.egress() {
                        EgressKind::EgressNone => {
                            if let Some(socket) = packet.fds.into_iter().next() {
                                self.attach(socket, attach.min_epoch);
                            }
                        }
                        kind => self.take_egress(kind, packet.fds),
                    }
                }
                Err(Errno::AGAIN) => return Ok(true),
                Err(Errno::INTR | Errno::MSGSIZE) => {}
                Err(_) => return Ok(false),
            }
        }
    }

    /// Tells the launcher.
    pub(crate) fn notify(&self, notice: &AgentNotice) {
        tell(&self.life, notice);
    }

    /// Moves bytes for everybody once. True when there is more to do at once.
    fn work(&mut self) -> bool {
        let mut more = self.serve_clients();
        let retained: usize = self.execs.values().map(|exec| exec.log.cost()).sum();
        let crowded = retained >= RETAINED;
        for exec in self.execs.values_mut() {
            if exec.terminal {
                exec.apply_size();
                exec.hang_up_terminal(self.now);
            }
            more |= exec.pump(&mut self.spare, crowded);
        }
        self.finish_drained();
        more |= self.step_transfers();
        more |= self.step_egress();
        more |= self.send();
        self.forget_done();
        self.remove_leftovers();
        self.spare.truncate(SPARE);
        more
    }

    fn signals_fd(&self) -> &OwnedFd {
        &self.signals
    }

    /// Empties the signal descriptor; the signals themselves are told by waitid.
    pub(crate) fn drain_signals(&self) {
        let mut buffer = [0u8; 1024];
        while let Ok(1..) = rustix::io::read(self.signals_fd(), &mut buffer) {}
    }
}
