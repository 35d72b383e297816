//! Every limit of a sandbox, met by a real program through launcher and agent; each beside a control that does the same
//! within a looser limit. On cgroup v1 and on v2.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use caisson_wire::agent::{ErrorKind, ExecReason, ExecStart, Limit};
use caisson_wire::launcher as wire;
use common::agent::{Agent, Outcome, cgroup_of, limits_in_v1, processes_in, shell};
use common::{Client, Launcher, create, id, skipped, wait_until};

const MIB: u64 = 1 << 20;
/// Takes and fills 100 MiB at once.
const HOG: &str = "dd if=/dev/zero of=/dev/null bs=100M count=1";

fn limits() -> wire::Limits {
    wire::Limits {
        cpu_millis: 2000,
        memory_bytes: 256 * MIB,
        pids: 256,
        disk_bytes: 128 * MIB,
        inodes: 8192,
        ..Default::default()
    }
}

/// A sandbox with these limits and its agent.
fn sandbox(launcher: &Launcher, client: &mut Client, limits: wire::Limits) -> (String, Agent) {
    let id = id();
    client.create_as(wire::Create { limits: Some(limits), ..create(&id) });
    let agent = Agent::connect(launcher, &id);
    (id, agent)
}

#[test]
fn an_exec_that_takes_too_much_memory_dies_whole_and_another_goes_on() {
    if skipped("an_exec_that_takes_too_much_memory_dies_whole_and_another_goes_on") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let (id, mut agent) = sandbox(&launcher, &mut client, wire::Limits { memory_bytes: 64 * MIB, ..limits() });
    let bystander = agent.start(shell("echo up; while [ ! -e go ]; do sleep 0.1; done; echo through"));
    agent.first_output(bystander);
    let tree = shell(&format!("sleep 300 & ({HOG}); echo never; sleep 300"));
    let name = tree.exec.clone();
    let outcome = agent.run(tree);
    assert_eq!(outcome.ended.reason(), ExecReason::ReasonOom, "{outcome:?}");
    assert!(outcome.hit(Limit::Memory) && outcome.stdout.is_empty(), "{outcome:?}");
    assert!(outcome.usage().peak_memory_bytes > 32 * MIB, "{outcome:?}");
    wait_until("its whole tree is dead", || processes_in(&format!("{id}/{name}")).is_empty());
    assert!(agent.sh("echo yes > go").is_fine());
    let bystander = agent.finish(bystander).unwrap();
    assert_eq!(bystander.stdout, "up\nthrough\n");
    assert!(bystander.is_fine(), "{bystander:?}");

    let (_, mut agent) = sandbox(&launcher, &mut client, limits());
    let control = agent.sh(HOG);
    assert!(control.is_fine(), "control: within a loose limit it lives: {control:?}");
}

#[test]
fn files_in_tmp_count_as_memory_and_files_on_disk_do_not() {
    if skipped("files_in_tmp_count_as_memory_and_files_on_disk_do_not") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let tight = wire::Limits { memory_bytes: 48 * MIB, tmp_bytes: 96 * MIB, ..limits() };
    let (_, mut agent) = sandbox(&launcher, &mut client, tight);
    let write = |place: &str| format!("exec dd if=/dev/zero of={place}/file bs=1M count=80");
    let outcome = agent.sh(&write("/tmp"));
    assert_eq!(outcome.ended.reason(), ExecReason::ReasonOom, "{outcome:?}");
    let (_, mut agent) = sandbox(&launcher, &mut client, tight);
    let control = agent.sh(&write("."));
    assert!(control.is_fine(), "control: on disk it fits: {control:?}");
    let (_, mut agent) = sandbox(&launcher, &mut client, wire::Limits { tmp_bytes: 16 * MIB, ..limits() });
    let outcome = agent.sh(&write("/tmp"));
    assert_eq!((outcome.ended.reason(), outcome.ended.exit_code), (ExecReason::ReasonExited, 1), "{outcome:?}");
}

#[test]
fn a_group_has_a_ceiling_for_all_its_sandboxes_and_less_weight_than_the_launcher() {
    if skipped("a_group_has_a_ceiling_for_all_its_sandboxes_and_less_weight_than_the_launcher") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let group = format!("ceiling-{}", std::process::id());
    let ceiling = wire::SetGroup { group: group.clone(), weight: 1000, memory_bytes: 64 * MIB, ..Default::default() };
    client.set_group(ceiling);
    let id = id();
    client.create_as(wire::Create { group: group.clone(), limits: Some(limits()), ..create(&id) });
    let mut agent = Agent::connect(&launcher, &id);
    let outcome = agent.sh(HOG);
    assert_eq!(outcome.ended.reason(), ExecReason::ReasonOom, "{outcome:?}");
    let file = if limits_in_v1() { "cpu.shares" } else { "cpu.weight" };
    let weight = |path: &str| -> u64 {
        std::fs::read_to_string(cgroup_of("cpu", path).join(file)).unwrap().trim().parse().unwrap()
    };
    assert_eq!(weight("system"), weight(&group) * 10);
    client.set_group(wire::SetGroup { group, ..Default::default() });
    let control = agent.sh(HOG);
    assert!(control.is_fine(), "control: without the ceiling it lives: {control:?}");
}

