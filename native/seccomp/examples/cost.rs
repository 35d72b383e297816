//! What the filters cost: fork, install, exec and wait for `/bin/true`, and single calls. Medians; run it on a quiet machine.

use std::hint::black_box;
use std::io;
use std::time::Instant;

use caisson_seccomp::{Families, agent, install, user};
use libc::{c_long, sock_filter};

const ROUNDS: usize = 1000;
const CALLS: u32 = 200_000;

fn main() -> io::Result<()> {
    let (user, agent) = (user(Families::Off), agent());
    println!("instructions: user {}, agent {}", user.len(), agent.len());
    // SAFETY: this prctl takes integers only.
    if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let cases: [(&str, &[&[sock_filter]]); 3] =
        [("no filter", &[]), ("user", &[user]), ("agent and user, both installed by the child", &[agent, user])];
    // Taken in turn, so that what else the machine does falls on all alike.
    let mut exec = [const { Vec::new() }; 3];
    let mut only_install = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        for (place, (_, filters)) in cases.iter().enumerate() {
            exec[place].push(in_child(filters, true));
            only_install[place].push(in_child(filters, false));
        }
    }
    for (place, (name, _)) in cases.iter().enumerate() {
        let (exec, exit) = (median(&mut exec[place]), median(&mut only_install[place]));
        println!("{name}: fork, exec and wait {exec:.0} µs; fork, exit and wait {exit:.0} µs");
    }
    println!("nanoseconds of a call: {:?} without filter", calls());
    install(user)?;
    println!("nanoseconds of a call: {:?} under user", calls());
    install(agent)?;
    println!("nanoseconds of a call: {:?} under user and agent", calls());
    let (mut one, mut again) = (Vec::new(), Vec::new());
    for _ in 0..30 {
        one.push(timed(|| install(user).is_ok()));
        again.push(timed(|| install(agent).is_ok()));
    }
    println!("install alone: user {:.0} µs, agent {:.0} µs", median(&mut one), median(&mut again));
    Ok(())
}

/// Microseconds until a child ended that installed the filters and ran `/bin/true`, or nothing.
fn in_child(filters: &[&[sock_filter]], exec: bool) -> f64 {
    let arguments = [c"/bin/true".as_ptr(), std::ptr::null()];
    timed(|| {
        // SAFETY: the child makes async-signal-safe calls only; the arguments are constants that end with null.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                let installed = filters.iter().all(|filter| install(filter).is_ok());
                if installed && exec {
                    libc::execve(arguments[0], arguments.as_ptr(), arguments[1..].as_ptr());
                }
                libc::_exit(i32::from(!installed || exec));
            }
            let mut status = 0;
            libc::waitpid(child, &mut status, 0) == child && status == 0
        }
    })
}

fn timed(action: impl FnOnce() -> bool) -> f64 {
    let start = Instant::now();
    assert!(action(), "{}", io::Error::last_os_error());
    start.elapsed().as_secs_f64() * 1e6
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A call from the kernel's allow cache and two that run the filter, each with what fails at once.
fn calls() -> [(&'static str, u32); 3] {
    let single = |number: c_long| {
        let mut rounds: Vec<f64> = (0..7).map(|_| timed(|| (0..CALLS).all(|_| fails_at_once(number)))).collect();
        (median(&mut rounds) * 1e3 / f64::from(CALLS)) as u32
    };
    [("getppid", single(libc::SYS_getppid)), ("ioctl", single(libc::SYS_ioctl)), ("sendto", single(libc::SYS_sendto))]
}

fn fails_at_once(number: c_long) -> bool {
    // SAFETY: descriptor -1 is none; getppid takes no arguments.
    black_box(unsafe { libc::syscall(number, -1_i64, libc::TCGETS, 0_u64, 0_u64, 0_u64, 0_u64) });
    true
}
