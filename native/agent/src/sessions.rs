//! Connections of clients: handshake, epochs, and what is sent to whom (docs/wire.md, rules 1 to 3).

use crate::agent::Agent;
use crate::connection::{Broken, Connection, Incoming, next_frame};
use crate::poll::Source;
use caisson_wire::PROTOCOL_VERSION;
use caisson_wire::agent::{ClientFrame, ErrorKind, ExecState, Hello, StreamError, Welcome, agent_frame, client_frame};
use rustix::fd::OwnedFd;

/// Connections that may wait for their hello.
const MAX_GREETING: usize = 8;
/// Requests handled before others get their turn.
const TURN: usize = 256;

impl Agent {
    /// A connection that the launcher handed over.
    pub(crate) fn attach(&mut self, socket: OwnedFd, min_epoch: u64) {
        let id = self.next_connection;
        self.next_connection += 1;
        let Ok(connection) = Connection::new(id, socket, min_epoch) else { return };
        if self.poll.add(connection.socket(), Source::Client(id)).is_err() {
            return;
        }
        if self.greeting.len() >= MAX_GREETING {
            self.greeting.remove(0);
        }
        self.greeting.push(connection);
    }

    /// Reads requests of all connections. True when there is more to do at once.
    pub(crate) fn serve_clients(&mut self) -> bool {
        // What the present client said before a newer one came still counts.
        let more = self.serve_client();
        self.serve_greeting();
        more || self.client.as_ref().is_some_and(Connection::has_work)
    }

    fn serve_greeting(&mut self) {
        let waiting = std::mem::take(&mut self.greeting);
        for mut connection in waiting {
            match first_frame(&mut connection) {
                Ok(None) => self.greeting.push(connection),
                Ok(Some(hello)) => self.greet(connection, &hello),
                Err(Broken::Protocol(message)) => refuse(connection, ErrorKind::ErrorProtocol, message),
                Err(Broken::Gone) => {}
            }
        }
    }

    fn greet(&mut self, mut connection: Connection, hello: &Hello) {
        if hello.version != PROTOCOL_VERSION {
            let message = format!("version {} is not spoken here, {PROTOCOL_VERSION} is", hello.version);
            return refuse(connection, ErrorKind::ErrorProtocol, message);
        }
        if hello.epoch <= self.last_epoch || hello.epoch < connection.min_epoch {
            let message = format!("epoch {} is over", hello.epoch);
            return refuse(connection, ErrorKind::ErrorCutOff, message);
        }
        self.drop_client(Some((ErrorKind::ErrorCutOff, "a newer connection took over".to_owned())));
        self.last_epoch = hello.epoch;
        if let Err(message) = self.resume(hello) {
            return refuse(connection, ErrorKind::ErrorProtocol, message);
        }
        // What is acknowledged is not told of again.
        self.forget_done();
        let welcome = Welcome { version: PROTOCOL_VERSION, epoch: hello.epoch, execs: self.states() };
        connection.answer(0, agent_frame::Body::Welcome(welcome));
        self.client = Some(connection);
    }

    fn resume(&mut self, hello: &Hello) -> Result<(), String> {
        for resume in &hello.resume {
            let Some(exec) = self.execs.values_mut().find(|exec| exec.stream == resume.stream) else { continue };
            exec.log
                .resume(resume.acked_seq, resume.credit_bytes, &mut self.spare)
                .map_err(|beyond| format!("stream {} has no event {} yet", resume.stream, beyond.seq))?;
            exec.subscribed = true;
            if exec.stdin.is_used() {
                exec.stdin.tell_again();
            }
        }
        Ok(())
    }

    fn states(&self) -> Vec<ExecState> {
        self.execs
            .values()
            .map(|exec| ExecState {
                stream: exec.stream,
                exec: exec.name.clone(),
                ended: exec.log.is_told(),
                first_seq: exec.log.first_seq(),
                last_seq: exec.log.last_seq(),
                stdin_received: exec.stdin.received(),
            })
            .collect()
    }

    /// Ends the present connection; execs and their events stay, transfers go.
    pub(crate) fn drop_client(&mut self, last_word: Option<(ErrorKind, String)>) {
        self.transfers.clear();
        for exec in self.execs.values_mut() {
            exec.subscribed = false;
        }
        if let (Some(client), Some((kind, message))) = (self.client.take(), last_word) {
            refuse(client, kind, message);
        }
    }

