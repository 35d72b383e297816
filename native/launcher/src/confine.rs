//! What the launcher gives up for itself before it listens to anybody. Its children inherit all of it.

use crate::error::{Doing, Result};
use crate::setup::{capset, last_capability};
use crate::sys;

/// Capabilities of linux/capability.h that making sandboxes needs: CHOWN, DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER, KILL, SETGID,
/// SETUID, SETPCAP, SYS_CHROOT, SYS_PTRACE (namespace files of process 1), SYS_ADMIN, SYS_RESOURCE, SYS_TIME (offsets of a
/// time namespace), MKNOD, AUDIT_CONTROL (login ids).
const NEEDED: [u32; 15] = [0, 1, 2, 3, 5, 6, 7, 8, 18, 19, 21, 24, 25, 27, 30];

/// Keeps the needed capabilities only, gains none by executing, and puts the launcher's filter on.
pub fn confine() -> Result<()> {
    let has = crate::setup::permitted().doing(|| "read the launcher's capabilities".into())?;
    let kept = NEEDED.iter().fold(0u64, |set, cap| set | 1 << cap) & has;
    for cap in (0..=last_capability()).filter(|cap| kept >> cap & 1 == 0) {
        sys::prctl(libc::PR_CAPBSET_DROP, u64::from(cap), 0)
            .doing(|| "drop a capability from the bounding set".into())?;
    }
    capset(kept, 0).doing(|| "drop capabilities".into())?;
    sys::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0).doing(|| "set no_new_privs".into())?;
    caisson_seccomp::install(caisson_seccomp::launcher()).doing(|| "put the launcher's seccomp filter on".into())
}
