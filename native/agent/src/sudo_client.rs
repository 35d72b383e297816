//! `sudo`: a user's program without any right of its own. It hands its command line, environment and standard descriptors
//! to the doorman, passes signals on, and ends as the command ended.

use crate::sudo_options::{Options, USAGE};
use crate::sudo_wire::{DOOR, End, MAX_REQUEST, Reply};
use crate::sys;
use prost::Message;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use std::os::unix::ffi::OsStringExt;
use std::process::ExitCode;
use std::time::Duration;

/// What a terminal, a shell or a supervisor sends to a program.
const PASSED_ON: [i32; 8] = [
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGWINCH,
    libc::SIGCONT,
];

/// Runs it.
pub fn run() -> ExitCode {
    let Some(options) = Options::parse(std::env::args_os().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::FAILURE;
    };
    if options.version {
        println!("sudo of Caisson {}", env!("CARGO_PKG_VERSION"));
        return ExitCode::SUCCESS;
    }
    if options.forget && options.command.is_empty() {
        return ExitCode::SUCCESS;
    }
    match ask(options) {
        Ok(code) => code,
        Err(refusal) => {
            eprintln!("sudo: {refusal}");
            ExitCode::FAILURE
        }
    }
}

fn ask(options: Options) -> Result<ExitCode, String> {
    let (list, user) = (options.list, String::from_utf8_lossy(&options.user).into_owned());
    let cwd = std::env::current_dir().map_or(Vec::new(), |path| path.into_os_string().into_vec());
    let request = options.into_request(std::env::vars_os(), &cwd);
    let command = request.argv.first().map_or("the shell".into(), |word| String::from_utf8_lossy(word).into_owned());
    let bytes = request.encode_to_vec();
    if bytes.len() > MAX_REQUEST {
        return Err("the command and its environment are too long".to_owned());
    }
    // Before there is a command that signals could miss.
    let signals = sys::take_signals(&PASSED_ON).map_err(|errno| format!("cannot take signals: {errno}"))?;
    let (reply, fds) = exchange(&bytes)?;
    if !reply.granted {
        return Err(if reply.refusal.is_empty() { "the sandbox gives no answer".to_owned() } else { reply.refusal });
    }
    match <[OwnedFd; 2]>::try_from(fds) {
        Ok([result, hand_on]) => finish(&result, &hand_on, &signals, &command),
        Err(_) => {
            if list {
                println!("Whoever runs in this sandbox may run as {user}, without a password:\n    ALL");
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn exchange(request: &[u8]) -> Result<(Reply, Vec<OwnedFd>), String> {
    let gone = |errno: Errno| format!("process 1 of the sandbox does not answer: {errno}");
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).map_err(gone)?;
    let door = SocketAddrUnix::new_abstract_name(DOOR).map_err(gone)?;
    match connect(&socket, &door) {
        // The name is taken and nobody listens: so it is where root is denied.
        Err(Errno::CONNREFUSED) => return Err(crate::launch::refused_root().to_owned()),
        result => result.map_err(gone)?,
    }
    // SAFETY: where a standard descriptor is closed, sending fails with EBADF and nothing else happens.
    let stdio = [0, 1, 2].map(|number| unsafe { BorrowedFd::borrow_raw(number) });
    let mut patience = 40;
    loop {
        match sys::send(&socket, request, &stdio, SendFlags::empty()) {
            // Others of the same user have too many descriptors under way.
            Err(Errno::TOOMANYREFS) if patience > 0 => patience -= 1,
            // Who refuses does not read first; the reply tells why.
            Ok(()) | Err(Errno::PIPE | Errno::CONNRESET) => break,
            Err(errno) => return Err(format!("cannot hand on the standard descriptors: {errno}")),
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    // An end with something unread is told before what came.
    let packet = match sys::receive(&socket, 64 << 10, RecvFlags::empty()) {
        Err(Errno::CONNRESET) => sys::receive(&socket, 64 << 10, RecvFlags::empty()),
        other => other,
    };
    let packet = packet.map_err(gone)?;
    let reply =
        Reply::decode(&*packet.bytes).map_err(|_| "process 1 of the sandbox speaks another language".to_owned())?;
    Ok((reply, packet.fds))
}

/// Waits for the end, and hands signals on until then.
fn finish(result: &OwnedFd, hand_on: &OwnedFd, signals: &OwnedFd, command: &str) -> Result<ExitCode, String> {
    loop {
        let mut fds = [PollFd::new(result, PollFlags::IN), PollFd::new(signals, PollFlags::IN)];
        match poll(&mut fds, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(format!("cannot wait for the command: {errno}")),
        }
        while let Some(signal) = sys::next_signal(signals) {
            let _ = rustix::io::write(hand_on, &[signal]);
        }
        let mut bytes = [0; End::SIZE];
        match rustix::io::read(result.as_fd(), &mut bytes) {
            Ok(0) => return Err("the command was lost with its sandbox".to_owned()),
            Ok(_) => break end(End::from_bytes(bytes), command),
            Err(_) => {}
        }
    }
}

fn end(end: Option<End>, command: &str) -> Result<ExitCode, String> {
    match end {
        Some(End::Exited(code)) => Ok(ExitCode::from(code)),
        Some(End::Signalled(signal)) => {
            sys::die_of(signal.into());
            Ok(ExitCode::from(signal.saturating_add(128)))
        }
        Some(End::Failed(errno)) => match Errno::from_raw_os_error(errno.into()) {
            Errno::NOENT => Err(format!("{command}: command not found")),
            errno => Err(format!("{command}: cannot be started here: {errno}")),
        },
        None => Err("process 1 of the sandbox speaks another language".to_owned()),
    }
}
