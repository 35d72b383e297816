//! The spawner: lives in the limits of the user's processes and forks each command straight into its group, as a child
//! of the agent. It holds the agent's credentials, so nothing in the sandbox may reach it.

use crate::child::Program;
use crate::error::{Context, Fatal};
use crate::spawn_request::{self, Stage, Status, hello};
use crate::sys;
use caisson_seccomp::Families;
use caisson_wire::agent::SocketFamilies;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::SendFlags;
use rustix::process::{Resource, Rlimit, setrlimit};
use std::time::Duration;

/// The descriptor number of its channel.
pub const CHANNEL: i32 = 3;

/// Serves requests until the agent closes the channel. Everything that children inherit unchanged is set here once.
///
/// One that the agent forked has the agent's system call filter already.
pub fn run(channel: OwnedFd, filtered: bool) -> Result<(), Fatal> {
    prepare_for_children().or_fatal("become unreachable")?;
    become_child_of_agent().or_fatal("become a child of process 1")?;
    if !filtered {
        caisson_seccomp::install(caisson_seccomp::agent()).map_err(Fatal::Filter)?;
    }
    let pid = rustix::process::getpid().as_raw_nonzero().get();
    sys::send(&channel, &hello(pid), &[], SendFlags::empty()).or_fatal("greet the agent")?;
    while let Some((request, fds)) = spawn_request::receive(&channel).or_fatal("receive a request")? {
        spawn(&request, &fds);
    }
    Ok(())
}

/// What commands inherit.
pub fn prepare_for_children() -> Result<(), Errno> {
    sys::forbid_dumping()?;
    sys::reset_signals();
    sys::set_soft_data_limit(None);
    // Children set their own credentials; an ambient set would outlive an exec that does not.
    let _ = rustix::thread::clear_ambient_capability_set();
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    limit(Resource::Core, 0);
    limit(Resource::Memlock, 64 << 10);
    limit(Resource::Rtprio, 0);
    Ok(())
}

/// Commands must become children of the agent, so it must be this process's parent. A parent outside the pid namespace
/// reads as none, and the kernel gives its orphans to the init outside: then one more fork inside is needed, whose orphan
/// goes to process 1 inside.
fn become_child_of_agent() -> Result<(), Errno> {
    if rustix::process::getppid().is_none() && sys::fork()?.is_some() {
        sys::exit_now(0);
    }
    let mut pause = Duration::from_micros(20);
    while rustix::process::getppid().is_none_or(|parent| parent.as_raw_nonzero().get() != 1) {
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(5));
    }
    Ok(())
}

fn limit(resource: Resource, value: u64) {
    // Only ever lowers; a limit that the launcher set lower already stays.
    let maximum = rustix::process::getrlimit(resource).maximum.map_or(value, |hard| hard.min(value));
    let _ = setrlimit(resource, Rlimit { current: Some(maximum), maximum: Some(maximum) });
}

fn spawn(request: &spawn_request::SpawnRequest, fds: &[OwnedFd]) {
    let mut fds = fds.iter().map(OwnedFd::as_fd);
    let (Some(group), Some(status), Some(stdout), Some(stderr)) = (fds.next(), fds.next(), fds.next(), fds.next())
    else {
        return;
    };
    let stdin = request.has_stdin.then(|| fds.next()).flatten();
    let memory = request.has_memory.then(|| fds.next()).flatten();
    let Some(program) = request.start.as_ref().and_then(|start| {
        let stdio = [stdin, Some(stdout), Some(stderr)];
        Program::new(start, families(request.families), stdio, status, memory, request.terminal)
    }) else {
        return report(status, Stage::Exec, libc::EINVAL);
    };
    if let Err(errno) = program.start_in(group) {
        report(status, Stage::Fork, errno.raw_os_error());
    }
}

/// The list of user processes.
pub fn families(families: i32) -> Families {
    match SocketFamilies::try_from(families) {
        Ok(SocketFamilies::FamiliesInet) => Families::Inet,
        Ok(SocketFamilies::FamiliesInet6) => Families::Inet6,
        // Anything else gets the smallest list.
        _ => Families::Off,
    }
}

fn report(status: BorrowedFd<'_>, stage: Stage, value: i32) {
    let _ = rustix::io::write(status, &Status { stage, value }.to_bytes());
}
