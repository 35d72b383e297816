//! A client that was taken over talks to the launcher's socket: it gets neither root nor a file, and the launcher lives.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use caisson_wire::launcher::{self as wire, reply, request};
use common::{Client, Launcher, create, id, skipped};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

fn error(body: reply::Body) -> wire::Error {
    match body {
        reply::Body::Error(error) => error,
        other => panic!("accepted: {other:?}"),
    }
}

/// The launcher still serves.
fn serves(launcher: &Launcher) {
    let mut client = launcher.client();
    let id = id();
    client.create(&id);
    client.destroy(&id);
}

#[test]
fn no_field_of_a_request_is_a_path_or_leaves_the_grammar() {
    if skipped("no_field_of_a_request_is_a_path_or_leaves_the_grammar") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let evil = ["../../etc", "/etc/passwd", "a/../../b", "sb\0", "sb\n0", "..", ".", "", "system", "-rf", "\u{202e}sb"];
    for word in evil {
        for request in [
            wire::Create { sandbox: word.into(), ..create(&id()) },
            wire::Create { group: word.into(), ..create(&id()) },
            wire::Create { template: word.into(), ..create(&id()) },
        ] {
            error(client.call(request::Body::Create(request)));
        }
        error(client.call(request::Body::Destroy(wire::Destroy { sandbox: word.into() })));
        error(client.call(request::Body::Observe(wire::Observe { sandbox: word.into() })));
        error(client.call(request::Body::SetGroup(wire::SetGroup { group: word.into(), ..Default::default() })));
        error(client.call(request::Body::Prepare(wire::Prepare { group: word.into(), sandboxes: vec![id()] })));
        error(
            client.call(request::Body::Prepare(wire::Prepare { group: "test".into(), sandboxes: vec![word.into()] })),
        );
    }
    serves(&launcher);
}

#[test]
fn limits_cannot_be_left_out_or_blown_up() {
    if skipped("limits_cannot_be_left_out_or_blown_up") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    error(client.call(request::Body::Create(wire::Create { limits: None, ..create(&id()) })));
    let good = create("x").limits.unwrap();
    for limits in [
        wire::Limits::default(),
        wire::Limits { memory_bytes: u64::MAX, ..good },
        wire::Limits { memory_bytes: 0, ..good },
        wire::Limits { pids: 0, ..good },
        wire::Limits { pids: u64::MAX, ..good },
        wire::Limits { cpu_millis: u64::MAX, ..good },
        wire::Limits { disk_bytes: u64::MAX, ..good },
        wire::Limits { disk_bytes: 1, ..good },
        wire::Limits { inodes: u64::MAX, ..good },
        wire::Limits { tmp_bytes: u64::MAX, ..good },
    ] {
        error(client.call(request::Body::Create(wire::Create { limits: Some(limits), ..create(&id()) })));
    }
    serves(&launcher);
}

#[test]
fn absurd_lengths_half_frames_and_noise_end_only_their_own_connection() {
    if skipped("absurd_lengths_half_frames_and_noise_end_only_their_own_connection") {
        return;
    }
    let launcher = Launcher::start();
    for bytes in [&[0xff; 4][..], &[0; 4], &[0, 0, 0, 1, 0xff], &[0, 1, 0, 0], b"GET / HTTP/1.1\r\n\r\n"] {
        let mut stream = UnixStream::connect(&launcher.socket).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.write_all(bytes).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
    }
    serves(&launcher);
}

#[test]
fn random_requests_are_answered_or_refused() {
    if skipped("random_requests_are_answered_or_refused") {
        return;
    }
    let launcher = Launcher::start();
    let mut runner = TestRunner::new(Config { cases: 200, failure_persistence: None, ..Config::default() });
    let frames = prop::collection::vec(prop::collection::vec(any::<u8>(), 0..48), 1..6);
    runner
        .run(&frames, |frames| {
            let mut client = launcher.client();
            client.stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            for frame in frames {
                let mut bytes = (frame.len() as u32).to_be_bytes().to_vec();
                bytes.extend(frame);
                if client.stream.write_all(&bytes).is_err() {
                    break;
                }
            }
            let _ = client.stream.shutdown(std::net::Shutdown::Write);
            let mut rest = Vec::new();
            let _ = client.stream.read_to_end(&mut rest);
            Ok(())
        })
        .unwrap();
    serves(&launcher);
}

#[test]
fn a_request_before_hello_is_refused_and_so_is_another_protocol() {
    if skipped("a_request_before_hello_is_refused_and_so_is_another_protocol") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = Client::connect(&launcher.socket);
    error(client.call(request::Body::Create(create(&id()))));
    assert!(client.receive().is_none(), "and the connection is closed");
    let mut client = Client::connect(&launcher.socket);
    error(client.call(request::Body::Hello(wire::Hello { version: 99, ..Default::default() })));
}

