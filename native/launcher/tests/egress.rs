//! Sandboxes with a way out: what programs inside see of it, with a gateway that echoes.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use caisson_wire::launcher::{self as wire, request};
use common::agent::Agent;
use common::{Census, Client, Launcher, create, eventually_equal, fresh_base, id, skipped, wait_until};
use std::path::PathBuf;

const TOOLS: &str = r#"
import socket, errno, sys
def talk(family, address, text=b"abc"):
    s = socket.socket(family, socket.SOCK_STREAM)
    s.settimeout(20)
    s.connect(address)
    first = s.makefile("rb").readline().decode().strip()
    s.sendall(text)
    s.shutdown(socket.SHUT_WR)
    rest = b""
    while True:
        piece = s.recv(65536)
        if not piece: break
        rest += piece
    return first, rest
"#;

/// A launcher whose gateway is the echo.
fn launcher() -> Launcher {
    let base = fresh_base();
    let java = base.join("java");
    std::fs::create_dir_all(java.join("bin")).unwrap();
    std::fs::create_dir_all(base.join("jars")).unwrap();
    let own = std::env::current_exe().unwrap();
    let echo = own.parent().unwrap().parent().unwrap().join("examples/echo_gateway");
    std::fs::copy(&echo, java.join("bin/java")).unwrap();
    let jars = base.join("jars");
    let more = ["--gateway-java", java.to_str().unwrap(), "--gateway-jars", jars.to_str().unwrap()];
    Launcher::start_as(&base, &more)
}

fn folder(launcher: &Launcher) -> PathBuf {
    launcher.socket.with_file_name("egress")
}

fn open(id: &str) -> wire::Create {
    wire::Create { egress: true, ..create(id) }
}

/// A launcher with a gateway and a sandbox that has a way out. Ends in this order.
struct Stage {
    agent: Agent,
    client: Client,
    launcher: Launcher,
    id: String,
}

impl Stage {
    /// `None` where the test is skipped.
    fn open(test: &str) -> Option<Self> {
        (!skipped(test)).then(|| Self::with(launcher()))
    }

    fn with(launcher: Launcher) -> Self {
        let mut client = launcher.client();
        client.done(request::Body::StartGateway(wire::StartGateway {}));
        let id = id();
        client.create_as(open(&id));
        let agent = Agent::connect(&launcher, &id);
        Self { agent, client, launcher, id }
    }

    fn python(&mut self, script: &str) -> String {
        python(&mut self.agent, script)
    }
}

fn python(agent: &mut Agent, script: &str) -> String {
    let outcome = agent.sh(&format!("python3 - <<'END'\n{TOOLS}\n{script}\nEND"));
    assert!(outcome.is_fine(), "{outcome:?}");
    outcome.stdout
}

/// Talks as soon as there is a way again.
const AGAIN: &str = "
import time
for _ in range(200):
    try: print(*talk(2, ('203.0.113.2', 80))[1:]); break
    except OSError: time.sleep(0.05)
";

fn pid_of_gateway(launcher: &Launcher) -> Option<i32> {
    std::fs::read_to_string(folder(launcher).join("state/pid")).ok()?.parse().ok()
}

/// Its pid is that of the host: the gateway has no pid namespace of its own.
fn kill_gateway(launcher: &Launcher) -> i32 {
    let pid = pid_of_gateway(launcher).unwrap();
    rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), rustix::process::Signal::KILL).unwrap();
    pid
}

fn await_another_gateway(launcher: &Launcher, before: i32) {
    wait_until("another gateway runs", || pid_of_gateway(launcher).is_some_and(|pid| pid != before));
}

