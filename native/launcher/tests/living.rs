//! What is done to a living sandbox: frozen, observed, renewed, given other limits. On cgroup v1 and on v2.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use caisson_wire::agent::{ExecReason, Limit};
use caisson_wire::launcher::{self as wire, reply, request};
use common::agent::{Agent, cgroup_of, limits_in_v1, processes_in, shell};
use common::{Census, Client, Launcher, alive, create, eventually_equal, fresh_base, id, skipped, wait_until};
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;
/// Counts into a file as fast as it can, and says so once.
const COUNTER: &str = "echo up; i=0; while :; do i=$((i+1)); echo $i > count; done";

fn leased(id: &str, millis: u64) -> wire::Create {
    wire::Create { leased: true, lease_millis: millis, ..create(id) }
}

/// A sandbox in which a counter runs, frozen.
fn frozen(launcher: &Launcher, client: &mut Client, create: wire::Create) -> (u32, Agent) {
    let id = create.sandbox.clone();
    let created = client.create_as(create);
    let mut agent = Agent::connect(launcher, &id);
    let stream = agent.start(shell(COUNTER));
    agent.first_output(stream);
    client.freeze(&id);
    (created.pid, agent)
}

/// Cpu time of all processes of a sandbox, from the kernel.
fn cpu(id: &str) -> u64 {
    let text = std::fs::read_to_string(cgroup_of("", &format!("test/{id}")).join("cpu.stat")).unwrap();
    text.lines().find_map(|l| l.strip_prefix("usage_usec ")?.parse().ok()).unwrap()
}

#[test]
fn a_frozen_sandbox_stands_still_and_goes_on_when_thawed() {
    if skipped("a_frozen_sandbox_stands_still_and_goes_on_when_thawed") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let id = id();
    let (_, mut agent) = frozen(&launcher, &mut client, create(&id));
    client.freeze(&id);
    assert!(client.observe(&id).frozen && client.list()[0].frozen);
    let before = cpu(&id);
    std::thread::sleep(Duration::from_millis(300));
    // The kernel brings the last microseconds to account a little later.
    assert!(cpu(&id) < before + 1000, "nothing inside runs");
    agent.ping();
    let waiting = agent.start(shell("echo late"));
    std::thread::sleep(Duration::from_millis(200));
    assert!(cpu(&id) < before + 1000, "an exec that is started meanwhile waits");
    client.thaw(&id);
    client.thaw(&id);
    assert_eq!(agent.finish(waiting).unwrap().stdout, "late\n");
    assert!(!client.observe(&id).frozen);
    wait_until("control: the counter goes on", || cpu(&id) > before + 10_000);
}

#[test]
fn a_frozen_sandbox_dies_in_every_way_that_another_does() {
    if skipped("a_frozen_sandbox_dies_in_every_way_that_another_does") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let (warm, life, lease, destroyed) = (id(), id(), id(), id());
    client.create(&warm);
    client.destroy(&warm);
    wait_until("the first sandbox is cleared", || Census::take(&launcher).cgroups == 0);
    let before = Census::take(&launcher);

    let (pid, _) = frozen(&launcher, &mut client, wire::Create { max_life_millis: 1500, ..create(&life) });
    assert_eq!(client.ended(&life).reason(), wire::EndReason::EndMaxLife);
    assert!(!alive(pid));
    let (pid, _) = frozen(&launcher, &mut client, leased(&lease, 1500));
    assert_eq!(client.ended(&lease).reason(), wire::EndReason::EndLease);
    assert!(!alive(pid));
    let (pid, _) = frozen(&launcher, &mut client, create(&destroyed));
    let begun = Instant::now();
    assert!(!client.destroy(&destroyed).stuck);
    assert!(!alive(pid) && begun.elapsed() < Duration::from_secs(3));
    let mut other = launcher.client();
    let (pid, _) = frozen(&launcher, &mut other, create(&id()));
    drop(other);
    wait_until("an owned one dies with its connection", || !alive(pid));
    eventually_equal(&before, || Census::take(&launcher));

    let last = id();
    let (pid, _) = frozen(&launcher, &mut client, create(&last));
    let base = launcher.kill();
    wait_until("all die with the launcher", || !alive(pid) && Census::of(std::slice::from_ref(&last)).processes == 0);
    drop(Launcher::start_in(&base));
}

