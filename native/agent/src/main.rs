//! The agent of Caisson: process 1 of a sandbox. It starts processes and moves bytes; it holds no secrets.
//!
//! One thread, one epoll loop. The contract with the launcher and the client is in `docs/wire.md`.

mod agent;
mod attributes;
mod boot;
mod change;
mod child;
mod connection;
mod dial;
mod error;
mod exec;
mod frames;
mod get;
mod group;
mod launch;
mod life;
mod limits;
mod link;
mod log;
mod meters;
mod paths;
mod poll;
mod pty;
mod put;
mod requests;
mod sessions;
mod spawn_request;
mod spawner;
mod stdin;
mod sys;
mod transfers;
mod users;
mod walker;
mod watch;
mod watch_tree;

use std::process::ExitCode;

fn main() -> ExitCode {
    let spawner = std::env::args_os().nth(1).is_some_and(|arg| arg == "spawner");
    let result = sys::take_channel()
        .map_err(|errno| error::Fatal::Kernel("use descriptor 3", errno))
        .and_then(|channel| if spawner { spawner::run(channel, false) } else { agent::run(channel) });
    // Standard error is /dev/null in a sandbox; the agent tells its faults on the life channel.
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
