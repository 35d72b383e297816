//! Disks that outlive sandboxes: snapshots and volumes. Hostile first: what a sandbox leaves on them is an attack on the next.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use caisson_wire::launcher::{self as wire, reply, request};
use common::agent::{Agent, shell};
use common::{Census, Client, Launcher, alive, create, eventually_equal, fresh_base, id, skipped, wait_until};
use std::path::Path;
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;

fn save_of(sandbox: &str, snapshot: &str) -> request::Body {
    request::Body::Save(wire::Save { sandbox: sandbox.into(), snapshot: snapshot.into() })
}

fn save(client: &mut Client, sandbox: &str, snapshot: &str) -> wire::Saved {
    match client.call(save_of(sandbox, snapshot)) {
        reply::Body::Saved(saved) => saved,
        other => panic!("{other:?} after {:?}", client.events),
    }
}

fn disks(client: &mut Client, body: request::Body) -> Vec<wire::Disk> {
    match client.call(body) {
        reply::Body::Disks(disks) => disks.disks,
        other => panic!("{other:?}"),
    }
}

fn snapshots(client: &mut Client) -> Vec<wire::Disk> {
    disks(client, request::Body::ListSnapshots(wire::ListSnapshots {}))
}

fn volumes(client: &mut Client) -> Vec<wire::Disk> {
    disks(client, request::Body::ListVolumes(wire::ListVolumes {}))
}

fn from(snapshot: &str, id: &str) -> wire::Create {
    wire::Create { snapshot: snapshot.into(), ..create(id) }
}

fn make(client: &mut Client, volume: &str) {
    let make = wire::MakeVolume { volume: volume.into(), disk_bytes: 64 * MIB, inodes: 4096 };
    client.done(request::Body::MakeVolume(make));
}

fn with(volume: &str, path: &str, read_only: bool, id: &str) -> wire::Create {
    let mount = wire::VolumeMount { volume: volume.into(), path: path.into(), read_only };
    wire::Create { volumes: vec![mount], ..create(id) }
}

/// Loop devices of this host that have the image of a volume.
fn loops(volume: &str) -> usize {
    let devices = std::fs::read_dir("/sys/block").unwrap().flatten();
    let files = devices.filter_map(|e| std::fs::read_to_string(e.path().join("loop/backing_file")).ok());
    files.filter(|file| file.contains(volume)).count()
}

/// All that a folder holds, but locks.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.map(|e| e.file_name().into_string().unwrap()).filter(|n| n != "lock").collect();
    names.sort();
    names
}

#[test]
fn a_sandbox_starts_from_a_snapshot_and_shares_nothing_with_it() {
    if skipped("a_sandbox_starts_from_a_snapshot_and_shares_nothing_with_it") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let (first, snapshot) = (id(), id());
    client.create(&first);
    let mut agent = Agent::connect(&launcher, &first);
    let script =
        "mkdir d; echo one > d/f; ln -s f d/l; ln d/f d/h; chmod 640 d/f; rm -rf /work; echo w > /home/sandbox/w
        truncate -s 100M sparse; : > empty";
    let script = agent.sh(script);
    assert!(script.ended.exit_code == 0, "{script:?}");
    let counter = agent.start(shell("echo 0 > log; echo up; i=0; while :; do i=$((i+1)); echo $i >> log; done"));
    agent.first_output(counter);
    let saved = save(&mut client, &first, &snapshot);
    assert!(saved.bytes > 0 && saved.bytes < 64 * MIB, "sparse: {saved:?}");
    assert!((1..5_000_000).contains(&saved.held_micros), "{saved:?}");
    assert!(agent.sh("echo two > d/f; a=$(wc -l < log); sleep 0.3; [ $(wc -l < log) -gt $a ]").is_fine(), "goes on");

    let (second, third) = (id(), id());
    for id in [&second, &third] {
        client.create_as(from(&snapshot, id));
        let mut agent = Agent::connect(&launcher, id);
        let shown =
            agent.sh("cat d/f d/l d/h w; stat -c '%a %u %g %h' d/f; stat -c %s sparse; sort -nc log && tail -1 log");
        assert!(shown.is_fine(), "{shown:?}");
        assert!(shown.stdout.starts_with("one\none\none\nw\n640 1000 1000 2\n104857600\n"), "{shown:?}");
        assert!(agent.sh("echo changed > d/f; grep -q MemTotal /proc/meminfo && echo x > new").is_fine());
    }
    assert_eq!(agent.sh("cat d/f").stdout, "two\n", "the first has its own");
    let listed = snapshots(&mut client);
    assert_eq!((listed.len(), listed[0].id.as_str(), listed[0].template.as_str()), (1, snapshot.as_str(), "host"));
    assert_eq!((listed[0].disk_bytes, listed[0].inodes), (1 << 30, 131_072));
    client.destroy(&first);
    client.done(request::Body::DropSnapshot(wire::DropSnapshot { snapshot: snapshot.clone() }));
    assert!(snapshots(&mut client).is_empty());
    assert_eq!(Agent::connect(&launcher, &second).sh("cat d/f").stdout, "changed\n", "lives on without its snapshot");
    let error = client.refused(request::Body::Create(from(&snapshot, &id())));
    assert_eq!(error.kind(), wire::ErrorKind::ErrorNotFound);
}

