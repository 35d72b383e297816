//! `sudo` inside: a command of another user in the caller's own group.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod harness;

use caisson_wire::agent::*;
use harness::client::{command, shell};
use harness::{Client, Limits, World, eventually, world_with};
use std::fs;
use std::time::{Duration, Instant};

fn sudo_world(root: bool) -> Option<World> {
    let world = world_with(&Limits { root, ..Limits::default() })?;
    // A folder of PATH that is this world's own.
    fs::copy(env!("CARGO_BIN_EXE_caisson-agent"), world.etc.join("sudo")).unwrap();
    Some(world)
}

fn script(text: &str) -> ExecStart {
    ExecStart {
        env: vec![b"PATH=/etc:/usr/bin:/bin:/usr/sbin".to_vec(), b"TERM=xterm".to_vec(), b"PRIVATE=1".to_vec()],
        ..shell(text)
    }
}

/// Both outputs and the exit code.
fn run(client: &mut Client, text: &str) -> (String, i32) {
    let outcome = client.run(script(&format!("exec 2>&1; {text}"))).unwrap();
    (outcome.text(), outcome.ended.exit_code as i32)
}

fn says(client: &mut Client, text: &str, expected: &str) {
    assert_eq!(run(client, text).0, expected, "{text}");
}

#[test]
fn a_denied_sudo_tells_the_reason_and_nobody_can_take_its_place() {
    let Some(mut world) = sudo_world(false) else { return };
    let mut client = world.client();
    let (text, code) = run(&mut client, "sudo id");
    assert!(text.contains("policy") && text.starts_with("sudo: ") && code == 1, "{text} {code}");
    let (text, code) = run(&mut client, "sudo -v");
    assert!(text.contains("policy") && code == 1, "{text} {code}");
    let bind =
        "python3 -c 'import socket; socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).bind(b\"\\0caisson-sudo\")'";
    assert!(run(&mut client, bind).0.contains("Address already in use"));
}

#[test]
fn commands_run_as_root_and_as_other_users() {
    let Some(mut world) = sudo_world(true) else { return };
    let mut client = world.client();
    says(&mut client, "sudo id -u; id -u", "0\n1000\n");
    says(
        &mut client,
        "sudo useradd -m bob; sudo -u bob id -un; sudo -u bob sh -c 'echo $HOME $USER $SUDO_USER $SUDO_UID'",
        "bob\n/home/bob bob sandbox 1000\n",
    );
    says(&mut client, "sudo -n -H -- sh -c 'echo $HOME ${PRIVATE-none} $TERM'", "/root none xterm\n");
    says(&mut client, "sudo -E A=b sh -c 'echo $PRIVATE $A $USER'", "1 b root\n");
    says(
        &mut client,
        "sudo -s echo '$0' 'a  b'; sudo -u bob -i pwd; sudo -u bob -i echo 'a;  b'",
        "/bin/sh a  b\n/home/bob\na;  b\n",
    );
    says(&mut client, "cd /tmp; echo in | sudo cat; sudo pwd; sudo sh -c 'echo err >&2'", "in\n/tmp\nerr\n");
    says(&mut client, "sudo -v && sudo -l | grep -c ALL", "1\n");
    says(&mut client, "sudo /etc/sudo -u bob /etc/sudo id -u", "0\n");
    // Who is not root after it has no capability left.
    says(
        &mut client,
        "sudo -u bob grep CapEff /proc/self/status; sudo -u bob cat /home/none 2>/dev/null; sudo touch /etc/x && echo made",
        "CapEff:\t0000000000000000\nmade\n",
    );
}

#[test]
fn the_end_of_the_command_is_the_end_of_sudo() {
    let Some(mut world) = sudo_world(true) else { return };
    let mut client = world.client();
    for code in [0, 1, 77, 255] {
        assert_eq!(run(&mut client, &format!("sudo sh -c 'exit {code}'")).1, code);
    }
    let outcome = client.run(script("exec sudo sh -c 'kill -USR1 $$'")).unwrap();
    assert_eq!(outcome.ended.signal, libc::SIGUSR1 as u32);
    let (text, code) = run(&mut client, "sudo no-such-command");
    assert_eq!((text.as_str(), code), ("sudo: no-such-command: command not found\n", 1));
    let (text, code) = run(&mut client, "sudo -u nobody-here id");
    assert!(text.contains("no user nobody-here") && code == 1, "{text}");
    assert_eq!(run(&mut client, "sudo --what").1, 1);
    assert_eq!(run(&mut client, "sudo -u agent id").1, 1);
}

#[test]
fn signals_are_handed_on_and_a_lost_sudo_ends_its_command() {
    let Some(mut world) = sudo_world(true) else { return };
    let mut client = world.client();
    let inner = "trap \"echo got; exit 9\" TERM; echo ready; while :; do sleep 0.05; done";
    let stream = client.start(script(&format!("exec sudo sh -c '{inner}'")));
    client.read_until(stream, "ready");
    client.signal(stream, libc::SIGTERM, false, ExecReason::ReasonKilled);
    client.read_until(stream, "got");
    let text = run(
        &mut client,
        &format!("sudo sh -c '{inner}' & sleep 0.5; kill -9 $!; sleep 0.5; pgrep -fc 'echo ready; whil[e]'"),
    );
    assert!(text.0.contains("got"), "{text:?}");
}

