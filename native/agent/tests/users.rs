//! Users of the sandbox by name, and root where the policy allows it.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod harness;

use caisson_wire::agent::{agent_frame, client_frame::Body, *};
use harness::client::{command, shell};
use harness::{Client, Limits, World, eventually, world, world_with};
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};

fn as_user(name: &str, script: &str) -> ExecStart {
    ExecStart { user: name.into(), ..shell(script) }
}

fn add(client: &mut Client, name: &str) -> Result<UserInfo, StreamError> {
    let stream = client.stream();
    client.send(stream, Body::UserAdd(UserAdd { name: name.into() }));
    match client.read_of(stream).body {
        Some(agent_frame::Body::UserInfo(info)) => Ok(info),
        Some(agent_frame::Body::Error(error)) => Err(error),
        other => panic!("{other:?}"),
    }
}

fn with_root() -> Option<World> {
    world_with(&Limits { root: true, ..Limits::default() })
}

#[test]
fn a_user_by_name_has_its_ids_groups_and_variables() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    let script = "echo $(id -u) $(id -g) $(id -G) $HOME $USER $LOGNAME $SHELL";
    let outcome = client.run(as_user("sandbox", script)).unwrap();
    assert_eq!(outcome.text(), "1000 1000 1000 3000 /home/sandbox sandbox sandbox /bin/sh\n");
    let mut start = as_user("sandbox", "echo $HOME $USER");
    start.env.push(b"HOME=/elsewhere".to_vec());
    assert_eq!(client.run(start).unwrap().text(), "/elsewhere sandbox\n");
    assert_eq!(client.run(as_user("nobody-here", "true")).unwrap_err().kind(), ErrorKind::ErrorNotFound);
    for bad in ["../etc", "a:b", "Root", "a\nb", "agent"] {
        assert_eq!(client.run(as_user(bad, "true")).unwrap_err().kind(), ErrorKind::ErrorInvalid, "{bad}");
    }
}

#[test]
fn a_hostile_passwd_gives_no_user_and_holds_nobody_up() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    let passwd = world.etc.join("passwd");
    let good = fs::read(&passwd).unwrap();
    let mut refused = |world: &World, what: &str| {
        assert!(client.run(as_user("sandbox", "true")).is_err(), "{what}");
        fs::remove_file(world.etc.join("passwd")).unwrap();
        fs::write(world.etc.join("passwd"), &good).unwrap();
        assert_eq!(client.run(as_user("sandbox", "echo ok")).unwrap().text(), "ok\n");
    };
    fs::write(&passwd, vec![b'\n'; 2 << 20]).unwrap();
    refused(&world, "large");
    fs::remove_file(&passwd).unwrap();
    symlink("/proc/self/environ", &passwd).unwrap();
    refused(&world, "link");
    fs::remove_file(&passwd).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &passwd, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    refused(&world, "fifo");
    fs::write(&passwd, "sandbox:x:-1:0::/:/bin/sh\nsandbox:x:99999999999:0::/:/bin/sh\nsandbox\n").unwrap();
    refused(&world, "numbers");
    fs::write(&passwd, "sandbox:x:0:0::/:/bin/sh\n").unwrap();
    refused(&world, "zero");
    fs::write(&passwd, "sandbox:x:65533:65533::/:/bin/sh\n").unwrap();
    refused(&world, "the agent's");
}

