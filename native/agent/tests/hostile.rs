//! Clients that break every rule: the agent ends their connection, never itself, and stays small.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod harness;

use caisson_wire::agent::{client_frame::Body, *};
use caisson_wire::encode_frame;
use harness::client::{command, shell};
use harness::{Client, World, eventually, world};
use std::io::Write;
use std::time::Duration;

fn well(world: &mut World) {
    assert!(world.is_alive());
    assert_eq!(world.client().sh("echo well").text(), "well\n");
    let rss = world.agent_rss();
    assert!(rss < 8192, "the agent holds {rss} KiB");
}

fn breaks(world: &mut World, stream: u64, body: Body) {
    let mut client = world.client();
    client.send(stream, body.clone());
    assert_eq!(client.error(0).kind(), ErrorKind::ErrorProtocol, "{body:?}");
    client.assert_closed();
}

#[test]
fn garbage_half_frames_and_absurd_lengths_end_the_connection_only() {
    let Some(mut world) = world() else { return };
    for bytes in [&b"\xff\xff\xff\xff"[..], b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\x05\xff\xff\xff\xff\xff", b"\0\0", b""]
    {
        let mut fresh = world.attach(0);
        fresh.write_all(bytes).unwrap();
        drop(fresh);
        let mut client = world.client();
        client.socket.write_all(bytes).unwrap();
        drop(client);
        let mut client = world.client();
        client.socket.write_all(&[0, 0, 1, 0, 8]).unwrap();
        drop(client);
    }
    well(&mut world);
}

#[test]
fn breaches_of_the_protocol_are_told_and_end_the_connection() {
    let Some(mut world) = world() else { return };
    breaks(&mut world, 0, Body::Hello(Hello { version: 1, epoch: 1 << 40, resume: Vec::new() }));
    breaks(&mut world, 0, Body::ExecStart(command(&["true"])));
    let mut client = world.client();
    let used = client.start(command(&["sleep", "60"]));
    client.sh("true");
    drop(client);
    breaks(&mut world, used, Body::Ack(Ack { seq: 1000, credit_bytes: 0 }));
    breaks(&mut world, used, Body::Signal(Signal { signal: 65, ..Signal::default() }));
    breaks(&mut world, used, Body::ExecStart(command(&["true"])));
    breaks(&mut world, used, Body::FileGet(FileGet { path: b"/etc/passwd".to_vec(), ..FileGet::default() }));
    let mut client = world.client();
    let cat = client.start(ExecStart { stdin_open: true, ..command(&["cat"]) });
    client.stdin(cat, 10, b"hole", false);
    assert_eq!(client.error(0).kind(), ErrorKind::ErrorProtocol);
    let mut client = world.client();
    let put = client.stream();
    let path = world.path("f");
    client.send(put, Body::FilePut(FilePut { path, mode: 0o600, uid: 1000, gid: 1000, parents: false }));
    for _ in 0..5 {
        let _ = client.socket.write_all(&{
            let mut bytes = Vec::new();
            let data = vec![0; 1 << 19];
            encode_frame(
                &ClientFrame { stream: put, body: Some(Body::FileData(FileData { data, last: false })) },
                &mut bytes,
            );
            bytes
        });
    }
    well(&mut world);
}

#[test]
fn frames_for_streams_that_are_not_there_are_ignored() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    client.ack(999_999, 5, 5);
    client.stdin(999_999, 0, b"x", true);
    client.signal(999_999, 9, true, ExecReason::ReasonKilled);
    client.send(999_999, Body::FileData(FileData { data: vec![1; 10], last: true }));
    client.send(999_999, Body::Cancel(Cancel {}));
    assert_eq!(client.sh("echo on").text(), "on\n");
}