#[test]
fn too_many_processes_are_refused_and_the_agent_lives_through_a_fork_bomb() {
    if skipped("too_many_processes_are_refused_and_the_agent_lives_through_a_fork_bomb") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let (_, mut agent) = sandbox(&launcher, &mut client, wire::Limits { pids: 24, ..limits() });
    let many = "i=0; while [ $i -lt 40 ]; do sleep 20 & i=$((i+1)); done; echo all";
    let outcome = agent.sh(many);
    assert!(!outcome.stdout.contains("all") && outcome.hit(Limit::Pids), "{outcome:?}");
    for _ in 0..2 {
        let bomb = agent.start(ExecStart { timeout_millis: 3000, ..shell("b() { b | b & }; b; sleep 60") });
        std::thread::sleep(std::time::Duration::from_millis(1000));
        agent.ping();
        let outcome = agent.finish(bomb).unwrap();
        assert_eq!(outcome.ended.reason(), ExecReason::ReasonTimeout, "{outcome:?}");
        assert!(outcome.hit(Limit::Pids), "{outcome:?}");
        let next = agent.sh("echo alive");
        assert_eq!(next.stdout, "alive\n");
        assert!(next.is_fine(), "{next:?}");
    }
    let (_, mut agent) = sandbox(&launcher, &mut client, limits());
    let control = agent.sh(many);
    assert_eq!(control.stdout, "all\n", "control: within a loose limit all start");
    assert!(control.is_fine(), "{control:?}");
}

#[test]
fn an_exec_that_finds_no_room_for_a_process_is_refused() {
    if skipped("an_exec_that_finds_no_room_for_a_process_is_refused") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let (_, mut agent) = sandbox(&launcher, &mut client, wire::Limits { pids: 2, ..limits() });
    // What brought the spawner in counts, too, until it is gone.
    wait_until("the spawner is alone", || {
        let stream = agent.start(shell("true"));
        agent.finish(stream).is_ok()
    });
    for _ in 0..2 {
        let stream = agent.start(shell("echo up; exec sleep 60"));
        agent.first_output(stream);
    }
    let stream = agent.start(shell("echo no"));
    let error = agent.finish(stream).unwrap_err();
    assert_eq!((error.kind(), error.errno), (ErrorKind::ErrorLimit, libc::EAGAIN), "{error:?}");
}

#[test]
fn the_cpu_limit_holds_and_is_told() {
    if skipped("the_cpu_limit_holds_and_is_told") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let busy = || ExecStart { timeout_millis: 2000, ..shell("while :; do :; done") };
    let (_, mut agent) = sandbox(&launcher, &mut client, wire::Limits { cpu_millis: 200, ..limits() });
    let outcome = agent.run(busy());
    let usage = outcome.usage();
    assert!(outcome.hit(Limit::Cpu) && usage.cpu_throttled_micros >= 50_000, "{outcome:?}");
    assert!(usage.cpu_micros < usage.wall_micros / 2, "{outcome:?}");
    let (_, mut agent) = sandbox(&launcher, &mut client, limits());
    let control = agent.run(busy());
    // Where time is emulated some throttling is seen in any case.
    assert!(control.usage().cpu_throttled_micros < usage.cpu_throttled_micros / 3, "control: {control:?}");
}

/// ENOSPC, or EDQUOT where the disk is a folder of an ext4 with project quotas.
fn says_full(outcome: &Outcome) -> bool {
    ["No space left on device", "Disk quota exceeded", "Quota exceeded"]
        .iter()
        .any(|text| outcome.stderr.contains(text))
}

