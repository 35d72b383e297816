//! File transfers of the present connection.

use crate::agent::Agent;
use crate::connection::Broken;
use caisson_wire::agent::{FileChange, FileGet, FileList, FilePut};

/// By stream.
#[derive(Default)]
pub struct Transfers {}

impl Transfers {
    pub fn clear(&mut self) {}
    pub fn contains(&self, _stream: u64) -> bool {
        false
    }
    pub fn remove(&mut self, _stream: u64) -> bool {
        false
    }
}

impl Agent {
    pub(crate) fn new_transfer(
        &mut self,
        _stream: u64,
        make: impl FnOnce(&mut Self) -> Result<(), crate::error::Refusal>,
    ) -> Result<(), Broken> {
        let _ = make(self);
        Ok(())
    }
    pub(crate) fn put(&mut self, _stream: u64, _put: &FilePut) -> Result<(), crate::error::Refusal> {
        Ok(())
    }
    pub(crate) fn get(&mut self, _stream: u64, _get: &FileGet) -> Result<(), crate::error::Refusal> {
        Ok(())
    }
    pub(crate) fn list(&mut self, _stream: u64, _list: &FileList) -> Result<(), crate::error::Refusal> {
        Ok(())
    }
    pub(crate) fn change(&mut self, _stream: u64, _change: &FileChange) -> Result<(), crate::error::Refusal> {
        Ok(())
    }
    pub(crate) fn file_data(&mut self, _stream: u64, _data: &[u8], _last: bool) -> Result<(), Broken> {
        Ok(())
    }
    pub(crate) fn transfer_credit(&mut self, _stream: u64, _credit: u64) -> Result<(), Broken> {
        Ok(())
    }
    pub(crate) fn step_transfers(&mut self) -> bool {
        false
    }
}
