//! Commands: starting, input, ends, and what they may not reach.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod harness;

use caisson_wire::agent::{agent_frame::Body, *};
use harness::client::{command, shell};
use harness::{Client, World, eventually, world};
use std::time::{Duration, Instant};

fn refusal(client: &mut Client, start: ExecStart) -> StreamError {
    client.run(start).expect_err("the command must not start")
}

#[test]
fn true_exits_with_zero_and_its_group_is_removed() {
    let Some(mut world) = world() else { return };
    let outcome = world.client().run(command(&["true"])).unwrap();
    assert_eq!(outcome.ended.reason(), ExecReason::ReasonExited);
    assert_eq!((outcome.ended.exit_code, outcome.ended.signal), (0, 0));
    assert!(outcome.pid > 1);
    assert!(outcome.ended.usage.unwrap().wall_micros > 0);
    assert!(eventually(|| world.exec_groups().is_empty()));
}

#[test]
fn output_goes_to_its_descriptor_and_the_exit_code_is_told() {
    let Some(mut world) = world() else { return };
    let outcome = world.client().sh("echo out; echo err >&2; exit 7");
    assert_eq!((&outcome.stdout[..], &outcome.stderr[..]), (&b"out\n"[..], &b"err\n"[..]));
    assert_eq!(outcome.ended.exit_code, 7);
    assert_eq!((outcome.ended.stdout_bytes, outcome.ended.stderr_bytes), (4, 4));
}

#[test]
fn standard_input_reaches_the_command_and_ends() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    let stream = client.start(ExecStart { stdin_open: true, ..command(&["cat"]) });
    client.stdin(stream, 0, b"hello ", false);
    client.stdin(stream, 0, b"hello ", false);
    client.stdin(stream, 6, b"world", true);
    assert_eq!(client.finish(stream).unwrap().text(), "hello world");
}

#[test]
fn standard_input_is_empty_unless_asked_for() {
    let Some(mut world) = world() else { return };
    assert_eq!(world.client().sh("cat; echo end").text(), "end\n");
}

#[test]
fn a_megabyte_of_input_flows_by_credit() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    let stream = client.start(ExecStart { stdin_open: true, ..command(&["md5sum"]) });
    let total = 1u64 << 20;
    let (mut sent, mut limit) = (0u64, 65_536u64);
    while sent < total {
        while sent < limit.min(total) {
            let part = (limit.min(total) - sent).min(10_000);
            client.stdin(stream, sent, &vec![b'x'; part as usize], sent + part == total);
            sent += part;
        }
        if sent < total {
            match client.read_of(stream).body.unwrap() {
                Body::StdinCredit(credit) => limit = credit.limit,
                Body::ExecStarted(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }
    let expected = std::process::Command::new("sh")
        .args(["-c", "head -c 1048576 /dev/zero | tr '\\0' x | md5sum"])
        .output()
        .unwrap();
    let mut output = Vec::new();
    loop {
        match client.read_of(stream).body.unwrap() {
            Body::Output(data) => output.extend(data.data),
            Body::ExecEnded(_) => break,
            _ => {}
        }
    }
    assert_eq!(output, expected.stdout);
}

#[test]
fn a_command_that_closes_its_input_is_told() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    let stream = client.start(ExecStart { stdin_open: true, ..shell("exec 0<&-; sleep 20") });
    loop {
        if let Body::StdinCredit(credit) = client.read_of(stream).body.unwrap() {
            assert!(credit.closed);
            break;
        }
    }
    client.stdin(stream, 0, b"discarded", false);
    client.signal(stream, libc::SIGKILL, true, ExecReason::ReasonCancelled);
}

#[test]
fn a_signal_that_ends_the_command_is_told() {
    let Some(mut world) = world() else { return };
    let outcome = world.client().sh("kill -USR1 $$");
    assert_eq!(outcome.ended.reason(), ExecReason::ReasonSignalled);
    assert_eq!(outcome.ended.signal, libc::SIGUSR1 as u32);
}

#[test]
fn signals_reach_the_main_process_and_kill_has_the_client_s_reason() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    let stream = client.start(shell("trap 'echo got; exit 3' USR2; echo up; while :; do sleep 0.01; done"));
    while !matches!(client.read_of(stream).body, Some(Body::Output(_))) {}
    client.signal(stream, libc::SIGUSR2, false, ExecReason::ReasonUnknown);
    loop {
        if let Some(Body::ExecEnded(ended)) = client.read_of(stream).body {
            assert_eq!((ended.reason(), ended.exit_code), (ExecReason::ReasonExited, 3));
            break;
        }
    }
    let stream = client.start(command(&["sleep", "60"]));
    client.signal(stream, libc::SIGKILL, true, ExecReason::ReasonCancelled);
    match client.finish(stream) {
        Ok(outcome) => assert_eq!(outcome.ended.reason(), ExecReason::ReasonCancelled),
        Err(error) => assert_eq!(error.kind(), ErrorKind::ErrorCancelled),
    }
}

