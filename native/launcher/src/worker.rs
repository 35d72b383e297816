//! A few threads for what takes long: copies of disks, file systems made and checked, memory taken back by the kernel. A job
//! hands back what is to be done with its result, and the launcher's loop does it: that alone changes sandboxes.

use crate::error::{Doing, Result};
use crate::server::Server;
use rustix::event::{EventfdFlags, eventfd};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

const THREADS: usize = 4;

/// What the loop does with a job's result.
pub type Then = Box<dyn FnOnce(&mut Server) + Send>;
type Job = Box<dyn FnOnce() -> Then + Send>;

/// The threads' handle.
pub struct Workers {
    queue: Sender<Job>,
    done: Receiver<Then>,
    under_way: usize,
    /// Readable when a job is done.
    pub bell: Arc<OwnedFd>,
}

impl Workers {
    /// Starts the threads.
    pub fn start() -> Result<Self> {
        let (queue, jobs) = channel::<Job>();
        let (report, done) = channel();
        let jobs = Arc::new(Mutex::new(jobs));
        let bell =
            Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).doing(|| "make an eventfd".into())?);
        for _ in 0..THREADS {
            let (jobs, report, ring) = (Arc::clone(&jobs), Sender::clone(&report), Arc::clone(&bell));
            std::thread::Builder::new()
                .name("worker".into())
                .spawn(move || work(&jobs, &report, &ring))
                .doing(|| "start a thread".into())?;
        }
        Ok(Self { queue, done, under_way: 0, bell })
    }

    /// Queues a job.
    pub fn submit(&mut self, job: impl FnOnce() -> Then + Send + 'static) {
        if self.queue.send(Box::new(job)).is_ok() {
            self.under_way += 1;
        }
    }

    /// Whether a job is waiting or running.
    pub fn is_busy(&self) -> bool {
        self.under_way > 0
    }

    /// Results since the last call.
    pub fn take_done(&mut self) -> Vec<Then> {
        let _ = rustix::io::read(&*self.bell, &mut [0u8; 8]);
        let done: Vec<_> = self.done.try_iter().collect();
        self.under_way -= done.len();
        done
    }
}

fn work(jobs: &Mutex<Receiver<Job>>, report: &Sender<Then>, bell: &OwnedFd) {
    loop {
        let next = match jobs.lock() {
            Ok(jobs) => jobs.recv(),
            Err(_) => return,
        };
        let Ok(job) = next else { return };
        if report.send(job()).is_err() {
            return;
        }
        let _ = rustix::io::write(bell, &1u64.to_ne_bytes());
    }
}
