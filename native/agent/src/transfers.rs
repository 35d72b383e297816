//! File transfers of the present connection. They end with it; each gets a bounded share of every turn.

use crate::agent::Agent;
use crate::change::{self, Remover};
use crate::connection::Broken;
use crate::error::Refusal;
use crate::frames::Frame;
use crate::get::Get;
use crate::put::Put;
use crate::requests::protocol;
use crate::walker::Walker;
use caisson_wire::agent::{
    AgentFrame, ErrorKind, FileChange, FileCredit, FileDone, FileGet, FileList, FilePut, agent_frame::Body,
    file_change::Change,
};
use std::collections::BTreeMap;
use std::rc::Rc;

const MAX_TRANSFERS: usize = 64;
/// Listings and removals hold a descriptor per level.
const MAX_WALKS: usize = 8;
/// Chunks of one file in one turn.
const CHUNKS: usize = 4;

/// By stream.
#[derive(Default)]
pub struct Transfers {
    running: BTreeMap<u64, Transfer>,
}

/// One transfer. Dropping it leaves nothing behind.
pub enum Transfer {
    /// Client to file.
    Put(Put),
    /// File to client.
    Get(Get),
    /// A listing.
    List(Box<Walker>),
    /// A removal of a tree.
    Remove(Box<Remover>),
}

/// What one step brought.
enum Progress {
    /// It waits for the client.
    Waits,
    /// There is more.
    More,
    /// It is over, with its last frame sent.
    Over,
}

impl Transfers {
    /// Gives all of them up.
    pub fn clear(&mut self) {
        self.running.clear();
    }

    /// The stream is in use.
    pub fn contains(&self, stream: u64) -> bool {
        self.running.contains_key(&stream)
    }

    /// Gives one up; false when it is not there.
    pub fn remove(&mut self, stream: u64) -> bool {
        self.running.remove(&stream).is_some()
    }

    fn walks(&self) -> usize {
        self.running.values().filter(|t| matches!(t, Transfer::List(_) | Transfer::Remove(_))).count()
    }
}

impl Agent {
    /// Begins a transfer on a fresh stream; `None` when it is over at once.
    pub(crate) fn begin_transfer(
        &mut self,
        stream: u64,
        begin: impl FnOnce(&mut Self) -> Result<Option<Transfer>, Refusal>,
    ) -> Result<(), Broken> {
        if self.transfers.contains(stream) || self.execs.values().any(|exec| exec.stream == stream) {
            return Err(protocol("a stream was used twice"));
        }
        if self.transfers.running.len() >= MAX_TRANSFERS {
            let message = format!("{MAX_TRANSFERS} transfers are running; more are refused");
            self.answer_error(stream, Refusal::new(ErrorKind::ErrorLimit, message));
            return Ok(());
        }
        match begin(self) {
            Ok(Some(transfer)) => {
                self.transfers.running.insert(stream, transfer);
            }
            Ok(None) => self.answer(stream, Body::FileDone(FileDone { bytes: 0 })),
            Err(refusal) => self.answer_error(stream, refusal),
        }
        Ok(())
    }

    /// `FilePut`.
    pub(crate) fn put(&mut self, put: &FilePut) -> Result<Option<Transfer>, Refusal> {
        Put::begin(put).map(|put| Some(Transfer::Put(put)))
    }

    /// `FileGet`.
    pub(crate) fn get(&mut self, get: &FileGet) -> Result<Option<Transfer>, Refusal> {
        Get::begin(get).map(|get| Some(Transfer::Get(get)))
    }

    /// `FileList`.
    pub(crate) fn list(&mut self, list: &FileList) -> Result<Option<Transfer>, Refusal> {
        self.refuse_many_walks()?;
        Walker::begin(list).map(|walker| Some(Transfer::List(Box::new(walker))))
    }

