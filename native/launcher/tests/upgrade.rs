//! The launcher executes its next version in place, and sandboxes run on.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use caisson_wire::launcher::{self as wire, reply, request};
use common::agent::{Agent, cgroup_of, shell};
use common::{
    Census, Launcher, agent_path, alive, create, eventually_equal, fresh_base, id, launcher_path, skipped, wait_until,
};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;

fn leased(id: &str, millis: u64) -> wire::Create {
    wire::Create { leased: true, lease_millis: millis, ..create(id) }
}

#[test]
fn a_running_exec_goes_on_through_upgrades() {
    if skipped("a_running_exec_goes_on_through_upgrades") {
        return;
    }
    let mut launcher = Launcher::start();
    let mut client = launcher.client();
    let warm = id();
    client.create(&warm);
    client.destroy(&warm);
    wait_until("the first sandbox is cleared", || Census::take(&launcher).cgroups == 0);
    let before = Census::take(&launcher);
    let id = id();
    let created = client.create_as(wire::Create { max_life_millis: 600_000, ..leased(&id, 300_000) });
    client.prepare(&[&common::id(), &common::id()]);
    let owned = client.create(&common::id());
    let mut agent = Agent::connect(&launcher, &id);
    let stream = agent.start(shell("echo up; while [ ! -e go ]; do sleep 0.05; done; echo through"));
    agent.first_output(stream);
    for round in 0..3 {
        launcher.upgrade();
        assert!(alive(created.pid) && !alive(owned.pid), "leased ones live, owned ones end with their client");
        agent.ping();
        client = launcher.client();
        let living = client.list();
        assert_eq!(living.len(), 1, "after {round}: {living:?}");
        assert_eq!((living[0].sandbox.as_str(), living[0].group.as_str()), (id.as_str(), "test"));
        assert!((200_000..=300_000).contains(&living[0].lease_left_millis), "{living:?}");
        assert!((500_000..=600_000).contains(&living[0].max_life_left_millis), "{living:?}");
        let other = common::id();
        let other_created = client.create(&other);
        assert!(other_created.uid_base.abs_diff(created.uid_base) >= 65_536, "ranges are not given out twice");
        assert!(Agent::connect(&launcher, &other).sh("true").is_fine());
        client.destroy(&other);
    }
    // The data connection from before all upgrades is still the agent's.
    assert!(agent.sh("touch go").is_fine());
    assert_eq!(agent.finish(stream).unwrap().stdout, "up\nthrough\n");
    assert!(Agent::connect(&launcher, &id).sh("true").is_fine(), "and a new one is handed over");
    let destroyed = client.destroy(&id);
    assert!(!destroyed.stuck && !alive(created.pid) && destroyed.usage.unwrap().wall_micros > 100_000);
    eventually_equal(&before, || Census::take(&launcher));
}

#[test]
fn time_goes_on_through_an_upgrade() {
    if skipped("time_goes_on_through_an_upgrade") {
        return;
    }
    let mut launcher = Launcher::start();
    let mut client = launcher.client();
    let (lease, life, kept) = (id(), id(), id());
    let begun = Instant::now();
    let of_lease = client.create_as(leased(&lease, 2500));
    let of_life = client.create_as(wire::Create { max_life_millis: 2500, ..leased(&life, 60_000) });
    client.create_as(leased(&kept, 2500));
    launcher.upgrade();
    let mut client = launcher.client();
    let renew = wire::RenewMany { sandboxes: vec![kept.clone()], lease_millis: 60_000 };
    client.done(request::Body::RenewMany(renew));
    assert!(alive(of_lease.pid) && alive(of_life.pid));
    wait_until("both are over", || !alive(of_lease.pid) && !alive(of_life.pid));
    let took = begun.elapsed();
    assert!((Duration::from_millis(2400)..Duration::from_secs(6)).contains(&took), "{took:?}");
    assert_eq!(client.list().len(), 1);
    assert!(!client.destroy(&kept).stuck);
}

