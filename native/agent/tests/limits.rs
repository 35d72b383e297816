//! Limits are observed, attributed to the right exec, and survived.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod harness;

use caisson_wire::agent::{agent_frame::Body, *};
use harness::client::{command, shell};
use harness::{Limits, world_with};
use std::time::Duration;

/// Takes memory until it dies.
const HOG: &str = "exec tail /dev/zero";

fn small() -> Limits {
    Limits { memory_bytes: 48 << 20, pids: 64, ..Limits::default() }
}

#[test]
fn an_exec_that_takes_too_much_memory_is_ended_as_out_of_memory() {
    let Some(mut world) = world_with(&small()) else { return };
    let mut client = world.client();
    for _ in 0..3 {
        let outcome = client.sh(HOG);
        assert_eq!(outcome.ended.reason(), ExecReason::ReasonOom);
        assert_eq!(outcome.limits, [Limit::Memory]);
        assert!(outcome.ended.usage.unwrap().peak_memory_bytes > 40 << 20);
        let fine = client.sh("echo fine");
        assert_eq!((fine.ended.reason(), fine.text().as_str()), (ExecReason::ReasonExited, "fine\n"));
        assert!(fine.ended.limits_hit.is_empty());
    }
}

#[test]
fn a_victim_in_the_middle_of_a_tree_ends_the_whole_exec() {
    let Some(mut world) = world_with(&small()) else { return };
    let outcome = world.client().sh("(tail /dev/zero); sleep 60; echo never");
    assert_eq!(outcome.ended.reason(), ExecReason::ReasonOom);
    assert!(outcome.stdout.is_empty());
}

#[test]
fn only_the_exec_of_the_victim_is_ended() {
    let Some(mut world) = world_with(&small()) else { return };
    let mut client = world.client();
    let bystander = client.start(shell("echo up; sleep 2; echo through"));
    while !matches!(client.read_of(bystander).body, Some(Body::Output(_))) {}
    let outcome = client.sh(HOG);
    assert_eq!(outcome.ended.reason(), ExecReason::ReasonOom);
    loop {
        if let Some(Body::ExecEnded(ended)) = client.read_of(bystander).body {
            assert_eq!((ended.reason(), ended.stdout_bytes), (ExecReason::ReasonExited, 11));
            assert!(ended.limits_hit.is_empty());
            break;
        }
    }
    assert!(harness::eventually(|| world.exec_groups().is_empty()));
}

#[test]
fn a_fork_bomb_meets_the_pids_limit_and_dies_with_its_exec() {
    let Some(mut world) = world_with(&small()) else { return };
    let mut client = world.client();
    let start = ExecStart { timeout_millis: 1500, ..shell("b() { b | b & }; (b); exec sleep 60") };
    let outcome = client.run(start).unwrap();
    assert_eq!(outcome.ended.reason(), ExecReason::ReasonTimeout);
    assert!(outcome.limits.contains(&Limit::Pids), "{:?}", outcome.limits);
    assert_eq!(client.sh("echo alive").text(), "alive\n");
}

#[test]
fn a_full_pids_limit_refuses_an_exec_and_says_so() {
    let Some(mut world) = world_with(&Limits { pids: 8, ..small() }) else { return };
    let mut client = world.client();
    let mut hit = false;
    let error = loop {
        let stream = client.start(command(&["sleep", "30"]));
        match client.read_of(stream).body.unwrap() {
            Body::ExecStarted(_) => {}
            Body::LimitHit(limit) => hit |= limit.limit() == Limit::Pids,
            other => panic!("{other:?}"),
        }
        if hit {
            break client.error(stream);
        }
    };
    assert_eq!((error.kind(), error.errno), (ErrorKind::ErrorLimit, libc::EAGAIN));
    assert!(hit);
}

#[test]
fn throttling_is_told() {
    let Some(mut world) = world_with(&Limits { cpu_quota_micros: Some(20_000), ..small() }) else { return };
    let outcome = world.client().run(ExecStart { timeout_millis: 1000, ..shell("while :; do :; done") }).unwrap();
    assert!(outcome.limits.contains(&Limit::Cpu), "{:?}", outcome.limits);
    let usage = outcome.ended.usage.unwrap();
    assert!(usage.cpu_micros > 50_000 && usage.cpu_micros < 800_000, "{usage:?}");
    assert!(usage.cpu_throttled_micros >= 50_000);
}

#[test]
fn usage_is_measured() {
    let Some(mut world) = world_with(&Limits::default()) else { return };
    let script =
        "head -c 60m /dev/zero | tail -c 50m >/dev/null; i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; sleep 0.5";
    let outcome = world.client().sh(script);
    let usage = outcome.ended.usage.unwrap();
    assert!(usage.wall_micros > 500_000);
    assert!(usage.cpu_micros > 10_000 && usage.cpu_micros < usage.wall_micros * 3, "{usage:?}");
    assert!(usage.peak_memory_bytes > 40 << 20, "{usage:?}");
    assert!(usage.memory_byte_millis > 0);
    assert!(usage.disk_bytes > 0);
    std::thread::sleep(Duration::from_millis(1));
}
