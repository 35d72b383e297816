//! What can go wrong, a sentence per cause.

use caisson_wire::launcher as wire;
use std::io;

/// Why the launcher did not do what it was asked, with what a person can do about it.
#[derive(Debug)]
pub struct Error {
    /// Class of the failure, as the client sees it.
    pub kind: wire::ErrorKind,
    /// What failed, on what.
    pub message: String,
    /// What to do about it; may be empty.
    pub remedy: String,
    /// The system's error number, or 0.
    pub errno: i32,
}

/// Result with the launcher's error.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error of this class.
    pub fn new(kind: wire::ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), remedy: String::new(), errno: 0 }
    }

    /// A request that is outside the grammar or the bounds.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(wire::ErrorKind::ErrorInvalid, message)
    }

    /// Adds what to do about it.
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = remedy.into();
        self
    }

    /// The form that goes to the client.
    pub fn to_wire(&self) -> wire::Error {
        wire::Error {
            kind: self.kind.into(),
            message: self.message.clone(),
            remedy: self.remedy.clone(),
            errno: self.errno,
        }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// Adds to a system error what was being done.
pub trait Doing<T> {
    /// `step` says what was being done, on what.
    fn doing(self, step: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Into<io::Error>> Doing<T> for std::result::Result<T, E> {
    fn doing(self, step: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|e| {
            let e: io::Error = e.into();
            Error {
                kind: wire::ErrorKind::ErrorSetup,
                message: format!("{}: {e}", step()),
                remedy: String::new(),
                errno: e.raw_os_error().unwrap_or(0),
            }
        })
    }
}
