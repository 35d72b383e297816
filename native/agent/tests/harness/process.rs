//! Starts agent and spawner as the launcher does. After a fork only system calls are made: the test has threads.

use std::ffi::CString;
use std::fs;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

const ID: u32 = super::AGENT;
/// CHOWN, DAC_OVERRIDE, FOWNER, KILL, SETGID, SETUID, NET_BIND_SERVICE.
const CAPS: [u32; 7] = [0, 1, 3, 5, 6, 7, 10];

struct Image {
    program: CString,
    arguments: Vec<CString>,
}

impl Image {
    fn new(program: &str, arguments: &[&str]) -> Self {
        let string = |text: &&str| CString::new(*text).unwrap();
        Self { program: string(&program), arguments: arguments.iter().map(string).collect() }
    }
}

fn fork(flags: i32) -> i32 {
    // SAFETY: a fork by the raw call; the children below only make system calls and exec or exit.
    unsafe { libc::syscall(libc::SYS_clone, flags | libc::SIGCHLD, 0, 0, 0, 0) as i32 }
}

pub fn start_agent(program: &str, life: &OwnedFd, join: &OwnedFd, etc: &Path) -> i32 {
    let etc = CString::new(etc.as_os_str().as_encoded_bytes()).unwrap();
    let image = Image::new(program, &["caisson-agent"]);
    let pid = fork(libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWNET);
    assert!(pid >= 0, "clone: {}", std::io::Error::last_os_error());
    if pid == 0 {
        // SAFETY: system calls only.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            must(libc::write(join.as_raw_fd(), c"0".as_ptr().cast(), 1) as i32);
            let none = std::ptr::null();
            must(libc::mount(none, c"/".as_ptr(), none, libc::MS_REC | libc::MS_PRIVATE, none.cast()));
            must(libc::mount(c"proc".as_ptr(), c"/proc".as_ptr(), c"proc".as_ptr(), 0, none.cast()));
            let options = c"newinstance,ptmxmode=0666,mode=0620";
            must(libc::mount(c"pts".as_ptr(), c"/dev/pts".as_ptr(), c"devpts".as_ptr(), 0, options.as_ptr().cast()));
            must(libc::mount(etc.as_ptr(), c"/etc".as_ptr(), none, libc::MS_BIND, none.cast()));
            must(libc::mount(c"home".as_ptr(), c"/home".as_ptr(), c"tmpfs".as_ptr(), 0, c"mode=0755".as_ptr().cast()));
            loopback_up();
        }
        become_image(&image, life.as_raw_fd());
    }
    pid
}

pub fn start_spawner(program: &str, agent: i32, channel: &OwnedFd, joins: &[OwnedFd]) {
    let image = Image::new(program, &["caisson-agent", "spawner"]);
    // SAFETY: pidfd_open takes two integers.
    let pidfd = unsafe { libc::syscall(libc::SYS_pidfd_open, agent, 0) as i32 };
    assert!(pidfd >= 0);
    let helper = fork(0);
    if helper == 0 {
        // SAFETY: system calls only.
        unsafe {
            for join in joins {
                must(libc::write(join.as_raw_fd(), c"0".as_ptr().cast(), 1) as i32);
            }
            must(libc::setns(pidfd, libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWNET));
            match fork(0) {
                0 => become_image(&image, channel.as_raw_fd()),
                pid => libc::_exit(if pid > 0 { 0 } else { 1 }),
            }
        }
    }
    let mut status = 0;
    // SAFETY: waits for a child of ours and closes a descriptor of ours.
    unsafe {
        libc::waitpid(helper, &mut status, 0);
        libc::close(pidfd);
    }
    assert_eq!(status, 0);
}

/// # Safety
/// For the forked child.
unsafe fn loopback_up() {
    // SAFETY: system calls on local memory of the kernel's layout.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l' as libc::c_char;
        request.ifr_name[1] = b'o' as libc::c_char;
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        must(libc::ioctl(socket, libc::SIOCSIFFLAGS as _, &request));
    }
}

fn must(result: i32) {
    if result < 0 {
        // SAFETY: ends the forked child.
        unsafe { libc::_exit(121) };
    }
}

fn become_image(image: &Image, channel: i32) -> ! {
    // SAFETY: system calls only, on memory prepared before the fork, but for a small array on the stack.
    unsafe {
        let channel = libc::fcntl(channel, libc::F_DUPFD, 10);
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        for fd in 0..3 {
            must(libc::dup2(null, fd));
        }
        must(libc::dup2(channel, 3));
        libc::syscall(libc::SYS_close_range, 4, libc::c_uint::MAX, 0);
        let mask: u32 = CAPS.iter().map(|cap| 1 << cap).sum();
        let header: [u32; 2] = [0x2008_0522, 0];
        // The inheritable set may only grow by what is still in the bounding set.
        let mut own = [0u32; 6];
        must(libc::syscall(libc::SYS_capget, header.as_ptr(), own.as_mut_ptr()) as i32);
        own[2] = mask;
        must(libc::syscall(libc::SYS_capset, header.as_ptr(), own.as_ptr()) as i32);
        for cap in 0..64 {
            libc::prctl(libc::PR_CAPBSET_DROP, cap, 0, 0, 0);
        }
        let bits = libc::SECBIT_NOROOT | libc::SECBIT_NOROOT_LOCKED | libc::SECBIT_KEEP_CAPS;
        must(libc::prctl(libc::PR_SET_SECUREBITS, bits, 0, 0, 0));
        must(libc::syscall(libc::SYS_setgroups, 0, 0) as i32);
        must(libc::syscall(libc::SYS_setresgid, ID, ID, ID) as i32);
        must(libc::syscall(libc::SYS_setresuid, ID, ID, ID) as i32);
        let sets: [u32; 6] = [mask, mask, mask, 0, 0, 0];
        must(libc::syscall(libc::SYS_capset, header.as_ptr(), sets.as_ptr()) as i32);
        for cap in CAPS {
            must(libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_RAISE, cap, 0, 0));
        }
        must(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
        let mut argv = [std::ptr::null(); 4];
        for (slot, argument) in argv.iter_mut().zip(&image.arguments) {
            *slot = argument.as_ptr();
        }
        libc::execve(image.program.as_ptr(), argv.as_ptr(), [std::ptr::null()].as_ptr());
        libc::_exit(122)
    }
}

/// An eventfd that fires on out-of-memory events of a v1 memory group.
pub fn oom_event(memory: &Path) -> OwnedFd {
    // SAFETY: makes a descriptor that nobody else owns.
    let event = unsafe { OwnedFd::from_raw_fd(libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK)) };
    let control = fs::File::open(memory.join("memory.oom_control")).unwrap();
    let line = format!("{} {}", event.as_raw_fd(), control.as_raw_fd());
    fs::write(memory.join("cgroup.event_control"), line).unwrap();
    event
}

/// Kills and reaps a child of ours.
pub fn end(pid: i32) {
    // SAFETY: the pid is a child that is not reaped yet.
    unsafe {
        libc::kill(pid, libc::SIGKILL);
        libc::waitpid(pid, std::ptr::null_mut(), 0);
    }
}
