//! Process 1's duties: reaping, deadlines, the end of an exec, and removing what it left.

use crate::agent::Agent;
use crate::exec::{Exec, Phase};
use crate::group::Group;
use caisson_wire::agent::{ExecEnded, ExecReason, Limit};
use rustix::process::{WaitOptions, WaitStatus};
use std::time::{Duration, Instant};

/// How long pipes are read after the main process is gone.
pub const DRAIN: Duration = Duration::from_secs(2);
const FIRST_RETRY: Duration = Duration::from_millis(2);
const LAST_RETRY: Duration = Duration::from_secs(2);
/// A connection must say hello within this time.
const GREETING: Duration = Duration::from_secs(10);

/// A group whose exec is over and whose last processes are not.
pub struct Leftover {
    group: Group,
    retry_at: Instant,
    pause: Duration,
    /// Processes live on by the client's wish.
    pub lingers: bool,
}

impl Leftover {
    /// Its processes.
    pub fn group(&self) -> &Group {
        &self.group
    }
}

impl Exec {
    /// Sends a signal to the main process or to everything.
    pub fn signal(&mut self, signal: i32, whole: bool) {
        match (&self.group, self.pid) {
            (Some(group), _) if whole => group.signal(signal),
            (_, Some(pid)) => crate::sys::kill(pid, signal),
            _ => {}
        }
    }
}

impl Agent {
    /// Reaps everything that died.
    pub(crate) fn reap(&mut self) {
        self.drain_signals();
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            self.reaped(pid.as_raw_nonzero().get(), status);
        }
    }

    fn reaped(&mut self, pid: i32, status: WaitStatus) {
        if self.link.pid == Some(pid) {
            self.link.pid = None;
            return self.spawner_died(status);
        }
        if self.sudo.doorman_pid == Some(pid) {
            self.sudo.doorman_pid = None;
            return self.spawner_died(status);
        }
        if self.find_pid(pid).is_none() {
            // Whoever dies after its start said its pid before.
            self.read_all_status();
            if self.sudo_reaped(pid, status) {
                return;
            }
        }
        // Anybody else is an orphan of a user process.
        let Some(key) = self.find_pid(pid) else { return };
        self.read_status(key);
        // The spawner may still hold the pipe open. Whatever the child had to say is read by now.
        if self.execs.get(&key).is_some_and(|exec| exec.status.is_some()) {
            self.started(key, pid);
        }
        let Some(exec) = self.execs.get_mut(&key) else { return };
        exec.pid = None;
        exec.exit =
            (status.exit_status().unwrap_or(0).unsigned_abs(), status.terminating_signal().unwrap_or(0).unsigned_abs());
        exec.ended = Some(self.now);
        exec.phase = Phase::Draining;
        exec.drain_until = Some(self.now + DRAIN);
        exec.deadline = None;
        exec.stdin.close();
        if let (false, Some(group)) = (exec.linger, &exec.group) {
            group.kill();
        }
    }

    fn read_all_status(&mut self) {
        let starting: Vec<u64> =
            self.execs.iter().filter(|(_, exec)| exec.status.is_some()).map(|(key, _)| *key).collect();
        for key in starting {
            self.read_status(key);
        }
    }

    fn find_pid(&self, pid: i32) -> Option<u64> {
        self.execs.iter().find(|(_, exec)| exec.pid == Some(pid)).map(|(key, _)| *key)
    }

    /// Writes the last event of execs whose pipes are read to the end.
    pub(crate) fn finish_drained(&mut self) {
        let drained = |exec: &Exec| exec.phase == Phase::Draining && exec.outputs.iter().all(|pipe| pipe.is_closed());
        let keys: Vec<u64> = self.execs.iter().filter(|(_, exec)| drained(exec)).map(|(key, _)| *key).collect();
        for key in keys {
            self.finish(key);
        }
    }

    fn finish(&mut self, key: u64) {
        let usage = self.last_look(key);
        let Some(exec) = self.execs.get_mut(&key) else { return };
        let mut cut = false;
        let mut dropped = 0;
        for pipe in &mut exec.outputs {
            pipe.tell_gap(&mut exec.log);
            cut |= pipe.was_cut;
            dropped += pipe.dropped;
        }
        let (exit_code, signal) = exec.exit;
        let by_itself = if signal == 0 { ExecReason::ReasonExited } else { ExecReason::ReasonSignalled };
        let [stdout, stderr] = &exec.outputs;
        exec.log.push_ended(ExecEnded {
            reason: exec.cause.unwrap_or(by_itself).into(),
            exit_code,
            signal,
            limits_hit: exec.observed.limits.iter().map(|limit| (*limit).into()).collect(),
            usage: Some(usage),
            stdout_bytes: stdout.offset,
            stderr_bytes: stderr.offset,
            dropped_bytes: dropped,
            drain_cut: cut,
        });
        exec.phase = Phase::Ended;
        let lingers = exec.linger;
        if let Some(group) = exec.group.take() {
            self.remove_later(group, lingers);
        }
    }

    /// Removes a group as soon as it is empty.
    pub(crate) fn remove_later(&mut self, group: Group, lingers: bool) {
        self.leftovers.push(Leftover { group, retry_at: self.now, pause: FIRST_RETRY, lingers });
    }

    /// The next moment at which something is due.
    pub(crate) fn until_next_timer(&self) -> Option<Duration> {
        let execs = self.execs.values().flat_map(|exec| [exec.deadline, exec.kill_at, exec.drain_until]).flatten();
        let leftovers = self.leftovers.iter().map(|leftover| leftover.retry_at);
        let greeting = self.greeting.iter().map(|connection| connection.since + GREETING);
        let next = execs
            .chain(leftovers)
            .chain(greeting)
            .chain(self.oom_checks.iter().copied())
            .chain(self.next_tick)
            .chain(self.link.rebuild_at)
            .chain(self.sudo.again_at)
            .min()?;
        Some(next.saturating_duration_since(Instant::now()))
    }

    /// Does what is due.
    pub(crate) fn run_timers(&mut self) {
        self.refuse_late();
        let now = self.now;
        for exec in self.execs.values_mut() {
            exec.run_timers(now);
        }
        self.greeting.retain(|connection| now < connection.since + GREETING);
        self.rebuild_spawner();
        self.run_sudo_timer();
        self.run_limit_timers();
    }

    /// Removes groups whose time has come. After the answers, so that nobody waits for it.
    pub(crate) fn remove_leftovers(&mut self) {
        let (groups, memory) = (&self.sandbox.groups, self.sandbox.meters.v1_memory());
        self.leftovers.retain_mut(|leftover| {
            if leftover.retry_at > self.now || leftover.group.remove(groups, memory).is_ok() {
                return leftover.retry_at > self.now;
            }
            leftover.retry_at = self.now + leftover.pause;
            leftover.pause = (leftover.pause * 2).min(LAST_RETRY);
            true
        });
    }
}

impl Exec {
    fn run_timers(&mut self, now: Instant) {
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if due(self.deadline) {
            self.deadline = None;
            self.cause.get_or_insert(ExecReason::ReasonTimeout);
            self.hit(Limit::Time);
            match &self.group {
                Some(group) if self.grace > Duration::ZERO => {
                    group.signal(libc::SIGTERM);
                    self.kill_at = Some(now + self.grace);
                }
                _ => self.kill_for(ExecReason::ReasonTimeout),
            }
        }
        if due(self.kill_at) {
            self.kill_at = None;
            self.kill_for(ExecReason::ReasonTimeout);
        }
        if due(self.drain_until) {
            self.cut_drain();
        }
    }
}
