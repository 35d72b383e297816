//! Groups: whose they are, what is kept of them, and what is not.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use caisson_wire::agent::ExecReason;
use caisson_wire::launcher as wire;
use common::agent::{Agent, cgroup_of, limits_in_v1};
use common::{Client, Launcher, create, fresh_base, id, skipped};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;
/// Takes and fills 100 MiB at once.
const HOG: &str = "dd if=/dev/zero of=/dev/null bs=100M count=1";

/// A launcher that starts or ends removes what is empty, and these tests look at just that: one at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A name that no other test of this host uses.
fn name(what: &str) -> String {
    format!("{what}-{}", std::process::id())
}

fn ceiling(group: &str, memory_bytes: u64) -> wire::SetGroup {
    wire::SetGroup { group: group.into(), memory_bytes, ..Default::default() }
}

fn sandbox_in(client: &mut Client, group: &str) -> String {
    let id = id();
    client.create_as(wire::Create { group: group.into(), ..create(&id) });
    id
}

/// The ceiling of memory as the kernel has it; `None` without a folder, a huge number without a ceiling.
fn memory(folder: &str) -> Option<u64> {
    let file = if limits_in_v1() { "memory.limit_in_bytes" } else { "memory.max" };
    let text = std::fs::read_to_string(cgroup_of("memory", folder).join(file)).ok()?;
    Some(text.trim().parse().unwrap_or(u64::MAX))
}

#[test]
fn a_group_belongs_to_the_user_who_names_it() {
    if skipped("a_group_belongs_to_the_user_who_names_it") {
        return;
    }
    let _alone = alone();
    let launcher = Launcher::start_as(&fresh_base(), &["--allow-uid", "4001", "--allow-uid", "4002"]);
    let (mut owner, mut other, mut root) = (launcher.client_of(4001), launcher.client_of(4002), launcher.client());
    let group = name("owned");
    owner.set_group(ceiling(&group, 64 * MIB));
    let limited = sandbox_in(&mut owner, &group);
    // Neither of them can lift it, or is held by it.
    for client in [&mut other, &mut root] {
        client.set_group(ceiling(&group, 0));
        let free = sandbox_in(client, &group);
        assert_eq!(client.list().iter().find(|l| l.sandbox == free).unwrap().group, group);
        let outcome = Agent::connect(&launcher, &free).sh(HOG);
        assert!(outcome.is_fine(), "{outcome:?}");
    }
    let folder = format!("4001.{group}");
    assert_eq!(memory(&folder), Some(64 * MIB));
    assert!(memory(&group).unwrap() > 64 * MIB && memory(&format!("4002.{group}")).unwrap() > 64 * MIB);
    other.set_group(ceiling(&group, 32 * MIB));
    assert_eq!(memory(&folder), Some(64 * MIB), "theirs is another");
    // A data connection of root reaches every agent.
    let outcome = Agent::connect(&launcher, &limited).sh(HOG);
    assert_eq!(outcome.ended.reason(), ExecReason::ReasonOom, "{outcome:?}");
    owner.set_group(ceiling(&group, 0));
    let control = Agent::connect(&launcher, &limited).sh(HOG);
    assert!(control.is_fine(), "control: its owner lifts it: {control:?}");
}

#[test]
fn what_was_set_for_a_group_survives_upgrades_and_restarts() {
    if skipped("what_was_set_for_a_group_survives_upgrades_and_restarts") {
        return;
    }
    let _alone = alone();
    let mut launcher = Launcher::start();
    let (used, waiting) = (name("used"), name("waiting"));
    let mut client = launcher.client();
    client.set_group(ceiling(&used, 300 * MIB));
    client.set_group(ceiling(&waiting, 200 * MIB));
    let first = id();
    let lease = wire::Create { leased: true, lease_millis: 60_000, group: used.clone(), ..create(&first) };
    client.create_as(lease);
    assert_eq!((memory(&used), memory(&waiting)), (Some(300 * MIB), None), "folders come with sandboxes");
    launcher.upgrade();
    let mut client = launcher.client();
    sandbox_in(&mut client, &waiting);
    assert_eq!((memory(&used), memory(&waiting)), (Some(300 * MIB), Some(200 * MIB)));
    client.set_group(ceiling(&used, 301 * MIB));
    assert_eq!(memory(&used), Some(301 * MIB), "that of a sandbox from before the upgrade");
    // A crash leaves the folders, an orderly end does not: the next start has what was set in both cases.
    let base = launcher.kill();
    assert!(memory(&used).is_some(), "control: a SIGKILL leaves the folder");
    let launcher = Launcher::start_in(&base);
    assert_eq!(memory(&used), None);
    sandbox_in(&mut launcher.client(), &used);
    assert_eq!(memory(&used), Some(301 * MIB));
    let base = launcher.end_and_keep();
    assert_eq!(memory(&used), None);
    let launcher = Launcher::start_in(&base);
    let mut client = launcher.client();
    sandbox_in(&mut client, &used);
    assert_eq!(memory(&used), Some(301 * MIB));
    client.set_group(wire::SetGroup { weight: 100, ..ceiling(&used, 0) });
    assert!(std::fs::read_dir(launcher.state.join("groups")).unwrap().flatten().all(|e| *e.file_name() != *used));
}

#[test]
fn a_group_without_sandboxes_loses_its_folders_and_keeps_its_limits() {
    if skipped("a_group_without_sandboxes_loses_its_folders_and_keeps_its_limits") {
        return;
    }
    let _alone = alone();
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let (limited, plain, used) = (name("gone"), name("plain"), name("stays"));
    client.set_group(ceiling(&limited, 300 * MIB));
    for group in [&limited, &plain] {
        let id = sandbox_in(&mut client, group);
        client.destroy(&id);
    }
    sandbox_in(&mut client, &used);
    assert!([&limited, &plain, &used].iter().all(|group| memory(group).is_some()));
    let begun = Instant::now();
    while [&limited, &plain].iter().any(|group| memory(group).is_some()) {
        assert!(begun.elapsed() < Duration::from_secs(60), "they are still there");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(memory(&used).is_some());
    let again = sandbox_in(&mut client, &limited);
    assert_eq!(memory(&limited), Some(300 * MIB));
    // While it is being ended its folder is there: nothing is in the way.
    client.destroy(&again);
    sandbox_in(&mut client, &plain);
}
