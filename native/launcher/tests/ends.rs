//! How sandboxes with living programs end, and that they leave nothing.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use caisson_wire::agent::{ExecReason, ExecStart};
use common::agent::{Agent, cgroup_of, processes_in, shell};
use common::{Census, Launcher, alive, id, skipped, wait_until};
use std::time::{Duration, Instant};

#[test]
fn a_frozen_sandbox_dies_as_fast_as_another() {
    if skipped("a_frozen_sandbox_dies_as_fast_as_another") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let id = id();
    let created = client.create(&id);
    let mut agent = Agent::connect(&launcher, &id);
    let stream = agent.start(shell("echo up; trap '' TERM; while :; do sleep 1; done"));
    agent.first_output(stream);
    let folder = cgroup_of("", &format!("test/{id}"));
    std::fs::write(folder.join("cgroup.freeze"), "1").unwrap();
    wait_until("it is frozen", || {
        std::fs::read_to_string(folder.join("cgroup.events")).is_ok_and(|t| t.contains("frozen 1"))
    });
    let begun = Instant::now();
    assert!(!client.destroy(&id).stuck);
    assert!(begun.elapsed() < Duration::from_secs(3), "took {:?}", begun.elapsed());
    assert!(!alive(created.pid) && processes_in(&id).is_empty());
}

#[test]
fn programs_leave_nothing_behind_however_they_end() {
    if skipped("programs_leave_nothing_behind_however_they_end") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let warm = id();
    client.create(&warm);
    client.destroy(&warm);
    wait_until("the first sandbox is cleared", || Census::take(&launcher).cgroups == 0);
    let before = Census::take(&launcher);
    for script in [
        "echo up",
        "echo up; exec sleep 300",
        "echo up; sleep 300 & (setsid sleep 300 &) ; exit 0",
        "echo up; mkdir -p a/b/c; dd if=/dev/zero of=a/b/c/f bs=1M count=20; exec sleep 300",
    ] {
        let id = id();
        client.create(&id);
        let mut agent = Agent::connect(&launcher, &id);
        let streams: Vec<_> = (0..3).map(|_| agent.start(ExecStart { linger: true, ..shell(script) })).collect();
        streams.iter().for_each(|stream| agent.first_output(*stream));
        assert!(!client.destroy(&id).stuck);
        assert!(processes_in(&id).is_empty(), "after {script}: {:?}", processes_in(&id));
    }
    wait_until("the census is as before", || Census::take(&launcher) == before);
}

#[test]
fn a_killed_launcher_takes_programs_along_and_the_next_one_clears_their_groups() {
    if skipped("a_killed_launcher_takes_programs_along_and_the_next_one_clears_their_groups") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let ids: Vec<_> = (0..2).map(|_| id()).collect();
    for id in &ids {
        client.create(id);
        let mut agent = Agent::connect(&launcher, id);
        let stream = agent.start(shell("echo up; exec sleep 300"));
        agent.first_output(stream);
    }
    let base = launcher.kill();
    wait_until("all programs are dead", || ids.iter().all(|id| processes_in(id).is_empty()));
    assert_ne!(Census::of(&ids).cgroups, 0, "control: a SIGKILL leaves cgroups behind");
    let _next = Launcher::start_in(&base);
    assert_eq!(Census::of(&ids).cgroups, 0);
}

#[test]
fn a_spawner_that_died_is_replaced_within_the_limits() {
    if skipped("a_spawner_that_died_is_replaced_within_the_limits") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let id = id();
    client.create(&id);
    let mut agent = Agent::connect(&launcher, &id);
    for _ in 0..3 {
        assert_eq!(agent.sh("echo before").stdout, "before\n");
        wait_until("only the spawner is left in the sandbox's limits", || processes_in(&id).len() == 1);
        let pid = rustix::process::Pid::from_raw(processes_in(&id)[0].0 as i32).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        let outcome = agent.sh("cat /proc/self/cgroup");
        assert!(outcome.is_fine() && !outcome.stdout.contains(".."), "{outcome:?}");
    }
}

#[test]
fn an_exec_may_have_any_name() {
    if skipped("an_exec_may_have_any_name") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let id = id();
    client.create(&id);
    let mut agent = Agent::connect(&launcher, &id);
    for name in ["spawner", "system", "init", "memory", "0"] {
        let outcome = agent.run(ExecStart { exec: name.into(), ..shell("exit 3") });
        assert_eq!((outcome.ended.reason(), outcome.ended.exit_code), (ExecReason::ReasonExited, 3), "{name}");
    }
}
