//! The egress gateway as a process: its own uid, no capabilities, its own view of the file system, and a pipe that ends it.

use crate::error::{Doing, Error, Result};
use crate::sys::{self, Forked};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags};
use rustix::process::{Gid, Uid};
use std::ffi::CString;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Behind the host ids of sandboxes (ids.rs) and below 2^31 - 1. By the launcher's pid, so that two gateways of one host cannot
/// reach each other.
const FIRST_UID: u32 = 0x7FE0_0000;
const UIDS: u32 = 0x1F_0000;
/// Where the gateway finds its folder, with the program in it, in a mount namespace of its own.
const HOME: &str = "/mnt";
const MAIN: &str = "dev.caisson.egress.Main";
/// Before the first restart, and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LAST_PAUSE: Duration = Duration::from_secs(5);
/// One that listened for so long starts anew without a longer pause.
const STEADY: Duration = Duration::from_secs(30);
/// What is read of its log for a message.
const LAST_WORDS: u64 = 600;
const MAX_LOG: u64 = 4 << 20;
/// Of an operator's file.
const MAX_FILE: u64 = 4 << 20;
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// How deep folders lie in that of its state.
const STATE_DEPTH: u32 = 1;
/// What is the gateway's own in its folder.
const OWN_NAMES: [&str; 6] = ["agents.sock", "control.sock", "state", "java", "jars", "gateway.log"];
const OPTIONS: [&str; 11] = [
    "-XX:+UseSerialGC",
    "-Xms16m",
    "-Xmx768m",
    // Half of it is the pool of buffers for bytes on their way (BufferPool); channels and the JDK have the rest.
    "-XX:MaxDirectMemorySize=512m",
    "-XX:+DisableAttachMechanism",
    "-XX:-UsePerfData",
    "-XX:-HeapDumpOnOutOfMemoryError",
    "-XX:+ExitOnOutOfMemoryError",
    "-Xshare:auto",
    "-Dsun.net.inetaddr.ttl=0",
    "-Dsun.jnu.encoding=UTF-8",
];

/// How to start it.
pub struct Gateway {
    /// Home of a Java runtime.
    pub java: PathBuf,
    /// Folder of its jars.
    pub jars: PathBuf,
    /// Its folder: sockets, state, log.
    pub folder: PathBuf,
    /// Group that may use its control socket.
    pub group: Option<u32>,
    /// Its uid.
    pub uid: u32,
    /// Files of root that it may read, by the name under which it finds them in its folder: secrets of the operator, as the
    /// credentials of a proxy. Copied at each start.
    pub files: Vec<(String, PathBuf)>,
    /// More options of its own.
    pub args: Vec<String>,
    /// Before the next start.
    pause: Duration,
    listens_since: Option<Instant>,
}

/// Reads `NAME=PATH`.
pub fn file(text: &str) -> std::result::Result<(String, PathBuf), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    let good = |name: &str| {
        !name.is_empty() && name.chars().all(plain) && !name.starts_with('.') && !OWN_NAMES.contains(&name)
    };
    match text.split_once('=') {
        Some((name, path)) if good(name) && path.starts_with('/') => Ok((name.into(), path.into())),
        _ => Err(format!("--gateway-file takes NAME=/PATH, and no name that the gateway uses itself: {text}")),
    }
}

/// One that runs.
pub struct Running {
    /// Readable when it is dead.
    pub pidfd: OwnedFd,
    /// Its standard output, until it listens.
    pub words: Option<OwnedFd>,
    /// It said that it listens.
    pub listens: bool,
    heard: Vec<u8>,
    /// Its standard input: it ends when this closes, in order, so that what passed is written down. No PDEATHSIG: the kernel
    /// forgets that when a process becomes another user, and a kill would lose the last events.
    _leash: OwnedFd,
}

impl Running {
    /// Reads what it says. True when it listens from now on.
    pub fn hear(&mut self) -> bool {
        let Some(words) = &self.words else { return false };
        let mut buffer = [0u8; 256];
        match rustix::io::read(words, &mut buffer) {
            Ok(length @ 1..) => self.heard.extend(buffer.iter().take(length)),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => return false,
            _ => self.words = None,
        }
        self.heard.truncate(4096);
        if self.heard.split(|b| *b == b'\n').any(|line| line == b"ready") {
            // It has nothing more to say.
            self.words = None;
            self.listens = true;
        }
        self.listens
    }

    /// How it ended.
    pub fn reap(self) -> String {
        sys::reap(self.pidfd.as_fd())
    }
}