#[test]
fn a_connection_to_any_address_reaches_the_gateway_with_its_destination() {
    let Some(mut stage) = Stage::open("a_connection_to_any_address_reaches_the_gateway_with_its_destination") else {
        return;
    };
    let out = stage.python(
        r#"
for family, address in [(2, ("203.0.113.9", 443)), (2, ("10.1.2.3", 1)), (2, ("192.0.0.1", 9)), (2, ("169.254.169.254", 80)),
                        (10, ("2001:db8::5", 8443)), (10, ("fdca:155a::1", 9)), (10, ("::ffff:198.51.100.4", 25))]:
    print(*talk(family, address))
"#,
    );
    let expected: Vec<String> = [
        "203.0.113.9 443",
        "10.1.2.3 1",
        "192.0.0.1 9",
        "169.254.169.254 80",
        "2001:db8::5 8443",
        "fdca:155a::1 9",
        "198.51.100.4 25",
    ]
    .iter()
    .map(|to| format!("{} {to} b'abc'", stage.id))
    .collect();
    assert_eq!(out.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn much_data_goes_both_ways_whole() {
    let Some(mut stage) = Stage::open("much_data_goes_both_ways_whole") else { return };
    let out = stage.python(
        r#"
import threading, os, hashlib
def one(n, size, results):
    data = hashlib.sha256(str(n).encode()).digest() * (size // 32)
    s = socket.create_connection(("203.0.113.%d" % n, 80), timeout=60)
    f = s.makefile("rb")
    first = f.readline()
    threading.Thread(target=lambda: (s.sendall(data), s.shutdown(socket.SHUT_WR))).start()
    rest = f.read()
    results.append(rest == data)
results = []
threads = [threading.Thread(target=one, args=(n, 8 << 20 if n < 4 else 100000, results)) for n in range(40)]
[t.start() for t in threads]; [t.join() for t in threads]
print(len(results), all(results))
"#,
    );
    assert_eq!(out, "40 True\n");
}

#[test]
fn a_question_for_a_name_is_answered_from_the_address_that_was_asked_and_other_datagrams_are_refused_at_once() {
    let Some(mut stage) = Stage::open("a_question_for_a_name") else { return };
    let out = stage.python(
        r#"
import time
for family, server in [(2, "8.8.8.8"), (2, "192.0.2.53"), (10, "2001:db8::53")]:
    s = socket.socket(family, socket.SOCK_DGRAM); s.settimeout(10)
    s.sendto(b"x" * 20, (server, 53))
    answer, peer = s.recvfrom(512)
    print(answer == b"x" * 20, peer[0], peer[1])
start = time.time()
for family, address in [(2, ("1.1.1.1", 443)), (2, ("1.1.1.1", 123)), (10, ("2001:db8::1", 443)), (2, ("8.8.8.8", 5353))]:
    s = socket.socket(family, socket.SOCK_DGRAM); s.settimeout(5)
    s.connect(address)
    try:
        s.send(b"x"); s.send(b"x"); s.recv(10)
        print("sent")
    except ConnectionRefusedError: print("refused")
for kind, protocol in [(socket.SOCK_RAW, 1), (socket.SOCK_DGRAM, 1), (socket.SOCK_RAW, 255)]:
    try: socket.socket(2, kind, protocol); print("made")
    except OSError as e: print(type(e).__name__ if e.errno == errno.EPERM else e.errno)
print(time.time() - start < 2)
"#,
    );
    let lines: Vec<_> = out.lines().collect();
    assert_eq!(lines[..3], ["True 8.8.8.8 53", "True 192.0.2.53 53", "True 2001:db8::53 53"]);
    assert_eq!(lines[3..7], ["refused"; 4]);
    assert!(!out.contains("made"), "{out}");
    assert_eq!(lines.last(), Some(&"True"));
}

#[test]
fn loopback_and_the_sandboxs_own_addresses_stay_inside() {
    let Some(mut stage) = Stage::open("loopback_and_the_sandboxs_own_addresses_stay_inside") else { return };
    let out = stage.python(
        r#"
for family, address in [(2, "127.0.0.1"), (2, "127.9.9.9"), (10, "::1"), (2, "192.0.0.2"), (10, "fdca:155a::2")]:
    server = socket.socket(family); server.bind((address, 0)); server.listen()
    port = server.getsockname()[1]
    client = socket.socket(family); client.connect((address, port))
    peer, _ = server.accept()
    peer.sendall(b"inside"); print(client.recv(10))
    closed = socket.socket(family)
    try: closed.connect((address, 1)); print("open")
    except ConnectionRefusedError: print("refused")
# One that listens everywhere takes nothing that was meant for elsewhere.
server = socket.socket(); server.bind(("0.0.0.0", 7777)); server.listen()
print(*talk(2, ("203.0.113.1", 7777))[1:])
"#,
    );
    let expected = ["b'inside'", "refused"].repeat(5);
    assert_eq!(out.lines().collect::<Vec<_>>(), [expected, vec!["b'abc'"]].concat());
}

#[test]
fn without_a_way_out_nothing_is_redirected() {
    if skipped("without_a_way_out_nothing_is_redirected") {
        return;
    }
    let launcher = launcher();
    let mut client = launcher.client();
    let id = id();
    client.create(&id);
    let mut agent = Agent::connect(&launcher, &id);
    let out = python(
        &mut agent,
        r#"
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    try: socket.socket(2, kind).connect(("203.0.113.1", 53)); print("connected")
    except OSError as e: print(errno.errorcode[e.errno])
try: socket.socket(10); print("made")
except OSError as e: print(errno.errorcode[e.errno])
"#,
    );
    assert_eq!(out, "ENETUNREACH\nENETUNREACH\nEAFNOSUPPORT\n");
}

#[test]
fn the_death_of_the_gateway_closes_the_way_and_a_new_one_opens_it_for_sandboxes_that_live() {
    let Some(mut stage) = Stage::open("the_death_of_the_gateway") else { return };
    let open = stage.agent.start(common::agent::shell(&format!(
        "python3 - <<'END'\n{TOOLS}\ns = socket.create_connection((\"203.0.113.1\", 80)); s.recv(100)\nprint(1, flush=True)\n\
         try: print(s.recv(10))\nexcept ConnectionResetError: print('reset')\nEND"
    )));
    stage.agent.first_output(open);
    let before = kill_gateway(&stage.launcher);
    assert_eq!(stage.agent.finish(open).unwrap().stdout, "1\nreset\n");
    await_another_gateway(&stage.launcher, before);
    assert_eq!(stage.python(AGAIN), "b'abc'\n");
}

#[test]
fn a_sandbox_that_the_gateway_does_not_admit_is_not_made() {
    if skipped("a_sandbox_that_the_gateway_does_not_admit_is_not_made") {
        return;
    }
    let launcher = launcher();
    let mut client = launcher.client();
    let early = client.refused(request::Body::Create(open(&id())));
    assert!(early.message.contains("does not run"), "{early:?}");
    client.done(request::Body::StartGateway(wire::StartGateway {}));
    std::fs::write(folder(&launcher).join("state/closed"), "").unwrap();
    let refused = client.refused(request::Body::Create(open(&id())));
    assert!(refused.message.contains("no policy"), "{refused:?}");
    std::fs::remove_file(folder(&launcher).join("state/closed")).unwrap();
    client.create_as(open(&id()));
}

#[test]
fn a_launcher_without_a_gateway_makes_no_sandbox_with_a_way_out() {
    if skipped("a_launcher_without_a_gateway") {
        return;
    }
    let launcher = Launcher::start();
    let mut client = launcher.client();
    let refused = client.refused(request::Body::Create(open(&id())));
    assert_eq!(refused.kind(), wire::ErrorKind::ErrorNotSupported);
    assert!(!refused.remedy.is_empty());
}

#[test]
fn the_gateway_is_nobody_and_sees_no_homes() {
    let Some(stage) = Stage::open("the_gateway_is_nobody_and_sees_no_homes") else { return };
    let pid = pid_of_gateway(&stage.launcher).unwrap();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = |key: &str| status.lines().find(|l| l.starts_with(key)).unwrap().to_string();
    assert!(line("Uid:").split_whitespace().skip(1).all(|uid| uid.parse::<u32>().unwrap() >= 0x7FE0_0000), "{status}");
    for set in ["CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"].iter().filter(|s| **s != "CapBnd:") {
        assert_eq!(line(set).split_whitespace().nth(1), Some("0000000000000000"), "{set}");
    }
    assert_eq!(line("NoNewPrivs:").split_whitespace().nth(1), Some("1"));
    assert_eq!(line("Seccomp:").split_whitespace().nth(1), Some("2"));
    assert_eq!(std::fs::read_dir(format!("/proc/{pid}/root/root")).unwrap().count(), 0);
}

#[test]
fn nothing_is_left_of_a_sandbox_with_a_way_out() {
    let Some(stage) = Stage::open("nothing_is_left_of_a_sandbox_with_a_way_out") else { return };
    let Stage { agent, mut client, launcher, id: first } = stage;
    drop(agent);
    client.destroy(&first);
    wait_until("the first sandbox is cleared", || Census::take(&launcher).cgroups == 0);
    let before = Census::take(&launcher);
    for _ in 0..10 {
        let id = id();
        client.create_as(open(&id));
        assert!(!client.destroy(&id).stuck);
    }
    eventually_equal(&before, || Census::take(&launcher));
}

#[test]
fn the_gateway_and_its_folder_end_with_the_launcher() {
    let Some(stage) = Stage::open("the_gateway_and_its_folder_end_with_the_launcher") else { return };
    let Stage { agent, client, launcher, .. } = stage;
    let (folder, pid) = (folder(&launcher), pid_of_gateway(&launcher).unwrap());
    assert!(common::alive(pid as u32) && folder.exists(), "control");
    drop((agent, client));
    let base = launcher.end_and_keep();
    wait_until("the gateway is gone", || !common::alive(pid as u32));
    assert!(!folder.exists() && !folder.parent().unwrap().exists());
    std::fs::remove_dir_all(base).unwrap();
    // A SIGKILL leaves the folder; the gateway goes all the same, and the next launcher clears.
    let Stage { agent: _agent, client: _client, launcher, .. } = Stage::with(self::launcher());
    let pid = pid_of_gateway(&launcher).unwrap();
    let left = self::folder(&launcher);
    let base = launcher.kill();
    wait_until("the gateway is gone", || !common::alive(pid as u32));
    assert!(left.exists(), "control: a SIGKILL leaves it");
    let _next = Launcher::start_as(&base, &["--socket", base.join("run/t/launcher.sock").to_str().unwrap()]);
    assert!(!left.exists());
}

#[test]
fn a_sandbox_with_a_way_out_lives_through_an_upgrade() {
    if skipped("a_sandbox_with_a_way_out_lives_through_an_upgrade") {
        return;
    }
    let mut launcher = launcher();
    let mut client = launcher.client();
    client.done(request::Body::StartGateway(wire::StartGateway {}));
    let id = id();
    client.create_as(wire::Create { leased: true, lease_millis: 60_000, ..open(&id) });
    drop(client);
    launcher.upgrade();
    let mut agent = Agent::connect(&launcher, &id);
    assert!(python(&mut agent, "print(*talk(2, ('203.0.113.2', 80))[1:])").contains("abc"));
    let before = kill_gateway(&launcher);
    await_another_gateway(&launcher, before);
    assert_eq!(python(&mut agent, AGAIN), "b'abc'\n");
    let mut client = launcher.client();
    let another = common::id();
    client.create_as(open(&another));
}