#[test]
fn what_a_sandbox_has_it_keeps_through_an_upgrade() {
    if skipped("what_a_sandbox_has_it_keeps_through_an_upgrade") {
        return;
    }
    let mut launcher = Launcher::start();
    let mut client = launcher.client();
    let (sandbox, volume, snapshot) = (id(), id(), id());
    let make = wire::MakeVolume { volume: volume.clone(), disk_bytes: 64 * MIB, inodes: 1024 };
    client.done(request::Body::MakeVolume(make));
    let mount = wire::VolumeMount { volume: volume.clone(), path: b"/data".to_vec(), read_only: false };
    let limits = wire::Limits { io_bytes_per_second: 64 * MIB, ..create("x").limits.unwrap() };
    client.create_as(wire::Create { volumes: vec![mount.clone()], limits: Some(limits), ..leased(&sandbox, 60_000) });
    let mut agent = Agent::connect(&launcher, &sandbox);
    assert!(agent.sh("echo kept > f; echo kept > /data/f").is_fine());
    client.freeze(&sandbox);
    launcher.upgrade();
    let mut client = launcher.client();
    assert!(client.observe(&sandbox).frozen);
    let events = std::fs::read_to_string(cgroup_of("", &format!("test/{sandbox}")).join("cgroup.events")).unwrap();
    assert!(events.contains("frozen 1"));
    let taken = wire::Create { volumes: vec![mount.clone()], ..create(&id()) };
    assert_eq!(client.refused(request::Body::Create(taken.clone())).kind(), wire::ErrorKind::ErrorBusy);
    let save = wire::Save { sandbox: sandbox.clone(), snapshot: snapshot.clone() };
    assert!(matches!(client.call(request::Body::Save(save)), reply::Body::Saved(_)));
    client.thaw(&sandbox);
    let less = wire::Limits { memory_bytes: 128 * MIB, tmp_bytes: MIB, io_bytes_per_second: 32 * MIB, ..limits };
    client.done(request::Body::SetLimits(wire::SetLimits { sandbox: sandbox.clone(), limits: Some(less) }));
    assert_eq!(client.observe(&sandbox).limits.unwrap(), less);
    assert!(agent.sh("grep kept f /data/f").is_fine());
    client.destroy(&sandbox);
    let next = wire::Create { snapshot, ..taken };
    client.create_as(next.clone());
    assert_eq!(Agent::connect(&launcher, &next.sandbox).sh("cat f /data/f").stdout, "kept\nkept\n");
}

#[test]
fn a_launcher_that_is_killed_after_an_upgrade_takes_all_along() {
    if skipped("a_launcher_that_is_killed_after_an_upgrade_takes_all_along") {
        return;
    }
    let mut launcher = Launcher::start();
    let mut client = launcher.client();
    let ids: Vec<_> = (0..3).map(|_| id()).collect();
    let pids: Vec<_> = ids.iter().map(|id| client.create_as(leased(id, 60_000)).pid).collect();
    launcher.upgrade();
    let second = Launcher::start_beside(&launcher);
    assert!(pids.iter().all(|pid| alive(*pid)), "another start finds its locks held");
    drop(second);
    let base = launcher.kill();
    wait_until("all are dead", || pids.iter().all(|pid| !alive(*pid)));
    assert_ne!(Census::of(&ids).cgroups, 0, "control: a SIGKILL leaves cgroups behind");
    drop(Launcher::start_in(&base));
    assert_eq!(Census::of(&ids).cgroups, 0);
}

fn put(from: &Path, to: &Path, mode: u32) {
    let fresh = to.with_extension("new");
    std::fs::copy(from, &fresh).unwrap();
    std::fs::set_permissions(&fresh, std::fs::Permissions::from_mode(mode)).unwrap();
    std::fs::rename(&fresh, to).unwrap();
}