#[test]
fn users_are_made_once_and_are_private_to_one_another() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    let ann = add(&mut client, "ann").unwrap();
    assert_eq!((ann.uid, ann.gid, ann.home.as_slice()), (2000, 2000, &b"/home/ann"[..]));
    let bob = add(&mut client, "bob").unwrap();
    assert_eq!(bob.uid, 2001);
    assert_eq!(add(&mut client, "ann").unwrap(), ann);
    let passwd = fs::read_to_string(world.etc.join("passwd")).unwrap();
    assert!(passwd.contains("\nann:x:2000:2000::/home/ann:/bin/") && passwd.matches("\nann:").count() == 1, "{passwd}");
    let stat = fs::metadata(world.etc.join("passwd")).unwrap();
    assert_eq!((stat.uid(), stat.mode() & 0o7777), (0, 0o644));
    let own = client.run(as_user("ann", "cd; umask 0; echo mine >f; stat -c '%a %U' . ; cat f; id -un")).unwrap();
    assert_eq!(own.text(), "700 ann\nmine\nann\n");
    let other = client.run(as_user("bob", "cat /home/ann/f 2>/dev/null || ls /home/ann 2>/dev/null || echo private"));
    assert_eq!(other.unwrap().text(), "private\n");
    for (bad, kind) in [
        ("", ErrorKind::ErrorInvalid),
        ("a:0:0", ErrorKind::ErrorInvalid),
        ("../x", ErrorKind::ErrorInvalid),
        ("extra", ErrorKind::ErrorExists),
    ] {
        assert_eq!(add(&mut client, bad).unwrap_err().kind(), kind, "{bad}");
    }
    assert_eq!(add(&mut client, "root").unwrap().uid, 0, "telling of root is not being it");
}

#[test]
fn a_user_is_not_made_while_another_program_changes_them() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    let lock = fs::File::create(world.etc.join(".pwd.lock")).unwrap();
    rustix::fs::fcntl_lock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    assert_eq!(add(&mut client, "ann").unwrap_err().kind(), ErrorKind::ErrorLimit);
    drop(lock);
    assert_eq!(add(&mut client, "ann").unwrap().uid, 2000);
    fs::remove_file(world.etc.join(".pwd.lock")).unwrap();
    symlink("/etc/passwd", world.etc.join(".pwd.lock")).unwrap();
    assert!(add(&mut client, "bob").is_err());
    assert_eq!(fs::metadata(world.etc.join("passwd")).unwrap().uid(), 0);
}

#[test]
fn root_is_denied_with_the_reason_whatever_its_name() {
    let Some(mut world) = world() else { return };
    let mut client = world.client();
    for start in [as_user("root", "true"), as_user("alias", "true"), ExecStart { uid: 0, ..command(&["true"]) }] {
        let error = client.run(start).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ErrorPermission);
        assert!(error.message.contains("policy"), "{}", error.message);
    }
    drop(client);
    drop(world);
    let Some(mut world) = with_root() else { return };
    let mut client = world.client();
    for start in [as_user("root", "id -u"), as_user("alias", "id -u"), ExecStart { uid: 0, ..shell("id -u") }] {
        assert_eq!(client.run(start).unwrap().text(), "0\n");
    }
}

#[test]
fn root_holds_seven_capabilities_and_loses_them_with_the_uid() {
    let Some(mut world) = with_root() else { return };
    let mut client = world.client();
    let caps = "grep -E 'Cap|NoNew' /proc/self/status | tr -d '\\t' | tr '\\n' ' '";
    let text = client.run(as_user("root", caps)).unwrap().text();
    let seven = "00000000000004eb";
    let none = "0000000000000000";
    let all = format!("CapInh:{seven} CapPrm:{seven} CapEff:{seven} CapBnd:{none} CapAmb:{seven} NoNewPrivs:1 ");
    assert_eq!(text, all);
    let text = client.run(as_user("sandbox", caps)).unwrap().text();
    assert_eq!(text, all.replace(seven, none));
    let drop = "import os\nos.setgid(1000)\nos.setuid(1000)\nfor l in open('/proc/self/status'):\n  \
        if l.startswith(('CapPrm','CapEff','CapAmb')): print(l.split()[1])\n\
        try: os.setuid(0)\nexcept OSError as e: print(e.errno)";
    let text = client.run(ExecStart { user: b"root".to_vec(), ..command(&["python3", "-c", drop]) }).unwrap().text();
    assert_eq!(text, format!("{none}\n{none}\n{none}\n1\n"));
}