/// What an earlier sandbox leaves for the host, for the launcher and for the next sandbox.
const TRAPS: &str =
    "exec 2>/dev/null; rm -rf /work; ln -s /etc /work; ln -s /proc /data; ln -s ../../../../../../etc up
    mkfifo fifo; n=0123456789; n=$n$n$n$n$n; n=$n$n$n$n; i=0; while [ $i -lt 15 ]; do mkdir $n; cd $n; i=$((i+1)); done
    cp /bin/sh sh; chmod 4755 sh; chmod 2755 .; mkdir closed; : > closed/f; chmod 0 closed; cd
    exec 9> gone; rm gone; dd if=/dev/zero bs=1M count=20 >&9; echo up; exec sleep 300";

#[test]
fn what_a_sandbox_leaves_in_a_snapshot_leads_nowhere() {
    if skipped("what_a_sandbox_leaves_in_a_snapshot_leads_nowhere") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let (first, snapshot, volume) = (id(), id(), id());
    client.create(&first);
    let mut agent = Agent::connect(&launcher, &first);
    let stream = agent.start(shell(TRAPS));
    agent.first_output(stream);
    let used = client.observe(&first).disk_used_bytes;
    save(&mut client, &first, &snapshot);
    client.destroy(&first);
    let second = id();
    client.create_as(from(&snapshot, &second));
    let observed = client.observe(&second);
    assert!(observed.disk_used_bytes + 19 * MIB < used, "what had no name is gone: {used} and {observed:?}");
    let image = std::fs::metadata(launcher.state.join(format!("snapshots/{snapshot}.img"))).unwrap();
    assert!(std::os::unix::fs::MetadataExt::blocks(&image) * 512 < 19 * MIB, "its bytes, too");
    assert!(Agent::connect(&launcher, &second).sh("[ -p fifo ] && [ -L up ]").is_fine());
    // A volume goes through no link that lies in its way.
    make(&mut client, &volume);
    for (path, refused) in [("/home/sandbox/up/x", true), ("/home/sandbox/fifo", true), ("/home/sandbox/ok", false)] {
        let id = id();
        let reply = client.call(request::Body::Create(wire::Create {
            snapshot: snapshot.clone(),
            ..with(&volume, path, false, &id)
        }));
        assert_eq!(matches!(reply, reply::Body::Error(_)), refused, "{path}: {reply:?}");
        if !refused {
            client.destroy(&id);
        }
    }
}

