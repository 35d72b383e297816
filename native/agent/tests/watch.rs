//! Watches on folders.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod harness;

use caisson_wire::agent::{agent_frame, client_frame::Body, *};
use harness::{Client, world};
use std::fs;

fn watch(client: &mut Client, path: &[u8], recursive: bool) -> u64 {
    let stream = client.stream();
    client.send(stream, Body::Watch(Watch { path: path.to_vec(), recursive }));
    let first = events(client, stream);
    assert!(first.events.is_empty() && !first.overflow, "{first:?}");
    stream
}

fn events(client: &mut Client, stream: u64) -> WatchEvents {
    match client.read_of(stream).body {
        Some(agent_frame::Body::WatchEvents(events)) => events,
        other => panic!("no events but {other:?}"),
    }
}

/// Events as "kind path" until one of them is `last`.
fn until(client: &mut Client, stream: u64, last: &str) -> Vec<String> {
    let mut seen = Vec::new();
    while !seen.iter().any(|event| event == last) {
        let told = events(client, stream);
        assert!(!told.overflow);
        let text = |e: &WatchEvent| {
            let kind = format!("{:?}", e.kind()).replace("Watch", "").to_lowercase();
            format!("{kind} {}", String::from_utf8_lossy(&e.path))
        };
        seen.extend(told.events.iter().map(text));
        // A file that is written and closed may be told twice.
        seen.dedup();
    }
    seen
}

#[test]
fn tells_what_happens_in_a_folder() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    let stream = watch(&mut client, &world.path(""), false);
    fs::write(world.folder.join("a"), "1").unwrap();
    fs::rename(world.folder.join("a"), world.folder.join("b")).unwrap();
    fs::set_permissions(world.folder.join("b"), std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    fs::remove_file(world.folder.join("b")).unwrap();
    let seen = until(&mut client, stream, "removed b");
    assert_eq!(seen, ["created a", "written a", "renamed a", "created b", "attributes b", "removed b"]);
    client.send(stream, Body::Cancel(Cancel {}));
    assert_eq!(client.error(stream).kind(), ErrorKind::ErrorCancelled);
}

#[test]
fn folders_made_later_are_watched_with_what_was_in_them_already() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    fs::create_dir(world.folder.join("old")).unwrap();
    let flat = watch(&mut client, &world.path(""), false);
    let deep = watch(&mut client, &world.path(""), true);
    for round in 0..20 {
        let folder = world.folder.join(format!("r{round}/x/y"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("file"), "1").unwrap();
    }
    fs::write(world.folder.join("old/in"), "").unwrap();
    fs::write(world.folder.join("end"), "").unwrap();
    let mut seen = until(&mut client, deep, "created end");
    while (0..20).any(|round| !seen.contains(&format!("created r{round}/x/y/file"))) {
        seen.extend(until(
            &mut client,
            deep,
            &format!(
                "created r{}/x/y/file",
                (0..20).find(|r| !seen.contains(&format!("created r{r}/x/y/file"))).unwrap()
            ),
        ));
    }
    assert!(seen.contains(&"created old/in".to_owned()));
    let seen = until(&mut client, flat, "created end");
    assert!(seen.iter().all(|event| !event.contains('/')), "{seen:?}");
}

#[test]
fn a_renamed_folder_is_known_by_its_new_name_and_a_lost_one_is_not() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    fs::create_dir_all(world.folder.join("top/a/in")).unwrap();
    let stream = watch(&mut client, &world.path("top"), true);
    fs::rename(world.folder.join("top/a"), world.folder.join("top/b")).unwrap();
    fs::write(world.folder.join("top/b/in/f"), "").unwrap();
    let seen = until(&mut client, stream, "created b/in/f");
    assert_eq!(seen[..2], ["renamed a", "created b"]);
    fs::rename(world.folder.join("top/b"), world.folder.join("out")).unwrap();
    fs::write(world.folder.join("top/mark1"), "").unwrap();
    until(&mut client, stream, "created mark1");
    fs::write(world.folder.join("out/in/secret"), "").unwrap();
    fs::write(world.folder.join("top/mark2"), "").unwrap();
    let seen = until(&mut client, stream, "created mark2");
    assert!(seen.iter().all(|event| !event.contains("secret")), "{seen:?}");
}

#[test]
fn links_are_not_followed_and_only_folders_are_watched() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    fs::create_dir(world.folder.join("real")).unwrap();
    fs::create_dir(world.folder.join("top")).unwrap();
    std::os::unix::fs::symlink("../real", world.folder.join("top/link")).unwrap();
    fs::write(world.folder.join("file"), "").unwrap();
    for path in [world.path("top/link"), world.path("file"), world.path("none"), b"/proc/1".to_vec()] {
        let stream = client.stream();
        client.send(stream, Body::Watch(Watch { path, recursive: true }));
        client.error(stream);
    }
    let stream = watch(&mut client, &world.path("top"), true);
    let control = watch(&mut client, &world.path("real"), true);
    std::os::unix::fs::symlink("../real", world.folder.join("top/later")).unwrap();
    fs::write(world.folder.join("real/x"), "").unwrap();
    fs::write(world.folder.join("top/end"), "").unwrap();
    until(&mut client, control, "created x");
    let seen = until(&mut client, stream, "created end");
    assert!(seen.iter().all(|event| !event.ends_with("/x")), "{seen:?}");
}

#[test]
fn a_flood_that_nobody_reads_becomes_an_overflow_and_the_agent_stays_small() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    let stream = watch(&mut client, &world.path(""), true);
    let script = format!(
        "cd {}; for i in $(seq 60); do for j in $(seq 200); do : > f$i-$j; done; mkdir d$i; done",
        world.folder.display()
    );
    let exec = client.start(harness::client::shell(&script));
    // Not reading at all: the socket fills.
    std::thread::sleep(std::time::Duration::from_secs(3));
    client.finish(exec).unwrap();
    fs::write(world.folder.join("end"), "").unwrap();
    let (mut told, mut overflow) = (0, false);
    loop {
        let events = events(&mut client, stream);
        told += events.events.len();
        overflow |= events.overflow;
        if events.events.iter().any(|event| event.path == b"end") {
            break;
        }
    }
    assert!(overflow || told >= 24_000, "{told} told");
    // It still watches, in folders of the flood as well.
    fs::write(world.folder.join("d60/after"), "").unwrap();
    until(&mut client, stream, "created d60/after");
    assert!(world.agent_rss() < 8192, "{} KiB", world.agent_rss());
}

#[test]
fn watches_and_their_folders_are_bounded() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    let streams: Vec<u64> = (0..8).map(|_| watch(&mut client, &world.path(""), true)).collect();
    let stream = client.stream();
    client.send(stream, Body::Watch(Watch { path: world.path(""), recursive: false }));
    assert_eq!(client.error(stream).kind(), ErrorKind::ErrorLimit);
    for stream in streams {
        client.send(stream, Body::Cancel(Cancel {}));
        client.error(stream);
    }
    client.sh(&format!("cd {}; seq 1 10100 | sed 's,^,many/,' | (mkdir many; xargs mkdir)", world.folder.display()));
    let stream = client.stream();
    client.send(stream, Body::Watch(Watch { path: world.path(""), recursive: true }));
    assert_eq!(client.error(stream).kind(), ErrorKind::ErrorLimit);
    watch(&mut client, &world.path("many"), false);
    assert!(world.agent_rss() < 8192, "{} KiB", world.agent_rss());
}