#[test]
fn a_kill_right_behind_the_start_is_never_lost() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    for _ in 0..50 {
        let stream = client.start(command(&["sleep", "60"]));
        client.signal(stream, libc::SIGKILL, true, ExecReason::ReasonCancelled);
        match client.finish(stream) {
            Ok(outcome) => assert_eq!(outcome.ended.reason(), ExecReason::ReasonCancelled),
            Err(error) => assert_eq!(error.kind(), ErrorKind::ErrorCancelled),
        }
    }
}

#[test]
fn limits_in_the_v2_hierarchy_alone_need_no_v1_descriptors() {
    let Some(mut world) = harness::world_with(&harness::Limits { v1: false, ..harness::Limits::default() }) else {
        return;
    };
    let mut client = world.client();
    let outcome = client.sh("echo two");
    assert_eq!((outcome.text().as_str(), outcome.ended.reason()), ("two\n", ExecReason::ReasonExited));
    assert!(outcome.ended.usage.unwrap().cpu_micros > 0);
}

#[test]
fn commands_that_cannot_start_are_refused_with_the_right_kind() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    std::fs::write(world.folder.join("plain"), "no program").unwrap();
    let plain = String::from_utf8(world.path("plain")).unwrap();
    assert_eq!(refusal(&mut client, command(&["no-such-command"])).kind(), ErrorKind::ErrorNotFound);
    assert_eq!(refusal(&mut client, command(&["/no/such"])).kind(), ErrorKind::ErrorNotFound);
    assert_eq!(refusal(&mut client, command(&[&plain])).kind(), ErrorKind::ErrorNotExecutable);
    assert_eq!(refusal(&mut client, command(&["/tmp"])).kind(), ErrorKind::ErrorNotExecutable);
    let gone = refusal(&mut client, ExecStart { cwd: b"/no/such".to_vec(), ..command(&["true"]) });
    assert_eq!(gone.kind(), ErrorKind::ErrorInvalid);
    assert!(gone.message.contains("cwd /no/such"), "{}", gone.message);
    for bad in [
        ExecStart { exec: "Upper".into(), ..command(&["true"]) },
        ExecStart { exec: "../x".into(), ..command(&["true"]) },
        ExecStart { argv: Vec::new(), ..command(&["true"]) },
        ExecStart { argv: vec![b"a\0b".to_vec()], ..command(&["true"]) },
        ExecStart { uid: harness::AGENT, ..command(&["true"]) },
        ExecStart { groups: vec![harness::AGENT], ..command(&["true"]) },
        ExecStart { cwd: b"relative".to_vec(), ..command(&["true"]) },
        ExecStart { kept_bytes: 2 << 20, ..command(&["true"]) },
    ] {
        assert_eq!(refusal(&mut client, bad).kind(), ErrorKind::ErrorInvalid);
    }
    assert!(eventually(|| world.exec_groups().is_empty()));
    assert_eq!(client.sh("echo on").text(), "on\n");
}