#[test]
fn snapshots_that_do_not_fit_are_refused_with_what_would() {
    if skipped("snapshots_that_do_not_fit_are_refused_with_what_would") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let (first, snapshot) = (id(), id());
    client.create(&first);
    for evil in ["", "..", "../../../../../../etcxx", "/etc/passwd", "sn"] {
        assert_eq!(client.refused(save_of(&first, evil)).kind(), wire::ErrorKind::ErrorInvalid, "{evil:?}");
    }
    assert_eq!(client.refused(save_of(&id(), &snapshot)).kind(), wire::ErrorKind::ErrorNotFound);
    save(&mut client, &first, &snapshot);
    assert_eq!(client.refused(save_of(&first, &snapshot)).kind(), wire::ErrorKind::ErrorExists);
    let asked = create("x").limits.unwrap();
    for limits in [wire::Limits { disk_bytes: 512 * MIB, ..asked }, wire::Limits { inodes: 1024, ..asked }] {
        let error =
            client.refused(request::Body::Create(wire::Create { limits: Some(limits), ..from(&snapshot, &id()) }));
        assert_eq!(error.kind(), wire::ErrorKind::ErrorInvalid);
        assert!(error.message.contains("1073741824") && error.message.contains("131072"), "{error:?}");
    }
    assert_eq!(
        client.refused(request::Body::DropSnapshot(wire::DropSnapshot { snapshot: id() })).kind(),
        wire::ErrorKind::ErrorNotFound
    );
    client.create_as(from(&snapshot, &id()));
    // More is had; with the room come inodes, which must be asked for as well.
    let more = |inodes| {
        let limits = wire::Limits { disk_bytes: 3 << 30, inodes, ..asked };
        wire::Create { limits: Some(limits), ..from(&snapshot, &id()) }
    };
    let error = client.refused(request::Body::Create(more(asked.inodes)));
    assert_eq!(error.kind(), wire::ErrorKind::ErrorInvalid, "{error:?}");
    let inodes = error.message.split_once("has ").and_then(|(_, rest)| rest.split(' ').next()?.parse().ok());
    let larger = more(inodes.expect("how many there will be"));
    client.create_as(larger.clone());
    let shown = Agent::connect(&launcher, &larger.sandbox).sh("df -k . | tail -1");
    assert!(
        shown.is_fine() && shown.stdout.split_whitespace().any(|w| w.parse::<u64>().is_ok_and(|k| k > 2_900_000)),
        "{shown:?}"
    );
    let again = id();
    save(&mut client, &larger.sandbox, &again);
    let error = client.refused(request::Body::Create(from(&again, &id())));
    assert_eq!(error.kind(), wire::ErrorKind::ErrorInvalid, "it does not become smaller");
}

#[test]
fn a_frozen_sandbox_is_saved_and_stays_frozen_and_one_that_ends_meanwhile_leaves_nothing() {
    if skipped("a_frozen_sandbox_is_saved_and_stays_frozen_and_one_that_ends_meanwhile_leaves_nothing") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let (frozen, snapshot) = (id(), id());
    client.create(&frozen);
    client.freeze(&frozen);
    save(&mut client, &frozen, &snapshot);
    assert!(client.observe(&frozen).frozen);
    client.thaw(&frozen);
    let mut agent = Agent::connect(&launcher, &frozen);
    assert!(agent.sh("true").is_fine());
    // Saved and destroyed at once, at several moments.
    for pause in [0, 1, 3, 10, 30] {
        let (sandbox, snapshot) = (id(), id());
        let created = client.create(&sandbox);
        let mut agent = Agent::connect(&launcher, &sandbox);
        assert!(agent.sh("dd if=/dev/urandom of=f bs=1M count=50").is_fine());
        let asked = client.send(save_of(&sandbox, &snapshot));
        std::thread::sleep(Duration::from_millis(pause));
        let begun = Instant::now();
        let end = client.send(request::Body::Destroy(wire::Destroy { sandbox: sandbox.clone() }));
        let (mut saved, mut destroyed) = (None, None);
        while saved.is_none() || destroyed.is_none() {
            let reply = client.receive().unwrap();
            match reply.body.unwrap() {
                reply::Body::Destroyed(d) if reply.id == end => destroyed = Some(d),
                body if reply.id == asked => saved = Some(matches!(body, reply::Body::Saved(_))),
                _ => {}
            }
            if destroyed.is_some() && begun.elapsed() > Duration::from_secs(10) {
                panic!("the save is not answered");
            }
        }
        assert!(!destroyed.unwrap().stuck && !alive(created.pid));
        let listed = snapshots(&mut client).iter().any(|s| s.id == snapshot);
        assert_eq!(listed, saved.unwrap(), "what was saved is there, what was not is not");
        if listed {
            let again = id();
            client.create_as(from(&snapshot, &again));
            assert!(
                Agent::connect(&launcher, &again).sh("[ $(stat -c %s f) = 52428800 ] && cat f >/dev/null").is_fine()
            );
            client.destroy(&again);
        }
    }
}

