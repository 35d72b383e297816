//! What one user may have under way, and that it holds no other user up.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use caisson_wire::launcher::{self as wire, reply, request};
use common::agent::Agent;
use common::{Client, Launcher, create, fresh_base, id, skipped};
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::time::{Duration, Instant};

fn make(volume: &str) -> request::Body {
    request::Body::MakeVolume(wire::MakeVolume { volume: volume.into(), disk_bytes: 16 << 20, inodes: 1024 })
}

/// Whoever wants the volume waits for up to 5 s.
fn lock(launcher: &Launcher, volume: &str) -> File {
    let image = File::open(launcher.state.join(format!("volumes/{volume}.img"))).unwrap();
    flock(&image, FlockOperation::LockExclusive).unwrap();
    image
}

/// A data connection that the launcher has taken, or why it did not.
fn data(launcher: &Launcher, uid: u32, sandbox: &str) -> Result<Client, wire::Error> {
    use rustix::process::Uid;
    // Of this thread alone.
    let become_user = |uid| rustix::thread::set_thread_res_uid(Uid::ROOT, uid, Uid::ROOT).unwrap();
    become_user(Uid::from_raw(uid));
    let mut client = Client::connect(&launcher.socket);
    become_user(Uid::ROOT);
    let hello = wire::Hello { version: 1, role: wire::Role::Data.into(), sandbox: sandbox.into(), min_epoch: 1 };
    match client.call(request::Body::Hello(hello)) {
        reply::Body::Done(_) => Ok(client),
        reply::Body::Error(error) => Err(error),
        other => panic!("{other:?}"),
    }
}

#[test]
fn jobs_of_one_user_are_bounded_and_another_has_his_turn() {
    if skipped("jobs_of_one_user_are_bounded_and_another_has_his_turn") {
        return;
    }
    let launcher = Launcher::start_as(&fresh_base(), &["--allow-uid", "4001", "--allow-uid", "4002"]);
    let (mut greedy, mut again, mut other) =
        (launcher.client_of(4001), launcher.client_of(4001), launcher.client_of(4002));
    let volume = id();
    greedy.done(make(&volume));
    let held = lock(&launcher, &volume);
    let begun = Instant::now();
    let drop_it = || request::Body::DropVolume(wire::DropVolume { volume: volume.clone() });
    // Another connection of the same user helps nothing.
    let mut sent: Vec<_> = (0..200).map(|_| greedy.send(drop_it())).collect();
    for _ in 0..50 {
        again.send(drop_it());
    }
    // Six more are admitted, be it of this or that connection.
    sent.extend((0..100).map(|_| greedy.send(drop_it())));
    std::thread::sleep(Duration::from_millis(300));
    other.done(make(&id()));
    assert!(begun.elapsed() < Duration::from_secs(4), "the other user waited {:?}", begun.elapsed());
    drop(held);
    let mut refused = 0;
    let mut answers = |client: &mut Client, count: usize| {
        for _ in 0..count {
            match client.receive().unwrap().body {
                Some(reply::Body::Error(e)) if e.kind() == wire::ErrorKind::ErrorBusy => {
                    assert!(e.message.contains("under way"), "{e:?}");
                    refused += 1;
                }
                Some(reply::Body::Error(e)) => assert_eq!(e.kind(), wire::ErrorKind::ErrorNotFound),
                body => assert!(matches!(body, Some(reply::Body::Done(_))), "{body:?}"),
            }
        }
    };
    answers(&mut greedy, sent.len());
    answers(&mut again, 50);
    assert_eq!(refused, 350 - 256);
    greedy.done(make(&id()));
}

#[test]
fn connections_that_wait_for_a_sandbox_are_bounded() {
    if skipped("connections_that_wait_for_a_sandbox_are_bounded") {
        return;
    }
    let launcher = Launcher::start_as(&fresh_base(), &["--allow-uid", "4001"]);
    let (mut client, mut other) = (launcher.client(), launcher.client_of(4001));
    let volumes = [id(), id()];
    client.done(make(&volumes[0]));
    other.done(make(&volumes[1]));
    let held: Vec<_> = volumes.iter().map(|volume| lock(&launcher, volume)).collect();
    let waits = |volume: &str, id: &str| {
        let mount = wire::VolumeMount { volume: volume.into(), path: b"/data".to_vec(), read_only: true };
        request::Body::Create(wire::Create { volumes: vec![mount], leased: true, lease_millis: 60_000, ..create(id) })
    };
    let own = [id(), id()];
    for id in &own {
        client.send(waits(&volumes[0], id));
    }
    let taken = |uid: u32, id: &str| {
        // Another connection may be faster than the request that makes the sandbox.
        std::iter::repeat_with(|| data(&launcher, uid, id))
            .find(|taken| !taken.as_ref().is_err_and(|e| e.kind() == wire::ErrorKind::ErrorNotFound))
            .unwrap()
    };
    let mut connections: Vec<_> = (0..64).map(|_| taken(0, &own[0]).unwrap()).collect();
    let error = taken(0, &own[0]).err().expect("one too many for this sandbox");
    assert_eq!(error.kind(), wire::ErrorKind::ErrorBusy, "{error:?}");
    // Another sandbox, and another user, are not touched by that.
    connections.push(taken(0, &own[1]).unwrap());
    let theirs = id();
    other.send(waits(&volumes[1], &theirs));
    connections.push(taken(4001, &theirs).unwrap());
    drop(held);
    for client in [&mut client, &mut other] {
        let reply = client.receive().unwrap();
        assert!(matches!(reply.body, Some(reply::Body::Created(_))), "{reply:?}");
    }
    assert!(matches!(client.receive().unwrap().body, Some(reply::Body::Created(_))));
    assert!(Agent::connect(&launcher, &own[0]).sh("true").is_fine(), "and now nobody waits");
    drop(connections);
}
