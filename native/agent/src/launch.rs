//! From `ExecStart` to a running command.

use crate::agent::Agent;
use crate::connection::Broken;
use crate::egress_trust;
use crate::error::Refusal;
use crate::exec::{Exec, Phase};
use crate::group::Group;
use crate::pipes::make_pipes;
use crate::poll::{Ready, Source};
use crate::pty;
use crate::spawn_request::{self, SpawnRequest, Stage, Status};
use crate::users::{self, User};
use caisson_wire::agent::{ErrorKind, ExecStart, ExecStarted, Limit, UserAdd, agent_frame::Body};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

/// The uid and gid of agent and spawner inside.
pub const AGENT_ID: u32 = 65_533;
const MAX_EXECS: usize = 256;
/// Starts at the same time: descriptors on their way to the spawner are limited by the kernel.
const MAX_STARTING: usize = 32;
const MAX_ATTEMPTS: u32 = 3;
const MAX_GROUPS: usize = 64;

impl Agent {
    /// A request to start a command. The same again changes nothing.
    pub(crate) fn start_exec(&mut self, stream: u64, mut start: ExecStart) -> Result<(), Refusal> {
        if !start.user.is_empty() {
            User::named(&start.user)?.take(&mut start);
        }
        if let Some(egress) = &self.egress {
            egress_trust::add_env(&mut start.env, &egress.env);
        }
        check(&start)?;
        self.refuse_root(start.uid)?;
        if self.execs.values().any(|exec| exec.name == start.exec) {
            return Err(Refusal::new(ErrorKind::ErrorExists, format!("exec {} is already there", start.exec)));
        }
        if self.execs.len() >= MAX_EXECS {
            return Err(Refusal::new(ErrorKind::ErrorLimit, format!("{MAX_EXECS} execs are there; more are refused")));
        }
        let key = self.next_exec;
        self.next_exec += 1;
        self.execs.insert(key, Exec::new(stream, start, self.now));
        self.link.queue.push_back(key);
        self.launch_queued();
        Ok(())
    }

    /// Whether uid 0 may be used is the policy's to say.
    pub(crate) fn refuse_root(&self, uid: u32) -> Result<(), Refusal> {
        if uid == 0 && !self.sandbox.root {
            return Err(Refusal::new(ErrorKind::ErrorPermission, refused_root()));
        }
        Ok(())
    }

    /// `UserAdd`.
    pub(crate) fn user_add(&mut self, stream: u64, add: &UserAdd) -> Result<(), Broken> {
        self.refuse_used(stream)?;
        match users::add(&add.name) {
            Ok(info) => self.answer(stream, Body::UserInfo(info)),
            Err(refusal) => self.answer_error(stream, refusal),
        }
        Ok(())
    }

    /// Hands waiting execs to the spawner.
    pub(crate) fn launch_queued(&mut self) {
        while self.link.open_channel().is_some() && self.starting() < MAX_STARTING {
            let Some(key) = self.link.queue.pop_front() else { return };
            match self.launch(key) {
                Ok(()) => {}
                Err(LaunchError::Later) => {
                    self.link.queue.push_front(key);
                    return self.link.await_room(&self.poll);
                }
                Err(LaunchError::Lost) => {
                    self.link.queue.push_front(key);
                    return self.lose_spawner();
                }
                Err(LaunchError::Refused(refusal)) => self.refuse_exec(key, refusal),
            }
        }
    }

    fn starting(&self) -> usize {
        self.execs.values().filter(|exec| exec.phase == Phase::Starting).count()
    }

