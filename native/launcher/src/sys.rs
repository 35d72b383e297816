//! System calls that rustix has no safe form for, each behind a small safe function.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// Turns a C return value into a result.
fn check(value: libc::c_long) -> io::Result<libc::c_long> {
    if value < 0 { Err(io::Error::last_os_error()) } else { Ok(value) }
}

/// Who one is after a fork.
pub enum Forked {
    /// In the new process.
    Child,
    /// In the caller.
    Parent(libc::pid_t),
}

/// `fork(2)`.
///
/// # Safety
/// The child must not touch locks that another thread of the parent may have held. glibc makes the allocator safe;
/// the other threads of the launcher (disk stock, janitor) hold no lock of ours while they print or log.
pub unsafe fn fork() -> io::Result<Forked> {
    // SAFETY: the caller keeps the promise above.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Forked::Child),
        pid => Ok(Forked::Parent(pid)),
    }
}

/// `clone3(2)` with a copied address space; the pidfd is returned with the child's pid. `into` is a v2 cgroup folder.
///
/// # Safety
/// As for [`fork`]; besides, no atfork handlers run, so the caller must be single-threaded.
pub unsafe fn clone3(flags: u64, into: Option<BorrowedFd<'_>>) -> io::Result<Option<(libc::pid_t, OwnedFd)>> {
    let mut pidfd: RawFd = -1;
    // SAFETY: an all-zero clone_args is valid.
    let mut args: libc::clone_args = unsafe { std::mem::zeroed() };
    args.flags = flags | libc::CLONE_PIDFD as u64;
    args.pidfd = (&raw mut pidfd) as u64;
    // With CLONE_PARENT the child takes over the caller's own exit signal, and naming one is refused.
    args.exit_signal = if flags & libc::CLONE_PARENT as u64 == 0 { libc::SIGCHLD as u64 } else { 0 };
    if let Some(folder) = into {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = folder.as_raw_fd() as u64;
    }
    // SAFETY: args lives across the call; without CLONE_VM the child has its own copy of everything.
    let pid = check(unsafe { libc::syscall(libc::SYS_clone3, &raw mut args, size_of::<libc::clone_args>()) })?;
    if pid == 0 {
        return Ok(None);
    }
    // SAFETY: the kernel has just made this descriptor for us.
    Ok(Some((pid as libc::pid_t, unsafe { OwnedFd::from_raw_fd(pidfd) })))
}

const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;
/// New time namespace; shares its bit with a signal number, so clone(2) has none.
pub const CLONE_NEWTIME: i32 = 0x80;

/// `unshare(2)`.
pub fn unshare(flags: i32) -> io::Result<()> {
    // SAFETY: no pointers.
    check(unsafe { libc::unshare(flags) }.into()).map(drop)
}

/// `setns(2)` with a namespace descriptor or a pidfd.
pub fn setns(fd: BorrowedFd<'_>, kinds: i32) -> io::Result<()> {
    // SAFETY: no pointers.
    check(unsafe { libc::setns(fd.as_raw_fd(), kinds) }.into()).map(drop)
}

/// `open_tree(2)`.
pub fn open_tree(at: BorrowedFd<'_>, path: &CStr, flags: u32) -> io::Result<OwnedFd> {
    // SAFETY: the path is a C string that outlives the call; the kernel makes the descriptor.
    unsafe {
        let fd = check(libc::syscall(libc::SYS_open_tree, at.as_raw_fd(), path.as_ptr(), flags))?;
        Ok(OwnedFd::from_raw_fd(fd as RawFd))
    }
}

/// Moves a detached mount to the folder behind a descriptor.
pub fn attach_mount_at(mount: BorrowedFd<'_>, folder: BorrowedFd<'_>) -> io::Result<()> {
    const BOTH_EMPTY_PATHS: libc::c_uint = 4 | 0x40;
    // SAFETY: both paths are C strings that outlive the call.
    check(unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            mount.as_raw_fd(),
            c"".as_ptr(),
            folder.as_raw_fd(),
            c"".as_ptr(),
            BOTH_EMPTY_PATHS,
        )
    })
    .map(drop)
}