impl Gateway {
    /// With every default.
    pub fn new(java: PathBuf, jars: PathBuf, folder: PathBuf) -> Self {
        let uid = FIRST_UID + std::process::id() % UIDS;
        Self {
            java,
            jars,
            folder,
            group: None,
            uid,
            files: Vec::new(),
            args: Vec::new(),
            pause: FIRST_PAUSE,
            listens_since: None,
        }
    }

    /// Where the launcher connects for agents.
    pub fn agents(&self) -> PathBuf {
        self.folder.join("agents.sock")
    }

    /// Where clients put their policies.
    pub fn control(&self) -> PathBuf {
        self.folder.join("control.sock")
    }

    /// It listens.
    pub fn listens(&mut self) {
        self.listens_since = Some(Instant::now());
    }

    /// How long to wait before the next start.
    pub fn pause(&mut self) -> Duration {
        if self.listens_since.take().is_some_and(|since| since.elapsed() > STEADY) {
            self.pause = FIRST_PAUSE;
        }
        let pause = self.pause;
        self.pause = (self.pause * 2).min(LAST_PAUSE);
        pause
    }

    /// The end of its log.
    pub fn last_words(&self) -> String {
        let read = || -> io::Result<String> {
            let mut file = std::fs::File::from(self.plain_log(OFlags::RDONLY | OFlags::NONBLOCK)?);
            let length = file.metadata()?.len();
            io::Seek::seek(&mut file, io::SeekFrom::Start(length.saturating_sub(LAST_WORDS)))?;
            let mut bytes = Vec::new();
            file.take(LAST_WORDS).read_to_end(&mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes).split_whitespace().collect::<Vec<_>>().join(" "))
        };
        read().unwrap_or_default()
    }

    fn log(&self) -> PathBuf {
        self.folder.join("gateway.log")
    }

    fn gid(&self) -> u32 {
        self.group.unwrap_or(self.uid)
    }

    /// Starts it.
    pub fn start(&self) -> Result<Running> {
        self.make_folder().doing(|| format!("make {}", self.folder.display()))?;
        self.copy_files().doing(|| "copy the egress gateway's files".into())?;
        let (stdin, leash) =
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).doing(|| "make a pipe".into())?;
        let (words, stdout) =
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).doing(|| "make a pipe".into())?;
        let log = self.open_log().doing(|| format!("open {}", self.log().display()))?;
        rustix::io::ioctl_fionbio(&words, true).doing(|| "make a pipe non-blocking".into())?;
        // SAFETY: the outlet has one thread.
        match unsafe { sys::fork() }.doing(|| "fork the egress gateway".into())? {
            Forked::Parent(pid) => {
                let pidfd = sys::pidfd_open(pid).doing(|| "open a pidfd".into())?;
                Ok(Running { pidfd, words: Some(words), listens: false, heard: Vec::new(), _leash: leash })
            }
            Forked::Child => {
                let error = self.execute([&stdin, &stdout, &log]);
                let text = format!("caisson-launcher: the egress gateway does not start: {}\n", error.message);
                let _ = rustix::io::write(&log, text.as_bytes());
                // SAFETY: ends the process; nothing of the parent's state may be dropped here.
                unsafe { libc::_exit(1) }
            }
        }
    }

    /// The folder belongs to the gateway, and so does what an earlier one left in it. That one may have been taken over, and
    /// this is root: no link of its making is followed, and nothing that has a name elsewhere is given away.
    fn make_folder(&self) -> io::Result<()> {
        if !self.folder.exists() {
            std::fs::DirBuilder::new().recursive(true).mode(0o750).create(&self.folder)?;
        }
        let folder = rustix::fs::open(&self.folder, FOLDER, Mode::empty())?;
        rustix::fs::fchmod(&folder, Mode::from_raw_mode(0o750))?;
        self.give(&folder)?;
        for name in ["java", "jars", "state"] {
            match rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        let state = rustix::fs::openat(&folder, "state", FOLDER | OFlags::NOFOLLOW, Mode::empty())?;
        self.give(&state)?;
        self.give_all(&state, STATE_DEPTH)
    }

    fn give_all(&self, folder: &OwnedFd, depth: u32) -> io::Result<()> {
        for entry in rustix::fs::Dir::read_from(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = rustix::fs::openat(folder, name, flags, Mode::empty())?;
            let stat = rustix::fs::fstat(&file)?;
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile if stat.st_nlink == 1 => self.give(&file)?,
                FileType::Directory if depth > 0 => {
                    self.give(&file)?;
                    let inner = rustix::fs::openat(folder, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())?;
                    self.give_all(&inner, depth - 1)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Makes what is open here the gateway's.
    fn give(&self, file: &OwnedFd) -> io::Result<()> {
        let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid()));
        Ok(rustix::fs::chownat(file, "", Some(uid), Some(gid), AtFlags::EMPTY_PATH)?)
    }

    fn copy_files(&self) -> io::Result<()> {
        for (name, from) in &self.files {
            let to = self.folder.join(name);
            let _ = std::fs::remove_file(&to);
            let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o400).open(&to)?;
            io::copy(&mut std::fs::File::open(from)?.take(MAX_FILE), &mut file)?;
            self.give(&file.into())?;
        }
        Ok(())
    }

    /// Root writes to it, in a folder that is the gateway's: it must be the file that it was, and not a link or a pipe.
    fn open_log(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND | OFlags::NONBLOCK;
        let log = self.plain_log(flags)?;
        if rustix::fs::fstat(&log)?.st_size as u64 > MAX_LOG {
            rustix::fs::ftruncate(&log, 0)?;
        }
        Ok(log)
    }

    fn plain_log(&self, flags: OFlags) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let log = rustix::fs::open(self.log(), flags, Mode::from_raw_mode(0o600))?;
        let stat = rustix::fs::fstat(&log)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || stat.st_nlink != 1 {
            return Err(io::Error::other("it is not a plain file"));
        }
        Ok(log)
    }

    /// Returns only when it fails.
    fn execute(&self, standard: [&OwnedFd; 3]) -> Error {
        let prepared = self.settle().and_then(|()| self.become_nobody());
        if let Err(error) = prepared {
            return error;
        }
        let run = || -> io::Result<()> {
            for (number, fd) in standard.into_iter().enumerate() {
                // Out of the way of the numbers that are given out now.
                let fd = rustix::io::fcntl_dupfd_cloexec(fd, 10)?;
                sys::place(fd.as_fd(), number as i32)?;
                std::mem::forget(fd);
            }
            let program =
                rustix::fs::open(format!("{HOME}/java/bin/java"), OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
            sys::close_all_but(&[0, 1, 2, program.as_raw_fd()]);
            let text = |s: &str| CString::new(s).unwrap_or_default();
            let own: Vec<_> = self.command().iter().map(|s| text(s)).collect();
            let argv: Vec<_> = own.iter().map(|s| s.as_ptr()).chain([std::ptr::null()]).collect();
            let env = [c"PATH=/usr/bin:/bin", c"LANG=C.UTF-8", c"HOME=/"];
            let envp: Vec<_> = env.iter().map(|s| s.as_ptr()).chain([std::ptr::null()]).collect();
            let path = text(&format!("{HOME}/java/bin/java"));
            // SAFETY: the arrays are null-ended and live across the call.
            unsafe { libc::execve(path.as_ptr(), argv.as_ptr(), envp.as_ptr()) };
            let error = io::Error::last_os_error();
            std::mem::forget(program);
            Err(error)
        };
        match run().doing(|| format!("execute {}/bin/java", self.java.display())) {
            Err(error) => error,
            Ok(()) => Error::invalid("the program returned"),
        }
    }

    fn command(&self) -> Vec<String> {
        let mut command = vec!["caisson-gateway".to_string()];
        command.extend(OPTIONS.map(String::from));
        command.extend(["-cp".into(), format!("{HOME}/jars/*"), MAIN.into(), "--folder".into(), HOME.into()]);
        if let Some(group) = self.group {
            command.extend(["--control-gid".into(), group.to_string()]);
        }
        command.push("--exit-with-stdin".into());
        command.extend(self.args.iter().cloned());
        command
    }

    /// A mount namespace in which the gateway's folder is at [`HOME`], with the program in it, wherever these lie and whoever
    /// may walk there; and without homes of people.
    fn settle(&self) -> Result<()> {
        sys::unshare(libc::CLONE_NEWNS).doing(|| "make a mount namespace".into())?;
        let settle = || -> io::Result<()> {
            rustix::mount::mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)?;
            let read_only = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV;
            for (from, name) in [(&self.java, "java"), (&self.jars, "jars")] {
                let to = self.folder.join(name);
                rustix::mount::mount_bind(from, &to)?;
                rustix::mount::mount_remount(&to, read_only, c"")?;
            }
            rustix::mount::mount_bind_recursive(&self.folder, HOME)?;
            for hidden in ["/root", "/home"].into_iter().filter(|path| Path::new(path).is_dir()) {
                let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
                rustix::mount::mount("caisson", hidden, "tmpfs", flags, c"size=4k,mode=0755")?;
            }
            Ok(rustix::process::chdir(HOME)?)
        };
        settle().doing(|| "make the egress gateway's view of files".into())
    }

    fn become_nobody(&self) -> Result<()> {
        use rustix::process::{Resource, Rlimit, setrlimit};
        let none = Rlimit { current: Some(0), maximum: Some(0) };
        let become_it = || -> io::Result<()> {
            setrlimit(Resource::Core, none)?;
            // SAFETY: no pointers.
            unsafe { libc::umask(0o077) };
            rustix::thread::set_thread_groups(&[])?;
            let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid()));
            rustix::thread::set_thread_res_gid(gid, gid, gid)?;
            Ok(rustix::thread::set_thread_res_uid(uid, uid, uid)?)
        };
        become_it().doing(|| "become the egress gateway's user".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    /// A gateway of nobody in a fresh folder, for which it takes root to make it.
    fn nobody(name: &str) -> Option<(Gateway, PathBuf)> {
        if !rustix::process::geteuid().is_root() {
            println!("SKIPPED {name}: needs root");
            return None;
        }
        let base = std::env::temp_dir().join(format!("caisson-gateway-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&base).unwrap();
        let mut gateway = Gateway::new("/java".into(), "/jars".into(), base.join("egress"));
        gateway.uid = 65_534;
        Some((gateway, base))
    }

    #[test]
    fn what_an_earlier_gateway_left_is_given_to_the_next_one_and_nothing_that_it_only_points_to() {
        let Some((gateway, base)) = nobody("left") else { return };
        gateway.make_folder().unwrap();
        let state = base.join("egress/state");
        std::fs::create_dir(state.join("inner")).unwrap();
        std::fs::write(state.join("inner/own"), "").unwrap();
        std::fs::write(state.join("own"), "").unwrap();
        std::fs::write(base.join("roots"), "").unwrap();
        std::fs::hard_link(base.join("roots"), state.join("linked")).unwrap();
        std::os::unix::fs::symlink(base.join("roots"), state.join("pointer")).unwrap();
        gateway.make_folder().unwrap();
        let uid = |path: &Path| path.metadata().unwrap().uid();
        for own in ["", "own", "inner", "inner/own"] {
            assert_eq!(uid(&state.join(own)), gateway.uid, "{own}");
        }
        assert_eq!(uid(&base.join("roots")), 0);

        // A whole folder of root's in the place of its own.
        std::fs::rename(&state, base.join("egress/before")).unwrap();
        std::fs::create_dir(base.join("etc")).unwrap();
        std::fs::write(base.join("etc/shadow"), "").unwrap();
        std::os::unix::fs::symlink(base.join("etc"), &state).unwrap();
        assert!(gateway.make_folder().is_err());
        assert_eq!((uid(&base.join("etc")), uid(&base.join("etc/shadow"))), (0, 0));
        std::fs::remove_dir_all(base).unwrap();
    }

    #[test]
    fn a_log_that_is_a_link_or_a_pipe_is_neither_written_nor_read() {
        let Some((gateway, base)) = nobody("log") else { return };
        gateway.make_folder().unwrap();
        drop(gateway.open_log().unwrap());
        std::fs::write(gateway.log(), "the last words").unwrap();
        assert_eq!(gateway.last_words(), "the last words", "control");
        let secret = base.join("secret");
        std::fs::write(&secret, "of root").unwrap();
        for kind in ["symlink", "hard link", "pipe"] {
            std::fs::remove_file(gateway.log()).unwrap();
            match kind {
                "symlink" => std::os::unix::fs::symlink(&secret, gateway.log()).unwrap(),
                "hard link" => std::fs::hard_link(&secret, gateway.log()).unwrap(),
                _ => {
                    let kind = FileType::Fifo;
                    rustix::fs::mknodat(rustix::fs::CWD, gateway.log(), kind, Mode::RUSR | Mode::WUSR, 0).unwrap();
                }
            }
            assert!(gateway.open_log().is_err(), "{kind}");
            assert_eq!(gateway.last_words(), "", "{kind}");
        }
        std::fs::remove_dir_all(base).unwrap();
    }

    #[test]
    fn a_file_of_the_operator_has_a_plain_name_and_a_path() {
        assert_eq!(file("proxy=/etc/caisson/proxy").unwrap(), ("proxy".into(), "/etc/caisson/proxy".into()));
        for bad in ["proxy", "proxy=etc", "../x=/etc/x", "=/x", "state=/x", "a/b=/x", ".x=/y", "agents.sock=/x"] {
            assert!(file(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn one_that_dies_at_once_is_started_ever_later_and_one_that_listened_long_soon() {
        let mut gateway = Gateway::new("/java".into(), "/jars".into(), "/folder".into());
        let pauses: Vec<_> = (0..8).map(|_| gateway.pause()).collect();
        assert_eq!(pauses.first(), Some(&FIRST_PAUSE));
        assert!(pauses.is_sorted());
        assert_eq!(pauses.last(), Some(&LAST_PAUSE));
        gateway.listens_since = Instant::now().checked_sub(2 * STEADY);
        assert_eq!(gateway.pause(), FIRST_PAUSE);
    }
}