    fn launch(&mut self, key: u64) -> Result<(), LaunchError> {
        let (crowded, egress) = (self.has_company(key), self.egress_bytes());
        let Some(exec) = self.execs.get_mut(&key) else { return Ok(()) };
        let Some(launch) = exec.launch.as_mut() else { return Ok(()) };
        if exec.group.is_none() {
            let made = Group::make(
                &self.sandbox.groups,
                &exec.name,
                self.sandbox.memory_bytes * u64::from(!self.sandbox.v1()),
            );
            exec.group = Some(made.map_err(|errno| refused(errno, "make a group for the exec"))?);
            exec.observed.at_start = self.sandbox.meters.counters();
            exec.observed.egress_at_start = egress;
            exec.observed.oom_kills_at_start = self.sandbox.meters.oom_kills().saturating_sub(self.spawner_kills);
        }
        let Some(group) = exec.group.as_mut() else { return Ok(()) };
        if launch.ends.is_none() {
            let memory = match self.sandbox.meters.v1_memory().filter(|_| crowded) {
                Some(folder) => {
                    Some(group.own_memory(folder).map_err(|errno| refused(errno, "make a memory group for the exec"))?)
                }
                None => None,
            };
            exec.observed.owns_peak = !crowded && self.sandbox.meters.reset_peak();
            let (ends, stdin, outputs) =
                make_pipes(&launch.start, memory).map_err(|errno| refused(errno, "make pipes for the exec"))?;
            if let Some(stdin) = stdin {
                self.poll.add(&stdin, Source::Stdin(key)).map_err(|errno| refused(errno, "watch a pipe"))?;
                exec.stdin.open(stdin);
                exec.stdin.flush();
            }
            let sources = [Source::Stdout(key), Source::Stderr(key)];
            for ((pipe, end), source) in exec.outputs.iter_mut().zip(outputs.into_iter().flatten()).zip(sources) {
                self.poll.add(&end, source).map_err(|errno| refused(errno, "watch a pipe"))?;
                pipe.open(end);
            }
            launch.ends = Some(ends);
        }
        let Some(ends) = &launch.ends else { return Ok(()) };
        let (status, status_end) =
            pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).map_err(|errno| refused(errno, "make a pipe"))?;
        self.poll.add(&status, Source::Status(key)).map_err(|errno| refused(errno, "watch a pipe"))?;
        let request = SpawnRequest {
            start: Some(std::mem::take(&mut launch.start)),
            families: self.sandbox.families.into(),
            has_stdin: ends.stdin.is_some(),
            has_memory: ends.memory.is_some(),
            terminal: exec.terminal,
        };
        let mut fds: Vec<BorrowedFd<'_>> =
            vec![group.folder(), status_end.as_fd(), ends.stdout.as_fd(), ends.stderr.as_fd()];
        fds.extend(ends.stdin.iter().chain(&ends.memory).map(OwnedFd::as_fd));
        let Some(channel) = self.link.open_channel() else { return Err(LaunchError::Later) };
        let sent = spawn_request::send(channel, &request, &fds);
        launch.start = request.start.unwrap_or_default();
        match sent {
            Ok(()) => {}
            Err(Errno::AGAIN) => return Err(LaunchError::Later),
            Err(Errno::NOBUFS | Errno::NOMEM | Errno::MFILE | Errno::TOOMANYREFS) => {
                return Err(refused(Errno::NOMEM, "ask the spawner"));
            }
            Err(_) => return Err(LaunchError::Lost),
        }
        launch.attempts += 1;
        exec.started = self.now;
        exec.status = Some(status);
        exec.phase = Phase::Starting;
        Ok(())
    }

    /// Others whose processes could be the victims of an out-of-memory kill in the sandbox's own v1 group.
    fn has_company(&self, key: u64) -> bool {
        self.execs.iter().any(|(other, exec)| *other != key && exec.is_alive())
            || self.leftovers.iter().any(|l| l.lingers)
    }

    /// The spawner's channel has news.
    pub(crate) fn on_spawner(&mut self, generation: u64, ready: Ready) {
        if generation != self.link.generation {
            return;
        }
        if ready.read && !self.link.listen() {
            return self.lose_spawner();
        }
        self.launch_queued();
    }

    /// The spawner died. Execs that it had not started show it by the end of their status pipes.
    pub(crate) fn lose_spawner(&mut self) {
        self.link.lose(self.now);
    }

    /// Builds a new spawner when it is time.
    pub(crate) fn rebuild_spawner(&mut self) {
        if self.link.rebuild_at.is_some_and(|at| at <= self.now)
            && self.link.rebuild(&self.poll, &self.sandbox.joins, self.now).is_err()
        {
            self.link.lose(self.now);
        }
    }

    /// Reads how far a starting command came.
    pub(crate) fn read_status(&mut self, key: u64) {
        let Some(exec) = self.execs.get_mut(&key) else { return };
        let Some(status) = &exec.status else { return };
        loop {
            let mut bytes = [0; Status::SIZE];
            match rustix::io::read(status, &mut bytes) {
                Ok(0) => break,
                Ok(Status::SIZE) => match Status::from_bytes(bytes) {
                    Some(Status { stage: Stage::Alive, value }) => exec.pid = Some(value),
                    Some(failed) => return self.fail_start(key, failed),
                    None => {}
                },
                Err(Errno::AGAIN) => return,
                _ => {}
            }
        }
        match exec.pid {
            Some(pid) => self.started(key, pid),
            None => self.start_again(key),
        }
    }

    /// The command runs, or ran.
    pub(crate) fn started(&mut self, key: u64, pid: i32) {
        let Some(exec) = self.execs.get_mut(&key) else { return };
        exec.status = None;
        exec.phase = Phase::Running;
        exec.deadline = exec.timeout.and_then(|timeout| self.now.checked_add(timeout));
        exec.log.push_event(Body::ExecStarted(ExecStarted { pid: pid.unsigned_abs() }));
        if let (Some(_), Some(group)) = (exec.cause, &exec.group) {
            // It was ended before it was in its group.
            group.kill();
        }
        let launch = exec.launch.take();
        for (signal, whole) in launch.into_iter().flat_map(|launch| launch.signals) {
            exec.signal(signal, whole);
        }
        self.next_tick.get_or_insert(self.now + crate::limits::TICK);
        self.sample(key);
        self.launch_queued();
    }

    /// Refuses execs whose time is over before the spawner could take them.
    pub(crate) fn refuse_late(&mut self) {
        let late = |exec: &Exec| exec.phase == Phase::Queued && exec.deadline.is_some_and(|at| at <= self.now);
        let keys: Vec<u64> = self.execs.iter().filter(|(_, exec)| late(exec)).map(|(key, _)| *key).collect();
        for key in keys {
            self.link.queue.retain(|queued| *queued != key);
            let message = "the exec's time was over before a process could be started for it";
            self.refuse_exec(key, Refusal::new(ErrorKind::ErrorLimit, message));
        }
    }

    /// The child died before it could say its pid: the spawner did, or the kernel killed it.
    fn start_again(&mut self, key: u64) {
        let Some(exec) = self.execs.get_mut(&key) else { return };
        exec.status = None;
        if exec.cause.is_some() {
            return self
                .refuse_exec(key, Refusal::new(ErrorKind::ErrorCancelled, "the exec was ended before it started"));
        }
        if exec.launch.as_ref().is_none_or(|launch| launch.attempts >= MAX_ATTEMPTS) {
            let message = "processes of the sandbox are killed before they start: its memory limit may be used up";
            return self.refuse_exec(key, Refusal::new(ErrorKind::ErrorLimit, message));
        }
        exec.phase = Phase::Queued;
        self.link.queue.push_back(key);
        self.launch_queued();
    }

    fn fail_start(&mut self, key: u64, failed: Status) {
        let Some(exec) = self.execs.get_mut(&key) else { return };
        let errno = Errno::from_raw_os_error(failed.value);
        if failed.stage == Stage::Fork && errno == Errno::AGAIN {
            exec.log.push_event(Body::LimitHit(caisson_wire::agent::LimitHit { limit: Limit::Pids.into() }));
            // The error ends the stream: what belongs before it goes out now.
            if let (Some(frame), Some(client)) = (exec.log.next(), self.client.as_mut()) {
                client.queue(frame);
            }
        }
        let refusal = start_refusal(failed.stage, errno, exec.launch.as_ref().map(|launch| &launch.start));
        self.refuse_exec(key, refusal);
        self.launch_queued();
    }

    /// Answers a start with an error and forgets the exec.
    pub(crate) fn refuse_exec(&mut self, key: u64, refusal: Refusal) {
        let Some(exec) = self.execs.remove(&key) else { return };
        if let Some(group) = exec.group {
            group.kill();
            self.remove_later(group, false);
        }
        if let Some(client) = &mut self.client {
            client.answer(exec.stream, Body::Error(refusal.into_message()));
        }
    }
}

