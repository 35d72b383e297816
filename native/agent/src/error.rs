//! The errors of the agent: what ends it, and what a request is answered with.

use caisson_wire::agent::{ErrorKind, StreamError};
use rustix::io::Errno;

/// Why the agent or the spawner gives up; process 1 then exits and the kernel takes the sandbox down.
#[derive(Debug)]
pub enum Fatal {
    /// The first packet on the life channel is not a usable `Boot`.
    Boot(&'static str),
    /// The kernel refused something that the agent cannot work without.
    Kernel(&'static str, Errno),
    /// The agent's own system call filter could not be installed.
    Filter(std::io::Error),
}

impl std::fmt::Display for Fatal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Boot(what) => write!(f, "the first packet on the life channel cannot be used: {what}"),
            Self::Kernel(what, errno) => write!(f, "the kernel refused to {what}: {errno}"),
            Self::Filter(cause) => write!(f, "the agent's own system call filter was refused: {cause}"),
        }
    }
}

impl std::error::Error for Fatal {}

/// A kernel refusal, told with what was tried.
pub trait Context<T> {
    /// Names what was tried: "make the epoll set".
    fn or_fatal(self, what: &'static str) -> Result<T, Fatal>;
}

impl<T> Context<T> for Result<T, Errno> {
    fn or_fatal(self, what: &'static str) -> Result<T, Fatal> {
        self.map_err(|errno| Fatal::Kernel(what, errno))
    }
}

/// Why one request failed; the client gets it as the `StreamError` of that stream.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    kind: ErrorKind,
    message: String,
    errno: i32,
}

impl Refusal {
    /// For people.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// A refusal that comes from the agent itself.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), errno: 0 }
    }

    /// A field of the request that is out of its bounds.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::ErrorInvalid, message)
    }

    /// A refusal with a kind of the agent's choice and the kernel's error number.
    pub fn with_errno(kind: ErrorKind, errno: Errno, message: impl Into<String>) -> Self {
        Self { kind, message: format!("{}: {errno}", message.into()), errno: errno.raw_os_error() }
    }

    /// The kernel refused `action` on `path`.
    pub fn path(action: &str, path: &[u8], errno: Errno) -> Self {
        Self::with_errno(kind_of(errno), errno, format!("cannot {action} {}", shown(path)))
    }

    /// What it means to a client.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The message of the wire.
    pub fn into_message(self) -> StreamError {
        StreamError { kind: self.kind.into(), message: self.message, errno: self.errno }
    }
}

/// A path as text for people: at most 256 bytes, anything unprintable replaced.
pub fn shown(path: &[u8]) -> String {
    let cut = path.get(..256).unwrap_or(path);
    String::from_utf8_lossy(cut).chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// The kind that an error number of a file operation means to a client.
pub fn kind_of(errno: Errno) -> ErrorKind {
    match errno {
        Errno::NOENT | Errno::NOTDIR => ErrorKind::ErrorNotFound,
        Errno::ACCESS | Errno::PERM | Errno::ROFS => ErrorKind::ErrorPermission,
        Errno::EXIST | Errno::NOTEMPTY => ErrorKind::ErrorExists,
        Errno::NOSPC | Errno::DQUOT | Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::AGAIN | Errno::FBIG => {
            ErrorKind::ErrorLimit
        }
        Errno::LOOP | Errno::ISDIR | Errno::NXIO => ErrorKind::ErrorNotRegular,
        Errno::INVAL | Errno::NAMETOOLONG | Errno::XDEV => ErrorKind::ErrorInvalid,
        _ => ErrorKind::ErrorIo,
    }
}