#[test]
fn freezing_outlives_the_connection_of_a_leased_sandbox() {
    if skipped("freezing_outlives_the_connection_of_a_leased_sandbox") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let id = id();
    let (pid, agent) = frozen(&launcher, &mut client, leased(&id, 60_000));
    drop((client, agent));
    std::thread::sleep(Duration::from_millis(100));
    let before = cpu(&id);
    let mut client = launcher.client();
    assert!(alive(pid) && client.list()[0].frozen);
    std::thread::sleep(Duration::from_millis(100));
    assert!(cpu(&id) < before + 1000);
    client.thaw(&id);
    wait_until("it goes on", || cpu(&id) > before + 10_000);
}

#[test]
fn what_cannot_be_frozen_is_refused_and_nobody_waits_for_ever() {
    if skipped("what_cannot_be_frozen_is_refused_and_nobody_waits_for_ever") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let freeze = |id: &str| request::Body::Freeze(wire::Freeze { sandbox: id.into() });
    assert_eq!(client.refused(freeze(&id())).kind(), wire::ErrorKind::ErrorNotFound);
    assert_eq!(client.refused(freeze("../system")).kind(), wire::ErrorKind::ErrorNotFound);
    let parked = id();
    client.prepare(&[&parked]);
    assert_eq!(client.refused(freeze(&parked)).kind(), wire::ErrorKind::ErrorNotFound);
    // Freezes, thaws and an end, all at once: each is answered.
    let id = id();
    client.create(&id);
    let mut asked: Vec<_> = (0..20)
        .flat_map(|_| [freeze(&id), request::Body::Thaw(wire::Thaw { sandbox: id.clone() })])
        .map(|body| client.send(body))
        .collect();
    asked.push(client.send(request::Body::Destroy(wire::Destroy { sandbox: id.clone() })));
    asked.extend((0..3).map(|_| client.send(freeze(&id))));
    while !asked.is_empty() {
        let reply = client.receive().unwrap();
        asked.retain(|id| *id != reply.id);
    }
}

#[test]
fn observes_what_a_sandbox_uses_and_reads_its_limits_from_the_kernel() {
    if skipped("observes_what_a_sandbox_uses_and_reads_its_limits_from_the_kernel") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let id = id();
    client.create_as(wire::Create { max_life_millis: 100_000, ..leased(&id, 50_000) });
    let empty = client.observe(&id);
    let mut agent = Agent::connect(&launcher, &id);
    let stream = agent.start(shell(
        "exec 2>/dev/null; dd if=/dev/zero of=a bs=1M count=20; : > b; dd if=/dev/zero of=/tmp/c bs=1M count=30; echo up; sleep 300",
    ));
    agent.first_output(stream);
    let used = client.observe(&id);
    assert!(used.disk_used_bytes >= empty.disk_used_bytes + 20 * MIB, "{used:?}");
    assert!(used.inodes_used >= empty.inodes_used + 2, "{used:?}");
    assert!(used.memory_bytes > 30 * MIB && used.pids > 0, "{used:?}");
    let limits = used.limits.unwrap();
    let asked = create("x").limits.unwrap();
    assert_eq!(limits, wire::Limits { tmp_bytes: asked.memory_bytes / 2, ..asked });
    // What somebody else changed is shown.
    let folder = cgroup_of("pids", &format!("test/{id}"));
    std::fs::write(folder.join("pids.max"), "100").unwrap();
    assert_eq!(client.observe(&id).limits.unwrap().pids, 99);
    let living = client.list().remove(0);
    assert_eq!((living.sandbox, living.group.as_str(), living.template.as_str()), (id, "test", "host"));
    assert!(living.leased && (40_000..=50_000).contains(&living.lease_left_millis));
    assert!((90_000..=100_000).contains(&living.max_life_left_millis));
}

#[test]
fn observes_and_lists_all_and_nothing_of_other_users() {
    if skipped("observes_and_lists_all_and_nothing_of_other_users") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let all = |client: &mut Client| match client.call(request::Body::ObserveAll(wire::ObserveAll {})) {
        reply::Body::ObservedAll(all) => all,
        other => panic!("{other:?}"),
    };
    let none = all(&mut client);
    assert!(none.last && none.sandboxes.is_empty());
    let ids: Vec<_> = (0..3).map(|_| id()).collect();
    ids.iter().for_each(|id| drop(client.create(id)));
    let three = all(&mut client);
    assert!(three.last && three.sandboxes.iter().all(|o| o.limits.is_some()));
    let mut seen: Vec<_> = three.sandboxes.into_iter().map(|o| o.sandbox).collect();
    seen.sort();
    assert_eq!(seen, ids);
}