#[test]
fn only_a_program_of_root_that_understands_is_executed() {
    if skipped("only_a_program_of_root_that_understands_is_executed") {
        return;
    }
    let base = fresh_base();
    std::fs::create_dir_all(base.join("bin")).unwrap();
    let program = base.join("bin/caisson-launcher");
    put(&launcher_path(), &program, 0o755);
    let mut launcher = Launcher::start_program(&base, &program);
    let mut client = launcher.client();
    let id = id();
    let created = client.create_as(leased(&id, 60_000));
    let mut refused = |what: &str| {
        launcher.signal_upgrade();
        std::thread::sleep(Duration::from_millis(300));
        assert!(alive(created.pid), "{what}");
        // Even the connection is as it was.
        assert_eq!(client.list().len(), 1, "{what}");
    };
    put(Path::new("/bin/false"), &program, 0o755);
    refused("a program that does not understand");
    put(Path::new("/bin/true"), &program, 0o755);
    refused("a program that does whatever it is asked");
    put(&agent_path().unwrap(), &program, 0o755);
    refused("another program of ours");
    put(&launcher_path(), &program, 0o777);
    refused("a program that anybody may write");
    put(&launcher_path(), &program, 0o755);
    std::os::unix::fs::chown(&program, Some(1000), None).unwrap();
    refused("a program of another user");
    std::fs::remove_file(&program).unwrap();
    refused("no program");
    std::os::unix::fs::symlink(launcher_path(), &program).unwrap();
    refused("a link");
    put(&launcher_path(), &program, 0o755);
    launcher.upgrade();
    assert!(alive(created.pid), "control: a good one is");
    assert!(!launcher.client().destroy(&id).stuck);
}

#[test]
fn clients_that_come_meanwhile_are_served_after_it() {
    if skipped("clients_that_come_meanwhile_are_served_after_it") {
        return;
    }
    let mut launcher = Launcher::start();
    let kept = id();
    let created = launcher.client().create_as(leased(&kept, 60_000));
    for _ in 0..5 {
        let (socket, pid) = (launcher.socket.clone(), launcher.child.id());
        let busy = std::thread::spawn(move || {
            let until = Instant::now() + Duration::from_millis(600);
            let mut served = 0;
            while Instant::now() < until {
                // A connection may be closed by the upgrade; the next one must be served.
                let mut client = common::Client::connect(&socket);
                let _ = client.try_send(request::Body::Hello(wire::Hello { version: 1, ..Default::default() }));
                if client.receive_or_closed().is_some() {
                    let _ = client.try_send(request::Body::Create(create(&id())));
                    served += u32::from(client.receive_or_closed().is_some());
                }
            }
            assert!(alive(pid));
            served
        });
        std::thread::sleep(Duration::from_millis(50));
        launcher.upgrade();
        assert!(busy.join().unwrap() > 0);
        assert!(alive(created.pid));
    }
    assert!(!launcher.client().destroy(&kept).stuck);
    wait_until("nothing else is left", || Census::take(&launcher).cgroups == 0);
}

#[test]
fn a_launcher_that_is_told_to_stop_while_it_is_upgraded_stops() {
    if skipped("a_launcher_that_is_told_to_stop_while_it_is_upgraded_stops") {
        return;
    }
    for pause in [0, 1, 20, 100] {
        let mut launcher = Launcher::start();
        let mut client = launcher.client();
        let ids: Vec<_> = (0..3).map(|_| id()).collect();
        ids[..2].iter().for_each(|id| drop(client.create_as(leased(id, 60_000))));
        client.create(&ids[2]);
        launcher.signal_upgrade();
        std::thread::sleep(Duration::from_millis(pause));
        drop(launcher.child.stdin.take());
        let mut status = None;
        wait_until("it ends", || {
            status = launcher.child.try_wait().unwrap();
            status.is_some()
        });
        assert!(status.unwrap().success(), "after {pause} ms");
        let census = Census::of(&ids);
        assert_eq!((census.cgroups, census.processes), (0, 0), "after {pause} ms");
    }
}

#[test]
fn what_is_frozen_at_once_holds_no_upgrade_up() {
    if skipped("what_is_frozen_at_once_holds_no_upgrade_up") {
        return;
    }
    let mut launcher = Launcher::start();
    for round in 0..8 {
        let (mut client, mut other) = (launcher.client(), launcher.client());
        let sandbox = id();
        client.send(request::Body::Create(leased(&sandbox, 60_000)));
        // As soon as it is made: its spawner is not there yet.
        let freeze = || request::Body::Freeze(wire::Freeze { sandbox: sandbox.clone() });
        while !matches!(other.call(freeze()), reply::Body::Done(_)) {}
        let begun = Instant::now();
        launcher.upgrade();
        assert!(begun.elapsed() < Duration::from_secs(5), "round {round} took {:?}", begun.elapsed());
        let mut client = launcher.client();
        assert!(client.observe(&sandbox).frozen);
        client.thaw(&sandbox);
        assert!(Agent::connect(&launcher, &sandbox).sh("true").is_fine());
        client.destroy(&sandbox);
    }
}
