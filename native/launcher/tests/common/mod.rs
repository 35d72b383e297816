//! A launcher of one's own, with folders of its own, and a client that speaks to it.
#![allow(dead_code, missing_docs, clippy::unwrap_used, clippy::expect_used)]

pub mod agent;

use caisson_wire::launcher::{self as wire, reply, request};
use caisson_wire::{FrameReader, MAX_LAUNCHER_FRAME, encode_frame};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

static NEXT: AtomicU64 = AtomicU64::new(0);

/// Why the tests of a real launcher cannot run here, or `None`.
pub fn cannot() -> Option<&'static str> {
    if !rustix::process::geteuid().is_root() {
        return Some("needs root");
    }
    if agent_path().is_none() {
        return Some("needs the agent: build the whole workspace first");
    }
    None
}

/// Prints why a test is skipped; true when it is.
pub fn skipped(test: &str) -> bool {
    match cannot() {
        Some(why) => {
            println!("SKIPPED {test}: {why}");
            true
        }
        None => false,
    }
}

/// The launcher that was built, unless `CAISSON_LAUNCHER` names another.
pub fn launcher_path() -> PathBuf {
    std::env::var_os("CAISSON_LAUNCHER").map_or_else(|| env!("CARGO_BIN_EXE_caisson-launcher").into(), PathBuf::from)
}

/// The agent that was built beside the launcher, unless `CAISSON_AGENT` names another.
pub fn agent_path() -> Option<PathBuf> {
    let path = std::env::var_os("CAISSON_AGENT").map_or_else(
        || Path::new(env!("CARGO_BIN_EXE_caisson-launcher")).with_file_name("caisson-agent"),
        PathBuf::from,
    );
    path.exists().then_some(path)
}

/// A folder of its own for a launcher's folders.
pub fn fresh_base() -> PathBuf {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    // Not below /tmp where that is a tmpfs: a kernel before 6.3 cannot map its owners.
    let folder = std::env::var_os("CAISSON_TEST_FOLDER").map_or_else(|| "/tmp".into(), PathBuf::from);
    folder.join(format!("caisson-test-{}-{number}", std::process::id()))
}

pub struct Launcher {
    pub child: Child,
    pub socket: PathBuf,
    pub run: PathBuf,
    pub state: PathBuf,
    keep: bool,
}

impl Launcher {
    pub fn start() -> Self {
        Self::start_in(&fresh_base())
    }

    /// With more options.
    pub fn start_as(base: &Path, more: &[&str]) -> Self {
        let (run, state) = (base.join("run"), base.join("state"));
        std::fs::create_dir_all(base).unwrap();
        let socket = run.join("s/launcher.sock");
        Self::start_with(run, state, socket, more, None)
    }

    /// Another program than the one that was built.
    pub fn start_program(base: &Path, program: &Path) -> Self {
        let (run, state) = (base.join("run"), base.join("state"));
        let socket = run.join("s/launcher.sock");
        Self::start_with(run, state, socket, &[], Some(program))
    }

    /// With folders in `base`, which another launcher may have used before.
    pub fn start_in(base: &Path) -> Self {
        Self::start_as(base, &[])
    }

    /// A second one on the folders of the first.
    pub fn start_beside(first: &Self) -> Self {
        let mut second =
            Self::start_with(first.run.clone(), first.state.clone(), first.run.join("s/second.sock"), &[], None);
        second.keep = true;
        second
    }

    fn start_with(run: PathBuf, state: PathBuf, socket: PathBuf, more: &[&str], program: Option<&Path>) -> Self {
        let program = program.map_or_else(launcher_path, Path::to_path_buf);
        let mut child = Command::new(program)
            .args(["--exit-with-stdin", "--socket"])
            .arg(&socket)
            .arg("--agent")
            .arg(agent_path().unwrap())
            .arg("--run")
            .arg(&run)
            .arg("--state")
            .arg(&state)
            .args(more)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Self { child, socket, run, state, keep: false }
    }

    pub fn client(&self) -> Client {
        let mut client = Client::connect(&self.socket);
        client.call(request::Body::Hello(wire::Hello { version: 1, ..Default::default() }));
        client
    }

    /// A client of another user. For launchers started with `--allow-uid`.
    pub fn client_of(&self, uid: u32) -> Client {
        use rustix::process::Uid;
        use std::os::unix::fs::PermissionsExt;
        for (path, mode) in [(self.socket.parent().unwrap(), 0o755), (&*self.socket, 0o666)] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        // Of this thread alone; the socket keeps who connected.
        let become_user = |uid| rustix::thread::set_thread_res_uid(Uid::ROOT, uid, Uid::ROOT).unwrap();
        become_user(Uid::from_raw(uid));
        let mut client = Client::connect(&self.socket);
        become_user(Uid::ROOT);
        client.call(request::Body::Hello(wire::Hello { version: 1, ..Default::default() }));
        client
    }

