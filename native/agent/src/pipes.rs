//! What a command has as standard input, output and error, and the agent's ends of it.

use crate::exec::ChildEnds;
use crate::pty::Terminal;
use caisson_wire::agent::ExecStart;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

type Made = (ChildEnds, Option<OwnedFd>, [Option<OwnedFd>; 2]);

/// Pipes, or a terminal, that belong to the user, so that /dev/stdout can be opened anew.
pub fn make_pipes(start: &ExecStart, memory: Option<OwnedFd>) -> Result<Made, Errno> {
    if let Some(size) = &start.pty {
        let terminal = Terminal::open(size, start.uid, start.gid)?;
        let typed = rustix::io::fcntl_dupfd_cloexec(&terminal.master, 3)?;
        let [stdout, stderr] = [(); 2].map(|()| rustix::io::fcntl_dupfd_cloexec(&terminal.slave, 3));
        let ends = ChildEnds { stdin: Some(terminal.slave), stdout: stdout?, stderr: stderr?, memory };
        return Ok((ends, Some(typed), [Some(terminal.master), None]));
    }
    let (stdout, stdout_end) = owned_pipe(start, true)?;
    let (stderr, stderr_end) = owned_pipe(start, true)?;
    let (stdin_end, stdin) = if start.stdin_open {
        let (read, write) = owned_pipe(start, false)?;
        (Some(read), Some(write))
    } else {
        (None, None)
    };
    Ok((
        ChildEnds { stdin: stdin_end, stdout: stdout_end, stderr: stderr_end, memory },
        stdin,
        [Some(stdout), Some(stderr)],
    ))
}

/// The agent's end does not block, the user's does.
fn owned_pipe(start: &ExecStart, agent_reads: bool) -> Result<(OwnedFd, OwnedFd), Errno> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(if agent_reads { &read } else { &write }, true)?;
    let (uid, gid) = (rustix::fs::Uid::from_raw(start.uid), rustix::fs::Gid::from_raw(start.gid));
    // A uid that the sandbox does not map is told by the child, with a better message.
    let _ = rustix::fs::fchown(&write, Some(uid), Some(gid));
    Ok((read, write))
}
