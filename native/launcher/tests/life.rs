//! Sandboxes from creation to end, over a real launcher.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use caisson_wire::launcher::{self as wire, reply, request};
use common::{Census, Launcher, alive, create, eventually_equal, id, skipped, wait_until};
use std::time::{Duration, Instant};

#[test]
fn creates_and_destroys_and_leaves_nothing() {
    if skipped("creates_and_destroys_and_leaves_nothing") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let warm = id();
    client.create(&warm);
    client.destroy(&warm);
    wait_until("the first sandbox is cleared", || Census::take(&launcher).cgroups == 0);
    let before = Census::take(&launcher);
    for _ in 0..25 {
        let id = id();
        client.prepare(&[&id]);
        let created = client.create(&id);
        assert!(alive(created.pid));
        assert_ne!(Census::take(&launcher).cgroups, before.cgroups, "control: the census sees a live sandbox");
        let destroyed = client.destroy(&id);
        assert!(!destroyed.stuck);
        assert!(!alive(created.pid), "destroyed means dead");
    }
    eventually_equal(&before, || Census::take(&launcher));
}

#[test]
fn an_id_comes_back_right_after_its_sandbox_ended() {
    if skipped("an_id_comes_back_right_after_its_sandbox_ended") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let ids = [id()];
    let [id] = &ids;
    for _ in 0..40 {
        let created = client.create(id);
        assert!(alive(created.pid));
        assert!(!client.destroy(id).stuck);
    }
    let last = client.create(id);
    // Its line in the journal is the new one's, not what the end of the old one struck out: the next launcher clears it.
    let base = launcher.kill();
    wait_until("the last one is dead", || !alive(last.pid));
    assert_ne!(Census::of(&ids).cgroups, 0, "control: a SIGKILL leaves cgroups behind");
    let _next = Launcher::start_in(&base);
    assert_eq!(Census::of(&ids).cgroups, 0);
}

#[test]
fn an_owned_sandbox_ends_with_its_connection_and_a_leased_one_does_not() {
    if skipped("an_owned_sandbox_ends_with_its_connection_and_a_leased_one_does_not") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let owned = client.create(&id());
    let leased_id = id();
    let lease = wire::Create { leased: true, lease_millis: 60_000, ..create(&leased_id) };
    let reply::Body::Created(leased) = client.call(request::Body::Create(lease)) else { panic!() };
    drop(client);
    wait_until("the owned sandbox is dead", || !alive(owned.pid));
    assert!(alive(leased.pid));
    let mut other = launcher.client();
    assert!(!other.destroy(&leased_id).stuck);
    assert!(!alive(leased.pid));
}

#[test]
fn a_connection_that_breaks_in_the_middle_of_a_frame_ends_its_sandboxes() {
    if skipped("a_connection_that_breaks_in_the_middle_of_a_frame_ends_its_sandboxes") {
        return;
    }
    use std::io::Write;
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let created = client.create(&id());
    client.stream.write_all(&[0, 0, 1]).unwrap();
    drop(client);
    wait_until("the sandbox is dead", || !alive(created.pid));
}

#[test]
fn ends_a_sandbox_at_its_longest_life_and_at_the_end_of_its_lease() {
    if skipped("ends_a_sandbox_at_its_longest_life_and_at_the_end_of_its_lease") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let (life, lease) = (id(), id());
    client.call(request::Body::Create(wire::Create { max_life_millis: 300, ..create(&life) }));
    client.call(request::Body::Create(wire::Create { leased: true, lease_millis: 300, ..create(&lease) }));
    let deadline = Instant::now() + Duration::from_secs(10);
    while client.events.len() < 2 && Instant::now() < deadline {
        if let Some(reply::Body::Ended(ended)) = client.receive().unwrap().body {
            client.events.push(ended);
        }
    }
    let reason = |id: &str| client.events.iter().find(|e| e.sandbox == id).unwrap().reason();
    assert_eq!(reason(&life), wire::EndReason::EndMaxLife);
    assert_eq!(reason(&lease), wire::EndReason::EndLease);
}

#[test]
fn a_killed_launcher_takes_its_sandboxes_along_and_the_next_one_clears_what_is_left() {
    if skipped("a_killed_launcher_takes_its_sandboxes_along_and_the_next_one_clears_what_is_left") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let ids: Vec<_> = (0..5).map(|_| id()).collect();
    let pids: Vec<_> = ids.iter().map(|id| client.create(id).pid).collect();
    client.prepare(&[&id(), &id()]);
    let base = launcher.kill();
    wait_until("all sandboxes are dead", || pids.iter().all(|pid| !alive(*pid)));
    assert_ne!(Census::of(&ids).cgroups, 0, "control: a SIGKILL leaves cgroups behind");
    let next = Launcher::start_in(&base);
    assert_eq!(Census::of(&ids).cgroups, 0);
    let mut client = next.client();
    let again = id();
    client.create(&again);
    client.destroy(&again);
}

#[test]
fn two_launchers_do_not_touch_each_others_sandboxes() {
    if skipped("two_launchers_do_not_touch_each_others_sandboxes") {
        return;
    }
    let first = Launcher::start();
    let mut client = first.client();
    let created = client.create(&id());
    // The same run folder: the second looks for the dead there.
    let second = Launcher::start_beside(&first);
    let other = second.client().create(&id());
    assert!(alive(created.pid));
    let distance = created.uid_base.abs_diff(other.uid_base);
    assert!(distance >= 65_536, "host id ranges overlap");
    drop(second);
    assert!(alive(created.pid));
}

#[test]
fn kill_at_any_moment_of_a_creation_leaves_nothing_for_the_next_start() {
    if skipped("kill_at_any_moment_of_a_creation_leaves_nothing_for_the_next_start") {
        return;
    }
    let mut base: Option<std::path::PathBuf> = None;
    for step in 0..12u64 {
        let launcher = match &base {
            None => Launcher::start(),
            Some(base) => Launcher::start_in(base),
        };
        let mut client = launcher.client();
        let ids: Vec<_> = (0..3).map(|_| id()).collect();
        for id in &ids {
            client.send(request::Body::Create(create(id)));
        }
        std::thread::sleep(Duration::from_micros(step * step * 150));
        base = Some(launcher.kill());
        let next = Launcher::start_in(base.as_ref().unwrap());
        assert_eq!(Census::of(&ids).cgroups, 0, "after a kill at step {step}");
        wait_until("no process is left", || Census::of(&ids).processes == 0);
        base = Some(next.kill());
    }
    let _ = std::fs::remove_dir_all(base.unwrap());
}

#[test]
fn a_launcher_that_stops_begins_nothing_more() {
    if skipped("a_launcher_that_stops_begins_nothing_more") {
        return;
    }
    let mut launcher = Launcher::start();
    let mut client = launcher.client();
    let ids: Vec<_> = (0..8).map(|_| id()).collect();
    ids.iter().for_each(|id| drop(client.create(id)));
    client.prepare(&[&common::id(), &common::id()]);
    // They come back while what was left of them is cleared, and more come while it stops.
    for id in &ids {
        client.send(request::Body::Destroy(wire::Destroy { sandbox: id.clone() }));
    }
    for id in &ids {
        client.send(request::Body::Create(create(id)));
    }
    launcher.signal_end();
    for _ in 0..200 {
        if client.try_send(request::Body::Create(create(&common::id()))).1.is_err() {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(launcher.ends_within(Duration::from_secs(8)));
    assert_eq!(Census::of(&ids).processes, 0);
}
