//! From fork to execve. Everything that needs memory is prepared before the fork; the child makes system calls only.

use crate::spawn_request::{Stage, Status};
use crate::sys;
use caisson_seccomp::Families;
use caisson_wire::agent::ExecStart;
use rustix::fd::{AsRawFd, BorrowedFd};
use rustix::io::Errno;
use std::ffi::CString;
use std::os::raw::c_char;

const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;
const DEFAULT_PATH: &[u8] = b"/opt/caisson/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What uid 0 inside holds, in the sandbox's user namespace: CHOWN, DAC_OVERRIDE, FOWNER, KILL, SETGID, SETUID and
/// NET_BIND_SERVICE, as in linux/capability.h.
const ROOT_CAPABILITIES: [u32; 7] = [0, 1, 3, 5, 6, 7, 10];

/// A command ready to start.
pub struct Program<'a> {
    candidates: Vec<CString>,
    /// Owns what `argv` and `env` point to.
    _strings: Vec<CString>,
    argv: Vec<*const c_char>,
    env: Vec<*const c_char>,
    cwd: CString,
    uid: u32,
    gid: u32,
    groups: Vec<u32>,
    open_files: u64,
    filter: &'static [libc::sock_filter],
    stdio: [Option<BorrowedFd<'a>>; 3],
    status: BorrowedFd<'a>,
    memory: Option<BorrowedFd<'a>>,
    terminal: bool,
}

/// `_LINUX_CAPABILITY_VERSION_3` and the calling process.
#[repr(C)]
struct CapHeader {
    version: u32,
    pid: i32,
}

impl<'a> Program<'a> {
    /// Prepares a command; `None` when a string holds a NUL or argv is empty.
    pub fn new(
        start: &ExecStart,
        families: Families,
        stdio: [Option<BorrowedFd<'a>>; 3],
        status: BorrowedFd<'a>,
        memory: Option<BorrowedFd<'a>>,
        terminal: bool,
    ) -> Option<Self> {
        let mut strings = Vec::with_capacity(start.argv.len() + start.env.len());
        let argv = pointers(&start.argv, &mut strings)?;
        let env = pointers(&start.env, &mut strings)?;
        Some(Self {
            candidates: candidates(start.argv.first()?, &start.env)?,
            _strings: strings,
            argv,
            env,
            cwd: CString::new(start.cwd.as_slice()).ok()?,
            uid: start.uid,
            gid: start.gid,
            groups: start.groups.clone(),
            open_files: start.open_files,
            filter: caisson_seccomp::user(families),
            stdio,
            status,
            memory,
            terminal,
        })
    }

    /// Forks into `group` as a child of this process's parent.
    pub fn start_in(&self, group: BorrowedFd<'_>) -> Result<(), Errno> {
        if fork_into(group)? { self.become_it() } else { Ok(()) }
    }

    /// In the forked child: becomes the command, or tells why not.
    pub fn become_it(&self) -> ! {
        let failed = match self.prepare() {
            Ok(()) => Status { stage: Stage::Exec, value: self.exec() },
            Err((stage, errno)) => Status { stage, value: errno },
        };
        self.report(failed);
        sys::exit_now(127)
    }

    /// Everything before execve, in an order in which each step still has the rights it needs.
    fn prepare(&self) -> Result<(), (Stage, i32)> {
        // SAFETY: system calls on numbers and on memory that `self` owns.
        unsafe {
            self.report(Status { stage: Stage::Alive, value: libc::syscall(libc::SYS_getpid) as i32 });
            if let Some(memory) = self.memory {
                done(libc::write(memory.as_raw_fd(), c"0".as_ptr().cast(), 1) as i64, Stage::Join)?;
            }
            for (target, fd) in self.stdio.iter().enumerate() {
                if let Some(fd) = fd {
                    done(libc::dup2(fd.as_raw_fd(), target as i32).into(), Stage::Setup)?;
                }
            }
            let flags = libc::CLOSE_RANGE_CLOEXEC;
            done(libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, flags), Stage::Setup)?;
            done(libc::setsid().into(), Stage::Setup)?;
            if self.terminal {
                done(libc::ioctl(0, libc::TIOCSCTTY, 0).into(), Stage::Setup)?;
            }
            self.limit_files()?;
            // The raw calls: glibc's would look for other threads.
            let groups = self.groups.as_ptr();
            done(libc::syscall(libc::SYS_setgroups, self.groups.len(), groups), Stage::User)?;
            done(libc::syscall(libc::SYS_setresgid, self.gid, self.gid, self.gid), Stage::User)?;
            done(libc::syscall(libc::SYS_setresuid, self.uid, self.uid, self.uid), Stage::User)?;
            self.set_capabilities()?;
            done(libc::chdir(self.cwd.as_ptr()).into(), Stage::Cwd)?;
        }
        caisson_seccomp::install(self.filter).map_err(|e| (Stage::Filter, e.raw_os_error().unwrap_or(libc::EINVAL)))
    }

