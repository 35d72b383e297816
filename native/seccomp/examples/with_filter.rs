//! Runs a command under the filter of user processes: `with_filter [--inet6 | --agent] command [argument]...`.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use caisson_seccomp::Families;

fn main() -> io::Result<()> {
    let mut words = std::env::args_os().skip(1).peekable();
    let mut filter = caisson_seccomp::user(Families::Off);
    if words.next_if(|word| word == "--inet6").is_some() {
        filter = caisson_seccomp::user(Families::Inet6);
    } else if words.next_if(|word| word == "--agent").is_some() {
        filter = caisson_seccomp::agent();
    }
    let command = words.next().ok_or_else(|| io::Error::other("which command?"))?;
    // SAFETY: this prctl takes integers only.
    if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    caisson_seccomp::install(filter)?;
    Err(Command::new(command).args(words).exec())
}
