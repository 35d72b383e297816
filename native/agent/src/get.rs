//! Reads a regular file to the client.

use crate::error::{Refusal, shown};
use crate::exec::{CHUNK, chunk};
use crate::frames::Frame;
use crate::paths::SafePath;
use crate::sys;
use caisson_wire::agent::{ErrorKind, FileGet};
use rustix::fd::OwnedFd;
use rustix::fs::{FileType, OFlags, SeekFrom};

const DEFAULT_CREDIT: u64 = 1 << 20;

/// A file that is being read.
pub struct Get {
    file: OwnedFd,
    path: Vec<u8>,
    left: u64,
    credit: u64,
}

impl Get {
    /// Opens the file; what it grows by later is not read.
    pub fn begin(get: &FileGet) -> Result<Self, Refusal> {
        let fail = |errno| Refusal::path("read", &get.path, errno);
        // NONBLOCK: a FIFO would wait for its writer.
        let file = SafePath::parse(&get.path)?.open(OFlags::RDONLY | OFlags::NONBLOCK)?;
        let stat = rustix::fs::fstat(&file).map_err(fail)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            let message = format!("{} is not a regular file", shown(&get.path));
            return Err(Refusal::new(ErrorKind::ErrorNotRegular, message));
        }
        let rest = stat.st_size.unsigned_abs().saturating_sub(get.offset);
        if get.offset > 0 {
            rustix::fs::seek(&file, SeekFrom::Start(get.offset)).map_err(fail)?;
        }
        let left = if get.length == 0 { rest } else { rest.min(get.length) };
        let credit = if get.credit_bytes == 0 { DEFAULT_CREDIT } else { get.credit_bytes };
        Ok(Self { file, path: get.path.clone(), left, credit })
    }

    /// The client takes more.
    pub fn grant(&mut self, bytes: u64) {
        self.credit = self.credit.saturating_add(bytes);
    }

    /// The next frame, or `None` until there is credit. The transfer is over when it says `last`.
    pub fn next(&mut self, stream: u64, spare: &mut Vec<Vec<u8>>) -> Result<Option<(Frame, bool)>, Refusal> {
        let most = self.left.min(self.credit).min(CHUNK as u64);
        if most == 0 && self.left > 0 {
            return Ok(None);
        }
        let mut buffer = chunk(spare);
        let bytes = loop {
            match sys::read_into(&self.file, &mut buffer, most as usize) {
                Err(rustix::io::Errno::INTR) => {}
                result => break result.map_err(|errno| Refusal::path("read", &self.path, errno))?,
            }
        };
        self.left -= bytes as u64;
        self.credit -= bytes as u64;
        // A file that was cut meanwhile ends early.
        let last = self.left == 0 || bytes == 0;
        Ok(Some((Frame::file_data(stream, last, buffer, crate::frames::HEADROOM), last)))
    }
}
