//! File transfers of the present connection. They end with it; each gets a bounded share of every turn.

use crate::agent::Agent;
use crate::attributes;
use crate::change::{self, Remover};
use crate::connection::Broken;
use crate::dial::{Dial, MAX_DIALS, MAX_HELD};
use crate::error::Refusal;
use crate::frames::Frame;
use crate::get::Get;
use crate::poll::Ready;
use crate::put::Put;
use crate::requests::protocol;
use crate::walker::Walker;
use crate::watch::{MAX_FOLDERS, MAX_WATCHES, Watcher};
use caisson_wire::agent::{
    AgentFrame, Dial as DialRequest, ErrorKind, FileChange, FileCredit, FileDone, FileGet, FileList, FilePut, FileStat,
    Watch, agent_frame::Body, file_change::Change,
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
    /// Names the descriptors of transfers in the set.
    last_number: u64,
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
    /// A connection to a port inside.
    Dial(Box<Dial>),
    /// Tells of changes.
    Watch(Box<Watcher>),
}

impl Transfer {
    fn is_file(&self) -> bool {
        !matches!(self, Self::Dial(_) | Self::Watch(_))
    }
}

/// What one step brought.
pub enum Progress {
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

    /// The transfer whose descriptor has this number in the set.
    pub fn of_descriptor(&mut self, number: u64) -> Option<&mut Transfer> {
        self.running.values_mut().find(|transfer| match transfer {
            Transfer::Dial(dial) => dial.number == number,
            Transfer::Watch(watcher) => watcher.number == number,
            _ => false,
        })
    }

    /// Folders that all watches together look at.
    pub fn folders(&self) -> usize {
        self.running.values().map(|t| if let Transfer::Watch(watcher) = t { watcher.folders() } else { 0 }).sum()
    }

    fn count(&self, kind: impl Fn(&Transfer) -> bool) -> usize {
        self.running.values().filter(|transfer| kind(transfer)).count()
    }
}

impl Agent {
    /// Begins a transfer on a fresh stream; `None` when it is over at once.
    pub(crate) fn begin_transfer(
        &mut self,
        stream: u64,
        begin: impl FnOnce(&mut Self) -> Result<Option<Transfer>, Refusal>,
    ) -> Result<(), Broken> {
        self.refuse_used(stream)?;
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
        self.refuse_many(Transfer::is_file, MAX_TRANSFERS, "transfers")?;
        Put::begin(put).map(|put| Some(Transfer::Put(put)))
    }