    /// Tells it to upgrade itself.
    pub fn signal_upgrade(&self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::USR2).unwrap();
    }

    /// Upgrades it and waits until it is done.
    pub fn upgrade(&mut self) {
        self.signal_upgrade();
        let mut line = String::new();
        BufReader::new(self.child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "resumed\n");
    }

    /// An orderly end that leaves its folders.
    pub fn end_and_keep(mut self) -> PathBuf {
        self.keep = true;
        self.run.parent().unwrap().to_path_buf()
    }

    /// Tells it to end in an orderly way.
    pub fn signal_end(&self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    }

    /// Whether it ends within that time.
    pub fn ends_within(&mut self, longest: Duration) -> bool {
        let until = Instant::now() + longest;
        while Instant::now() < until {
            if let Ok(Some(_)) = self.child.try_wait() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    }

    /// SIGKILL, leaving its folders.
    pub fn kill(mut self) -> PathBuf {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.keep = true;
        self.run.parent().unwrap().to_path_buf()
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        for _ in 0..1000 {
            if let Ok(Some(_)) = self.child.try_wait() {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        if !self.keep {
            let _ = std::fs::remove_dir_all(self.run.parent().unwrap());
        }
    }
}

pub struct Client {
    pub stream: UnixStream,
    reader: FrameReader,
    next: u64,
    pub events: Vec<wire::Ended>,
}

impl Client {
    pub fn connect(socket: &Path) -> Self {
        let stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        Self { stream, reader: FrameReader::new(MAX_LAUNCHER_FRAME), next: 1, events: Vec::new() }
    }

    pub fn send(&mut self, body: request::Body) -> u64 {
        let (id, sent) = self.try_send(body);
        sent.unwrap();
        id
    }

    /// As `send`, on a connection that may break.
    pub fn try_send(&mut self, body: request::Body) -> (u64, std::io::Result<()>) {
        let id = self.next;
        self.next += 1;
        let mut bytes = Vec::new();
        encode_frame(&wire::Request { id, body: Some(body) }, &mut bytes);
        (id, self.stream.write_all(&bytes))
    }

    /// The next reply of any kind; `None` when the launcher closed.
    pub fn receive(&mut self) -> Option<wire::Reply> {
        loop {
            if let Some(reply) = self.reader.next_frame::<wire::Reply>().unwrap() {
                return Some(reply);
            }
            let mut buffer = [0u8; 4096];
            match self.stream.read(&mut buffer).expect("an answer within 30 s") {
                0 => return None,
                n => self.reader.push(&buffer[..n]),
            }
        }
    }

    /// As `receive`, of a connection that may break.
    pub fn receive_or_closed(&mut self) -> Option<wire::Reply> {
        let mut buffer = [0u8; 4096];
        loop {
            if let Some(reply) = self.reader.next_frame::<wire::Reply>().unwrap() {
                return Some(reply);
            }
            match self.stream.read(&mut buffer) {
                Ok(n @ 1..) => self.reader.push(&buffer[..n]),
                _ => return None,
            }
        }
    }

    /// Sends and waits for the answer; events on the way are kept.
    pub fn call(&mut self, body: request::Body) -> reply::Body {
        let id = self.send(body);
        loop {
            let reply = self.receive().expect("the launcher closed the connection");
            match reply.body.unwrap() {
                reply::Body::Ended(ended) => self.events.push(ended),
                body if reply.id == id => return body,
                other => panic!("an answer to nothing: {other:?}"),
            }
        }
    }

    pub fn prepare(&mut self, ids: &[&str]) {
        let sandboxes = ids.iter().map(|s| (*s).to_string()).collect();
        self.call(request::Body::Prepare(wire::Prepare { group: "test".into(), sandboxes }));
    }

    pub fn create(&mut self, id: &str) -> wire::Created {
        self.create_as(create(id))
    }

    pub fn create_as(&mut self, create: wire::Create) -> wire::Created {
        match self.call(request::Body::Create(create)) {
            reply::Body::Created(created) => created,
            other => panic!("{other:?} after {:?}", self.events),
        }
    }

    /// What is answered by `Done`.
    pub fn done(&mut self, body: request::Body) {
        let reply = self.call(body);
        assert!(matches!(reply, reply::Body::Done(_)), "{reply:?} after {:?}", self.events);
    }

    /// What is refused, and why.
    pub fn refused(&mut self, body: request::Body) -> wire::Error {
        match self.call(body) {
            reply::Body::Error(error) => error,
            other => panic!("accepted: {other:?}"),
        }
    }

    pub fn freeze(&mut self, id: &str) {
        self.done(request::Body::Freeze(wire::Freeze { sandbox: id.into() }));
    }

    pub fn thaw(&mut self, id: &str) {
        self.done(request::Body::Thaw(wire::Thaw { sandbox: id.into() }));
    }

    pub fn observe(&mut self, id: &str) -> wire::Observed {
        match self.call(request::Body::Observe(wire::Observe { sandbox: id.into() })) {
            reply::Body::Observed(observed) => observed,
            other => panic!("{other:?} after {:?}", self.events),
        }
    }

    pub fn list(&mut self) -> Vec<wire::Living> {
        match self.call(request::Body::List(wire::List {})) {
            reply::Body::Listed(listed) => listed.living,
            other => panic!("{other:?}"),
        }
    }

    /// Waits for the event that tells of a sandbox's end.
    pub fn ended(&mut self, id: &str) -> wire::Ended {
        loop {
            if let Some(at) = self.events.iter().position(|e| e.sandbox == id) {
                return self.events.remove(at);
            }
            if let Some(reply::Body::Ended(ended)) = self.receive().expect("the launcher closed").body {
                self.events.push(ended);
            }
        }
    }

    pub fn set_group(&mut self, group: wire::SetGroup) {
        let reply = self.call(request::Body::SetGroup(group));
        assert!(matches!(reply, reply::Body::Done(_)), "{reply:?}");
    }

    pub fn destroy(&mut self, id: &str) -> wire::Destroyed {
        match self.call(request::Body::Destroy(wire::Destroy { sandbox: id.into() })) {
            reply::Body::Destroyed(destroyed) => destroyed,
            other => panic!("{other:?} after {:?}", self.events),
        }
    }
}

/// A fresh id.
pub fn id() -> String {
    format!("sb{:08}{:012}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

pub fn create(id: &str) -> wire::Create {
    wire::Create {
        sandbox: id.into(),
        group: "test".into(),
        template: "host".into(),
        limits: Some(wire::Limits {
            cpu_millis: 1000,
            memory_bytes: 512 << 20,
            pids: 256,
            disk_bytes: 1 << 30,
            inodes: 131_072,
            ..Default::default()
        }),
        ..Default::default()
    }
}

/// Whether a host process is there and no zombie.
pub fn alive(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|s| !s.rsplit(") ").next().unwrap_or("Z").starts_with('Z'))
}

/// Waits up to 20 s.
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    for _ in 0..2000 {
        if condition() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("waited in vain until {what}");
}

/// Waits up to 20 s until the census is as before.
pub fn eventually_equal(before: &Census, mut now: impl FnMut() -> Census) {
    let mut last = now();
    for _ in 0..2000 {
        if last == *before {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
        last = now();
    }
    assert_eq!(&last, before, "something is left");
}

/// What a host has of sandboxes: found by looking, not by asking the launcher.
#[derive(PartialEq, Eq, Debug)]
pub struct Census {
    pub cgroups: usize,
    pub processes: usize,
    pub mounts: usize,
    pub descriptors: usize,
}

impl Census {
    /// Of this launcher and its group.
    pub fn take(launcher: &Launcher) -> Self {
        let pid = launcher.child.id();
        Self {
            cgroups: folders(|name| {
                name.starts_with(&format!("sb{:08}", std::process::id())) && journaled(&launcher.run, name)
            }),
            processes: children(pid),
            mounts: std::fs::read_to_string(format!("/proc/{pid}/mountinfo")).unwrap_or_default().lines().count(),
            descriptors: std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count) / 16,
        }
    }

    /// Of these sandboxes, wherever their launcher is.
    pub fn of(ids: &[String]) -> Self {
        let processes = std::fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .filter(|e| {
                std::fs::read_to_string(e.path().join("cgroup"))
                    .is_ok_and(|t| ids.iter().any(|id| t.contains(id.as_str())))
            })
            .count();
        Self { cgroups: folders(|name| ids.iter().any(|id| id == name)), processes, mounts: 0, descriptors: 0 }
    }
}

fn children(pid: u32) -> usize {
    std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default().split_whitespace().count()
}

fn journaled(run: &Path, name: &str) -> bool {
    std::fs::read_dir(run.join("i"))
        .into_iter()
        .flatten()
        .flatten()
        .any(|e| std::fs::read_to_string(e.path().join("journal")).is_ok_and(|t| t.contains(name)))
}

/// Counts cgroup folders in all hierarchies, two levels beneath `caisson`.
fn folders(matches: impl Fn(&str) -> bool) -> usize {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let tops = mounts.lines().filter(|l| l.contains(" - cgroup")).filter_map(|l| l.split(' ').nth(4));
    let mut count = 0;
    for top in tops {
        for group in std::fs::read_dir(Path::new(top).join("caisson")).into_iter().flatten().flatten() {
            for sandbox in std::fs::read_dir(group.path()).into_iter().flatten().flatten() {
                count += usize::from(matches(&sandbox.file_name().to_string_lossy()));
            }
        }
    }
    count
}