#[test]
fn a_timeout_ends_a_command_that_ignores_sigterm() {
    let Some(mut world) = world() else { return };
    let begin = Instant::now();
    let start =
        ExecStart { timeout_millis: 200, grace_millis: 300, ..shell("trap '' TERM; while :; do sleep 0.05; done") };
    let outcome = world.client().run(start).unwrap();
    assert_eq!(outcome.ended.reason(), ExecReason::ReasonTimeout);
    assert_eq!(outcome.limits, [Limit::Time]);
    assert_eq!(outcome.ended.limits_hit, [i32::from(Limit::Time)]);
    let took = begin.elapsed();
    assert!(took >= Duration::from_millis(500) && took < Duration::from_secs(5), "{took:?}");
}

#[test]
fn a_timeout_lets_a_command_clean_up_and_is_still_a_timeout() {
    let Some(mut world) = world() else { return };
    let script = "trap 'echo bye; exit 0' TERM; while :; do sleep 0.05; done";
    let outcome = world.client().run(ExecStart { timeout_millis: 200, grace_millis: 10_000, ..shell(script) }).unwrap();
    assert_eq!((outcome.ended.reason(), outcome.ended.exit_code), (ExecReason::ReasonTimeout, 0));
    assert_eq!(outcome.text(), "bye\n");
}

const DAEMON: &str = "(setsid sh -c 'exec >/dev/null 2>&1; sleep 300' &) ; echo main";

#[test]
fn a_daemon_that_left_its_session_dies_with_its_exec() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    assert_eq!(client.sh(DAEMON).text(), "main\n");
    assert!(eventually(|| client.sh("ps -eo args | grep -c '^sleep 300'").text().trim() == "0"));
}

#[test]
fn with_linger_a_daemon_lives_on() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    client.run(ExecStart { linger: true, ..shell(DAEMON) }).unwrap();
    assert_eq!(client.sh("ps -eo args | grep -c '^sleep 300'").text().trim(), "1");
}

#[test]
fn a_pipe_held_by_a_lingering_process_is_given_up_after_two_seconds() {
    let Some(mut world) = world() else { return };
    let begin = Instant::now();
    let outcome = world.client().run(ExecStart { linger: true, ..shell("sleep 300 & echo main") }).unwrap();
    assert_eq!(outcome.text(), "main\n");
    assert!(outcome.ended.drain_cut);
    assert!(begin.elapsed() >= Duration::from_secs(2) && begin.elapsed() < Duration::from_secs(6));
}

#[test]
fn children_have_no_privileges_and_their_own_limits() {
    let Some(mut world) = world() else { return };
    let start = ExecStart {
        groups: vec![5000],
        open_files: 77,
        ..shell(
            "id -u; id -G; grep -E '^(Cap|NoNew|SigBlk|SigIgn)' /proc/self/status; ulimit -n; ulimit -Hn; ulimit -c; umask; ls /proc/self/fd | wc -l",
        )
    };
    let outcome = world.client().run(start).unwrap();
    let text = outcome.text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[..2], ["1000", "1000 5000"], "{text}");
    for name in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "SigBlk", "SigIgn"] {
        assert!(text.contains(&format!("{name}:\t0000000000000000\n")), "{name} in {text}");
    }
    assert!(text.contains("NoNewPrivs:\t1\n"));
    // The four descriptors of ls: 0, 1, 2 and the folder.
    assert_eq!(lines[lines.len() - 5..], ["77", "77", "0", "0022", "4"], "{text}");
}

#[test]
fn standard_output_can_be_opened_anew() {
    let Some(mut world) = world() else { return };
    assert_eq!(world.client().sh("echo again >/dev/stdout; echo err >/dev/stderr").text(), "again\n");
}

