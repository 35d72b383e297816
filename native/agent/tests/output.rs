//! Retained output: credit, back-pressure, resuming, epochs.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod harness;

use caisson_wire::agent::{agent_frame::Body, *};
use harness::client::{command, shell};
use harness::{Client, world};
use std::time::Duration;

/// Lines of growing numbers: any lost or doubled byte shows.
fn pattern(lines: usize) -> (String, Vec<u8>) {
    (format!("seq 1 {lines}"), (1..=lines).flat_map(|i| format!("{i}\n").into_bytes()).collect())
}

#[test]
fn output_of_many_megabytes_arrives_whole_with_little_credit() {
    let Some(mut world) = world() else { return };
    let (script, expected) = pattern(1_000_000);
    for credit in [1000, 100_000, 4 << 20] {
        let outcome = world.client().run(ExecStart { output_credit: credit, ..shell(&script) }).unwrap();
        assert!(outcome.stdout == expected, "with a credit of {credit}");
    }
}

#[test]
fn no_more_is_sent_than_was_granted_and_the_agent_stays_small() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    let stream = client.start(ExecStart { output_credit: 100_000, ..command(&["yes"]) });
    let mut received = 0;
    while received < 100_000 {
        if let Some(Body::Output(output)) = client.read_of(stream).body {
            received += output.data.len();
        }
    }
    assert_eq!(received, 100_000);
    std::thread::sleep(Duration::from_millis(300));
    client.send(0, client_frame::Body::Ping(Ping { value: 5 }));
    let next = client.read().unwrap();
    assert_eq!(next.body, Some(Body::Pong(Pong { value: 5 })), "output went out without credit");
    let rss = world.agent_rss();
    assert!(rss < 4096, "the agent holds {rss} KiB");
    client.ack(stream, 0, 10);
    match client.read_of(stream).body {
        Some(Body::Output(output)) => assert_eq!(output.data.len(), 10),
        other => panic!("{other:?}"),
    }
    client.signal(stream, libc::SIGKILL, true, ExecReason::ReasonKilled);
}

#[test]
fn a_client_that_never_reads_is_borne() {
    let Some(mut world) = world() else { return };
    let mut lazy = world.client();
    for _ in 0..20 {
        lazy.start(ExecStart { output_credit: u64::MAX, kept_bytes: 1 << 20, ..command(&["yes"]) });
    }
    std::thread::sleep(Duration::from_millis(1500));
    let rss = world.agent_rss();
    assert!(rss < 16 << 10, "the agent holds {rss} KiB");
    let mut client = world.client();
    assert_eq!(client.sh("echo on").text(), "on\n");
}

#[test]
fn dropping_counts_what_it_drops() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    let start = ExecStart {
        overflow: Overflow::Drop.into(),
        output_credit: 1000,
        kept_bytes: 10_000,
        ..shell("head -c 5000000 /dev/zero; echo end >&2")
    };
    let stream = client.start(start);
    // Nothing is acknowledged until the command is through: it never waits for the client.
    std::thread::sleep(Duration::from_millis(700));
    let (mut offset, mut data, mut gaps) = (0, 0, 0);
    loop {
        let frame = client.read_of(stream);
        match frame.body.unwrap() {
            Body::Output(output) => {
                if output.fd() == OutputFd::Stdout {
                    assert_eq!(output.offset, offset);
                    offset += output.data.len() as u64;
                }
                data += output.data.len() as u64;
                client.ack(stream, frame.seq, 1 << 20);
            }
            Body::Gap(gap) => {
                if gap.fd() == OutputFd::Stdout {
                    assert_eq!(gap.offset, offset);
                    offset += gap.bytes;
                }
                gaps += gap.bytes;
            }
            Body::ExecEnded(ended) => {
                assert_eq!(ended.stdout_bytes, 5_000_000);
                assert_eq!(ended.dropped_bytes, gaps);
                assert_eq!(data + gaps, ended.stdout_bytes + ended.stderr_bytes);
                break;
            }
            _ => {}
        }
    }
    assert!(gaps > 4_000_000);
}

