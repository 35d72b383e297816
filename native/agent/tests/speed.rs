//! Measures, on demand: `cargo test --release -p caisson-agent --test speed -- --ignored --nocapture --test-threads 1`.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod harness;

use caisson_wire::agent::{agent_frame::Body, client_frame, *};
use harness::client::command;
use harness::world;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

#[test]
#[ignore = "a measurement"]
fn exec_latency() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    let mut run = || {
        let begin = Instant::now();
        client.run(command(&["/bin/true"])).unwrap();
        begin.elapsed()
    };
    for _ in 0..100 {
        run();
    }
    let agent = median((0..1000).map(|_| run()).collect());
    let plain = median(
        (0..300)
            .map(|_| {
                let begin = Instant::now();
                assert!(std::process::Command::new("/bin/true").status().unwrap().success());
                begin.elapsed()
            })
            .collect(),
    );
    println!(
        "exec of /bin/true through the agent {agent:?}, by std (vfork) {plain:?}, agent RSS {} KiB",
        world.agent_rss()
    );
}

fn throughput(kept_bytes: u64) {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    let total = 2u64 << 30;
    let begin = Instant::now();
    let mut command = command(&["sh", "-c", &format!("head -c {total} /dev/zero")]);
    command.output_credit = u64::MAX;
    command.kept_bytes = kept_bytes;
    let stream = client.start(command);
    // Reads frames without decoding them, and acknowledges each fourth.
    let mut socket = client.socket.try_clone().unwrap();
    let mut buffer = vec![0u8; 1 << 20];
    let (mut received, mut frames) = (0u64, 0u64);
    loop {
        let mut header = [0u8; 4];
        socket.read_exact(&mut header).unwrap();
        let length = u32::from_be_bytes(header) as usize;
        socket.read_exact(&mut buffer[..length]).unwrap();
        let mut ended = false;
        if length < 1000 {
            use prost::Message;
            let frame = AgentFrame::decode(&buffer[..length]).unwrap();
            ended = matches!(frame.body, Some(Body::ExecEnded(_)));
        }
        received += length as u64;
        frames += 1;
        if frames % 2 == 0 {
            client.ack(stream, frames, 0);
        }
        if ended {
            break;
        }
    }
    assert!(received >= total);
    let took = begin.elapsed();
    println!(
        "output, {} KiB kept: {:.0} MiB/s in frames of {} bytes, agent RSS {} KiB",
        kept_bytes >> 10,
        total as f64 / took.as_secs_f64() / (1 << 20) as f64,
        received / frames,
        world.agent_rss()
    );
}

#[test]
#[ignore = "a measurement"]
fn output_throughput() {
    throughput(256 << 10);
    throughput(1 << 20);
}

#[test]
#[ignore = "a measurement"]
fn file_throughput() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    let size = 256usize << 20;
    let path = world.path("big");
    for _ in 0..3 {
        let stream = client.stream();
        let begin = Instant::now();
        let put = FilePut { path: path.clone(), mode: 0o644, uid: 1000, gid: 1000, parents: false };
        client.send(stream, client_frame::Body::FilePut(put));
        let mut frame = Vec::new();
        let data = vec![1u8; 128 << 10];
        let body = Some(client_frame::Body::FileData(FileData { data, last: false }));
        caisson_wire::encode_frame(&ClientFrame { stream, body }, &mut frame);
        let (mut sent, mut limit) = (0usize, 1usize << 20);
        while sent < size {
            while sent < size && sent + (128 << 10) <= limit {
                client.socket.write_all(&frame).unwrap();
                sent += 128 << 10;
            }
            if sent < size {
                match client.read_of(stream).body.unwrap() {
                    Body::FileCredit(credit) => limit = credit.limit as usize,
                    other => panic!("{other:?}"),
                }
            }
        }
        client.send(stream, client_frame::Body::FileData(FileData { data: Vec::new(), last: true }));
        while !matches!(client.read_of(stream).body, Some(Body::FileDone(_))) {}
        let put = begin.elapsed();
        let stream = client.stream();
        let begin = Instant::now();
        let get = FileGet { path: path.clone(), offset: 0, length: 0, credit_bytes: u64::MAX };
        client.send(stream, client_frame::Body::FileGet(get));
        let mut buffer = vec![0u8; 1 << 20];
        let mut received = 0;
        while received < size {
            received += client.socket.read(&mut buffer).unwrap();
        }
        std::thread::sleep(Duration::from_millis(20));
        client.socket.set_nonblocking(true).unwrap();
        while let Ok(1..) = client.socket.read(&mut buffer) {}
        client.socket.set_nonblocking(false).unwrap();
        let rate = |took: Duration| size as f64 / took.as_secs_f64() / (1 << 20) as f64;
        println!(
            "file of 256 MiB: put {:.0} MiB/s, get {:.0} MiB/s",
            rate(put),
            rate(begin.elapsed() - Duration::from_millis(20))
        );
    }
}