#[test]
fn another_user_gets_no_word_in() {
    if skipped("another_user_gets_no_word_in") {
        return;
    }
    let launcher = Launcher::start();
    use std::os::unix::fs::PermissionsExt;
    // Even with the file open to all, the peer's uid decides. The folder is opened for the test alone.
    for path in [launcher.run.parent().unwrap(), &launcher.run, launcher.socket.parent().unwrap()] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    std::fs::set_permissions(&launcher.socket, std::fs::Permissions::from_mode(0o777)).unwrap();
    let answer = |user: u32| -> usize {
        let socket = launcher.socket.clone();
        let ask = move || {
            use rustix::process::{Gid, Uid};
            // Of this thread alone.
            let (uid, gid) = (Uid::from_raw(user), Gid::from_raw(user));
            rustix::thread::set_thread_res_gid(gid, gid, gid).unwrap();
            rustix::thread::set_thread_res_uid(uid, uid, uid).unwrap();
            let mut stream = UnixStream::connect(socket).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            let _ = stream.write_all(&[0, 0, 0, 6, 8, 1, 18, 2, 8, 1]);
            // Closed with unread bytes, the socket answers with an error.
            stream.read(&mut [0; 100]).unwrap_or(0)
        };
        std::thread::spawn(ask).join().unwrap()
    };
    assert!(answer(0) > 0, "control: root is answered");
    assert_eq!(answer(65_534), 0, "nobody is not");
}

#[test]
fn a_client_that_never_reads_is_cut_off() {
    if skipped("a_client_that_never_reads_is_cut_off") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    client.stream.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut frame = Vec::new();
    caisson_wire::encode_frame(
        &wire::Request { id: 7, body: Some(request::Body::Destroy(wire::Destroy { sandbox: "x".repeat(5000) })) },
        &mut frame,
    );
    let mut cut = false;
    for _ in 0..60_000 {
        if client.stream.write_all(&frame).is_err() {
            cut = true;
            break;
        }
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", launcher.child.id())).unwrap();
    let rss: u64 =
        status.lines().find_map(|l| l.strip_prefix("VmRSS:")).unwrap().trim().trim_end_matches(" kB").parse().unwrap();
    assert!(cut, "its connection is closed");
    assert!(rss < 64 << 10, "the launcher took {rss} KiB");
    serves(&launcher);
}

#[test]
fn one_id_is_one_sandbox() {
    if skipped("one_id_is_one_sandbox") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let id = id();
    client.create(&id);
    let again = error(client.call(request::Body::Create(create(&id))));
    assert_eq!(again.kind(), wire::ErrorKind::ErrorExists);
    client.destroy(&id);
    let gone = error(client.call(request::Body::Destroy(wire::Destroy { sandbox: id })));
    assert_eq!(gone.kind(), wire::ErrorKind::ErrorNotFound);
}

/// A TCP connection whose close waits: nobody reads what is in it.
fn lingering() -> (std::net::TcpStream, std::net::TcpStream) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut here = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (there, _) = listener.accept().unwrap();
    here.set_nonblocking(true).unwrap();
    while here.write(&[0; 4096]).is_ok() {}
    here.set_nonblocking(false).unwrap();
    rustix::net::sockopt::set_socket_linger(&here, Some(Duration::from_secs(15))).unwrap();
    (here, there)
}

#[test]
fn a_descriptor_that_is_passed_does_not_hold_the_launcher_up() {
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
    use std::os::fd::AsFd;
    let name = "a_descriptor_that_is_passed_does_not_hold_the_launcher_up";
    if skipped(name) {
        return;
    }
    let (here, there) = lingering();
    let begun = std::time::Instant::now();
    drop(here.try_clone().unwrap());
    assert!(begun.elapsed() < Duration::from_secs(5), "control: only the last close waits");
    let launcher = Launcher::start();
    let client = launcher.client();
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let passed = [here.as_fd()];
    assert!(control.push(SendAncillaryMessage::ScmRights(&passed)));
    let sent = sendmsg(&client.stream, &[std::io::IoSlice::new(&[0])], &mut control, SendFlags::NOSIGNAL);
    if sent.is_ok() {
        eprintln!("SKIPPED {name}: this kernel lets nobody refuse descriptors (Linux 6.16 does)");
        return;
    }
    // Its own last close waits, on this thread alone.
    let closing = std::thread::spawn(move || drop(here));
    let begun = std::time::Instant::now();
    serves(&launcher);
    assert!(begun.elapsed() < Duration::from_secs(10), "it was served after {:?}", begun.elapsed());
    drop(there);
    closing.join().unwrap();
}

#[test]
fn a_client_that_asks_without_end_leaves_turns_to_others() {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    if skipped("a_client_that_asks_without_end_leaves_turns_to_others") {
        return;
    }
    let launcher = Launcher::start();
    let (stop, asked) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let greedy = launcher.client();
        let mut answers = greedy.stream.try_clone().unwrap();
        let mut questions = greedy.stream.try_clone().unwrap();
        let mut frame = Vec::new();
        let observe = wire::Observe { sandbox: "nobody".into() };
        caisson_wire::encode_frame(&wire::Request { id: 9, body: Some(request::Body::Observe(observe)) }, &mut frame);
        let many = frame.repeat(500);
        scope.spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            while answers.read(&mut buffer).is_ok_and(|read| read > 0) {}
        });
        let (stop, asked) = (&stop, &asked);
        scope.spawn(move || {
            while !stop.load(Ordering::Relaxed) && questions.write_all(&many).is_ok() {
                asked.fetch_add(500, Ordering::Relaxed);
            }
            let _ = questions.shutdown(std::net::Shutdown::Both);
        });
        while asked.load(Ordering::Relaxed) < 10_000 {
            std::thread::sleep(Duration::from_millis(1));
        }
        let begun = std::time::Instant::now();
        serves(&launcher);
        let took = begun.elapsed();
        stop.store(true, Ordering::Relaxed);
        assert!(took < Duration::from_secs(10), "it was served after {took:?}");
    });
}
