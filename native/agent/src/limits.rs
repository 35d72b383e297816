//! Observes which limits execs hit, and what they use.

use crate::agent::Agent;
use crate::exec::Phase;
use crate::meters::{self, Counters, Disk};
use caisson_wire::agent::{ExecReason, Limit, Usage};
use rustix::process::WaitStatus;
use std::time::{Duration, Instant};

/// Between two samples while execs are alive.
pub const TICK: Duration = Duration::from_millis(250);
/// After the kernel's event the kill itself may come later.
const OOM_CHECKS: [Duration; 4] =
    [Duration::from_millis(1), Duration::from_millis(5), Duration::from_millis(20), Duration::from_millis(100)];
/// Less waiting for the cpu than this is noise, in microseconds.
const NOTICEABLE_THROTTLING: u64 = 50_000;

impl Agent {
    /// The v1 event fired.
    pub(crate) fn on_oom_event(&mut self) {
        if let Some(event) = &self.sandbox.oom_event {
            let _ = rustix::io::read(event, &mut [0u8; 8]);
        }
        self.oom_checks = OOM_CHECKS.iter().map(|pause| self.now + *pause).collect();
    }

    /// Due checks and samples.
    pub(crate) fn run_limit_timers(&mut self) {
        let before = self.oom_checks.len();
        self.oom_checks.retain(|at| *at > self.now);
        if self.oom_checks.len() < before {
            self.check_oom();
        }
        if self.next_tick.is_some_and(|at| at <= self.now) {
            self.tick();
        }
    }

    fn tick(&mut self) {
        let alive: Vec<u64> = self.execs.iter().filter(|(_, exec)| exec.is_alive()).map(|(key, _)| *key).collect();
        self.next_tick = (!alive.is_empty()).then(|| self.now + TICK);
        self.check_oom();
        let (counters, disk) = (self.sandbox.meters.counters(), meters::disk());
        for key in alive {
            self.check_limits(key, counters, disk);
            self.sample(key);
        }
    }

    /// Finds the execs that the kernel took processes from, and ends them whole.
    pub(crate) fn check_oom(&mut self) {
        let sandbox = self.sandbox.meters.oom_kills();
        self.oom_kills_seen = sandbox;
        let sandbox = sandbox.saturating_sub(self.spawner_kills);
        for exec in self.execs.values_mut().filter(|exec| exec.is_alive()) {
            let Some(group) = &exec.group else { continue };
            let kills = if self.sandbox.v1() && !group.has_own_memory() {
                sandbox.saturating_sub(exec.observed.oom_kills_at_start)
            } else {
                group.oom_kills()
            };
            if kills > 0 && !exec.observed.limits.contains(&Limit::Memory) {
                exec.hit(Limit::Memory);
                exec.kill_for(ExecReason::ReasonOom);
            }
        }
    }

    /// A kill of spawner or doorman counts in the sandbox's group; no exec is to blame for it.
    pub(crate) fn spawner_died(&mut self, status: WaitStatus) {
        let killed = status.terminating_signal() == Some(libc::SIGKILL);
        if killed && self.sandbox.v1() && self.sandbox.meters.oom_kills() > self.oom_kills_seen {
            self.spawner_kills += 1;
            self.oom_kills_seen += 1;
        }
    }

    /// Notes the limits that an exec's counters show.
    pub(crate) fn check_limits(&mut self, key: u64, counters: Counters, disk: Disk) {
        let Some(exec) = self.execs.get_mut(&key) else { return };
        let start = exec.observed.at_start;
        let own = exec.group.as_ref().map_or(0, |group| group.pids_refused());
        if counters.pids_refused > start.pids_refused || own > 0 {
            exec.hit(Limit::Pids);
        }
        if counters.throttled_micros.saturating_sub(start.throttled_micros) >= NOTICEABLE_THROTTLING {
            exec.hit(Limit::Cpu);
        }
        if disk.full {
            exec.hit(Limit::Disk);
        }
        if disk.out_of_inodes {
            exec.hit(Limit::Inodes);
        }
    }

    /// Measures the memory of an exec.
    pub(crate) fn sample(&mut self, key: u64) {
        let now = Instant::now();
        let Some(exec) = self.execs.get_mut(&key) else { return };
        let Some(group) = &exec.group else { return };
        let own = if self.sandbox.v1() && !group.has_own_memory() { None } else { Some(group.memory_bytes()) };
        let bytes = own.unwrap_or_else(|| self.sandbox.meters.memory_bytes());
        let observed = &mut exec.observed;
        if let Some((then, before)) = observed.sampled {
            let millis = u64::try_from((now - then).as_millis()).unwrap_or(u64::MAX);
            let mean = before / 2 + bytes / 2;
            observed.memory_byte_millis = observed.memory_byte_millis.saturating_add(mean.saturating_mul(millis));
        }
        observed.sampled = Some((now, bytes));
        observed.peak_memory = observed.peak_memory.max(bytes);
    }

    /// The last look at an exec; returns what it used.
    pub(crate) fn last_look(&mut self, key: u64) -> Usage {
        let (counters, disk) = (self.sandbox.meters.counters(), meters::disk());
        self.check_oom();
        self.check_limits(key, counters, disk);
        self.sample(key);
        self.usage(key, counters, disk)
    }

    /// What went through the way out so far.
    pub(crate) fn egress_bytes(&self) -> u64 {
        self.egress.as_ref().map_or(0, |egress| egress.moved)
    }

    fn usage(&self, key: u64, counters: Counters, disk: Disk) -> Usage {
        let Some(exec) = self.execs.get(&key).filter(|exec| exec.phase == Phase::Draining) else {
            return Usage::default();
        };
        let group = exec.group.as_ref();
        let own_peak =
            group.filter(|group| !self.sandbox.v1() || group.has_own_memory()).map_or(0, |group| group.memory_peak());
        let sandbox_peak = if exec.observed.owns_peak { self.sandbox.meters.memory_peak() } else { 0 };
        let wall = exec.ended.unwrap_or(self.now).saturating_duration_since(exec.started);
        Usage {
            wall_micros: u64::try_from(wall.as_micros()).unwrap_or(u64::MAX),
            cpu_micros: group.map_or(0, |group| group.cpu_micros()),
            cpu_throttled_micros: counters.throttled_micros.saturating_sub(exec.observed.at_start.throttled_micros),
            peak_memory_bytes: exec.observed.peak_memory.max(own_peak).max(sandbox_peak),
            memory_byte_millis: exec.observed.memory_byte_millis,
            disk_bytes: disk.used_bytes,
            egress_bytes: self.egress_bytes().saturating_sub(exec.observed.egress_at_start),
        }
    }
}