    /// `FileGet`.
    pub(crate) fn get(&mut self, get: &FileGet) -> Result<Option<Transfer>, Refusal> {
        self.refuse_many(Transfer::is_file, MAX_TRANSFERS, "transfers")?;
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
            Some(Change::SetAttributes(request)) => attributes::set(request).map(|()| None),
            None => Err(change::nothing()),
        }
    }

    /// `Dial`.
    pub(crate) fn dial(&mut self, dial: &DialRequest) -> Result<Option<Transfer>, Refusal> {
        self.refuse_many(|transfer| matches!(transfer, Transfer::Dial(_)), MAX_DIALS, "connections to ports")?;
        let number = self.next_number();
        Dial::begin(dial, number, &self.poll).map(|dial| Some(Transfer::Dial(Box::new(dial))))
    }

    /// `Watch`.
    pub(crate) fn watch(&mut self, watch: &Watch) -> Result<Option<Transfer>, Refusal> {
        self.refuse_many(|transfer| matches!(transfer, Transfer::Watch(_)), MAX_WATCHES, "watches")?;
        let number = self.next_number();
        Watcher::begin(watch, number, &self.poll).map(|watcher| Some(Transfer::Watch(Box::new(watcher))))
    }

    /// `FileStat`.
    pub(crate) fn file_stat(&mut self, stream: u64, stat: &FileStat) -> Result<(), Broken> {
        self.refuse_used(stream)?;
        match attributes::stat(stat) {
            Ok(entries) => self.answer(stream, Body::FileEntries(entries)),
            Err(refusal) => self.answer_error(stream, refusal),
        }
        Ok(())
    }

    fn next_number(&mut self) -> u64 {
        self.transfers.last_number += 1;
        self.transfers.last_number
    }

    /// Streams are used once.
    pub(crate) fn refuse_used(&self, stream: u64) -> Result<(), Broken> {
        if self.transfers.contains(stream) || self.execs.values().any(|exec| exec.stream == stream) {
            return Err(protocol("a stream was used twice"));
        }
        Ok(())
    }

    fn refuse_many_walks(&self) -> Result<(), Refusal> {
        self.refuse_many(Transfer::is_file, MAX_TRANSFERS, "transfers")?;
        let walks = |transfer: &Transfer| matches!(transfer, Transfer::List(_) | Transfer::Remove(_));
        self.refuse_many(walks, MAX_WALKS, "listings and removals")
    }

    fn refuse_many(&self, kind: impl Fn(&Transfer) -> bool, most: usize, what: &str) -> Result<(), Refusal> {
        if self.transfers.count(kind) < most {
            return Ok(());
        }
        Err(Refusal::new(ErrorKind::ErrorLimit, format!("{most} {what} are running; more are refused")))
    }

    /// `FileData` of a put. What comes for a transfer that is over is ignored.
    pub(crate) fn file_data(&mut self, stream: u64, data: &[u8], last: bool) -> Result<(), Broken> {
        if matches!(self.transfers.running.get(&stream), Some(Transfer::Dial(_))) {
            return self.dial_data(stream, data, last);
        }
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

    fn dial_data(&mut self, stream: u64, data: &[u8], last: bool) -> Result<(), Broken> {
        let held = |t: &Transfer| if let Transfer::Dial(dial) = t { dial.held() } else { 0 };
        let crowded = self.transfers.running.values().map(held).sum::<usize>() + data.len() > MAX_HELD;
        let Some(Transfer::Dial(dial)) = self.transfers.running.get_mut(&stream) else { return Ok(()) };
        if crowded {
            self.transfers.running.remove(&stream);
            let message = "the ports of the sandbox do not take what was sent to them";
            self.answer_error(stream, Refusal::new(ErrorKind::ErrorLimit, message));
            return Ok(());
        }
        dial.take(data, last)
    }

    /// The client takes more of a file or a connection.
    pub(crate) fn grant_transfer(&mut self, stream: u64, bytes: u64) {
        match self.transfers.running.get_mut(&stream) {
            Some(Transfer::Get(get)) => get.grant(bytes),
            Some(Transfer::Dial(dial)) => dial.grant(bytes),
            _ => {}
        }
    }

    /// The descriptor of a transfer is ready.
    pub(crate) fn transfer_ready(&mut self, number: u64, ready: Ready) {
        match self.transfers.of_descriptor(number) {
            Some(Transfer::Dial(dial)) => dial.mark(ready),
            Some(Transfer::Watch(watcher)) => watcher.readable = true,
            _ => {}
        }
    }

    /// Moves every transfer on. True when there is more to do at once.
    pub(crate) fn step_transfers(&mut self) -> bool {
        if self.transfers.running.is_empty() {
            return false;
        }
        let mut more = false;
        let mut folders = self.transfers.folders();
        for (stream, mut transfer) in std::mem::take(&mut self.transfers.running) {
            match self.step(stream, &mut transfer, &mut folders) {
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

    fn step(&mut self, stream: u64, transfer: &mut Transfer, folders: &mut usize) -> Result<Progress, Refusal> {
        // These take from the kernel and from buffers whether the client reads or not.
        let mut more = false;
        match transfer {
            Transfer::Dial(dial) => dial.advance(&self.poll)?,
            Transfer::Watch(watcher) => {
                let before = watcher.folders();
                more = watcher.collect(MAX_FOLDERS.saturating_sub(*folders))?;
                *folders = (*folders + watcher.folders()).saturating_sub(before);
            }
            _ => {}
        }
        let Some(client) = self.client.as_mut().filter(|client| client.has_room()) else {
            return Ok(if more { Progress::More } else { Progress::Waits });
        };
        match transfer {
            Transfer::Put(_) => Ok(Progress::Waits),
            Transfer::Dial(dial) => dial.relay(stream, client, &mut self.spare),
            Transfer::Watch(watcher) => {
                if let Some(events) = watcher.take_events() {
                    client.answer(stream, Body::WatchEvents(events));
                }
                Ok(if more { Progress::More } else { Progress::Waits })
            }
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