/// Moves a detached mount to `path`.
pub fn attach_mount(mount: BorrowedFd<'_>, path: &CStr) -> io::Result<()> {
    const F_EMPTY_PATH: libc::c_uint = 4;
    // SAFETY: both paths are C strings that outlive the call.
    check(unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            mount.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_FDCWD,
            path.as_ptr(),
            F_EMPTY_PATH,
        )
    })
    .map(drop)
}

/// Attributes of `mount_setattr(2)`.
#[repr(C)]
#[derive(Default)]
pub struct MountAttr {
    /// `MOUNT_ATTR_*` to set.
    pub set: u64,
    /// `MOUNT_ATTR_*` to clear.
    pub clear: u64,
    /// Propagation type, or 0.
    pub propagation: u64,
    /// User namespace for `MOUNT_ATTR_IDMAP`.
    pub userns_fd: u64,
}

/// Read-only.
pub const ATTR_RDONLY: u64 = 0x1;
/// No set-user-id.
pub const ATTR_NOSUID: u64 = 0x2;
/// No devices.
pub const ATTR_NODEV: u64 = 0x4;
/// No execution.
pub const ATTR_NOEXEC: u64 = 0x8;
/// Map ids by a user namespace.
pub const ATTR_IDMAP: u64 = 0x10_0000;

/// `mount_setattr(2)` on the mount behind a descriptor.
pub fn mount_setattr(mount: BorrowedFd<'_>, recursive: bool, attr: &MountAttr) -> io::Result<()> {
    const AT_RECURSIVE: i32 = 0x8000;
    let flags = libc::AT_EMPTY_PATH | if recursive { AT_RECURSIVE } else { 0 };
    // SAFETY: attr is a struct of the documented layout that outlives the call.
    check(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            flags,
            std::ptr::from_ref(attr),
            size_of::<MountAttr>(),
        )
    })
    .map(drop)
}

/// A file system being configured, `fsopen(2)` and on.
pub struct NewFs(OwnedFd);

impl NewFs {
    /// Starts a file system of the named type.
    pub fn open(kind: &CStr) -> io::Result<Self> {
        // SAFETY: a C string; the kernel makes the descriptor.
        unsafe {
            let fd = check(libc::syscall(libc::SYS_fsopen, kind.as_ptr(), 1))?;
            Ok(Self(OwnedFd::from_raw_fd(fd as RawFd)))
        }
    }

    fn config(&self, command: u32, key: Option<&CStr>, value: Option<&CStr>) -> io::Result<()> {
        let pointer = |s: Option<&CStr>| s.map_or(std::ptr::null(), CStr::as_ptr);
        // SAFETY: null or C strings that outlive the call.
        check(unsafe {
            libc::syscall(libc::SYS_fsconfig, self.0.as_raw_fd(), command, pointer(key), pointer(value), 0)
        })
        .map(drop)
    }

    /// Sets a flag.
    pub fn flag(self, key: &CStr) -> io::Result<Self> {
        self.config(0, Some(key), None)?;
        Ok(self)
    }

    /// Sets a key to a value.
    pub fn set(self, key: &CStr, value: &CStr) -> io::Result<Self> {
        self.config(1, Some(key), Some(value))?;
        Ok(self)
    }

    /// Makes it; the result is a detached mount with these `ATTR_*`.
    pub fn mount(self, attrs: u64) -> io::Result<OwnedFd> {
        self.config(6, None, None)?;
        // SAFETY: no pointers; the kernel makes the descriptor.
        unsafe {
            let fd = check(libc::syscall(libc::SYS_fsmount, self.0.as_raw_fd(), 1, attrs))?;
            Ok(OwnedFd::from_raw_fd(fd as RawFd))
        }
    }
}

