//! What is told of living sandboxes, as far as possible as the kernel has it.

use crate::cgroup::{Cgroups, PERIOD_MICROS, field, number_at, read_at};
use crate::disk::Disk;
use crate::error::Result;
use crate::sandbox::{Asker, Sandbox, State};
use crate::server::{Server, find_for};
use caisson_wire::launcher::{self as wire, reply};
use std::time::Instant;

/// Entries of one reply: far from the longest frame.
pub const PER_REPLY: usize = 200;

impl Cgroups {
    /// The limits of cpu, memory and processes as the kernel has them.
    fn limits(&self, path: &str) -> wire::Limits {
        let number = |controller, file: &str| {
            self.root_of(controller).and_then(|root| number_at(root, &format!("{path}/{file}")))
        };
        let text = |controller, file: &str| {
            self.root_of(controller).and_then(|root| read_at(root, &format!("{path}/{file}")).ok()).unwrap_or_default()
        };
        let (memory, (quota, period)) = if self.limits_in_v1() {
            let of = |file| number("cpu", file).unwrap_or_default();
            ("memory.limit_in_bytes", (of("cpu.cfs_quota_us"), of("cpu.cfs_period_us")))
        } else {
            let max = text("cpu", "cpu.max");
            let mut words = max.split_whitespace().map(|w| w.parse().unwrap_or_default());
            ("memory.max", (words.next().unwrap_or_default(), words.next().unwrap_or_default()))
        };
        wire::Limits {
            cpu_millis: quota * 1000 / if period > 0 { period } else { PERIOD_MICROS },
            memory_bytes: number("memory", memory).unwrap_or_default(),
            pids: number("pids", "pids.max").unwrap_or_default().saturating_sub(1),
            ..Default::default()
        }
    }

    /// Bytes read and written: all on v2, on v1 those of a sandbox whose rate is limited.
    fn io_bytes(&self, path: &str) -> u64 {
        let words = |text: String, take: fn(&str) -> u64| text.split_whitespace().map(take).sum();
        if !self.limits_in_v1() {
            let text = read_at(self.v2(), &format!("{path}/io.stat")).unwrap_or_default();
            return words(text, |word| {
                let bytes = word.strip_prefix("rbytes=").or_else(|| word.strip_prefix("wbytes="));
                bytes.and_then(|b| b.parse().ok()).unwrap_or_default()
            });
        }
        let file = format!("{path}/blkio.throttle.io_service_bytes");
        let text = self.v1_of("blkio").and_then(|root| read_at(root, &file).ok()).unwrap_or_default();
        field(&text, "Total").unwrap_or_default()
    }
}

impl Server {
    pub(crate) fn observe(&mut self, uid: u32, id: &str) -> Result<wire::Observed> {
        let sandbox = find_for(&mut self.sandboxes, id, uid)?;
        Ok(observed(&self.parts.cgroups, sandbox))
    }

    pub(crate) fn observe_all(&mut self, asker: Asker, uid: u32) {
        let all: Vec<_> = self.living(uid).map(|s| observed(&self.parts.cgroups, s)).collect();
        let mut chunks = all.chunks(PER_REPLY).peekable();
        if chunks.peek().is_none() {
            self.answer(asker, reply::Body::ObservedAll(wire::ObservedAll { sandboxes: Vec::new(), last: true }));
        }
        while let Some(chunk) = chunks.next() {
            let part = wire::ObservedAll { sandboxes: chunk.to_vec(), last: chunks.peek().is_none() };
            self.answer(asker, reply::Body::ObservedAll(part));
        }
    }

    pub(crate) fn list(&mut self, asker: Asker, uid: u32) {
        let now = Instant::now();
        let all: Vec<_> = self.living(uid).map(|s| living(s, now)).collect();
        let mut chunks = all.chunks(PER_REPLY).peekable();
        if chunks.peek().is_none() {
            self.answer(asker, reply::Body::Listed(wire::Listed::default()));
        }
        while let Some(chunk) = chunks.next() {
            let listed = wire::Listed {
                sandboxes: chunk.iter().map(|s| s.sandbox.clone()).collect(),
                living: chunk.to_vec(),
                more: chunks.peek().is_some(),
            };
            self.answer(asker, reply::Body::Listed(listed));
        }
    }

    fn living(&self, uid: u32) -> impl Iterator<Item = &Sandbox> {
        let alive = |s: &&Sandbox| matches!(s.state, State::Running | State::Creating(_));
        self.sandboxes.values().filter(alive).filter(move |s| uid == 0 || s.owner_uid == uid)
    }
}

fn observed(cgroups: &Cgroups, sandbox: &Sandbox) -> wire::Observed {
    let (memory_bytes, pids) = cgroups.current(&sandbox.path);
    let (disk_used_bytes, inodes_used) = sandbox.disk.as_ref().and_then(Disk::used).unwrap_or_default();
    let asked = sandbox.request.as_ref().and_then(|r| r.limits).unwrap_or_default();
    let limits = wire::Limits {
        disk_bytes: asked.disk_bytes,
        inodes: asked.inodes,
        tmp_bytes: sandbox.tmp_bytes().unwrap_or(asked.tmp_bytes),
        io_bytes_per_second: asked.io_bytes_per_second,
        ..cgroups.limits(&sandbox.path)
    };
    wire::Observed {
        sandbox: sandbox.id.clone(),
        usage: Some(sandbox.usage(cgroups)),
        memory_bytes,
        pids,
        disk_used_bytes,
        inodes_used,
        frozen: sandbox.hold.frozen,
        io_bytes: cgroups.io_bytes(&sandbox.path),
        limits: Some(limits),
    }
}

fn living(sandbox: &Sandbox, now: Instant) -> wire::Living {
    // What is over but not yet ended has a moment left: 0 would mean that there is no such limit.
    let left = |at: Option<Instant>| at.map_or(0, |at| (at.saturating_duration_since(now).as_millis() as u64).max(1));
    wire::Living {
        sandbox: sandbox.id.clone(),
        group: sandbox.group.clone(),
        leased: sandbox.leased,
        frozen: sandbox.hold.frozen,
        lease_left_millis: left(sandbox.lease()),
        max_life_left_millis: left(sandbox.max_life()),
        template: sandbox.request.as_ref().map(|r| r.template.clone()).unwrap_or_default(),
    }
}