#[test]
fn ten_thousand_streams_are_refused_and_answered() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    let mut writer = client.socket.try_clone().unwrap();
    let path = world.path("big");
    std::fs::write(world.folder.join("big"), vec![0; 1 << 21]).unwrap();
    let flood = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        for stream in 1_000_000..1_010_000u64 {
            let get = FileGet { path: path.clone(), offset: 0, length: 0, credit_bytes: 1 };
            encode_frame(&ClientFrame { stream, body: Some(Body::FileGet(get)) }, &mut bytes);
        }
        writer.write_all(&bytes).unwrap();
    });
    let mut refused = 0;
    while refused < 10_000 - 64 {
        match client.read().unwrap().body.unwrap() {
            agent_frame::Body::Error(error) => {
                assert_eq!(error.kind(), ErrorKind::ErrorLimit);
                refused += 1;
            }
            agent_frame::Body::FileData(data) => assert_eq!(data.data.len(), 1),
            other => panic!("{other:?}"),
        }
    }
    flood.join().unwrap();
    drop(client);
    well(&mut world);
}

#[test]
fn a_flood_of_pings_that_nobody_reads_is_bounded() {
    let Some(mut world) = world() else { return };
    let client = world.client();
    client.socket.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    let mut bytes = Vec::new();
    for value in 0..10_000 {
        encode_frame(&ClientFrame { stream: 0, body: Some(Body::Ping(Ping { value })) }, &mut bytes);
    }
    // Until the agent stops reading.
    let mut sent = 0;
    while let Ok(length) = (&client.socket).write(&bytes) {
        sent += length;
        assert!(sent < 1 << 30, "the agent never stops reading");
    }
    let rss = world.agent_rss();
    assert!(rss < 6144, "the agent holds {rss} KiB");
    well(&mut world);
}

#[test]
fn connections_that_never_say_hello_are_few() {
    let Some(mut world) = world() else { return };
    let idle: Vec<_> = (0..50).map(|_| world.attach(0)).collect();
    well(&mut world);
    let mut dead = 0;
    for socket in idle {
        let mut client = Client::new(socket);
        client.socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let mut byte = [0];
        dead += usize::from(matches!(std::io::Read::read(&mut client.socket, &mut byte), Ok(0)));
    }
    assert!(dead >= 40, "{dead} of 50 were closed");
}

#[test]
fn crumbs_of_credit_do_not_multiply_frames() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    let stream = client.start(ExecStart { kept_bytes: 1 << 20, output_credit: 0, ..command(&["yes"]) });
    let mut writer = client.socket.try_clone().unwrap();
    let crumbs = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        for _ in 0..200_000 {
            let ack = Ack { seq: 0, credit_bytes: 1 };
            encode_frame(&ClientFrame { stream, body: Some(Body::Ack(ack)) }, &mut bytes);
        }
        let _ = writer.write_all(&bytes);
    });
    let begin = std::time::Instant::now();
    client.socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let mut buffer = vec![0; 1 << 16];
    while begin.elapsed() < Duration::from_secs(5) {
        match std::io::Read::read(&mut client.socket, &mut buffer) {
            Ok(1..) => {}
            _ => break,
        }
    }
    crumbs.join().unwrap();
    let rss = world.agent_rss();
    assert!(rss < 8192, "the agent holds {rss} KiB");
    drop(client);
    well(&mut world);
}

#[test]
fn output_in_single_bytes_is_bounded() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    let script = "import os\nwhile True: os.write(1, b'x'); os.write(2, b'y')";
    let start = ExecStart { kept_bytes: 1 << 20, output_credit: 0, ..command(&["python3", "-c", script]) };
    let stream = client.start(start);
    while client.read_of(stream).body.is_none() {}
    std::thread::sleep(Duration::from_millis(1500));
    let rss = world.agent_rss();
    assert!(rss < 6144, "the agent holds {rss} KiB");
    client.signal(stream, 9, true, ExecReason::ReasonKilled);
    well(&mut world);
}

#[test]
fn a_process_that_floods_with_orphans_is_reaped() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    client.sh("for i in $(seq 1 500); do (true &) ; done");
    assert!(eventually(|| {
        let script = "ps -eo stat= | grep -c Z";
        client.run(shell(script)).unwrap().text().trim() == "0"
    }));
}

