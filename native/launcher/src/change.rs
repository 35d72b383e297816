//! New limits of a living sandbox: all of them, or none.

use crate::cgroup::{Cgroups, SPAWNER, children, number_at, write_at};
use crate::error::{Doing, Error, Result};
use crate::freeze::running;
use crate::request;
use crate::sandbox::{Asker, tmp_bytes};
use crate::server::{Server, no_sandbox};
use crate::setup;
use crate::sys;
use caisson_wire::launcher::{self as wire, reply};
use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What a change touches; copies of descriptors, since the sandbox may end meanwhile.
struct Target {
    cgroups: Arc<Cgroups>,
    path: String,
    device: Option<String>,
    /// /dev/shm and /tmp.
    tmpfs: Vec<OwnedFd>,
    disk: OwnedFd,
}

impl Server {
    /// Checks a `SetLimits` and lets a worker do it: memory that must be taken back first may take the kernel a while.
    pub(crate) fn set_limits(&mut self, asker: Asker, uid: u32, change: &wire::SetLimits) -> Result<()> {
        let Some(new) = change.limits else { return Err(Error::invalid("limits are missing")) };
        let id = change.sandbox.clone();
        let sandbox = running(&mut self.sandboxes, &id, uid)?;
        request::limits(&new)?;
        let old = sandbox.request.as_ref().and_then(|r| r.limits).unwrap_or_default();
        if (new.disk_bytes, new.inodes) != (old.disk_bytes, old.inodes) {
            return Err(Error::invalid(format!(
                "a disk keeps its size: disk_bytes must be {} and inodes {}",
                old.disk_bytes, old.inodes
            )));
        }
        if sandbox.changing {
            return Err(Error::new(
                wire::ErrorKind::ErrorBusy,
                format!("the limits of sandbox {id} are being changed"),
            ));
        }
        let Some(disk) = &sandbox.disk else { return Err(no_sandbox(&id)) };
        if new.io_bytes_per_second != old.io_bytes_per_second {
            let why = match &disk.device {
                None => Some("its disk is a folder"),
                Some(_) if self.parts.cgroups.limits_in_v1() && !sandbox.limits_io => {
                    Some("this host's block I/O controller is cgroup v1")
                }
                Some(_) => None,
            };
            if let Some(why) = why {
                return Err(Error::new(
                    wire::ErrorKind::ErrorNotSupported,
                    format!("sandbox {id} was made without an I/O rate and cannot get one later: {why}"),
                )
                .remedy("ask for an I/O rate when the sandbox is made; it can be changed then"));
            }
        }
        let copy = |fd: &OwnedFd| rustix::io::fcntl_dupfd_cloexec(fd, 3).doing(|| "copy a descriptor".into());
        let target = Target {
            cgroups: Arc::clone(&self.parts.cgroups),
            path: sandbox.path.clone(),
            device: disk.device.clone(),
            tmpfs: sandbox.tmpfs.iter().map(copy).collect::<Result<_>>()?,
            disk: copy(&disk.mount)?,
        };
        let ticket = self.workers.admit(uid)?;
        sandbox.changing = true;
        let ending = Arc::clone(&sandbox.ending);
        self.workers.submit(ticket, move || {
            let outcome = target.change(&old, &new);
            Box::new(move |server| server.changed(asker, &id, &ending, new, outcome))
        });
        Ok(())
    }

    fn changed(&mut self, asker: Asker, id: &str, ending: &Arc<AtomicBool>, limits: wire::Limits, outcome: Result<()>) {
        // One of the same name may have come after it.
        let Some(sandbox) = self.sandboxes.get_mut(id).filter(|s| Arc::ptr_eq(&s.ending, ending)) else {
            return self.refuse(asker, &no_sandbox(id));
        };
        sandbox.changing = false;
        match outcome {
            Ok(()) => {
                if let Some(request) = &mut sandbox.request {
                    request.limits = Some(limits);
                }
                self.answer(asker, reply::Body::Done(wire::Done {}));
            }
            Err(error) => self.refuse(asker, &error),
        }
    }
}

impl Target {
    /// What cannot be done is undone: the old limits are set again, all of them.
    fn change(&self, old: &wire::Limits, new: &wire::Limits) -> Result<()> {
        self.set(old, new).inspect_err(|_| {
            let _ = self.set(new, old);
        })
    }

    /// What is likeliest to be refused goes first.
    fn set(&self, old: &wire::Limits, new: &wire::Limits) -> Result<()> {
        for mount in &self.tmpfs {
            let size = CString::new(tmp_bytes(new).to_string()).unwrap_or_default();
            sys::reconfigure(mount.as_fd(), c"size", &size)
                .doing(|| format!("make /tmp and /dev/shm {} bytes large", tmp_bytes(new)))
                .map_err(
                    |e| if e.errno == libc::EINVAL { busy("files in /tmp or /dev/shm take more", e) } else { e },
                )?;
        }
        self.set_memory(new.memory_bytes)?;
        self.cgroups.set_pids(&self.path, new.pids + 1)?;
        self.cgroups.set_cpu_quota(&self.path, new.cpu_millis)?;
        if let (Some(device), true) = (&self.device, old.io_bytes_per_second != new.io_bytes_per_second) {
            self.cgroups.limit_io(&self.path, new.io_bytes_per_second, device)?;
        }
        setup::rewrite_meminfo(self.disk.as_fd(), new.memory_bytes).doing(|| "write /proc/meminfo".into())
    }

    fn set_memory(&self, bytes: u64) -> Result<()> {
        if self.cgroups.limits_in_v1() {
            return self
                .cgroups
                .set_memory(&self.path, bytes)
                .map_err(|e| if e.errno == libc::EBUSY { busy("the sandbox uses more memory", e) } else { e });
        }
        // A v2 limit below what is in use would not be refused but kill.
        let v2 = self.cgroups.v2();
        let in_use = || number_at(v2, &format!("{}/memory.current", self.path)).unwrap_or_default();
        let above = in_use().saturating_sub(bytes);
        if above > 0 {
            let _ = write_at(v2, &format!("{}/memory.reclaim", self.path), &above.to_string());
            if in_use() > bytes {
                let error = Error::new(wire::ErrorKind::ErrorBusy, format!("set memory.max to {bytes}"));
                return Err(busy("the sandbox uses more memory", error));
            }
        }
        self.cgroups.set_memory(&self.path, bytes)?;
        // Each exec has the same limit once more, so that the kernel can name the victim.
        for group in children(v2, &self.path).iter().filter(|name| *name != SPAWNER) {
            let _ = write_at(v2, &format!("{}/{group}/memory.max", self.path), &bytes.to_string());
        }
        Ok(())
    }
}

fn busy(why: &str, error: Error) -> Error {
    Error { kind: wire::ErrorKind::ErrorBusy, message: format!("{}: {why}", error.message), ..error }
        .remedy("make room first, or ask for more")
}