#[test]
fn many_leases_are_renewed_at_once_and_the_gone_are_told_of() {
    if skipped("many_leases_are_renewed_at_once_and_the_gone_are_told_of") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let (kept, lost, gone) = (id(), id(), id());
    client.create_as(leased(&kept, 4000));
    client.create_as(leased(&lost, 4000));
    let renew =
        |ids: Vec<String>, lease_millis| request::Body::RenewMany(wire::RenewMany { sandboxes: ids, lease_millis });
    for _ in 0..4 {
        std::thread::sleep(Duration::from_millis(500));
        client.done(renew(vec![kept.clone()], 20_000));
    }
    assert_eq!(client.ended(&lost).reason(), wire::EndReason::EndLease, "control: what is not renewed ends");
    client.done(renew(vec![kept.clone(), gone.clone()], 60_000));
    assert_eq!(client.events.iter().filter(|e| e.sandbox == gone).count(), 1);
    assert!(client.list()[0].lease_left_millis > 50_000);
    assert_eq!(client.refused(renew(vec![kept.clone()], 0)).kind(), wire::ErrorKind::ErrorInvalid);
    assert_eq!(client.refused(renew(vec!["../x".into()], 1)).kind(), wire::ErrorKind::ErrorInvalid);
    // A thousand at once, most of them gone: cheap.
    let many: Vec<_> = (0..1000).map(|_| id()).chain([kept.clone()]).collect();
    let begun = Instant::now();
    client.done(renew(many, 60_000));
    assert!(begun.elapsed() < Duration::from_secs(5), "took {:?}", begun.elapsed());
    assert!(!client.destroy(&kept).stuck);
}

fn change(id: &str, limits: wire::Limits) -> request::Body {
    request::Body::SetLimits(wire::SetLimits { sandbox: id.into(), limits: Some(limits) })
}

#[test]
fn limits_of_a_living_sandbox_are_raised_and_lowered() {
    if skipped("limits_of_a_living_sandbox_are_raised_and_lowered") {
        return;
    }
    let hog = "dd if=/dev/zero of=/dev/null bs=100M count=1";
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let id = id();
    let tight = wire::Limits { memory_bytes: 64 * MIB, pids: 24, cpu_millis: 500, ..create("x").limits.unwrap() };
    client.create_as(wire::Create { limits: Some(tight), ..create(&id) });
    let mut agent = Agent::connect(&launcher, &id);
    assert_eq!(agent.sh(hog).ended.reason(), ExecReason::ReasonOom, "control: tight");
    let many = "i=0; while [ $i -lt 40 ]; do sleep 2 & i=$((i+1)); done; echo all";
    assert!(agent.sh(many).hit(Limit::Pids), "control: tight");
    let old = agent.start(shell(&format!("echo up; while [ ! -e go ]; do sleep 0.1; done; {hog}")));
    agent.first_output(old);

    let loose = wire::Limits { memory_bytes: 512 * MIB, pids: 200, cpu_millis: 1500, tmp_bytes: 64 * MIB, ..tight };
    client.done(change(&id, loose));
    assert_eq!(client.observe(&id).limits.unwrap(), loose);
    assert!(agent.sh(hog).is_fine(), "a new exec may take more");
    assert!(agent.sh("touch go").is_fine());
    let outcome = agent.finish(old).unwrap();
    assert!(outcome.is_fine(), "an exec that was there may, too: {outcome:?}");
    assert!(agent.sh(many).stdout.contains("all"));
    let shown = agent.sh("grep MemTotal /proc/meminfo; df -k /tmp | tail -1").stdout;
    assert!(shown.contains(" 524288 kB") && shown.contains(" 65536 "), "{shown}");

    client.done(change(&id, wire::Limits { pids: 24, memory_bytes: 48 * MIB, tmp_bytes: MIB, ..loose }));
    assert!(agent.sh(many).hit(Limit::Pids));
    assert_eq!(agent.sh(hog).ended.reason(), ExecReason::ReasonOom);
    assert!(!agent.sh("dd if=/dev/zero of=/tmp/f bs=1M count=2").is_fine());
}