/// Numbers without a pattern, the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn number(&mut self) -> u64 {
        let bits = self.roll(64);
        (self.roll(1 << 31) << 33 | self.roll(1 << 31) << 2 | self.roll(4)) >> bits
    }

    fn text(&mut self, world: &World) -> Vec<u8> {
        let known =
            [&b"/"[..], b"/proc/1/mem", b"/dev/ptmx", b"/etc/passwd", b"root", b"sandbox", b"", b"/work/../etc"];
        match self.roll(4) {
            0 => world.path(["", "a", "a/b", "link", "none/x"][self.roll(5) as usize]),
            1 => known[self.roll(8) as usize].to_vec(),
            2 => [b"/".to_vec(), vec![b'x'; self.roll(9000) as usize]].concat(),
            _ => (0..self.roll(40)).map(|_| self.roll(256) as u8).collect(),
        }
    }

    fn body(&mut self, world: &World) -> Body {
        let some = |dice: &mut Self| (dice.roll(2) == 0).then(|| dice.number() as u32);
        match self.roll(8) {
            0 => Body::Watch(Watch { path: self.text(world), recursive: self.roll(2) == 0 }),
            1 => Body::Dial(Dial { port: self.number() as u32, credit_bytes: self.number() }),
            2 => Body::FileStat(FileStat { path: self.text(world) }),
            3 => Body::Resize(Resize { rows: 1 + self.roll(4096) as u32, cols: 1 + self.roll(4096) as u32 }),
            4 => Body::Cancel(Cancel {}),
            5 => {
                let pty = (self.roll(2) == 0).then(|| Pty { rows: self.number() as u32, cols: 80 });
                let (uid, gid) = (self.number() as u32, self.number() as u32);
                Body::ExecStart(ExecStart { user: self.text(world), pty, uid, gid, ..command(&["true"]) })
            }
            6 => Body::UserAdd(UserAdd { name: self.text(world) }),
            _ => {
                let (path, mtime_nanos) = (self.text(world), Some(self.number()));
                let (mode, uid, gid) = (some(self), some(self), some(self));
                let change = file_change::Change::SetAttributes(SetAttributes { path, mode, uid, gid, mtime_nanos });
                Body::FileChange(FileChange { change: Some(change) })
            }
        }
    }
}

#[test]
fn requests_without_sense_are_answered_or_refused_one_by_one() {
    let Some(mut world) = world() else { return };
    std::fs::create_dir_all(world.folder.join("a/b")).unwrap();
    std::os::unix::fs::symlink("/etc", world.folder.join("link")).unwrap();
    let mut dice = Dice(42);
    for round in 0..40 {
        let mut client = world.client();
        let mut streams = vec![client.stream()];
        for _ in 0..50 {
            // Some go to streams that are in use, which may end the connection.
            let stream =
                if dice.roll(60) == 0 { streams[dice.roll(streams.len() as u64) as usize] } else { client.stream() };
            streams.push(stream);
            let body = dice.body(&world);
            let mut bytes = Vec::new();
            encode_frame(&ClientFrame { stream, body: Some(body) }, &mut bytes);
            if client.socket.write_all(&bytes).is_err() {
                break;
            }
        }
        let mut bytes = Vec::new();
        encode_frame(&ClientFrame { stream: 0, body: Some(Body::Ping(Ping { value: round })) }, &mut bytes);
        let _ = client.socket.write_all(&bytes);
        loop {
            match client.read().map(|frame| frame.body.unwrap()) {
                Some(agent_frame::Body::Pong(pong)) if pong.value == round => break,
                Some(agent_frame::Body::Error(error)) if error.kind() == ErrorKind::ErrorProtocol => break,
                Some(_) => {}
                None => break,
            }
        }
        assert!(world.is_alive());
    }
    // The agent itself was never changed by a request.
    well(&mut world);
}