#[test]
fn users_cannot_reach_agent_or_spawner() {
    let Some(mut world) = world() else { return };
    let script = "spawner=$(pgrep -x caisson-agent | grep -vx 1); for p in 1 $spawner; do \
        kill -9 $p 2>/dev/null && echo killed $p; \
        cat /proc/$p/environ 2>/dev/null && echo environ $p; \
        ls /proc/$p/fd >/dev/null 2>&1 && echo fds $p; \
        head -c1 /proc/$p/mem 2>/dev/null && echo mem $p; done; echo done $spawner";
    let outcome = world.client().sh(script);
    let text = outcome.text();
    assert!(text.starts_with("done "), "{text}");
    assert!(text.trim().len() > 5, "the spawner was not found: {text}");
}

#[test]
fn a_large_environment_arrives() {
    let Some(mut world) = world() else { return };
    let mut start = shell("echo ${#V0} ${#V5}");
    start.env.extend((0..6).map(|i| [format!("V{i}=").into_bytes(), vec![b'v'; 100_000]].concat()));
    assert_eq!(world.client().run(start).unwrap().text(), "100000 100000\n");
}

fn kill(pid: i32) {
    // SAFETY: the pid is the spawner of this test's own world.
    unsafe { libc::kill(pid, libc::SIGKILL) };
}

fn new_spawner(world: &World, old: i32) -> bool {
    eventually(|| world.spawner().is_some_and(|pid| pid != old))
}

#[test]
fn a_spawner_that_was_killed_is_built_anew() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    assert_eq!(client.sh("echo 1").text(), "1\n");
    let running = client.start(shell("sleep 1; echo survived"));
    while !matches!(client.read_of(running).body, Some(Body::ExecStarted(_))) {}
    for _ in 0..3 {
        let old = world.spawner().unwrap();
        kill(old);
        assert!(new_spawner(&world, old));
        let outcome = client.sh("ps -o ppid= -p $$; ulimit -Sd");
        assert_eq!(outcome.text().split_whitespace().collect::<Vec<_>>(), ["1", "unlimited"]);
    }
    loop {
        if let Some(Body::ExecEnded(ended)) = client.read_of(running).body {
            assert_eq!((ended.reason(), ended.stdout_bytes), (ExecReason::ReasonExited, 9));
            break;
        }
    }
}

#[test]
fn execs_asked_for_while_the_spawner_dies_still_run() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    client.sh("true");
    let old = world.spawner().unwrap();
    let streams: Vec<u64> = (0..20)
        .map(|i| {
            if i == 10 {
                kill(old);
            }
            client.start(shell(&format!("echo {i}")))
        })
        .collect();
    for (i, stream) in streams.into_iter().enumerate() {
        assert_eq!(client.finish(stream).unwrap().text(), format!("{i}\n"));
    }
}

#[test]
fn many_execs_at_once_and_a_limit_beyond() {
    let Some(mut world) = harness::world_with(&harness::Limits { pids: 2000, ..harness::Limits::default() }) else {
        return;
    };
    let mut client = world.client();
    let start = || ExecStart { stdin_open: true, ..command(&["cat"]) };
    let streams: Vec<u64> = (0..256).map(|_| client.start(start())).collect();
    let refused = client.start(start());
    assert_eq!(client.error(refused).kind(), ErrorKind::ErrorLimit);
    for stream in &streams {
        client.stdin(*stream, 0, b"x", true);
    }
    for stream in streams {
        assert_eq!(client.finish(stream).unwrap().text(), "x");
    }
    assert!(eventually(|| world.exec_groups().is_empty()));
    assert_eq!(client.sh("echo on").text(), "on\n");
}

#[test]
fn the_same_exec_again_changes_nothing() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    let start = shell("sleep 0.3; echo once");
    let stream = client.start(start.clone());
    client.send(stream, caisson_wire::agent::client_frame::Body::ExecStart(start));
    assert_eq!(client.finish(stream).unwrap().text(), "once\n");
}

#[test]
fn the_agent_ends_with_its_life_channel() {
    let Some(world) = world() else { return };
    assert!(world.end_life());
}