#[test]
fn snapshots_and_volumes_outlive_the_launcher_and_a_kill_leaves_nothing_half_made() {
    if skipped("snapshots_and_volumes_outlive_the_launcher_and_a_kill_leaves_nothing_half_made") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let (first, snapshot, volume) = (id(), id(), id());
    make(&mut client, &volume);
    client.create_as(with(&volume, "/data", false, &first));
    let mut agent = Agent::connect(&launcher, &first);
    assert!(agent.sh("echo kept > /data/f && sync && echo kept > f").is_fine());
    save(&mut client, &first, &snapshot);
    let state = launcher.state.clone();
    let mut base = launcher.kill();
    for step in 0..10u64 {
        let launcher = Launcher::start_in(&base);
        let mut client = launcher.client();
        assert_eq!(snapshots(&mut client).iter().filter(|s| s.id == snapshot).count(), 1);
        assert_eq!(volumes(&mut client).len(), 1 + names(&state.join("volumes")).len() / 2 - 1);
        let again = id();
        client.create_as(wire::Create { snapshot: snapshot.clone(), ..with(&volume, "/data", false, &again) });
        let mut agent = Agent::connect(&launcher, &again);
        assert_eq!(agent.sh("cat f /data/f").stdout, "kept\nkept\n", "after {step} kills");
        client.send(save_of(&again, &id()));
        client.send(request::Body::MakeVolume(wire::MakeVolume { volume: id(), disk_bytes: 64 * MIB, inodes: 1024 }));
        std::thread::sleep(Duration::from_micros(step * step * 1500));
        base = launcher.kill();
        wait_until("nothing stays mounted", || loops(&volume) == 0);
    }
    let launcher = Launcher::start_in(&base);
    let mut client = launcher.client();
    for (kind, listed) in [("snapshots", snapshots(&mut client)), ("volumes", volumes(&mut client))] {
        let mut expected: Vec<_> =
            listed.iter().flat_map(|d| [format!("{}.img", d.id), format!("{}.meta", d.id)]).collect();
        expected.sort();
        assert_eq!(names(&state.join(kind)), expected, "{kind}: nothing but what is listed");
        if kind == "snapshots" {
            for disk in &listed {
                let sandbox = id();
                client.create_as(from(&disk.id, &sandbox));
                assert_eq!(Agent::connect(&launcher, &sandbox).sh("cat f").stdout, "kept\n", "each is whole");
                client.destroy(&sandbox);
            }
        }
    }
}

#[test]
fn a_volume_keeps_what_was_written_and_belongs_to_the_user_inside() {
    if skipped("a_volume_keeps_what_was_written_and_belongs_to_the_user_inside") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let volume = id();
    make(&mut client, &volume);
    let before = Census::take(&launcher);
    for round in 0..4 {
        let id = id();
        client.create_as(with(&volume, "/srv/deep/data", false, &id));
        assert_eq!(loops(&volume), 1, "control: the census sees a mounted volume");
        let mut agent = Agent::connect(&launcher, &id);
        let script = "cd /srv/deep/data; stat -c '%u %g' .; ls -A | wc -l; echo x > f$(ls -A | wc -l)
            grep -c ' /srv/deep/data .*nosuid,nodev' /proc/self/mounts; cp /bin/sh sh; chmod 4755 sh; ./sh -c 'id -u'; rm sh";
        let shown = agent.sh(script);
        assert_eq!(shown.stdout, format!("1000 1000\n{round}\n1\n1000\n"), "{shown:?}");
        let full = agent.sh(
            "dd if=/dev/zero of=/srv/deep/data/big bs=1M count=100; rm /srv/deep/data/big; echo y > /home/sandbox/y",
        );
        assert!(full.stderr.contains("No space left"), "{full:?}");
        client.destroy(&id);
    }
    wait_until("its device is gone", || loops(&volume) == 0);
    eventually_equal(&before, || Census::take(&launcher));
    let listed = volumes(&mut client);
    assert_eq!((listed.len(), listed[0].disk_bytes, listed[0].template.as_str()), (1, 64 * MIB, ""));
}