/// Changes one setting of the file system behind a mount's descriptor.
pub fn reconfigure(mount: BorrowedFd<'_>, key: &CStr, value: &CStr) -> io::Result<()> {
    const FSPICK_CLOEXEC: libc::c_uint = 1;
    const FSPICK_EMPTY_PATH: libc::c_uint = 8;
    const CMD_RECONFIGURE: u32 = 7;
    // SAFETY: a C string; the kernel makes the descriptor.
    let fs = unsafe {
        let flags = FSPICK_CLOEXEC | FSPICK_EMPTY_PATH;
        let fd = check(libc::syscall(libc::SYS_fspick, mount.as_raw_fd(), c"".as_ptr(), flags))?;
        NewFs(OwnedFd::from_raw_fd(fd as RawFd))
    };
    fs.config(1, Some(key), Some(value))?;
    fs.config(CMD_RECONFIGURE, None, None)
}

/// Sends a signal to the process behind a pidfd.
pub fn pidfd_signal(pidfd: BorrowedFd<'_>, signal: i32) -> io::Result<()> {
    // SAFETY: a null siginfo is allowed.
    check(unsafe {
        libc::syscall(libc::SYS_pidfd_send_signal, pidfd.as_raw_fd(), signal, std::ptr::null::<libc::siginfo_t>(), 0)
    })
    .map(drop)
}

/// Whether the child behind a pidfd, which was sent SIGSTOP, stands still by now. An error when it is dead.
pub fn is_stopped(pidfd: BorrowedFd<'_>) -> io::Result<bool> {
    let id = pidfd.as_raw_fd() as libc::id_t;
    // SAFETY: siginfo is plain data that the kernel fills; si_pid is valid for what waitid returns.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let kinds = libc::WSTOPPED | libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        check(libc::waitid(libc::P_PIDFD, id, &raw mut info, kinds).into())?;
        match (info.si_pid(), info.si_code) {
            (0, _) => Ok(false),
            (_, libc::CLD_STOPPED) => Ok(true),
            _ => Err(io::Error::from_raw_os_error(libc::ESRCH)),
        }
    }
}

/// Gives an unnamed file a name in a folder; fails when there is one of that name.
pub fn name_file(file: BorrowedFd<'_>, folder: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(linkat(CWD, path, folder, name, AtFlags::SYMLINK_FOLLOW)?)
}

/// Executes an open program in place of this one, without an environment; returns only when that fails.
pub fn execute(program: BorrowedFd<'_>, args: &[std::ffi::CString]) -> io::Error {
    let argv: Vec<_> = args.iter().map(|a| a.as_ptr()).chain([std::ptr::null()]).collect();
    let envp = [std::ptr::null::<libc::c_char>()];
    // SAFETY: argv and envp are null-ended arrays of C strings that live across the call.
    unsafe {
        libc::syscall(
            libc::SYS_execveat,
            program.as_raw_fd(),
            c"".as_ptr(),
            argv.as_ptr(),
            envp.as_ptr(),
            libc::AT_EMPTY_PATH,
        )
    };
    io::Error::last_os_error()
}

/// The next signal of a signalfd.
pub fn read_signal(signals: BorrowedFd<'_>) -> Option<i32> {
    let mut info = [0u8; size_of::<libc::signalfd_siginfo>()];
    match rustix::io::read(signals, &mut info) {
        Ok(length) if length == info.len() => info.first_chunk().map(|n| i32::from_ne_bytes(*n)),
        _ => None,
    }
}

/// `pidfd_open(2)`.
pub fn pidfd_open(pid: libc::pid_t) -> io::Result<OwnedFd> {
    // SAFETY: no pointers; the kernel makes the descriptor.
    unsafe {
        let fd = check(libc::syscall(libc::SYS_pidfd_open, pid, 0))?;
        Ok(OwnedFd::from_raw_fd(fd as RawFd))
    }
}

/// SIGKILL to the process behind a pidfd. A process that is gone already is no error.
pub fn pidfd_kill(pidfd: BorrowedFd<'_>) -> io::Result<()> {
    match pidfd_signal(pidfd, libc::SIGKILL) {
        Err(e) if e.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        other => other.map(drop),
    }
}

/// Waits for all children in a process group, which are dead or about to be, and reaps them.
pub fn reap_group(group: libc::pid_t) {
    // SAFETY: a null siginfo is allowed.
    while unsafe { libc::waitid(libc::P_PGID, group as libc::id_t, std::ptr::null_mut(), libc::WEXITED) } == 0 {}
}

