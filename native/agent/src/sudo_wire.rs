//! What `sudo`, the doorman and the agent say to each other. Private to this crate: all ends are the same binary, but what
//! `sudo` says is whatever a user process wants to say.

use prost::Message;

/// Name of the doorman's socket in the abstract space, which belongs to the sandbox's own network namespace.
pub const DOOR: &[u8] = b"caisson-sudo";
/// Longest request, in bytes: a packet must fit into the socket's buffer.
pub const MAX_REQUEST: usize = 128 << 10;
/// Standard input, output and error.
pub const STDIO: usize = 3;

/// `sudo` to doorman, with the three standard descriptors.
#[derive(Clone, PartialEq, Message)]
pub struct Request {
    /// The command; none for a shell alone.
    #[prost(bytes = "vec", repeated, tag = "1")]
    pub argv: Vec<Vec<u8>>,
    /// KEY=VALUE.
    #[prost(bytes = "vec", repeated, tag = "2")]
    pub env: Vec<Vec<u8>>,
    /// Absolute.
    #[prost(bytes = "vec", tag = "3")]
    pub cwd: Vec<u8>,
    /// Who is to run it.
    #[prost(bytes = "vec", tag = "4")]
    pub user: Vec<u8>,
    /// By the user's shell.
    #[prost(bool, tag = "5")]
    pub shell: bool,
    /// As at a login: a login shell, at home.
    #[prost(bool, tag = "6")]
    pub login: bool,
    /// Only asks whether it might.
    #[prost(bool, tag = "7")]
    pub ask: bool,
}

/// Doorman to `sudo`. With two descriptors when the command starts: the end of it comes from the first as an `End`, each
/// byte written to the second is a signal for it.
#[derive(Clone, PartialEq, Message)]
pub struct Reply {
    /// Why not; empty when it may.
    #[prost(string, tag = "1")]
    pub refusal: String,
    /// It may. A packet is never empty, which would look like an end.
    #[prost(bool, tag = "2")]
    pub granted: bool,
}

/// Agent to doorman, in answer to the pid of a caller: group, status pipe and the two descriptors for `sudo`, then the
/// `cgroup.procs` of the group's own memory where there is one. Without descriptors when it refuses.
#[derive(Clone, PartialEq, Message)]
pub struct Permit {
    /// Why not.
    #[prost(string, tag = "1")]
    pub refusal: String,
    /// Which seccomp list.
    #[prost(int32, tag = "2")]
    pub families: i32,
    /// RLIMIT_NOFILE
    #[prost(uint64, tag = "3")]
    pub open_files: u64,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With this code.
    Exited(u8),
    /// By this signal.
    Signalled(u8),
    /// It did not start, for this error number.
    Failed(u8),
}

impl End {
    /// Size on the pipe.
    pub const SIZE: usize = 2;

    /// For the pipe.
    pub fn to_bytes(self) -> [u8; Self::SIZE] {
        match self {
            Self::Exited(code) => [0, code],
            Self::Signalled(signal) => [1, signal],
            Self::Failed(errno) => [2, errno],
        }
    }

    /// From the pipe.
    pub fn from_bytes(bytes: [u8; Self::SIZE]) -> Option<Self> {
        match bytes {
            [0, code] => Some(Self::Exited(code)),
            [1, signal] => Some(Self::Signalled(signal)),
            [2, errno] => Some(Self::Failed(errno)),
            _ => None,
        }
    }
}

/// Bytes that no request may make panic.
#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            let _ = Request::decode(&*bytes);
            let _ = Reply::decode(&*bytes);
            let _ = Permit::decode(&*bytes);
        }

        #[test]
        fn ends_come_back(bytes: [u8; 2]) {
            if let Some(end) = End::from_bytes(bytes) {
                prop_assert_eq!(end.to_bytes(), bytes);
            }
        }
    }
}
