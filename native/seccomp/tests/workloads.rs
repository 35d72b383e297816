//! What people run in a sandbox works under the filter of user processes, stacked on the agent's as in an exec.

#![allow(clippy::unwrap_used, reason = "a helper of tests fails as a test does")]

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use std::{fs, io};

use caisson_seccomp::{Families, agent, install, user};

const DEADLINE: Duration = Duration::from_secs(120);

/// A folder of its own for each test, removed with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("caisson-seccomp-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs a shell script in the folder, under both filters, and gives what it printed. Fails with that if the script does.
fn run(folder: &Folder, families: Families, script: &str) -> String {
    let (out, err) = (folder.0.join(".out"), folder.0.join(".err"));
    let mut command = Command::new("/bin/sh");
    command.args(["-ec", script]).current_dir(&folder.0).env("HOME", &folder.0).process_group(0);
    command.stdin(Stdio::null()).stdout(fs::File::create(&out).unwrap()).stderr(fs::File::create(&err).unwrap());
    // SAFETY: the closure makes three system calls and allocates nothing.
    unsafe { command.pre_exec(move || confine(families)) };
    let mut child = command.spawn().unwrap();
    let end = Instant::now() + DEADLINE;
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break Some(status),
            None if Instant::now() > end => break None,
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    // Whatever is left of its group ends with the test. SAFETY: the group is named after our child.
    unsafe { libc::kill(-(child.id() as i32), libc::SIGKILL) };
    let (printed, complained) = (fs::read_to_string(out).unwrap(), fs::read_to_string(err).unwrap());
    match status {
        Some(status) => assert!(status.success(), "{status}\n{printed}\n{complained}"),
        None => {
            let _ = child.wait();
            panic!("not done after {DEADLINE:?}\n{printed}\n{complained}");
        }
    }
    printed.trim().to_owned()
}

fn confine(families: Families) -> io::Result<()> {
    // SAFETY: this prctl takes integers only.
    if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    install(agent())?;
    install(user(families))
}

/// Whether a program answers without a filter. Says so if not.
fn present(program: &str, question: &str) -> bool {
    let answer = Command::new(program).arg(question).stdin(Stdio::null()).output();
    let present = matches!(answer, Ok(Output { status, .. }) if status.success());
    if !present {
        println!("skipped: {program} is not installed");
    }
    present
}

#[test]
fn shows_itself_in_proc() {
    let status =
        run(&Folder::new("proc"), Families::Off, "grep -E '^(NoNewPrivs|Seccomp|Seccomp_filters):' /proc/self/status");
    assert_eq!(status, "NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t2");
}

#[test]
fn python() {
    if !present("python3", "--version") {
        return;
    }
    let folder = Folder::new("python");
    folder.write("test.py", PYTHON);
    for families in [Families::Off, Families::Inet6] {
        assert_eq!(
            run(&folder, families, "python3 test.py"),
            "spawned 285\nforked 285\nshared 7\nhello\n[3, 1]\n1\nasync True\nconnected"
        );
    }
}

const PYTHON: &str = r#"
import asyncio, multiprocessing, os, socket, sqlite3, ssl, subprocess, threading, tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import shared_memory

def square(n):
    return n * n

def serve(server):
    connection, _ = server.accept()
    connection.sendall(b"connected")
    connection.close()

async def several():
    child = await asyncio.create_subprocess_exec("true")
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(None, square, 3)
    await asyncio.gather(*(asyncio.sleep(0.01) for _ in range(10)))
    return await child.wait() == 0

if __name__ == "__main__":
    for method, word in (("spawn", "spawned"), ("fork", "forked")):
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
            print(word, sum(pool.map(square, range(10))))
    memory = shared_memory.SharedMemory(create=True, size=64)
    memory.buf[0] = 7
    print("shared", memory.buf[0])
    memory.close(); memory.unlink()
    print(subprocess.run("echo hello | cat", shell=True, capture_output=True, text=True, check=True).stdout.strip())
    left, right = multiprocessing.Pipe()
    threading.Thread(target=left.send, args=([3, 1],)).start()
    print(right.recv())
    database = sqlite3.connect(os.path.join(tempfile.mkdtemp(), "db"))
    database.execute("pragma journal_mode=wal"); database.execute("create table t(n)")
    database.execute("insert into t values (1)"); database.commit()
    print(database.execute("select n from t").fetchone()[0])
    ssl.create_default_context()
    print("async", asyncio.run(several()))
    server = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=serve, args=(server,)).start()
    print(socket.create_connection(("localhost", server.getsockname()[1])).recv(100).decode())
