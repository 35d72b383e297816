//! A terminal of an exec: the agent holds the master, the command leads the session of the other end.

use crate::sys;
use caisson_wire::agent::Pty;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{CWD, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;
use rustix::termios::Winsize;

/// Group `tty`, as everywhere.
const TTY: u32 = 5;
const MOST: u32 = 4096;

/// Both ends of a new terminal.
pub struct Terminal {
    /// The agent's end, which does not block.
    pub master: OwnedFd,
    /// What becomes standard input, output and error.
    pub slave: OwnedFd,
}

impl Terminal {
    /// A terminal of the sandbox's own devpts that belongs to the user.
    pub fn open(size: &Pty, uid: u32, gid: u32) -> Result<Self, Errno> {
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let master = rustix::fs::openat(CWD, "/dev/ptmx", flags, Mode::empty())?;
        // By the master and not by a path: nobody can put another file in its place.
        rustix::pty::unlockpt(&master)?;
        let slave = sys::terminal_peer(&master)?;
        let uid = Uid::from_raw(uid);
        // A sandbox need not have the group, and the user may be one that it does not map: the child tells that better.
        if rustix::fs::fchown(&slave, Some(uid), Some(Gid::from_raw(TTY))).is_err() {
            let _ = rustix::fs::fchown(&slave, Some(uid), Some(Gid::from_raw(gid)));
        }
        rustix::fs::fchmod(&slave, Mode::from_raw_mode(0o620))?;
        resize(&master, size);
        Ok(Self { master, slave })
    }
}

/// Rows and columns are within bounds.
pub fn is_possible(size: &Pty) -> bool {
    [size.rows, size.cols].iter().all(|n| (1..=MOST).contains(n))
}

/// Sets the size, which must be a possible one; who is in the foreground gets SIGWINCH when it changed.
pub fn resize(master: impl AsFd, size: &Pty) {
    let number = |n: u32| u16::try_from(n).unwrap_or(u16::MAX);
    let size = Winsize { ws_row: number(size.rows), ws_col: number(size.cols), ws_xpixel: 0, ws_ypixel: 0 };
    let _ = rustix::termios::tcsetwinsize(master, size);
}

/// Tells the foreground of the terminal that it is gone.
pub fn hang_up(master: impl AsFd) {
    sys::signal_foreground(&master, libc::SIGHUP);
    sys::signal_foreground(master, libc::SIGCONT);
}
