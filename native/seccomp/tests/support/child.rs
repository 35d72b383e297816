//! One raw call in a child of its own, with or without a filter, and a deadline.

use std::io;
use std::time::{Duration, Instant};

use caisson_seccomp::install;

/// How the call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Returned(i64),
    Failed(i32),
    Killed(i32),
}

const DEADLINE: Duration = Duration::from_secs(20);

/// Runs `call` in a forked child and reports what it returned. A child that is not done in time is killed, and fails the
/// test. `call` gives the kernel's own result, negative for an error, and is async-signal-safe.
pub fn in_child(filters: &[&[libc::sock_filter]], call: impl Fn() -> i64) -> Outcome {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for two descriptors.
    assert_eq!(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) }, 0);
    // SAFETY: the child only makes async-signal-safe calls and leaves with _exit.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "{}", io::Error::last_os_error());
    if child == 0 {
        run_child(filters, call, ends[1]);
    }
    // SAFETY: the write end is ours and is not used again here.
    unsafe { libc::close(ends[1]) };
    let status = wait_until(child, Instant::now() + DEADLINE);
    let mut result = [0; 8];
    // SAFETY: `result` has room for eight bytes; the read end is ours and is closed once.
    let length = unsafe {
        let length = libc::read(ends[0], result.as_mut_ptr().cast(), 8);
        libc::close(ends[0]);
        length
    };
    match i64::from_ne_bytes(result) {
        _ if libc::WIFSIGNALED(status) => Outcome::Killed(libc::WTERMSIG(status)),
        _ if length != 8 => panic!("the child could not install its filter: exit {}", libc::WEXITSTATUS(status)),
        error @ -4095..0 => Outcome::Failed(-error as i32),
        value => Outcome::Returned(value),
    }
}

fn run_child(filters: &[&[libc::sock_filter]], call: impl Fn() -> i64, report: i32) -> ! {
    // SAFETY: plain system calls; the buffer of write lives through it.
    unsafe {
        libc::setsid(); // A hang-up must not reach the terminal of whoever tests.
        libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0); // No core files.
        if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 {
            libc::_exit(101);
        }
        for filter in filters {
            if install(filter).is_err() {
                libc::_exit(102);
            }
        }
        let result = call().to_ne_bytes();
        libc::write(report, result.as_ptr().cast(), 8);
        libc::_exit(0)
    }
}

fn wait_until(child: i32, deadline: Instant) -> i32 {
    let mut status = 0;
    loop {
        // SAFETY: `status` lives through the call; `child` is ours and not yet waited for.
        if unsafe { libc::waitpid(child, &mut status, libc::WNOHANG) } == child {
            return status;
        }
        if Instant::now() > deadline {
            // SAFETY: as above.
            unsafe { (libc::kill(child, libc::SIGKILL), libc::waitpid(child, &mut status, 0)) };
            panic!("the child hangs");
        }
        std::thread::sleep(Duration::from_micros(300));
    }
}

/// The kernel's answer to a call, negative for an error.
pub fn raw(number: libc::c_long, a: [u64; 6]) -> i64 {
    // SAFETY: the callers pass arguments that are invalid or harmless, in a child that ends right after.
    let result = unsafe { libc::syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]) };
    // SAFETY: errno belongs to this thread.
    if result == -1 { -i64::from(unsafe { *libc::__errno_location() }) } else { result }
}