"#;

#[test]
fn node() {
    if !present("node", "--version") {
        return;
    }
    let folder = Folder::new("node");
    folder.write("test.js", NODE);
    assert_eq!(run(&folder, Families::Off, "node test.js"), "child hello\nfile written\nhttp 200 here\nworker 42");
}

const NODE: &str = r#"
const { Worker } = require('node:worker_threads');
const { execFile } = require('node:child_process');
const { promisify } = require('node:util');
const fs = require('node:fs/promises');
const http = require('node:http');
(async () => {
  const lines = [];
  const worker = new Worker('require("node:worker_threads").parentPort.postMessage(42)', { eval: true });
  lines.push(new Promise(done => worker.once('message', n => done('worker ' + n))));
  lines.push(promisify(execFile)('echo', ['hello']).then(r => 'child ' + r.stdout.trim()));
  lines.push(fs.writeFile('f', 'written').then(() => fs.readFile('f', 'utf8')).then(t => 'file ' + t));
  const server = http.createServer((_, response) => response.end('here')).listen(0, '127.0.0.1');
  await new Promise(done => server.once('listening', done));
  const answer = await fetch('http://127.0.0.1:' + server.address().port);
  lines.push('http ' + answer.status + ' ' + await answer.text());
  require('node:os').networkInterfaces();
  console.log((await Promise.all(lines)).sort().join('\n'));
  process.exit(0);
})();
"#;

#[test]
fn java_17() {
    java("17", JAVA_THREADS);
}

#[test]
fn java_25() {
    java("25", JAVA_VIRTUAL_THREADS);
}

const JAVA_THREADS: &str = "Executors.newFixedThreadPool(8)";
const JAVA_VIRTUAL_THREADS: &str = "Executors.newVirtualThreadPerTaskExecutor()";

fn java(version: &str, threads: &str) {
    let homes = fs::read_dir("/usr/lib/jvm").into_iter().flatten().flatten().map(|entry| entry.path());
    let Some(home) = homes.into_iter().find(|home| is_release(home, version)) else {
        println!("skipped: Java {version} is not installed");
        return;
    };
    let folder = Folder::new(&format!("java-{version}"));
    folder.write("Hello.java", &JAVA.replace("THREADS", threads));
    let bin = home.join("bin");
    let bin = bin.display();
    let printed = "sum 285\nchild hello\nsocket 7\ndatagram 7\ninterfaces true";
    assert_eq!(run(&folder, Families::Off, &format!("{bin}/java Hello.java")), printed);
    let script = format!("{bin}/javac -d classes Hello.java && {bin}/java -XX:+UseZGC -Xmx128m -cp classes Hello");
    assert_eq!(run(&folder, Families::Inet6, &script), printed);
}

fn is_release(home: &Path, version: &str) -> bool {
    let release = fs::read_to_string(home.join("release")).unwrap_or_default();
    release.contains(&format!("JAVA_VERSION=\"{version}.")) && home.join("bin/javac").exists()
}

const JAVA: &str = r#"
import java.net.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.*;

