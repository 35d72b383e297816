//! The doorman: takes connections of `sudo`, asks the agent about each caller, and forks its command into the caller's own
//! group. It lives in the limits of the user's processes; whatever a caller sends is read in that forked child.

use crate::child::{Program, fork_into};
use crate::error::shown;
use crate::launch::AGENT_ID;
use crate::spawn_request::{Stage, Status};
use crate::spawner::{families, prepare_for_children};
use crate::sudo;
use crate::sudo_wire::{MAX_REQUEST, Permit, Reply, Request, STDIO};
use crate::sys;
use crate::users::User;
use caisson_wire::agent::ExecStart;
use prost::Message;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{RecvFlags, SendFlags, SocketFlags, accept_with};
use std::time::Duration;

/// Descriptor numbers of its channel and of the door.
const CHANNEL: i32 = 3;
const DOOR: i32 = 4;
/// A caller says within this time what it wants.
const PATIENCE: Duration = Duration::from_secs(5);
const MAX_WORDS: usize = 16_384;

/// Forks a doorman out of the agent; returns the channel to it and its pid.
pub fn make(door: &OwnedFd, joins: &[OwnedFd]) -> Result<(OwnedFd, i32), Errno> {
    let (ours, theirs) = sudo::channel()?;
    let door = rustix::io::fcntl_dupfd_cloexec(door, DOOR + 1)?;
    let theirs = rustix::io::fcntl_dupfd_cloexec(&theirs, DOOR + 1)?;
    if let Some(pid) = sys::fork()? {
        return Ok((ours, pid));
    }
    // One that is outside the limits of the user's processes must not be.
    let joined = joins.iter().all(|join| rustix::io::write(join, b"0").is_ok());
    if let (true, Ok(channel), Ok(door)) = (joined, sys::move_to(theirs, CHANNEL), sys::move_to(door, DOOR)) {
        sys::close_from(DOOR + 1);
        if prepare_for_children().is_ok() && rustix::io::ioctl_fionbio(&door, false).is_ok() {
            serve(&channel, &door);
        }
    }
    sys::exit_now(1)
}

/// Until the agent is gone.
fn serve(channel: &OwnedFd, door: &OwnedFd) {
    loop {
        let caller = match accept_with(door, SocketFlags::CLOEXEC) {
            Ok(caller) => caller,
            Err(Errno::INTR | Errno::CONNABORTED) => continue,
            Err(_) => return,
        };
        let Ok(peer) = sockopt::socket_peercred(&caller) else { continue };
        let pid = peer.pid.as_raw_nonzero().get();
        if sys::send(channel, &pid.to_ne_bytes(), &[], SendFlags::empty()).is_err() {
            return;
        }
        let Ok(packet) = sys::receive(channel, 4096, RecvFlags::empty()) else { return };
        let Ok(permit) = Permit::decode(&*packet.bytes) else { return };
        if packet.bytes.is_empty() && packet.fds.is_empty() {
            return;
        }
        let _ = match (permit.refusal.as_str(), sys::peer_lives(&caller)) {
            ("", true) => start(&caller, peer.uid.as_raw(), peer.gid.as_raw(), &permit, &packet.fds),
            // Its number may be another process's by now.
            ("", false) => Ok(()),
            (refusal, _) => tell(&caller, refusal, &[]),
        };
    }
}

fn tell(caller: impl AsFd, refusal: &str, fds: &[BorrowedFd<'_>]) -> Result<(), Errno> {
    let reply = Reply { refusal: refusal.to_owned(), granted: refusal.is_empty() };
    sys::send(caller, &reply.encode_to_vec(), fds, SendFlags::DONTWAIT)
}

fn start(caller: &OwnedFd, uid: u32, gid: u32, permit: &Permit, fds: &[OwnedFd]) -> Result<(), Errno> {
    let [group, status, result, signals, memory @ ..] = fds else { return Err(Errno::BADMSG) };
    match fork_into(group.as_fd()) {
        Ok(false) => Ok(()),
        Ok(true) => {
            let order = Order { caller, uid, gid, permit, status, memory: memory.first() };
            let (stage, value) = order.carry_out(result, signals);
            let _ = rustix::io::write(status, &Status { stage, value }.to_bytes());
            sys::exit_now(127)
        }
        Err(errno) => {
            let _ = rustix::io::write(status, &Status { stage: Stage::Fork, value: errno.raw_os_error() }.to_bytes());
            tell(caller, &format!("the command cannot be started: {errno}"), &[])
        }
    }
}

/// What the child in the caller's group works on.
struct Order<'a> {
    caller: &'a OwnedFd,
    uid: u32,
    gid: u32,
    permit: &'a Permit,
    status: &'a OwnedFd,
    memory: Option<&'a OwnedFd>,
}

