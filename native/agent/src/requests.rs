//! What a client asks for, frame by frame.

use crate::agent::Agent;
use crate::connection::Broken;
use crate::error::Refusal;
use crate::exec::{Exec, Phase};
use crate::stdin::StdinError;
use caisson_wire::agent::{
    Ack, ClientFrame, ErrorKind, ExecReason, ExecStart, Pong, Pty, Resize, Signal, StdinData, agent_frame,
    client_frame::Body,
};

impl Agent {
    /// One frame of the present connection.
    pub(crate) fn handle(&mut self, frame: ClientFrame) -> Result<(), Broken> {
        let stream = frame.stream;
        let Some(body) = frame.body else { return Err(protocol("a frame of an unknown type")) };
        if let Body::Ping(ping) = body {
            self.answer(0, agent_frame::Body::Pong(Pong { value: ping.value }));
            return Ok(());
        }
        if stream == 0 {
            return Err(protocol("this frame needs a stream"));
        }
        match body {
            Body::Hello(_) | Body::Ping(_) => Err(protocol("a connection says Hello once")),
            Body::ExecStart(start) => self.exec_start(stream, start),
            Body::StdinData(data) => self.stdin_data(stream, &data),
            Body::Ack(ack) => self.ack(stream, &ack),
            Body::Signal(signal) => self.signal(stream, &signal),
            Body::Resize(resize) => self.resize(stream, &resize),
            Body::FileData(data) => self.file_data(stream, &data.data, data.last),
            Body::FilePut(put) => self.begin_transfer(stream, |agent| agent.put(&put)),
            Body::FileGet(get) => self.begin_transfer(stream, |agent| agent.get(&get)),
            Body::FileList(list) => self.begin_transfer(stream, |agent| agent.list(&list)),
            Body::FileChange(change) => self.begin_transfer(stream, |agent| agent.change(&change)),
            Body::FileStat(stat) => self.file_stat(stream, &stat),
            Body::Watch(watch) => self.begin_transfer(stream, |agent| agent.watch(&watch)),
            Body::Dial(dial) => self.begin_transfer(stream, |agent| agent.dial(&dial)),
            Body::UserAdd(add) => self.user_add(stream, &add),
            Body::Cancel(_) => {
                if self.transfers.remove(stream) {
                    self.answer_error(stream, Refusal::new(ErrorKind::ErrorCancelled, "cancelled by the client"));
                }
                Ok(())
            }
        }
    }

    /// Answers a stream with its last frame.
    pub(crate) fn answer_error(&mut self, stream: u64, refusal: Refusal) {
        self.answer(stream, agent_frame::Body::Error(refusal.into_message()));
    }

    /// Queues a frame that is not retained.
    pub(crate) fn answer(&mut self, stream: u64, body: agent_frame::Body) {
        if let Some(client) = &mut self.client {
            client.answer(stream, body);
        }
    }

    fn exec_of(&mut self, stream: u64) -> Option<&mut Exec> {
        self.execs.values_mut().find(|exec| exec.stream == stream)
    }

    fn exec_start(&mut self, stream: u64, start: ExecStart) -> Result<(), Broken> {
        match self.exec_of(stream) {
            Some(exec) if exec.name == start.exec => return Ok(()),
            Some(_) => return Err(protocol("a stream was used for two execs")),
            None => {}
        }
        if self.transfers.contains(stream) {
            return Err(protocol("a stream was used twice"));
        }
        if let Err(refusal) = self.start_exec(stream, start) {
            self.answer_error(stream, refusal);
        }
        Ok(())
    }

    fn stdin_data(&mut self, stream: u64, data: &StdinData) -> Result<(), Broken> {
        let Some(exec) = self.exec_of(stream) else { return Ok(()) };
        exec.stdin.push(data).map_err(|error| match error {
            StdinError::Hole => protocol("standard input has a hole"),
            StdinError::BeyondLimit => protocol("more standard input than was granted"),
        })
    }

    fn ack(&mut self, stream: u64, ack: &Ack) -> Result<(), Broken> {
        let Some(exec) = self.execs.values_mut().find(|exec| exec.stream == stream) else {
            self.grant_transfer(stream, ack.credit_bytes);
            return Ok(());
        };
        exec.log
            .acknowledge(ack.seq, ack.credit_bytes, &mut self.spare)
            .map_err(|beyond| protocol(&format!("event {} of stream {stream} was not sent yet", beyond.seq)))
    }

    fn resize(&mut self, stream: u64, resize: &Resize) -> Result<(), Broken> {
        let size = Pty { rows: resize.rows, cols: resize.cols };
        if !crate::pty::is_possible(&size) {
            return Err(protocol("a terminal has 1 to 4096 rows and columns"));
        }
        if let Some(exec) = self.exec_of(stream).filter(|exec| exec.terminal) {
            exec.resize = Some(size);
        }
        Ok(())
    }

    fn signal(&mut self, stream: u64, signal: &Signal) -> Result<(), Broken> {
        let number = i32::try_from(signal.signal).unwrap_or(0);
        if !(1..=64).contains(&number) {
            return Err(protocol("a signal must be 1 to 64"));
        }
        let Some(key) = self.execs.iter().find(|(_, exec)| exec.stream == stream).map(|(key, _)| *key) else {
            return Ok(());
        };
        let Some(exec) = self.execs.get_mut(&key) else { return Ok(()) };
        let kill = number == libc::SIGKILL;
        match exec.phase {
            Phase::Ended => {}
            Phase::Queued if kill => {
                self.link.queue.retain(|queued| *queued != key);
                let refusal = Refusal::new(ErrorKind::ErrorCancelled, "the exec was ended before it started");
                self.refuse_exec(key, refusal);
            }
            _ if kill => exec.kill_for(killed_for(signal)),
            Phase::Queued | Phase::Starting => {
                if let Some(launch) = exec.launch.as_mut().filter(|launch| launch.signals.len() < 16) {
                    launch.signals.push((number, signal.whole_exec));
                }
            }
            Phase::Running | Phase::Draining => exec.signal(number, signal.whole_exec),
        }
        Ok(())
    }
}

fn killed_for(signal: &Signal) -> ExecReason {
    match signal.reason() {
        reason @ (ExecReason::ReasonCancelled | ExecReason::ReasonOutput) => reason,
        _ => ExecReason::ReasonKilled,
    }
}

/// A breach of the protocol.
pub fn protocol(message: &str) -> Broken {
    Broken::Protocol(message.to_owned())
}
