//! Connections to ports of the sandbox's own loopback.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod harness;

use caisson_wire::agent::{agent_frame, client_frame::Body, *};
use harness::client::command;
use harness::{Client, Limits, World, world, world_with};

const ECHO: &str = "
import socket, sys, threading
family = socket.AF_INET6 if sys.argv[1] == '6' else socket.AF_INET
server = socket.socket(family)
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind(('::1' if sys.argv[1] == '6' else '127.0.0.1', int(sys.argv[2])))
server.listen(300)
print('ready', flush=True)
def serve(c):
    total = 0
    while True:
        data = c.recv(65536)
        if not data: break
        total += len(data)
        if sys.argv[3] == 'echo': c.sendall(data)
    c.sendall(b'total %d' % total)
    c.close()
while True:
    c = server.accept()[0]
    threading.Thread(target=serve, args=(c,), daemon=True).start()
";

fn serve(client: &mut Client, family: &str, port: u32, mode: &str) -> u64 {
    let stream = client.start(command(&["python3", "-c", ECHO, family, &port.to_string(), mode]));
    client.read_until(stream, "ready");
    stream
}

fn dial(client: &mut Client, port: u32, credit_bytes: u64) -> u64 {
    let stream = client.stream();
    client.send(stream, Body::Dial(Dial { port, credit_bytes }));
    stream
}

fn say(client: &mut Client, stream: u64, data: &[u8], last: bool) {
    client.send(stream, Body::FileData(FileData { data: data.to_vec(), last }));
}

/// What comes until `last`.
fn hear(client: &mut Client, stream: u64) -> Vec<u8> {
    let mut heard = Vec::new();
    loop {
        match client.read_of(stream).body {
            Some(agent_frame::Body::FileData(data)) => {
                client.ack(stream, 0, data.data.len() as u64);
                heard.extend(&data.data);
                if data.last {
                    return heard;
                }
            }
            Some(agent_frame::Body::FileCredit(_)) => {}
            other => panic!("no data but {other:?}"),
        }
    }
}

fn well(world: &mut World) {
    assert_eq!(world.client().sh("echo well").text(), "well\n");
    assert!(world.agent_rss() < 24 << 10, "{} KiB", world.agent_rss());
}

#[test]
fn bytes_go_both_ways_and_each_way_closes_alone() {
    let inet6 = Limits { families: SocketFamilies::FamiliesInet6.into(), ..Limits::default() };
    let Some(mut world) = world_with(&inet6) else { return };
    let mut client = world.client();
    for (family, port) in [("4", 8001), ("6", 8002)] {
        serve(&mut client, family, port, "echo");
        let stream = dial(&mut client, port, 1 << 20);
        assert!(client.credit(stream) > 0);
        say(&mut client, stream, b"hello ", false);
        say(&mut client, stream, b"there", true);
        assert_eq!(hear(&mut client, stream), b"hello theretotal 11");
    }
}

#[test]
fn a_port_that_is_not_open_is_told() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    let stream = dial(&mut client, 9, 0);
    let error = client.error(stream);
    assert_eq!(error.kind(), ErrorKind::ErrorNotFound);
    assert!(error.message.contains("port 9 is not open"), "{}", error.message);
    for port in [0, 65_536] {
        let stream = dial(&mut client, port, 0);
        assert_eq!(client.error(stream).kind(), ErrorKind::ErrorInvalid);
    }
}

