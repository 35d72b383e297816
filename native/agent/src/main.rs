//! The agent of Caisson: process 1 of a sandbox. It starts processes and moves bytes; it holds no secrets. Started as
//! `sudo` it is a user's program that asks process 1 for a command of another user.
//!
//! One thread, one epoll loop. The contract with the launcher and the client is in `docs/wire.md`.

mod agent;
mod attributes;
mod boot;
mod change;
mod child;
mod connection;
mod dial;
mod doorman;
mod egress;
mod egress_channel;
mod egress_dns;
mod egress_proof;
mod egress_stream;
mod egress_trust;
mod error;
mod exec;
mod frames;
mod get;
mod group;
mod input;
mod launch;
mod life;
mod limits;
mod link;
mod log;
mod meters;
mod output;
mod paths;
mod pipes;
mod poll;
mod pty;
mod put;
mod requests;
mod sessions;
mod spawn_request;
mod spawner;
mod stdin;
mod sudo;
mod sudo_client;
mod sudo_options;
mod sudo_wire;
mod sys;
mod transfers;
mod users;
mod walker;
mod watch;
mod watch_tree;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let name = std::env::args_os().next().unwrap_or_default();
    if Path::new(&name).file_name().is_some_and(|name| name == "sudo") {
        return sudo_client::run();
    }
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