#[test]
fn root_does_what_an_installation_needs() {
    let Some(mut world) = with_root() else { return };
    let mut client = world.client();
    fs::create_dir(world.folder.join("theirs")).unwrap();
    let script = format!(
        "cd {} && echo x >theirs/f && chown 1000:1000 theirs/f && chmod 600 theirs/f && cat theirs/f && \
         /usr/sbin/useradd -m carol 2>&1; id -u carol; stat -c '%U' /home/carol; \
         python3 -c 'import socket; socket.socket().bind((\"127.0.0.1\", 80)); print(80)'; \
         setpriv --reuid carol --regid 1000 --clear-groups id -un 2>&1",
        world.folder.display()
    );
    let text = client.run(as_user("root", &script)).unwrap().text();
    assert_eq!(text, "x\n1001\ncarol\n80\ncarol\n");
}

const ATTACK: &str = "
import ctypes, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def tell(name, result):
    print(name, 'done' if result >= 0 else ctypes.get_errno())
def by(name, call):
    try:
        call()
        print(name, 'done')
    except OSError as e:
        print(name, e.errno)
def attack(who, at=1):
    tell(who + ' seize', libc.ptrace(0x4206, at, 0, 0))
    fd = libc.syscall(434, at, 0)
    tell(who + ' getfd', libc.syscall(438, fd, 0, 0))
    by(who + ' mem', lambda: open(f'/proc/{at}/mem', 'rb').close())
    by(who + ' environ', lambda: open(f'/proc/{at}/environ', 'rb').read())
    by(who + ' fd', lambda: os.readlink(f'/proc/{at}/fd/0'))
    limit = (ctypes.c_ulong * 2)(0, 0)
    tell(who + ' prlimit', libc.syscall(302, at, 7, limit, 0))
    tell(who + ' affinity', libc.syscall(203, at, 8, ctypes.byref(ctypes.c_ulong(1))))
    tell(who + ' nice', libc.setpriority(0, at, 19))
if sys.argv[1] == 'own':
    child = os.fork()
    if child == 0: time.sleep(60)
    attack('own', child)
    os.setresuid(65532, 65532, 65532)
    print('become done', flush=True)
    os._exit(0)
attack('root')
for number, ids in [(105, 1), (106, 1), (113, 2), (114, 2), (117, 3), (119, 3)]:
    for at in range(ids):
        args = [ctypes.c_uint(-1 & 0xffffffff)] * ids
        args[at] = ctypes.c_uint(65533)
        tell('become %d' % number, libc.syscall(number, *args))
os.setgroups([65533, 0])
attack('group')
tell('mount', libc.mount(b'none', b'/mnt', b'tmpfs', 0, 0))
tell('bind', libc.mount(b'/', b'/mnt', 0, 4096, 0))
tell('unshare', libc.unshare(0x10000000))
tell('chroot', libc.chroot(b'/'))
tell('mknod', libc.mknod(b'/tmp/caisson-disk', 0o60644, 0x0800))
tell('hostname', libc.sethostname(b'x', 1))
for s in range(1, 65):
    if s not in (32, 33): libc.kill(1, s)
print('still', os.getpid() > 1, flush=True)
libc.kill(-1, 9)
";

#[test]
fn root_inside_reaches_neither_process_1_nor_the_kernels_doors() {
    let Some(mut world) = with_root() else { return };
    let mut client = world.client();
    let attack = |whom| ExecStart { user: b"root".to_vec(), ..command(&["python3", "-c", ATTACK, whom]) };
    let own = client.run(attack("own")).unwrap();
    let text = own.text() + &String::from_utf8_lossy(&own.stderr);
    assert_eq!(text.lines().filter(|line| line.ends_with("done")).count(), 9, "{text}");
    let text = client.run(attack("agent")).unwrap().text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.last(), Some(&"still True"), "{text}");
    let done: Vec<&&str> = lines.iter().filter(|line| line.ends_with("done")).collect();
    assert!(done.is_empty(), "{done:?}");
    assert!(lines.len() > 33, "{text}");
    // It killed the spawner with everybody else: the next command has another one.
    assert!(world.is_alive());
    assert_eq!(client.run(as_user("sandbox", "echo well")).unwrap().text(), "well\n");
    assert!(eventually(|| world.exec_groups().is_empty()));
}
