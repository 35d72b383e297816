//! Why a template could not be built.

use std::path::{Path, PathBuf};
use std::{error, fmt, io};

/// One sentence per cause, for the operator.
#[derive(Debug)]
pub enum TemplateError {
    /// Files of the template belong to several ids, which only root can give.
    NotRoot,
    /// The host keeps /bin, /sbin or /lib apart from /usr.
    NotMerged {
        /// The top-level entry that is not a link into /usr.
        path: PathBuf,
    },
    /// Somebody other than the caller may write to the cache folder.
    UnsafeCache {
        /// The cache folder.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Another process has been building for too long.
    Busy {
        /// The lock file that it holds.
        path: PathBuf,
    },
    /// A system call failed.
    Io {
        /// What was being done.
        what: &'static str,
        /// The path it was done to.
        path: PathBuf,
        /// The answer of the kernel.
        source: io::Error,
    },
}

impl TemplateError {
    /// Makes the error for a failed system call.
    pub(crate) fn io(what: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        Self::Io { what, path: path.to_owned(), source: source.into() }
    }
}

impl fmt::Display for TemplateError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRoot => write!(out, "the host template can only be built by root; start the launcher as root"),
            Self::NotMerged { path } => write!(
                out,
                "this host is not merged-/usr: {} is not a link into /usr; the host template needs that, use a template \
                 from an OCI image instead",
                path.display()
            ),
            Self::UnsafeCache { path, why } => {
                write!(out, "the template cache {} {why}; use a folder that only root can write to", path.display())
            }
            Self::Busy { path } => write!(
                out,
                "another process is still building the host template (it holds the lock {}); try again or stop it",
                path.display()
            ),
            Self::Io { what, path, source } => write!(out, "cannot {what} {}: {source}", path.display()),
        }
    }
}

impl error::Error for TemplateError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