#[test]
fn a_volume_has_one_writer_or_many_readers() {
    if skipped("a_volume_has_one_writer_or_many_readers") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let volume = id();
    make(&mut client, &volume);
    let (writer, reader, other) = (id(), id(), id());
    client.create_as(with(&volume, "/data", false, &writer));
    assert!(Agent::connect(&launcher, &writer).sh("echo one > /data/f").is_fine());
    let second = Launcher::start_beside(&launcher);
    let mut beside = second.client();
    let busy = |client: &mut Client, body| {
        let error = client.refused(body);
        assert_eq!(error.kind(), wire::ErrorKind::ErrorBusy, "{error:?}");
    };
    let drop_volume = || request::Body::DropVolume(wire::DropVolume { volume: volume.clone() });
    for read_only in [false, true] {
        busy(&mut client, request::Body::Create(with(&volume, "/data", read_only, &id())));
        busy(&mut beside, request::Body::Create(with(&volume, "/data", read_only, &id())));
    }
    busy(&mut client, drop_volume());
    busy(&mut beside, drop_volume());
    client.destroy(&writer);
    client.create_as(with(&volume, "/data", true, &reader));
    beside.create_as(with(&volume, "/data", true, &other));
    for (launcher, id) in [(&launcher, &reader), (&second, &other)] {
        let shown = Agent::connect(launcher, id).sh("cat /data/f; echo two > /data/f");
        assert!(shown.stdout == "one\n" && shown.stderr.contains("Read-only"), "{shown:?}");
    }
    busy(&mut client, request::Body::Create(with(&volume, "/data", false, &id())));
    busy(&mut beside, request::Body::Create(with(&volume, "/data", false, &id())));
    // A killed launcher gives up what it had.
    let killed = second.kill();
    client.destroy(&reader);
    let last = id();
    client.create_as(with(&volume, "/data", false, &last));
    assert!(Agent::connect(&launcher, &last).sh("echo three > /data/f").is_fine());
    client.destroy(&last);
    client.done(drop_volume());
    assert!(volumes(&mut client).is_empty() && names(&launcher.state.join("volumes")).is_empty());
    assert_eq!(client.refused(drop_volume()).kind(), wire::ErrorKind::ErrorNotFound);
    // What it left is cleared by the next launcher of its folder.
    drop(Launcher::start_in(&killed));
    assert!(!killed.exists());
}

#[test]
fn volumes_of_a_bad_name_size_or_place_are_refused() {
    if skipped("volumes_of_a_bad_name_size_or_place_are_refused") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let volume = id();
    for (name, disk_bytes, inodes) in [
        ("../../../../../../etcxx", 64 * MIB, 1024),
        ("", 64 * MIB, 1024),
        (volume.as_str(), 0, 1024),
        (volume.as_str(), u64::MAX, 1024),
        (volume.as_str(), 64 * MIB, 0),
    ] {
        let make = wire::MakeVolume { volume: name.into(), disk_bytes, inodes };
        assert_eq!(client.refused(request::Body::MakeVolume(make)).kind(), wire::ErrorKind::ErrorInvalid);
    }
    assert!(names(&launcher.state.join("volumes")).is_empty());
    make(&mut client, &volume);
    let again = wire::MakeVolume { volume: volume.clone(), disk_bytes: 64 * MIB, inodes: 1024 };
    assert_eq!(client.refused(request::Body::MakeVolume(again)).kind(), wire::ErrorKind::ErrorExists);
    for path in ["", "data", "/", "/data/..", "/proc/x", "/sys", "/etc/x", "/usr", "/dev/shm", "/data//x"] {
        let error = client.refused(request::Body::Create(with(&volume, path, false, &id())));
        assert_eq!(error.kind(), wire::ErrorKind::ErrorInvalid, "{path:?}: {error:?}");
    }
    let error = client.refused(request::Body::Create(with(&id(), "/data", false, &id())));
    assert_eq!(error.kind(), wire::ErrorKind::ErrorNotFound);
    // As many as there may be, all at once.
    let many: Vec<_> = (0..8).map(|_| id()).collect();
    many.iter().for_each(|volume| make(&mut client, volume));
    let mount = |(n, volume): (usize, &String)| wire::VolumeMount {
        volume: volume.clone(),
        path: format!("/v{n}").into(),
        read_only: n % 2 == 1,
    };
    let all = wire::Create { volumes: many.iter().enumerate().map(mount).collect(), ..create(&id()) };
    client.create_as(all.clone());
    let shown =
        Agent::connect(&launcher, &all.sandbox).sh("for n in 0 1 2 3 4 5 6 7; do touch /v$n/f && echo $n; done");
    assert_eq!(shown.stdout, "0\n2\n4\n6\n", "{shown:?}");
}

