//! Disks of sizes that nobody asked for before.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use caisson_wire::launcher::{self as wire, reply, request};
use common::agent::Agent;
use common::{Launcher, create, id, skipped};
use rustix::fs::{FlockOperation, flock};
use std::path::Path;
use std::time::Duration;

const MIB: u64 = 1 << 20;

/// With an image as its disk, also where others have folders.
fn sized(id: &str, disk_bytes: u64) -> wire::Create {
    let limits = wire::Limits { disk_bytes, io_bytes_per_second: 1 << 30, ..create("x").limits.unwrap() };
    wire::Create { limits: Some(limits), ..create(id) }
}

fn blanks(state: &Path) -> usize {
    let all = std::fs::read_dir(state.join("disk")).unwrap().flatten();
    all.filter(|e| e.file_name().to_string_lossy().starts_with("blank-")).count()
}

#[test]
fn while_a_disk_of_a_new_size_is_made_others_are_served() {
    if skipped("while_a_disk_of_a_new_size_is_made_others_are_served") {
        return;
    }
    let launcher = Launcher::start();
    let (mut waiting, mut other, mut gone) = (launcher.client(), launcher.client(), launcher.client());
    other.create_as(sized(&id(), 1 << 30));
    // Whoever makes one takes this lock first: as if it took long.
    let lock = std::fs::File::options().create(true).append(true).open(launcher.state.join("disk/lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    let new = id();
    waiting.send(request::Body::Create(sized(&new, 100 * MIB)));
    gone.send(request::Body::Create(sized(&id(), 100 * MIB)));
    waiting.stream.set_nonblocking(true).unwrap();
    let rounds = 5;
    for _ in 0..rounds {
        let usual = id();
        other.create_as(sized(&usual, 1 << 30));
        assert!(Agent::connect(&launcher, &usual).sh("true").is_fine());
        other.destroy(&usual);
        assert!(waiting.receive_or_closed().is_none(), "control: it is not there yet");
    }
    drop(gone);
    waiting.stream.set_nonblocking(false).unwrap();
    flock(&lock, FlockOperation::Unlock).unwrap();
    let reply = waiting.receive().unwrap();
    assert!(matches!(reply.body, Some(reply::Body::Created(_))), "{reply:?}");
    let size = Agent::connect(&launcher, &new).sh("stat -f -c '%b %S' /work").stdout;
    let numbers: Vec<u64> = size.split_whitespace().map(|n| n.parse().unwrap()).collect();
    assert!((80 * MIB..=100 * MIB).contains(&(numbers[0] * numbers[1])), "{size}");
}

#[test]
fn blanks_of_many_sizes_do_not_pile_up() {
    if skipped("blanks_of_many_sizes_do_not_pile_up") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let mut most = 0;
    for round in 0..20 {
        let id = id();
        client.create_as(sized(&id, (20 + round) * MIB));
        assert!(Agent::connect(&launcher, &id).sh("echo > f").is_fine());
        client.destroy(&id);
        most = most.max(blanks(&launcher.state));
    }
    assert_eq!(most, 16);
    // One that went is made again.
    let id = id();
    client.create_as(sized(&id, 20 * MIB));
    assert!(Agent::connect(&launcher, &id).sh("echo > f").is_fine());
    // Many at once of one new size take one blank, and each its own disk.
    let ids: Vec<_> = (0..8).map(|_| common::id()).collect();
    let mut clients: Vec<_> = ids.iter().map(|_| launcher.client()).collect();
    for (client, id) in clients.iter_mut().zip(&ids) {
        client.stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        client.send(request::Body::Create(sized(id, 77 * MIB)));
    }
    for (client, id) in clients.iter_mut().zip(&ids) {
        assert!(matches!(client.receive().unwrap().body, Some(reply::Body::Created(_))));
        assert_eq!(Agent::connect(&launcher, id).sh("ls; echo > f").stdout, "");
    }
    assert_eq!(blanks(&launcher.state), 16);
}