public class Hello {
    public static void main(String[] arguments) throws Exception {
        try (var loopback = new ServerSocket(0, 5, InetAddress.getByName("127.0.0.1"))) {
            ExecutorService threads = THREADS;
            var results = new ArrayList<Future<Integer>>();
            for (int i = 0; i < 10; i++) {
                int n = i;
                results.add(threads.submit(() -> { Thread.sleep(5); return n * n; }));
            }
            int sum = 0;
            for (var result : results) sum += result.get();
            System.out.println("sum " + sum);
            var child = new ProcessBuilder("echo", "hello").start();
            System.out.println("child " + new String(child.getInputStream().readAllBytes()).trim());
            threads.submit(() -> { try (var peer = loopback.accept()) { peer.getOutputStream().write(7); } return 0; });
            try (var client = new Socket(loopback.getInetAddress(), loopback.getLocalPort())) {
                System.out.println("socket " + client.getInputStream().read());
            }
            try (var datagrams = new DatagramSocket(new InetSocketAddress("127.0.0.1", 0))) {
                datagrams.send(new DatagramPacket(new byte[] {7}, 1, datagrams.getLocalSocketAddress()));
                var packet = new DatagramPacket(new byte[10], 10);
                datagrams.receive(packet);
                System.out.println("datagram " + packet.getData()[0]);
            }
            System.out.println("interfaces " + NetworkInterface.networkInterfaces().findAny().isPresent());
            threads.shutdown();
        }
    }
}
"#;

#[test]
fn c_compiler_and_make() {
    if !present("gcc", "--version") || !present("make", "--version") {
        return;
    }
    let folder = Folder::new("gcc");
    folder.write("hello.c", "#include <stdio.h>\n#include <pthread.h>\nstatic void *run(void *p) { puts(\"hello\"); return p; }\nint main(void) { pthread_t t; pthread_create(&t, 0, run, 0); return pthread_join(t, 0); }\n");
    folder.write("Makefile", "all: one two\none two: hello.c\n\tgcc -O2 -pipe -pthread -o $@ hello.c\n");
    assert_eq!(run(&folder, Families::Off, "make -s -j2 && ./one && ./two"), "hello\nhello");
}

#[test]
fn perl() {
    if !present("perl", "--version") {
        return;
    }
    let script = r#"perl -MSocket -e 'socketpair(A, B, AF_UNIX, SOCK_STREAM, 0) or die; if (!fork) { syswrite B, "child\n"; exit } print scalar <A>; wait; print `echo shell`'"#;
    assert_eq!(run(&Folder::new("perl"), Families::Off, script), "child\nshell");
}

#[test]
fn git() {
    if !present("git", "--version") {
        return;
    }
    let script = "git init -q repository && cd repository && echo one > file && git add file
        git -c user.name=a -c user.email=a@b.invalid commit -qm first && git gc -q && git fsck 2>/dev/null
        git clone -q . ../copy && git -C ../copy log --format=%s";
    assert_eq!(run(&Folder::new("git"), Families::Off, script), "first");
}

#[test]
fn shell_tools() {
    let script = "mkdir a && echo text > a/f && cp -r a b && tar -cf t.tar a b && tar -tf t.tar | sort | head -2
        mkfifo p && (cat p & echo piped > p; wait) && ln -s a/f s && readlink s && find . -type f | wc -l && sync -f t.tar
        dd if=/dev/zero of=z bs=1k count=8 2>/dev/null && truncate -s 1M z && timeout 5 sleep 0.01 && nice true && nproc > n";
    assert_eq!(run(&Folder::new("shell"), Families::Off, script), "a/\na/f\npiped\na/f\n5");
}

#[test]
fn debuggers_reach_their_own_children() {
    if present("strace", "--version") {
        let script = "strace -f -o log sh -c 'true; exit 0' && grep -c exit_group log > n
            strace -qq -o /dev/null -e inject=getppid:retval=4242 perl -e 'print getppid'";
        assert_eq!(run(&Folder::new("strace"), Families::Off, script), "4242", "a call that strace skips");
    }
    if present("gdb", "--version") {
        let script = "gdb -nx -batch -ex 'break main' -ex run -ex 'print 40 + 2' --args ./hello 2>&1 | tail -1";
        let folder = Folder::new("gdb");
        folder.write("hello.c", "int main(void) { return 0; }\n");
        if present("gcc", "--version") {
            assert_eq!(run(&folder, Families::Off, &format!("gcc -g -o hello hello.c && {script}")), "$1 = 42");
        }
    }
}