#[test]
fn limits_are_changed_all_or_none() {
    if skipped("limits_are_changed_all_or_none") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let id = id();
    client.create(&id);
    let mut agent = Agent::connect(&launcher, &id);
    let stream = agent.start(shell("dd if=/dev/zero of=/tmp/f bs=1M count=100; echo up; sleep 300"));
    agent.first_output(stream);
    let before = client.observe(&id).limits.unwrap();
    let asked = create("x").limits.unwrap();
    for (limits, kind) in [
        // Too small for the files in /tmp; too small for the memory in use.
        (wire::Limits { tmp_bytes: 50 * MIB, cpu_millis: 77, ..asked }, wire::ErrorKind::ErrorBusy),
        (wire::Limits { memory_bytes: 64 * MIB, pids: 7, tmp_bytes: 256 * MIB, ..asked }, wire::ErrorKind::ErrorBusy),
        (wire::Limits { disk_bytes: 2 << 30, ..asked }, wire::ErrorKind::ErrorInvalid),
        (wire::Limits { inodes: 4096, ..asked }, wire::ErrorKind::ErrorInvalid),
        (wire::Limits { memory_bytes: 0, ..asked }, wire::ErrorKind::ErrorInvalid),
        (wire::Limits { pids: u64::MAX, ..asked }, wire::ErrorKind::ErrorInvalid),
        (wire::Limits::default(), wire::ErrorKind::ErrorInvalid),
    ] {
        let error = client.refused(change(&id, limits));
        assert_eq!(error.kind(), kind, "{error:?} of {limits:?}");
        assert_eq!(client.observe(&id).limits.unwrap(), before, "after {error:?}");
    }
    assert_eq!(client.refused(change(&common::id(), asked)).kind(), wire::ErrorKind::ErrorNotFound);
    agent.ping();
    client.done(change(&id, wire::Limits { cpu_millis: 77, ..asked }));
    assert_eq!(client.observe(&id).limits.unwrap().cpu_millis, 77, "control: what is possible is done");
}

#[test]
fn the_rate_of_block_io_of_a_living_sandbox_changes() {
    if skipped("the_rate_of_block_io_of_a_living_sandbox_changes") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let (id, plain) = (id(), id());
    let limits = wire::Limits { io_bytes_per_second: 64 * MIB, ..create("x").limits.unwrap() };
    client.create_as(wire::Create { limits: Some(limits), ..create(&id) });
    let mut agent = Agent::connect(&launcher, &id);
    let write = "dd if=/dev/zero of=f bs=1M count=8 oflag=direct";
    let mut millis = || agent.sh(write).usage().wall_micros / 1000;
    assert!(millis() < 1500, "control: fast");
    client.done(change(&id, wire::Limits { io_bytes_per_second: 4 * MIB, ..limits }));
    assert!(millis() > 1200, "slow");
    assert!(client.observe(&id).io_bytes >= 16 * MIB);
    client.done(change(&id, wire::Limits { io_bytes_per_second: 0, ..limits }));
    assert!(millis() < 1500, "control: fast again");
    // One that has no rate cannot always get one.
    client.create(&plain);
    let reply = client.call(change(&plain, limits));
    if limits_in_v1() {
        assert!(matches!(&reply, reply::Body::Error(e) if e.kind() == wire::ErrorKind::ErrorNotSupported), "{reply:?}");
    }
}

#[test]
fn an_idle_launcher_ends_by_itself_and_a_busy_one_does_not() {
    if skipped("an_idle_launcher_ends_by_itself_and_a_busy_one_does_not") {
        return;
    }
    let base = fresh_base();
    let mut launcher = Launcher::start_as(&base, &["--exit-when-idle", "1"]);
    let mut client = launcher.client();
    let id = id();
    client.create_as(leased(&id, 3000));
    std::thread::sleep(Duration::from_millis(1500));
    drop(client);
    std::thread::sleep(Duration::from_millis(1200));
    assert!(launcher.child.try_wait().unwrap().is_none(), "a sandbox keeps it alive");
    let mut status = None;
    wait_until("it ends when the sandbox is over", || {
        status = launcher.child.try_wait().unwrap();
        status.is_some()
    });
    assert!(status.unwrap().success() && !launcher.socket.exists());
    assert_eq!(Census::of(&[id]).cgroups, 0);
}

#[test]
fn a_spawner_that_was_replaced_is_in_the_io_limit_too() {
    if skipped("a_spawner_that_was_replaced_is_in_the_io_limit_too") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let id = id();
    let limits = wire::Limits { io_bytes_per_second: 4 * MIB, ..create("x").limits.unwrap() };
    client.create_as(wire::Create { limits: Some(limits), ..create(&id) });
    let mut agent = Agent::connect(&launcher, &id);
    assert!(agent.sh("true").is_fine());
    wait_until("only the spawner is left", || processes_in(&id).len() == 1);
    let pid = rustix::process::Pid::from_raw(processes_in(&id)[0].0 as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let outcome = agent.sh("dd if=/dev/zero of=f bs=1M count=8 oflag=direct");
    assert!(outcome.is_fine() && outcome.usage().wall_micros > 1_200_000, "{outcome:?}");
}