/// Waits for the child behind a pidfd, which is dead or has been killed, reaps it and says how it ended.
pub fn reap(pidfd: BorrowedFd<'_>) -> String {
    let id = pidfd.as_raw_fd() as libc::id_t;
    // SAFETY: siginfo is plain data that the kernel fills; its child fields are valid for what waitid returns.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        if libc::waitid(libc::P_PIDFD, id, &raw mut info, libc::WEXITED) < 0 {
            return "in an unknown way".into();
        }
        match info.si_code {
            libc::CLD_EXITED => format!("with status {}", info.si_status()),
            _ => format!("by signal {}", info.si_status()),
        }
    }
}

/// A connected SOCK_SEQPACKET pair, close-on-exec.
pub fn packet_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// Most descriptors that go with one packet.
pub const MAX_FDS: usize = 16;

/// Sends one packet with descriptors. Never blocks longer than the socket does, never raises SIGPIPE.
pub fn send_packet(socket: BorrowedFd<'_>, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::Error::from_raw_os_error(libc::E2BIG));
    }
    sendmsg(socket, &[io::IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Lets nobody pass descriptors over this socket, where the kernel can (6.16): the last reference of a descriptor is
/// closed by whoever receives it, and a TCP socket may linger for as long as its sender likes.
pub fn refuse_descriptors(socket: &OwnedFd) {
    const SO_PASSRIGHTS: libc::c_int = 83;
    let off: libc::c_int = 0;
    // SAFETY: the option's value is an int, which lives until the call returns. An older kernel refuses it.
    unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_PASSRIGHTS,
            (&raw const off).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
}

/// Receives one packet with descriptors; 0 bytes mean that the peer is gone.
pub fn receive_packet(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        match recvmsg(socket, &mut [io::IoSliceMut::new(buffer)], &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(rustix::io::Errno::INTR) => {}
            other => break other?,
        }
    };
    let mut fds = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            fds.extend(rights);
        }
    }
    Ok((received.bytes, fds))
}

/// Closes every descriptor but those in `keep`, which must be sorted by number.
pub fn close_all_but(keep: &[RawFd]) {
    let close = |first: u32, last: u32| {
        if first <= last {
            // SAFETY: nobody uses the closed descriptors: the caller is a child that only keeps `keep`.
            unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
        }
    };
    let mut next = 0u32;
    for &fd in keep {
        let fd = fd as u32;
        if fd > next {
            close(next, fd - 1);
        }
        next = fd + 1;
    }
    close(next, u32::MAX);
}

/// `dup2` onto a fixed number, without close-on-exec.
pub fn place(fd: BorrowedFd<'_>, number: RawFd) -> io::Result<()> {
    if fd.as_raw_fd() == number {
        // SAFETY: no pointers.
        return check(unsafe { libc::fcntl(number, libc::F_SETFD, 0) }.into()).map(drop);
    }
    // SAFETY: the caller gives up whatever was at `number`.
    check(unsafe { libc::dup2(fd.as_raw_fd(), number) }.into()).map(drop)
}

/// `prctl(2)` with integer arguments.
pub fn prctl(option: i32, a: u64, b: u64) -> io::Result<()> {
    // SAFETY: only options with integer arguments are used.
    check(unsafe { libc::prctl(option, a, b, 0u64, 0u64) }.into()).map(drop)
}

/// An ioctl whose argument is an integer.
pub fn ioctl_value(fd: BorrowedFd<'_>, request: u64, value: u64) -> io::Result<i32> {
    // SAFETY: the callers name requests that take an integer.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), request as _, value) }.into()).map(|v| v as i32)
}

/// An ioctl whose argument is a struct.
///
/// # Safety
/// `T` must have the layout that the request expects.
pub unsafe fn ioctl_struct<T>(fd: BorrowedFd<'_>, request: u64, value: &mut T) -> io::Result<()> {
    // SAFETY: the caller vouches for the layout.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), request as _, std::ptr::from_mut(value)) }.into()).map(drop)
}

/// The current folder as an `*at` argument.
pub fn cwd() -> BorrowedFd<'static> {
    rustix::fs::CWD
}