    /// None, but for uid 0 its few; these it loses with the uid.
    ///
    /// # Safety
    /// For the forked child: system calls on memory of its own.
    unsafe fn set_capabilities(&self) -> Result<(), (Stage, i32)> {
        let mask: u32 = if self.uid == 0 { ROOT_CAPABILITIES.iter().map(|cap| 1 << cap).sum() } else { 0 };
        let header = CapHeader { version: 0x2008_0522, pid: 0 };
        let sets: [u32; 6] = [mask, mask, mask, 0, 0, 0];
        // SAFETY: the structs have the layout of linux/capability.h, version 3; prctl takes numbers.
        unsafe {
            done(libc::syscall(libc::SYS_capset, &header, sets.as_ptr()), Stage::User)?;
            for capability in ROOT_CAPABILITIES.iter().filter(|_| mask != 0) {
                let raise = libc::PR_CAP_AMBIENT_RAISE;
                done(libc::prctl(libc::PR_CAP_AMBIENT, raise, *capability, 0, 0).into(), Stage::User)?;
            }
        }
        Ok(())
    }

    fn limit_files(&self) -> Result<(), (Stage, i32)> {
        if self.open_files == 0 {
            return Ok(());
        }
        let limit = libc::rlimit { rlim_cur: self.open_files, rlim_max: self.open_files };
        // SAFETY: setrlimit reads the struct, getrlimit fills it.
        unsafe {
            if libc::setrlimit(libc::RLIMIT_NOFILE, &limit) == 0 {
                return Ok(());
            }
            // Above the hard limit that the launcher set: as much as that allows.
            let mut hard = limit;
            done(libc::getrlimit(libc::RLIMIT_NOFILE, &mut hard).into(), Stage::Setup)?;
            hard.rlim_max = hard.rlim_max.min(self.open_files);
            hard.rlim_cur = hard.rlim_max;
            done(libc::setrlimit(libc::RLIMIT_NOFILE, &hard).into(), Stage::Setup)
        }
    }

    /// Tries each candidate as execvp does; returns the error that tells most.
    fn exec(&self) -> i32 {
        let mut answer = libc::ENOENT;
        for candidate in &self.candidates {
            // SAFETY: all pointers are into strings that `self` owns, each list ends with a null pointer.
            unsafe { libc::execve(candidate.as_ptr(), self.argv.as_ptr(), self.env.as_ptr()) };
            match last_errno().raw_os_error() {
                libc::ENOENT | libc::ENOTDIR => {}
                libc::EACCES => answer = libc::EACCES,
                other => return other,
            }
        }
        answer
    }

    fn report(&self, status: Status) {
        let bytes = status.to_bytes();
        // SAFETY: writes a local buffer of its own length.
        unsafe { libc::write(self.status.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
    }
}

/// Forks into `group` as a child of this process's parent. True in the child.
pub fn fork_into(group: BorrowedFd<'_>) -> Result<bool, Errno> {
    let args = libc::clone_args {
        flags: CLONE_INTO_CGROUP | libc::CLONE_PARENT as u64,
        pidfd: 0,
        child_tid: 0,
        parent_tid: 0,
        // With CLONE_PARENT the signal is the spawner's own: SIGCHLD.
        exit_signal: 0,
        stack: 0,
        stack_size: 0,
        tls: 0,
        set_tid: 0,
        set_tid_size: 0,
        cgroup: group.as_raw_fd() as u64,
    };
    // SAFETY: without CLONE_VM this is a fork of a process with one thread. The child leaves by execve or _exit.
    match unsafe { libc::syscall(libc::SYS_clone3, &args, size_of_val(&args)) } {
        0 => Ok(true),
        pid if pid > 0 => Ok(false),
        _ => Err(last_errno()),
    }
}

fn done(result: i64, stage: Stage) -> Result<(), (Stage, i32)> {
    if result < 0 { Err((stage, last_errno().raw_os_error())) } else { Ok(()) }
}

fn last_errno() -> Errno {
    // SAFETY: errno of this thread.
    Errno::from_raw_os_error(unsafe { *libc::__errno_location() })
}

fn pointers(texts: &[Vec<u8>], strings: &mut Vec<CString>) -> Option<Vec<*const c_char>> {
    let mut pointers = Vec::with_capacity(texts.len() + 1);
    for text in texts {
        let string = CString::new(text.as_slice()).ok()?;
        pointers.push(string.as_ptr());
        strings.push(string);
    }
    pointers.push(std::ptr::null());
    Some(pointers)
}

/// Where the command may be: itself when it has a slash, else in each folder of PATH. Empty and relative entries of
/// PATH are left out: they would mean the working directory.
fn candidates(command: &[u8], env: &[Vec<u8>]) -> Option<Vec<CString>> {
    if command.contains(&b'/') {
        return Some(vec![CString::new(command).ok()?]);
    }
    if command.is_empty() {
        return Some(Vec::new());
    }
    let path = env.iter().rev().find_map(|entry| entry.strip_prefix(b"PATH=")).unwrap_or(DEFAULT_PATH);
    path.split(|b| *b == b':')
        .filter(|folder| folder.starts_with(b"/"))
        .map(|folder| CString::new([folder, b"/", command].concat()).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(command: &[u8], path: &[u8]) -> Vec<String> {
        let env = vec![[b"PATH=", path].concat()];
        candidates(command, &env).unwrap().into_iter().map(|c| c.into_string().unwrap()).collect()
    }

    #[test]
    fn looks_a_command_up_in_absolute_folders_of_path_only() {
        assert_eq!(names(b"ls", b"/bin::rel:/usr/bin"), ["/bin/ls", "/usr/bin/ls"]);
        assert_eq!(names(b"./ls", b"/bin"), ["./ls"]);
        assert!(names(b"", b"/bin").is_empty());
    }
}
