//! How sandboxes with living programs end, and that they leave nothing.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use caisson_wire::agent::{ExecReason, ExecStart};
use common::agent::{Agent, cgroup_of, processes_in, shell};
use common::{Census, Launcher, alive, eventually_equal, id, skipped, wait_until};
use std::path::{Path, PathBuf};
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
    eventually_equal(&before, || Census::take(&launcher));
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

/// A tree that no path reaches, and names that are none for people.
const HOSTILE_TREE: &str = "n=0123456789; n=$n$n$n$n$n; n=$n$n$n$n$n; i=0
    while [ $i -lt 20 ]; do mkdir $n; : > ./-rf; ln -s / $n/link; mkfifo $n/fifo; cd $n; i=$((i+1)); done
    mkdir closed; : > closed/f; chmod 0 closed; echo up; exec sleep 300";

/// The folders of a sandbox's disk beneath a state folder: none when its disk is an image.
fn disk_folders(state: &Path, id: &str) -> Vec<PathBuf> {
    let launchers = std::fs::read_dir(state.join("project")).into_iter().flatten().flatten();
    launchers.map(|l| l.path().join(id)).filter(|folder| folder.exists()).collect()
}

#[test]
fn a_disk_goes_whatever_is_on_it_and_also_after_a_crash() {
    if skipped("a_disk_goes_whatever_is_on_it_and_also_after_a_crash") {
        return;
    }
    let launcher = Launcher::start();
    let state = launcher.state.clone();
    let mut client = launcher.client();
    let ids = [id(), id()];
    for id in &ids {
        client.create(id);
        let mut agent = Agent::connect(&launcher, id);
        let stream = agent.start(shell(HOSTILE_TREE));
        agent.first_output(stream);
    }
    let folders = || ids.iter().map(|id| disk_folders(&state, id).len()).sum::<usize>();
    // What the host offers is known to whoever runs this test in a machine made for it.
    match std::env::var("CAISSON_TEST_DISK").as_deref() {
        Ok("project") => assert_eq!(folders(), 2, "control: each disk is a folder"),
        Ok("image") => assert_eq!(folders(), 0, "control: each disk is an image"),
        _ => {}
    }
    assert!(!client.destroy(&ids[0]).stuck);
    wait_until("the disk of the first is gone", || disk_folders(&state, &ids[0]).is_empty());
    let next = Launcher::start_in(&launcher.kill());
    assert_eq!(folders(), 0, "a start clears what a crash left");
    drop(next);
}

#[test]
fn an_orderly_end_leaves_no_disk_and_no_group() {
    if skipped("an_orderly_end_leaves_no_disk_and_no_group") {
        return;
    }
    let base = Launcher::start().kill();
    let launcher = Launcher::start_in(&base);
    let mut client = launcher.client();
    let ids: Vec<_> = (0..3).map(|_| id()).collect();
    ids.iter().for_each(|id| drop(client.create(id)));
    let state = launcher.end_and_keep().join("state");
    assert_eq!(Census::of(&ids).cgroups, 0);
    let left: Vec<_> = std::fs::read_dir(state.join("project")).into_iter().flatten().flatten().collect();
    assert!(left.iter().all(|e| e.file_name() == "lock"), "{left:?}");
    let _ = std::fs::remove_dir_all(base);
}