/// The policy's no.
pub fn refused_root() -> &'static str {
    "the policy of this sandbox denies root (uid 0); run the command as an ordinary user"
}

enum LaunchError {
    /// The spawner does not keep up.
    Later,
    /// The spawner is gone.
    Lost,
    Refused(Refusal),
}

fn refused(errno: Errno, action: &str) -> LaunchError {
    LaunchError::Refused(Refusal::with_errno(crate::error::kind_of(errno), errno, format!("cannot {action}")))
}

fn check(start: &ExecStart) -> Result<(), Refusal> {
    let name = start.exec.as_bytes();
    let named = (1..=32).contains(&name.len()) && name.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let problem = if !named {
        "exec must be 1 to 32 of a-z and 0-9"
    } else if start.argv.first().is_none_or(Vec::is_empty) {
        "argv needs a command"
    } else if start.argv.iter().chain(&start.env).chain([&start.cwd]).any(|text| text.contains(&0)) {
        "argv, env and cwd must not contain NUL"
    } else if start.env.iter().any(|entry| !entry.contains(&b'=')) {
        "env must be of the form KEY=VALUE"
    } else if !start.cwd.starts_with(b"/") {
        "cwd must be absolute"
    } else if [start.uid, start.gid].iter().chain(&start.groups).any(|id| *id >= AGENT_ID) {
        "uid, gid and groups must be below 65533"
    } else if start.groups.len() > MAX_GROUPS {
        "groups may be at most 64"
    } else if start.kept_bytes > 1 << 20 {
        "kept_bytes may be at most 1 MiB"
    } else if start.pty.as_ref().is_some_and(|size| !pty::is_possible(size)) {
        "a terminal has 1 to 4096 rows and columns"
    } else if caisson_wire::agent::Overflow::try_from(start.overflow).is_err() {
        "overflow is unknown"
    } else {
        return Ok(());
    };
    Err(Refusal::invalid(problem))
}