#[test]
fn what_one_user_has_does_not_exist_for_another() {
    if skipped("what_one_user_has_does_not_exist_for_another") {
        return;
    }
    let launcher = Launcher::start_as(&fresh_base(), &["--allow-uid", "4001", "--allow-uid", "4002"]);
    let (mut owner, mut other, mut root) = (launcher.client_of(4001), launcher.client_of(4002), launcher.client());
    let (sandbox, snapshot, volume) = (id(), id(), id());
    let lease = wire::Create { leased: true, lease_millis: 60_000, ..create(&sandbox) };
    owner.create_as(lease);
    save(&mut owner, &sandbox, &snapshot);
    make(&mut owner, &volume);
    let limits = create("x").limits;
    for body in [
        request::Body::Freeze(wire::Freeze { sandbox: sandbox.clone() }),
        request::Body::Thaw(wire::Thaw { sandbox: sandbox.clone() }),
        request::Body::Observe(wire::Observe { sandbox: sandbox.clone() }),
        request::Body::SetLimits(wire::SetLimits { sandbox: sandbox.clone(), limits }),
        save_of(&sandbox, &id()),
        request::Body::DropSnapshot(wire::DropSnapshot { snapshot: snapshot.clone() }),
        request::Body::DropVolume(wire::DropVolume { volume: volume.clone() }),
        request::Body::Create(from(&snapshot, &id())),
        request::Body::Create(with(&volume, "/data", true, &id())),
    ] {
        let error = other.refused(body.clone());
        assert_eq!(error.kind(), wire::ErrorKind::ErrorNotFound, "{body:?}: {error:?}");
    }
    assert!(snapshots(&mut other).is_empty() && volumes(&mut other).is_empty() && other.list().is_empty());
    let renew = wire::RenewMany { sandboxes: vec![sandbox.clone()], lease_millis: 1 };
    other.done(request::Body::RenewMany(renew));
    assert_eq!(other.ended(&sandbox).reason(), wire::EndReason::EndUnknown, "it is as if it were gone");
    std::thread::sleep(Duration::from_millis(100));
    for client in [&mut owner, &mut root] {
        assert!(client.list()[0].lease_left_millis > 1000);
        assert_eq!((snapshots(client).len(), volumes(client).len()), (1, 1), "control: its owner and root see it");
    }
    root.create_as(wire::Create { snapshot, ..with(&volume, "/data", true, &id()) });
}

/// A folder on a small disk of its own; unmounted when it goes.
struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    fn mount(bytes: u64) -> Option<Self> {
        let base = fresh_base();
        let point = base.with_extension("mnt");
        std::fs::create_dir_all(&point).unwrap();
        std::fs::File::create(&base).unwrap().set_len(bytes).unwrap();
        let run = |program: &str, args: &[&str], last: &Path| {
            std::process::Command::new(program).args(args).arg(&base).arg(last).status().is_ok_and(|s| s.success())
        };
        let made = run("/usr/sbin/mke2fs", &["-q", "-F", "-t", "ext4", "-m", "0", "-b", "4096"], Path::new("184320"))
            && run("mount", &["-o", "loop"], &point);
        let _ = std::fs::remove_file(&base);
        made.then_some(Self(point))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn a_full_host_is_a_refusal_that_leaves_nothing() {
    if skipped("a_full_host_is_a_refusal_that_leaves_nothing") {
        return;
    }
    let Some(disk) = SmallDisk::mount(720 * MIB) else {
        println!("SKIPPED a_full_host_is_a_refusal_that_leaves_nothing: needs mke2fs and mount");
        return;
    };
    let launcher = Launcher::start_as(&disk.0.join("b"), &[]);
    let mut client = launcher.client();
    let (first, small, large) = (id(), id(), id());
    client.create(&first);
    let mut agent = Agent::connect(&launcher, &first);
    save(&mut client, &first, &small);
    assert!(agent.sh("dd if=/dev/urandom of=f bs=1M count=100").is_fine());
    let folder = launcher.state.join("snapshots");
    let before = names(&folder);
    let error = client.refused(save_of(&first, &large));
    assert!(error.kind() == wire::ErrorKind::ErrorNoCapacity && !error.remedy.is_empty(), "{error:?}");
    assert_eq!(names(&folder), before);
    assert!(agent.sh("rm f").is_fine(), "the sandbox goes on");
    std::fs::File::create(disk.0.join("ballast")).unwrap();
    let ballast = std::process::Command::new("fallocate").args(["-l", "160M"]).arg(disk.0.join("ballast")).status();
    assert!(ballast.unwrap().success());
    let volume = wire::MakeVolume { volume: id(), disk_bytes: 64 * MIB, inodes: 1024 };
    for body in [save_of(&first, &large), request::Body::MakeVolume(volume), request::Body::Create(from(&small, &id()))]
    {
        assert_eq!(client.refused(body).kind(), wire::ErrorKind::ErrorNoCapacity);
    }
    assert_eq!(names(&folder), before);
    assert!(names(&launcher.state.join("volumes")).is_empty());
    std::fs::remove_file(disk.0.join("ballast")).unwrap();
    let other = id();
    client.create(&other);
    save(&mut client, &other, &large);
}