    fn serve_client(&mut self) -> bool {
        let Some(client) = &mut self.client else { return false };
        let result = if client.takes_requests() { client.fill() } else { Ok(()) };
        match result.and_then(|()| self.handle_frames()) {
            Ok(()) => self.client.as_ref().is_some_and(Connection::has_work),
            Err(broken) => {
                self.break_client(broken);
                false
            }
        }
    }

    fn break_client(&mut self, broken: Broken) {
        self.drop_client(match broken {
            Broken::Gone => None,
            Broken::Protocol(message) => Some((ErrorKind::ErrorProtocol, message)),
        });
        self.client = None;
    }

    fn handle_frames(&mut self) -> Result<(), Broken> {
        let Some(client) = &mut self.client else { return Ok(()) };
        let (input, mut at) = client.input.take();
        let mut result = Ok(());
        for _ in 0..TURN {
            if !self.client.as_ref().is_some_and(Connection::takes_requests) {
                break;
            }
            match next_frame(&input, &mut at) {
                Ok(None) => break,
                Ok(Some(Incoming::FileData { stream, data, last })) => result = self.file_data(stream, data, last),
                Ok(Some(Incoming::Other(frame))) => result = self.handle(frame),
                Err(broken) => result = Err(broken),
            }
            if result.is_err() {
                break;
            }
        }
        if let Some(client) = &mut self.client {
            client.input.put_back(input, at);
        }
        result
    }

    /// Sends what may be sent. True when there is more to do at once.
    pub(crate) fn send(&mut self) -> bool {
        let Some(client) = &mut self.client else { return false };
        for exec in self.execs.values_mut().filter(|exec| exec.subscribed) {
            if let Some(credit) = exec.stdin.credit() {
                client.answer(exec.stream, agent_frame::Body::StdinCredit(credit));
            }
        }
        // One frame of each exec in turn, and those behind the last served go first.
        let (first, mut progress) = (self.first_exec, true);
        while progress && client.has_room() {
            progress = false;
            for key in
                self.execs.range(first..).chain(self.execs.range(..first)).map(|(key, _)| *key).collect::<Vec<_>>()
            {
                let Some(exec) = self.execs.get_mut(&key).filter(|exec| exec.subscribed) else { continue };
                if !client.has_room() {
                    self.first_exec = key;
                    break;
                }
                if let Some(frame) = exec.log.next() {
                    client.queue(frame);
                    progress = true;
                }
            }
        }
        // Streams that found no room must be asked again, since no event will tell of it.
        let was_full = !client.has_room();
        match client.flush(&mut self.spare) {
            Ok(()) => {
                if client.waits_for_room == client.output.writable {
                    client.waits_for_room = !client.output.writable;
                    self.poll.want_room(client.socket(), Source::Client(client.id), client.waits_for_room);
                }
                client.has_output() || was_full && client.has_room()
            }
            Err(broken) => {
                self.break_client(broken);
                false
            }
        }
    }

    /// Forgets execs whose last event is acknowledged.
    pub(crate) fn forget_done(&mut self) {
        if self.execs.values().any(|exec| exec.log.is_done()) {
            self.execs.retain(|_, exec| !exec.log.is_done());
            if self.execs.is_empty() && !self.spare.is_empty() {
                self.spare.clear();
                crate::sys::trim_heap();
            }
        }
    }
}

/// The first frame, which must be a hello.
fn first_frame(connection: &mut Connection) -> Result<Option<Hello>, Broken> {
    connection.fill()?;
    let (input, mut at) = connection.input.take();
    let frame = next_frame(&input, &mut at);
    let hello = match frame {
        Ok(None) => Ok(None),
        Ok(Some(Incoming::Other(ClientFrame { stream: 0, body: Some(client_frame::Body::Hello(hello)) }))) => {
            Ok(Some(hello))
        }
        Ok(Some(_)) => Err(Broken::Protocol("the first frame must be Hello on stream 0".to_owned())),
        Err(broken) => Err(broken),
    };
    connection.input.put_back(input, at);
    hello
}

fn refuse(connection: Connection, kind: ErrorKind, message: String) {
    connection.close_with(agent_frame::Body::Error(StreamError { kind: kind.into(), message, errno: 0 }));
}