#[test]
fn nothing_is_lost_or_doubled_over_broken_connections() {
    let Some(mut world) = world() else { return };
    // Enough for 40 breaks, however much each read of the pipe brings.
    let (script, expected) = pattern(6_000_000);
    let mut client = world.client();
    let stream = client.start(ExecStart { output_credit: 500_000, ..shell(&script) });
    let (mut output, mut seq, mut reconnects) = (Vec::<u8>::new(), 0, 0);
    let mut frames = 0;
    loop {
        // Breaks the connection at arbitrary bytes: whatever is in the socket or half sent is lost with it.
        frames += 1;
        if frames % 7 == 0 && reconnects < 40 {
            reconnects += 1;
            let epoch = world.next_epoch();
            client = Client::new(world.attach(0));
            let welcome = client.hello(epoch, vec![Resume { stream, acked_seq: seq, credit_bytes: 500_000 }]);
            let state = &welcome.execs[0];
            assert!(state.first_seq <= seq + 1 && state.last_seq >= seq);
        }
        let frame = client.read_of(stream);
        assert_eq!(frame.seq, seq + 1);
        seq = frame.seq;
        match frame.body.unwrap() {
            Body::Output(data) => {
                assert_eq!(data.offset, output.len() as u64);
                output.extend(&data.data);
                if frames % 3 == 0 {
                    client.ack(stream, seq, 200_000);
                }
            }
            Body::ExecEnded(ended) => {
                assert_eq!(ended.stdout_bytes, expected.len() as u64);
                break;
            }
            _ => {}
        }
    }
    assert!(output == expected);
    assert_eq!(reconnects, 40);
}

#[test]
fn an_exec_outlives_its_client_and_is_forgotten_once_acknowledged() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    let stream = client.start(shell("sleep 0.5; echo late"));
    while !matches!(client.read_of(stream).body, Some(Body::ExecStarted(_))) {}
    drop(client);
    std::thread::sleep(Duration::from_millis(1000));
    let epoch = world.next_epoch();
    let mut client = Client::new(world.attach(0));
    let welcome = client.hello(epoch, vec![Resume { stream, acked_seq: 0, credit_bytes: 1000 }]);
    // Its end waits to be sent: only then it has a number, and is told as an end.
    assert!(!welcome.execs[0].ended);
    assert_eq!(client.finish(stream).unwrap().text(), "late\n");
    client.sh("true");
    let epoch = world.next_epoch();
    assert!(Client::new(world.attach(0)).hello(epoch, Vec::new()).execs.is_empty());
}

#[test]
fn a_newer_epoch_cuts_the_older_off_and_older_ones_are_refused() {
    let Some(mut world) = world() else { return };
    let mut old = world.client();
    let mut new = world.client();
    assert_eq!(old.error(0).kind(), ErrorKind::ErrorCutOff);
    old.assert_closed();
    let mut stale = Client::new(world.attach(0));
    stale.send(0, client_frame::Body::Hello(Hello { version: 1, epoch: 2, resume: Vec::new() }));
    assert_eq!(stale.error(0).kind(), ErrorKind::ErrorCutOff);
    stale.assert_closed();
    let mut low = Client::new(world.attach(1000));
    low.send(0, client_frame::Body::Hello(Hello { version: 1, epoch: 999, resume: Vec::new() }));
    assert_eq!(low.error(0).kind(), ErrorKind::ErrorCutOff);
    let mut other = Client::new(world.attach(0));
    other.send(0, client_frame::Body::Hello(Hello { version: 9, epoch: 2000, resume: Vec::new() }));
    assert_eq!(other.error(0).kind(), ErrorKind::ErrorProtocol);
    assert_eq!(new.sh("echo still").text(), "still\n");
}
