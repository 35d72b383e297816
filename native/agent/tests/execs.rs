//! Commands: starting, output, input, ends.
#![allow(missing_docs)]

mod harness;

use caisson_wire::agent::{agent_frame::Body, *};
use harness::client::{command, shell};
use harness::{eventually, world};

#[test]
fn true_exits_with_zero() {
    let Some(mut world) = world() else { return };
    let outcome = world.client().run(command(&["true"])).unwrap();
    assert_eq!(outcome.ended.reason(), ExecReason::ReasonExited);
    assert_eq!((outcome.ended.exit_code, outcome.ended.signal), (0, 0));
    assert!(outcome.pid > 1);
    assert!(outcome.ended.usage.unwrap().wall_micros > 0);
    assert!(eventually(|| world.exec_groups().is_empty()), "the group is removed");
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
    client.stdin(stream, 6, b"world", true);
    assert_eq!(client.finish(stream).unwrap().text(), "hello world");
}