    /// `FileChange`.
    pub(crate) fn change(&mut self, change: &FileChange) -> Result<Option<Transfer>, Refusal> {
        match &change.change {
            Some(Change::MakeDirectory(request)) => change::make_directory(request).map(|()| None),
            Some(Change::Move(request)) => change::move_path(request).map(|()| None),
            Some(Change::Remove(request)) => {
                self.refuse_many_walks()?;
                Ok(change::remove(request)?.map(|remover| Transfer::Remove(Box::new(remover))))
            }
            Some(_) => Err(Refusal::new(ErrorKind::ErrorInvalid, "not done by this agent")),
            None => Err(change::nothing()),
        }
    }

    fn refuse_many_walks(&self) -> Result<(), Refusal> {
        if self.transfers.walks() < MAX_WALKS {
            return Ok(());
        }
        let message = format!("{MAX_WALKS} listings and removals are running; more are refused");
        Err(Refusal::new(ErrorKind::ErrorLimit, message))
    }

    /// `FileData` of a put. What comes for a transfer that is over is ignored.
    pub(crate) fn file_data(&mut self, stream: u64, data: &[u8], last: bool) -> Result<(), Broken> {
        let Some(Transfer::Put(put)) = self.transfers.running.get_mut(&stream) else { return Ok(()) };
        if !put.may_take(data.len()) {
            return Err(protocol("more file data than was granted"));
        }
        let written = put.write(data);
        let credit = put.credit();
        if written.is_ok() && !last {
            if let Some(limit) = credit {
                self.answer(stream, Body::FileCredit(FileCredit { limit }));
            }
            return Ok(());
        }
        let Some(Transfer::Put(put)) = self.transfers.running.remove(&stream) else { return Ok(()) };
        match written.and_then(|()| put.finish()) {
            Ok(bytes) => self.answer(stream, Body::FileDone(FileDone { bytes })),
            Err(refusal) => self.answer_error(stream, refusal),
        }
        Ok(())
    }

    /// The client takes more of a file.
    pub(crate) fn grant_transfer(&mut self, stream: u64, bytes: u64) {
        if let Some(Transfer::Get(get)) = self.transfers.running.get_mut(&stream) {
            get.grant(bytes);
        }
    }

    /// Moves every transfer on. True when there is more to do at once.
    pub(crate) fn step_transfers(&mut self) -> bool {
        if self.transfers.running.is_empty() {
            return false;
        }
        let mut more = false;
        for (stream, mut transfer) in std::mem::take(&mut self.transfers.running) {
            match self.step(stream, &mut transfer) {
                Ok(Progress::Over) => continue,
                Ok(Progress::More) => more = true,
                Ok(Progress::Waits) => {}
                Err(refusal) => {
                    self.answer_error(stream, refusal);
                    continue;
                }
            }
            self.transfers.running.insert(stream, transfer);
        }
        more
    }

    fn step(&mut self, stream: u64, transfer: &mut Transfer) -> Result<Progress, Refusal> {
        let Some(client) = self.client.as_mut().filter(|client| client.has_room()) else { return Ok(Progress::Waits) };
        match transfer {
            Transfer::Put(_) => Ok(Progress::Waits),
            Transfer::Get(get) => {
                for _ in 0..CHUNKS {
                    let Some((frame, last)) = get.next(stream, &mut self.spare)? else { return Ok(Progress::Waits) };
                    client.queue(Rc::new(frame));
                    if last {
                        return Ok(Progress::Over);
                    }
                }
                Ok(Progress::More)
            }
            Transfer::List(walker) => {
                let entries = walker.next()?;
                let last = entries.last;
                let frame = AgentFrame { stream, seq: 0, body: Some(Body::FileEntries(entries)) };
                client.queue(Rc::new(Frame::of(&frame)));
                Ok(if last { Progress::Over } else { Progress::More })
            }
            Transfer::Remove(remover) => {
                if !remover.next()? {
                    return Ok(Progress::More);
                }
                client.answer(stream, Body::FileDone(FileDone { bytes: 0 }));
                Ok(Progress::Over)
            }
        }
    }
}