#[test]
fn a_command_of_sudo_lives_and_counts_in_the_group_of_its_caller() {
    let Some(mut world) = sudo_world(true) else { return };
    let mut client = world.client();
    let other = client.start(script("echo ready; sleep 30"));
    client.read_until(other, "ready");
    let stream = client.start(script("sudo sh -c 'trap \"\" TERM HUP INT; echo ready; while :; do :; done'"));
    client.read_until(stream, "ready");
    let burner = || {
        let groups = world.exec_groups();
        groups.iter().map(|g| fs::read_to_string(world.v2.join(g).join("cgroup.procs")).unwrap().lines().count()).max()
    };
    assert!(burner() >= Some(3), "{:?}", burner());
    std::thread::sleep(Duration::from_millis(500));
    client.signal(stream, libc::SIGKILL, true, ExecReason::ReasonKilled);
    let ended = loop {
        if let Some(agent_frame::Body::ExecEnded(ended)) = client.read_of(stream).body {
            break ended;
        }
    };
    assert_eq!(ended.reason(), ExecReason::ReasonKilled);
    assert!(eventually(|| world.exec_groups().len() == 1 || world.exec_groups().len() == 2));
    assert_eq!(run(&mut client, "pgrep -c -f 'while :; do :[;]' || echo none").0, "0\nnone\n");
    client.signal(other, libc::SIGKILL, true, ExecReason::ReasonKilled);
}

#[test]
fn a_command_of_sudo_ends_with_its_exec_unless_that_lingers() {
    let Some(mut world) = sudo_world(true) else { return };
    let mut client = world.client();
    let text = "sudo sh -c 'trap \"\" TERM HUP; echo up; sleep 77' & sleep 0.5; echo main";
    assert!(run(&mut client, text).0.contains("main"));
    assert!(eventually(|| world.exec_groups().is_empty()), "nothing is left");
    let folder = world.folder.display().to_string();
    let later = format!("chmod 777 {folder}; (sleep 1; sudo id -u >{folder}/late 2>&1) >/dev/null 2>&1 & echo main");
    assert_eq!(client.run(ExecStart { linger: true, ..script(&later) }).unwrap().text(), "main\n");
    assert!(eventually(|| fs::read_to_string(world.folder.join("late")).is_ok_and(|text| text == "0\n")));
}

const HOSTILE: &str = r#"
import array, os, socket, struct, sys, time
def door():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(8)
    s.connect(b'\0caisson-sudo')
    return s
def send(s, data, fds):
    s.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', fds))] if fds else [])
def answer(s):
    try: return s.recv(65536)
    except OSError as e: return str(e).encode()
def lingering(seconds=20):
    server = socket.socket(); server.bind(('127.0.0.1', 0)); server.listen(1)
    s = socket.socket(); s.connect(server.getsockname())
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, seconds))
    s.setblocking(False)
    try:
        while True: s.send(b'x' * 65536)
    except BlockingIOError: pass
    return server, s
server, s = lingering(1)
begun = time.time()
s.close()
assert time.time() - begun > 0.9, 'such a socket holds up whoever closes it last'
kept = []
for _ in range(3):
    server, s = lingering()
    kept.append(server)
    d = door()
    send(d, b'junk', [s.fileno()] * 3)
    send(d, b'junk', [s.fileno()] * 3)
    s.close()
    d.close()
for data in [b'', b'\xff' * 100, b'\x22\x04root', b'\x0a\x02id\x22\x04root', b'\x0a' * 100000]:
    for fds in [[], [0], [0, 1, 2, 0], list([0] * 200)]:
        s = door()
        try: send(s, data, fds)
        except OSError: pass
        if os.environ.get('READ'): answer(s)
        s.close()
quiet = []
for _ in range(90):
    try: quiet.append(door())
    except OSError: break
print('attacked', flush=True)
time.sleep(float(sys.argv[1]))
"#;

#[test]
fn hostile_callers_hold_nobody_up_but_themselves() {
    let Some(mut world) = sudo_world(true) else { return };
    let mut client = world.client();
    let start = command(&["python3", "-c", HOSTILE, "60"]);
    let stream = client.start(start);
    client.read_until(stream, "attacked");
    // The agent answers at once while the attack lasts.
    for _ in 0..20 {
        let begun = Instant::now();
        assert_eq!(client.sh("echo well").text(), "well\n");
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    }
    client.signal(stream, libc::SIGKILL, true, ExecReason::ReasonKilled);
    assert!(eventually(|| run(&mut client, "sudo id -u").0 == "0\n"), "sudo works again");
    assert!(world.is_alive());
    assert!(world.agent_rss() < 6144, "{} KiB", world.agent_rss());
}

#[test]
fn a_doorman_that_was_killed_is_followed_by_another() {
    let Some(mut world) = sudo_world(true) else { return };
    let mut client = world.client();
    says(&mut client, "sudo id -u", "0\n");
    run(&mut client, "sudo python3 -c 'import os; os.kill(-1, 9)'");
    for _ in 0..3 {
        assert!(eventually(|| run(&mut client, "sudo id -u").0 == "0\n"));
    }
    assert!(world.is_alive());
}

#[test]
fn setuid_programs_stay_inert() {
    let Some(mut world) = sudo_world(true) else { return };
    let mut client = world.client();
    let text = "sudo cp /usr/bin/id /tmp/caisson-setuid-id; sudo chmod 4755 /tmp/caisson-setuid-id; /tmp/caisson-setuid-id -u; sudo rm /tmp/caisson-setuid-id";
    says(&mut client, text, "1000\n");
}
