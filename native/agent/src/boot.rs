//! The first packet: what the launcher hands to process 1.

use crate::error::{Context, Fatal};
use crate::meters::{Meters, V1Folders};
use crate::sys;
use caisson_wire::agent::{Boot, SocketFamilies};
use prost::Message;
use rustix::fd::OwnedFd;
use rustix::net::RecvFlags;

const MAX_BOOT: usize = 64 << 10;
/// More join descriptors than there are hierarchies make no sense.
const MAX_JOINS: u32 = 24;

/// What the agent knows of its sandbox.
pub struct Sandbox {
    /// The v2 folder in which groups of execs are made.
    pub groups: OwnedFd,
    /// `cgroup.procs` descriptors that a new spawner writes "0" to.
    pub joins: Vec<OwnedFd>,
    /// The counters of the sandbox's limits.
    pub meters: Meters,
    /// Fires on an out-of-memory event (v1).
    pub oom_event: Option<OwnedFd>,
    /// The seccomp list of user processes.
    pub families: SocketFamilies,
    /// Commands may run as uid 0 inside.
    pub root: bool,
    /// Memory limit, in bytes; 0 when none is set.
    pub memory_bytes: u64,
}

impl Sandbox {
    /// Limits live in v1 hierarchies.
    pub fn v1(&self) -> bool {
        self.meters.v1_memory().is_some()
    }
}

/// Waits for `Boot` on the life channel; also returns the agent's end of the spawner channel.
pub fn receive(life: &OwnedFd) -> Result<(Sandbox, OwnedFd), Fatal> {
    let packet = sys::receive(life, MAX_BOOT, RecvFlags::empty()).or_fatal("receive the boot packet")?;
    let boot = Boot::decode(&*packet.bytes).map_err(|_| Fatal::Boot("it does not decode"))?;
    if boot.version != caisson_wire::PROTOCOL_VERSION {
        return Err(Fatal::Boot("it has another version"));
    }
    if boot.join_count > MAX_JOINS {
        return Err(Fatal::Boot("it has too many join descriptors"));
    }
    let families = SocketFamilies::try_from(boot.families).map_err(|_| Fatal::Boot("its families are unknown"))?;
    let mut fds = packet.fds.into_iter();
    let mut next = || fds.next().ok_or(Fatal::Boot("a descriptor is missing"));
    let spawner = next()?;
    let groups = next()?;
    let joins = (0..boot.join_count).map(|_| next()).collect::<Result<Vec<_>, _>>()?;
    let (folders, oom_event) = if boot.v1 {
        (Some(V1Folders { memory: next()?, pids: next()?, cpu: next()? }), Some(next()?))
    } else {
        (None, None)
    };
    if next().is_ok() {
        return Err(Fatal::Boot("it has more descriptors than it says"));
    }
    if boot.root && sys::keeps_capabilities_of_root() {
        return Err(Fatal::Boot("root inside needs a process that loses its capabilities with uid 0"));
    }
    let meters = Meters::open(&groups, folders);
    let (root, memory_bytes) = (boot.root, boot.memory_bytes);
    Ok((Sandbox { groups, joins, meters, oom_event, families, root, memory_bytes }, spawner))
}
