//! Frames that wait for a socket.

use crate::frames::Frame;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::collections::VecDeque;
use std::io::IoSlice;

/// Frames per writev.
const BATCH: usize = 64;

/// Something with a frame in it.
pub trait Framed {
    /// The frame.
    fn frame(&self) -> &Frame;
}

impl Framed for Frame {
    fn frame(&self) -> &Frame {
        self
    }
}

/// The output of one socket.
pub struct Output<T> {
    /// The kernel may have room.
    pub writable: bool,
    frames: VecDeque<T>,
    queued: usize,
    written: usize,
}

impl<T: Framed> Output<T> {
    /// Of a socket that may have room.
    pub fn new() -> Self {
        Self { writable: true, frames: VecDeque::new(), queued: 0, written: 0 }
    }

    /// Queues one more.
    pub fn push(&mut self, frame: T) {
        self.queued += frame.frame().as_bytes().len();
        self.frames.push_back(frame);
    }

    /// Bytes that wait.
    pub fn queued(&self) -> usize {
        self.queued
    }

    /// Nothing waits.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Forgets all but a frame whose beginning is written already.
    pub fn forget(&mut self) {
        self.frames.truncate(usize::from(self.written > 0));
        self.queued = self.frames.iter().map(|frame| frame.frame().as_bytes().len()).sum();
    }

    /// Writes once. `done` gets the frames that are out; the bytes that the socket took.
    pub fn write(&mut self, socket: &OwnedFd, done: impl FnMut(T)) -> Result<usize, Errno> {
        let mut slices = Vec::with_capacity(BATCH.min(self.frames.len()));
        let mut skip = self.written;
        for frame in self.frames.iter().take(BATCH) {
            slices.push(IoSlice::new(frame.frame().as_bytes().get(skip..).unwrap_or_default()));
            skip = 0;
        }
        match rustix::io::writev(socket, &slices) {
            Ok(bytes) => {
                self.advance(bytes, done);
                Ok(bytes)
            }
            Err(Errno::AGAIN) => {
                self.writable = false;
                Ok(0)
            }
            Err(Errno::INTR) => Ok(0),
            Err(error) => Err(error),
        }
    }

    fn advance(&mut self, bytes: usize, mut done: impl FnMut(T)) {
        self.written += bytes;
        while let Some(length) = self.frames.front().map(|frame| frame.frame().as_bytes().len()) {
            if self.written < length {
                return;
            }
            self.written -= length;
            self.queued -= length;
            self.frames.pop_front().into_iter().for_each(&mut done);
        }
    }
}