impl Order<'_> {
    /// Becomes the command; returns why not.
    fn carry_out(&self, result: &OwnedFd, signals: &OwnedFd) -> (Stage, i32) {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        let _ = rustix::io::write(self.status, &Status { stage: Stage::Alive, value: pid }.to_bytes());
        if self.memory.is_some_and(|memory| rustix::io::write(memory, b"0").is_err()) {
            return (Stage::Join, libc::EAGAIN);
        }
        match self.prepare() {
            Ok(None) => {
                let _ = tell(self.caller, "", &[]);
                (Stage::Exec, 0)
            }
            Ok(Some((start, stdio))) => {
                let [stdin, stdout, stderr] = [0, 1, 2].map(|number| stdio.get(number).map(AsFd::as_fd));
                let list = families(self.permit.families);
                // The memory group is joined.
                let program = Program::new(&start, list, [stdin, stdout, stderr], self.status.as_fd(), None, false);
                let Some(program) = program else { return (Stage::Setup, libc::EINVAL) };
                if tell(self.caller, "", &[result.as_fd(), signals.as_fd()]).is_err() {
                    return (Stage::Setup, libc::EPIPE);
                }
                program.become_it()
            }
            Err(refusal) => {
                let _ = tell(self.caller, &refusal, &[]);
                (Stage::Setup, libc::EINVAL)
            }
        }
    }

    /// Reads and checks the request; `None` when it only asks.
    fn prepare(&self) -> Result<Option<(ExecStart, Vec<OwnedFd>)>, String> {
        let _ = sockopt::set_socket_timeout(self.caller, Timeout::Recv, Some(PATIENCE));
        let packet = sys::receive(self.caller, MAX_REQUEST, RecvFlags::empty());
        let packet = packet.map_err(|errno| format!("the request cannot be read: {errno}"))?;
        let request = Request::decode(&*packet.bytes).map_err(|_| "the request does not decode".to_owned())?;
        if packet.fds.len() != STDIO {
            return Err("the request comes without its standard descriptors".to_owned());
        }
        if request.argv.len() + request.env.len() > MAX_WORDS {
            return Err("the command has too many words".to_owned());
        }
        let user = User::named(&request.user).map_err(|refusal| refusal.into_message().message)?;
        if user.uid >= AGENT_ID || user.gid >= AGENT_ID {
            return Err(format!("{} is no user for commands", shown(&request.user)));
        }
        if request.ask {
            return Ok(None);
        }
        Ok(Some((self.command(request, &user)?, packet.fds)))
    }

    fn command(&self, request: Request, user: &User) -> Result<ExecStart, String> {
        let words = request.argv.join(&b' ');
        let mut start = ExecStart { argv: request.argv, env: request.env, ..ExecStart::default() };
        if request.shell || request.login {
            start.argv = by_shell(&user.shell, &start.argv, request.login);
        }
        if start.argv.first().is_none_or(Vec::is_empty) {
            return Err("there is no command to run".to_owned());
        }
        start.env.retain(|entry| entry.contains(&b'=') && !entry.starts_with(b"SUDO_"));
        user.take(&mut start);
        let name = User::numbered(self.uid).map_or_else(|| self.uid.to_string().into_bytes(), |user| user.name);
        start.env.push([b"SUDO_USER=", name.as_slice()].concat());
        start.env.push(format!("SUDO_UID={}", self.uid).into_bytes());
        start.env.push(format!("SUDO_GID={}", self.gid).into_bytes());
        start.env.push([b"SUDO_COMMAND=", words.get(..4096).unwrap_or(&words)].concat());
        start.cwd = if request.login { user.home.clone() } else { request.cwd };
        if !start.cwd.starts_with(b"/") {
            start.cwd = b"/".to_vec();
        }
        start.open_files = self.permit.open_files;
        Ok(start)
    }
}

/// `SHELL`, `SHELL -l`, or one of them with `-c` and the words, quoted as `sudo` quotes them.
fn by_shell(shell: &[u8], words: &[Vec<u8>], login: bool) -> Vec<Vec<u8>> {
    let mut argv = vec![shell.to_vec()];
    if login {
        argv.push(b"-l".to_vec());
    }
    if !words.is_empty() {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"_-$".contains(&b) || !b.is_ascii();
        let quote = |word: &Vec<u8>| -> Vec<u8> {
            word.iter().flat_map(|b| if plain(*b) { vec![*b] } else { vec![b'\\', *b] }).collect()
        };
        argv.push(b"-c".to_vec());
        argv.push(words.iter().map(quote).collect::<Vec<_>>().join(&b' '));
    }
    argv
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_a_shell_are_quoted() {
        let words = [b"echo".to_vec(), b"a b;c".to_vec(), b"$HOME".to_vec()];
        let argv = by_shell(b"/bin/sh", &words, true);
        let text: Vec<_> = argv.iter().map(|word| String::from_utf8_lossy(word)).collect();
        assert_eq!(text, ["/bin/sh", "-l", "-c", "echo a\\ b\\;c $HOME"]);
        assert_eq!(by_shell(b"/bin/sh", &[], false), [b"/bin/sh"]);
    }
}
