//! Commands on a terminal of their own.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod harness;

use caisson_wire::agent::{client_frame::Body, *};
use harness::client::shell;
use harness::{eventually, world};
use std::time::{Duration, Instant};

fn on_terminal(script: &str) -> ExecStart {
    ExecStart { pty: Some(Pty { rows: 24, cols: 80 }), ..shell(script) }
}

#[test]
fn a_command_leads_a_session_on_a_terminal_that_is_the_users_own() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    let script = "test -t 0 && test -t 1 && test -t 2 && echo tty; echo direct >/dev/tty; stty size; \
        stat -c '%u %a' $(tty); ps -o sid= -p $$ | tr -d ' ' | grep -qx $$ && echo leads; echo err >&2";
    let outcome = client.run(on_terminal(script)).unwrap();
    assert_eq!(outcome.text(), "tty\r\ndirect\r\n24 80\r\n1000 620\r\nleads\r\nerr\r\n");
    assert_eq!((outcome.ended.stdout_bytes, outcome.ended.stderr_bytes), (outcome.stdout.len() as u64, 0));
    assert!(!outcome.ended.drain_cut);
    let pipes = client.sh("test -t 0 || test -t 1 || echo no; (: >/dev/tty) 2>/dev/null || echo none");
    assert_eq!(pipes.text(), "no\nnone\n");
}

#[test]
fn what_is_typed_reaches_the_program_and_control_c_its_foreground() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    let stream =
        client.start(on_terminal("trap 'echo caught; exit 3' INT; echo ready; read a; echo got $a; sleep 30 & wait"));
    client.read_until(stream, "ready");
    client.stdin(stream, 0, b"hello\n", false);
    client.read_until(stream, "got hello");
    client.stdin(stream, 6, b"\x03", false);
    client.read_until(stream, "caught");
}

#[test]
fn the_end_of_what_is_typed_hangs_the_terminal_up() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    let stream = client.start(on_terminal("trap 'echo hung; exit 7' HUP; echo ready; while :; do sleep 0.05; done"));
    client.read_until(stream, "ready");
    client.stdin(stream, 0, b"last\n", true);
    client.read_until(stream, "hung");
    // Who does not listen loses the terminal all the same.
    let stream =
        client.start(on_terminal("trap '' HUP; echo ready; sleep 0.2; while echo x; do sleep 0.05; done; exit 5"));
    client.read_until(stream, "ready");
    client.stdin(stream, 0, b"", true);
    let begun = Instant::now();
    loop {
        let frame = client.read_of(stream);
        if let Some(agent_frame::Body::ExecEnded(ended)) = frame.body {
            assert_eq!(ended.exit_code, 5);
            break;
        }
        client.ack(stream, frame.seq, 1024);
    }
    assert!(begun.elapsed() < Duration::from_secs(8));
}

#[test]
fn a_flood_of_sizes_ends_in_the_last_one() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    let stream = client.start(on_terminal("echo ready; read a; stty size; read b"));
    client.read_until(stream, "ready");
    for n in 0..20_000u32 {
        client.send(stream, Body::Resize(Resize { rows: 1 + n % 4096, cols: 77 }));
    }
    client.send(stream, Body::Resize(Resize { rows: 50, cols: 132 }));
    client.stdin(stream, 0, b"\n", false);
    client.read_until(stream, "50 132");
    client.signal(stream, libc::SIGKILL, true, ExecReason::ReasonKilled);
    client.send(stream, Body::Resize(Resize { rows: 5000, cols: 1 }));
    assert_eq!(client.error(0).kind(), ErrorKind::ErrorProtocol);
}

#[test]
fn impossible_sizes_are_refused_and_pipes_ignore_sizes() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    for size in [Pty { rows: 0, cols: 80 }, Pty { rows: 24, cols: 4097 }] {
        let start = ExecStart { pty: Some(size), ..shell("true") };
        assert_eq!(client.run(start).unwrap_err().kind(), ErrorKind::ErrorInvalid);
    }
    let stream = client.start(shell("sleep 0.2; echo done"));
    client.send(stream, Body::Resize(Resize { rows: 1, cols: 1 }));
    assert_eq!(client.finish(stream).unwrap().text(), "done\n");
}

#[test]
fn a_program_that_is_not_read_waits_and_all_of_its_output_comes() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    let start = ExecStart { output_credit: 1000, ..on_terminal("stty -onlcr; seq 1 60000") };
    let outcome = client.run(start).unwrap();
    let expected: String = (1..=60_000).map(|n| format!("{n}\n")).collect();
    assert!(outcome.text() == expected, "{} bytes", outcome.stdout.len());
}

#[test]
fn terminals_are_used_up_by_nobody_else() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    for _ in 0..150 {
        assert_eq!(client.run(on_terminal("echo x")).unwrap().text(), "x\r\n");
    }
    assert_eq!(client.sh("ls /dev/pts | grep -c '[0-9]'; true").text(), "0\n");
    assert!(eventually(|| world.exec_groups().is_empty()));
    assert!(world.agent_rss() < 4096, "{} KiB", world.agent_rss());
}

#[test]
fn a_terminal_outlives_its_client_with_output_and_input_in_place() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    let stream = client.start(on_terminal("stty -echo; echo ready; read a; echo one $a; read b; echo two $b"));
    client.read_until(stream, "ready");
    client.stdin(stream, 0, b"first\n", false);
    client.read_until(stream, "one first");
    drop(client);
    let epoch = world.next_epoch();
    let mut client = harness::Client::new(world.attach(0));
    let welcome = client.hello(epoch, vec![Resume { stream, acked_seq: 0, credit_bytes: 1 << 20 }]);
    let state = welcome.execs.iter().find(|exec| exec.stream == stream).unwrap();
    assert_eq!(state.stdin_received, 6);
    client.stdin(stream, 0, b"first\nsecond\n", false);
    let mut offset = None;
    let mut text = String::new();
    while !text.contains("two second") {
        let frame = client.read_of(stream);
        if let Some(agent_frame::Body::Output(output)) = frame.body {
            assert_eq!(output.fd(), OutputFd::Pty);
            assert!(offset.is_none_or(|offset| offset == output.offset), "no hole");
            offset = Some(output.offset + output.data.len() as u64);
            text += &String::from_utf8_lossy(&output.data);
        }
    }
}