#[test]
fn a_large_transfer_keeps_to_credit_in_both_directions() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    serve(&mut client, "4", 8003, "echo");
    let stream = dial(&mut client, 8003, 50_000);
    let (mut limit, mut sent, mut heard, mut granted) = (client.credit(stream), 0u64, 0u64, 50_000u64);
    const TOTAL: u64 = 8 << 20;
    let mut tail;
    loop {
        while sent < TOTAL.min(limit) {
            let part = (TOTAL.min(limit) - sent).min(30_000);
            sent += part;
            say(&mut client, stream, &vec![7; part as usize], sent == TOTAL);
        }
        match client.read_of(stream).body {
            Some(agent_frame::Body::FileCredit(credit)) => limit = credit.limit,
            Some(agent_frame::Body::FileData(data)) => {
                heard += data.data.len() as u64;
                assert!(heard <= granted, "{heard} bytes of {granted}");
                granted += data.data.len() as u64;
                client.ack(stream, 0, data.data.len() as u64);
                tail = data.data;
                if data.last {
                    break;
                }
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(heard, TOTAL + "total 8388608".len() as u64, "{:?}", String::from_utf8_lossy(&tail));
}

#[test]
fn a_server_that_does_not_read_stops_its_client_and_nobody_else() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    let server = "import socket,time\ns=socket.socket()\ns.bind(('127.0.0.1',8004))\ns.listen(99)\nprint('ready',flush=True)\ntime.sleep(60)";
    let deaf = client.start(command(&["python3", "-c", server]));
    client.read_until(deaf, "ready");
    let stream = dial(&mut client, 8004, 0);
    let mut limit = client.credit(stream);
    let mut sent = 0;
    // Until nothing more is granted: socket buffers and one window.
    client.socket.set_read_timeout(Some(std::time::Duration::from_millis(700))).unwrap();
    loop {
        say(&mut client, stream, &vec![0; (limit - sent) as usize], false);
        sent = limit;
        let got = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| client.credit(stream)));
        let Ok(more) = got else { break };
        limit = more;
    }
    assert!(sent < 64 << 20);
    client.socket.set_read_timeout(Some(harness::PATIENCE)).unwrap();
    assert_eq!(client.sh("echo free").text(), "free\n");
    client.send(stream, Body::Cancel(Cancel {}));
    assert_eq!(client.error(stream).kind(), ErrorKind::ErrorCancelled);
    well(&mut world);
}

#[test]
fn deaf_ports_hold_no_more_than_the_agent_has_for_all() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    let server = "import socket,time\ns=socket.socket()\ns.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)\ns.bind(('127.0.0.1',8007))\ns.listen(300)\nprint('ready',flush=True)\ntime.sleep(60)";
    let deaf = client.start(command(&["python3", "-c", server]));
    client.read_until(deaf, "ready");
    let open: Vec<u64> = (0..40).map(|_| dial(&mut client, 8007, 0)).collect();
    // What the protocol lets a client send before it reads its credit, on each of them.
    for stream in &open {
        say(&mut client, *stream, &[0; 700_000], false);
    }
    assert_eq!(client.sh("echo free").text(), "free\n");
    let mut kinds = Vec::new();
    for stream in &open {
        client.send(*stream, Body::Cancel(Cancel {}));
        kinds.push(loop {
            if let Some(agent_frame::Body::Error(error)) = client.read_of(*stream).body {
                break error.kind();
            }
        });
    }
    assert!(kinds.contains(&ErrorKind::ErrorLimit) && kinds.contains(&ErrorKind::ErrorCancelled), "{kinds:?}");
    well(&mut world);
}

#[test]
fn more_than_was_granted_ends_the_connection_and_too_many_are_refused() {
    // The server has a thread for each of them.
    let Some(mut world) = world_with(&Limits { pids: 1000, ..Limits::default() }) else { return };
    let mut client = world.client();
    serve(&mut client, "4", 8005, "echo");
    let open: Vec<u64> = (0..256).map(|_| dial(&mut client, 8005, 10)).collect();
    for stream in &open {
        client.credit(*stream);
    }
    let stream = dial(&mut client, 8005, 10);
    assert_eq!(client.error(stream).kind(), ErrorKind::ErrorLimit);
    client.send(open[0], Body::Cancel(Cancel {}));
    assert_eq!(client.error(open[0]).kind(), ErrorKind::ErrorCancelled);
    let stream = dial(&mut client, 8005, 10);
    client.credit(stream);
    // Whatever the port takes: beyond what it was granted, and beyond the first allowance.
    say(&mut client, stream, &[0; 600_000], false);
    say(&mut client, stream, &[0; 600_000], false);
    loop {
        match client.read().map(|frame| (frame.stream, frame.body)) {
            Some((0, Some(agent_frame::Body::Error(error)))) => {
                break assert_eq!(error.kind(), ErrorKind::ErrorProtocol);
            }
            Some(_) => {}
            None => panic!("no error"),
        }
    }
    well(&mut world);
}

#[test]
fn a_connection_that_breaks_takes_its_dials_along() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    let server = serve(&mut client, "4", 8006, "echo");
    let stream = dial(&mut client, 8006, 10);
    client.credit(stream);
    drop(client);
    let mut client = world.client();
    let text = client
        .sh("for i in $(seq 100); do grep -q ':1F46 .* 01 ' /proc/net/tcp || { echo gone; break; }; sleep 0.05; done")
        .text();
    assert_eq!(text, "gone\n");
    client.signal(server, libc::SIGKILL, true, ExecReason::ReasonKilled);
}