#[test]
fn a_full_disk_and_used_up_inodes_are_told_and_never_taken_for_memory() {
    if skipped("a_full_disk_and_used_up_inodes_are_told_and_never_taken_for_memory") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let tight = wire::Limits { memory_bytes: 32 * MIB, disk_bytes: 48 * MIB, inodes: 512, ..limits() };
    let (_, mut agent) = sandbox(&launcher, &mut client, tight);
    let fill = "dd if=/dev/zero of=file bs=1M count=60";
    let outcome = agent.sh(fill);
    assert!(says_full(&outcome), "{outcome:?}");
    assert_eq!((outcome.ended.reason(), outcome.ended.exit_code), (ExecReason::ReasonExited, 1), "{outcome:?}");
    assert!(outcome.hit(Limit::Disk) && !outcome.hit(Limit::Memory), "{outcome:?}");

    let (_, mut agent) = sandbox(&launcher, &mut client, tight);
    let many = "i=0; while [ $i -lt 600 ]; do : > f$i || exit 9; i=$((i+1)); done; echo all";
    let outcome = agent.sh(many);
    assert!(!outcome.stdout.contains("all") && says_full(&outcome), "{outcome:?}");
    assert!(outcome.hit(Limit::Inodes) && !outcome.hit(Limit::Memory), "{outcome:?}");

    let (_, mut agent) = sandbox(&launcher, &mut client, limits());
    for control in [agent.sh(fill), agent.sh(&format!("rm file; {many}"))] {
        assert!(control.is_fine(), "control: with room it works: {control:?}");
    }
}

#[test]
fn the_rate_of_block_io_is_limited() {
    if skipped("the_rate_of_block_io_is_limited") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let slow = wire::Limits { io_bytes_per_second: 2 * MIB, ..limits() };
    let (id, mut agent) = sandbox(&launcher, &mut client, slow);
    let file = if limits_in_v1() { "blkio.throttle.write_bps_device" } else { "io.max" };
    let set = std::fs::read_to_string(cgroup_of("blkio", &format!("test/{id}")).join(file)).unwrap();
    assert!(set.starts_with("7:") && set.contains("2097152"), "{set}");
    // Direct I/O is what v1 can throttle too.
    let write = "dd if=/dev/zero of=file bs=1M count=8 oflag=direct";
    let outcome = agent.sh(write);
    assert!(outcome.is_fine() && outcome.usage().wall_micros > 2_000_000, "{outcome:?}");
    let (_, mut agent) = sandbox(&launcher, &mut client, limits());
    let control = agent.sh(write);
    assert!(control.is_fine(), "{control:?}");
    assert!(control.usage().wall_micros < outcome.usage().wall_micros / 2, "control: {control:?}");
}

#[test]
fn programs_see_their_limits_and_nothing_of_the_host() {
    if skipped("programs_see_their_limits_and_nothing_of_the_host") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let (id, mut agent) = sandbox(&launcher, &mut client, wire::Limits { cpu_millis: 500, ..limits() });
    let mut shows = |file: &str| {
        let outcome = agent.sh(&format!("cat /sys/fs/cgroup/{file}"));
        assert!(outcome.is_fine(), "{file}: {outcome:?}");
        outcome.stdout.trim().to_string()
    };
    let memory = (256 * MIB).to_string();
    if limits_in_v1() {
        assert_eq!(shows("memory/memory.limit_in_bytes"), memory);
        assert_eq!(shows("pids/pids.max"), "257");
        assert_eq!(shows("cpu/cpu.cfs_quota_us"), "50000");
    } else {
        assert_eq!(shows("memory.max"), memory);
        assert_eq!(shows("memory.swap.max"), "0");
        assert_eq!(shows("pids.max"), "257");
        assert_eq!(shows("cpu.max"), "50000 100000");
        // Where a JVM looks: the folder of its own process.
        assert_eq!(shows("$(sed -n 's/^0:://p' /proc/self/cgroup)/memory.max"), memory);
    }
    let own = agent.sh("cat /proc/self/cgroup").stdout;
    assert!(own.contains("0::/ex") && !own.contains("caisson") && !own.contains(&id), "{own}");
    let mounts = agent.sh("grep ' - cgroup' /proc/self/mountinfo").stdout;
    assert!(!mounts.contains("caisson") && !mounts.contains(&id), "{mounts}");
    let write = agent.sh("for f in /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/*/cgroup.procs; do echo $$ > $f; done");
    assert!(!write.is_fine() && write.stderr.contains("Read-only"), "{write:?}");
}

#[test]
fn memory_is_never_swapped_out() {
    if skipped("memory_is_never_swapped_out") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let (id, mut agent) = sandbox(&launcher, &mut client, limits());
    let folder = cgroup_of("memory", &format!("test/{id}"));
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).ok().map(|t| t.trim().to_string());
    let settings = [read("memory.swap.max"), read("memory.swappiness")];
    let both = read("memory.memsw.limit_in_bytes") == Some((256 * MIB).to_string());
    assert!(both || settings.contains(&Some("0".into())), "{settings:?}");
    assert!(agent.sh(HOG).is_fine());
}