fn start_refusal(stage: Stage, errno: Errno, start: Option<&ExecStart>) -> Refusal {
    let text = |bytes: Option<&Vec<u8>>| crate::error::shown(bytes.map_or(&[], Vec::as_slice));
    let command = text(start.and_then(|start| start.argv.first()));
    let cwd = text(start.map(|start| &start.cwd));
    match (stage, errno) {
        (Stage::Exec, Errno::NOENT) => {
            Refusal::with_errno(ErrorKind::ErrorNotFound, errno, format!("command {command} is not there"))
        }
        (Stage::Exec, Errno::ACCESS | Errno::NOEXEC | Errno::ISDIR | Errno::LIBBAD | Errno::PERM) => {
            Refusal::with_errno(ErrorKind::ErrorNotExecutable, errno, format!("command {command} cannot be executed"))
        }
        (Stage::Exec, Errno::TOOBIG | Errno::NAMETOOLONG | Errno::LOOP) => {
            Refusal::with_errno(ErrorKind::ErrorInvalid, errno, format!("command {command} cannot be executed"))
        }
        (Stage::Cwd, _) => Refusal::with_errno(ErrorKind::ErrorInvalid, errno, format!("cannot go to cwd {cwd}")),
        (Stage::User, Errno::INVAL) => {
            Refusal::with_errno(ErrorKind::ErrorInvalid, errno, "the sandbox has no such uid, gid or group")
        }
        (Stage::Fork, Errno::AGAIN) => {
            Refusal::with_errno(ErrorKind::ErrorLimit, errno, "the sandbox's limit of processes is reached")
        }
        (_, Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE | Errno::NOSPC | Errno::DQUOT) => {
            Refusal::with_errno(ErrorKind::ErrorLimit, errno, format!("no room to start {command}"))
        }
        _ => Refusal::with_errno(ErrorKind::ErrorIo, errno, format!("cannot start {command} ({stage:?})")),
    }
}
