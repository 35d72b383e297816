//! A few threads for what takes long: copies of disks, file systems made and checked, memory taken back by the kernel. A job
//! hands back what is to be done with its result, and the launcher's loop does it: that alone changes sandboxes.
//!
//! Users take turns, one of them never has all threads, and what one of them may have waiting is bounded.

use crate::error::{Doing, Error, Result};
use crate::server::Server;
use caisson_wire::launcher as wire;
use rustix::event::{EventfdFlags, eventfd};
use std::collections::{HashMap, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

const THREADS: usize = 5;
/// Threads that work for one user at most: one is left for others.
const PER_USER: usize = THREADS - 1;
/// Requests of one user that are jobs, or become some.
const MAX_JOBS: usize = 256;

/// What the loop does with a job's result.
pub type Then = Box<dyn FnOnce(&mut Server) + Send>;
type Job = Box<dyn FnOnce() -> Then + Send>;

/// For whom a job is done. As long as it is there it counts as one of that user's, if it does.
pub struct Ticket {
    uid: u32,
    _count: Option<Arc<()>>,
}

impl Ticket {
    /// Of what is bounded otherwise.
    pub fn uncounted(uid: u32) -> Self {
        Self { uid, _count: None }
    }
}

/// One user's jobs; forgotten when there is none.
struct Turn {
    uid: u32,
    waiting: VecDeque<(Ticket, Job)>,
    running: usize,
}

/// Whose turn it is: the first one's that may have another thread.
#[derive(Default)]
struct Turns(VecDeque<Turn>);

impl Turns {
    fn add(&mut self, ticket: Ticket, job: Job) {
        let uid = ticket.uid;
        match self.0.iter_mut().find(|t| t.uid == uid) {
            Some(turn) => turn.waiting.push_back((ticket, job)),
            None => self.0.push_back(Turn { uid, waiting: [(ticket, job)].into(), running: 0 }),
        }
    }

    fn take(&mut self) -> Option<(Ticket, Job)> {
        let at = self.0.iter().position(|t| !t.waiting.is_empty() && t.running < PER_USER)?;
        let mut turn = self.0.remove(at)?;
        let next = turn.waiting.pop_front();
        turn.running += 1;
        self.0.push_back(turn);
        next
    }

    fn done(&mut self, uid: u32) {
        self.0.iter_mut().filter(|t| t.uid == uid).for_each(|t| t.running -= 1);
        self.0.retain(|t| t.running > 0 || !t.waiting.is_empty());
    }
}

/// The jobs that wait. The condition: another one may be taken.
#[derive(Default)]
struct Queue {
    turns: Mutex<Turns>,
    more: Condvar,
}

impl Queue {
    fn turns(&self) -> std::sync::MutexGuard<'_, Turns> {
        // Nothing is left half done under this lock.
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> (Ticket, Job) {
        let mut turns = self.turns();
        loop {
            match turns.take() {
                Some(next) => return next,
                None => turns = self.more.wait(turns).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

/// The threads' handle.
pub struct Workers {
    queue: Arc<Queue>,
    done: Receiver<Then>,
    under_way: usize,
    counts: HashMap<u32, Arc<()>>,
    /// Readable when a job is done.
    pub bell: Arc<OwnedFd>,
}

impl Workers {
    /// Starts the threads.
    pub fn start() -> Result<Self> {
        let queue = Arc::new(Queue::default());
        let (report, done) = channel();
        let bell =
            Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).doing(|| "make an eventfd".into())?);
        for _ in 0..THREADS {
            let (queue, report, ring) = (Arc::clone(&queue), Sender::clone(&report), Arc::clone(&bell));
            std::thread::Builder::new()
                .name("worker".into())
                .spawn(move || work(&queue, &report, &ring))
                .doing(|| "start a thread".into())?;
        }
        Ok(Self { queue, done, under_way: 0, counts: HashMap::new(), bell })
    }

    /// Lets a user have another job, or refuses it.
    pub fn admit(&mut self, uid: u32) -> Result<Ticket> {
        // One reference is the map's.
        self.counts.retain(|_, count| Arc::strong_count(count) > 1);
        let count = self.counts.entry(uid).or_default();
        if Arc::strong_count(count) > MAX_JOBS {
            return Err(Error::new(
                wire::ErrorKind::ErrorBusy,
                format!("{MAX_JOBS} requests of this user about disks and limits are under way"),
            )
            .remedy("wait for the answer of some, then ask again"));
        }
        Ok(Ticket { uid, _count: Some(Arc::clone(count)) })
    }

    /// Queues a job.
    pub fn submit(&mut self, ticket: Ticket, job: impl FnOnce() -> Then + Send + 'static) {
        self.queue.turns().add(ticket, Box::new(job));
        self.queue.more.notify_one();
        self.under_way += 1;
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

fn work(queue: &Queue, report: &Sender<Then>, bell: &OwnedFd) {
    loop {
        let (ticket, job) = queue.take();
        let then = job();
        queue.turns().done(ticket.uid);
        queue.more.notify_one();
        drop(ticket);
        if report.send(then).is_err() {
            return;
        }
        let _ = rustix::io::write(bell, &1u64.to_ne_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Job {
        Box::new(|| Box::new(|_| {}))
    }

    #[test]
    fn users_take_turns_and_one_of_them_never_has_all_threads() {
        let mut turns = Turns::default();
        for uid in [1, 1, 1, 1, 1, 1, 2, 2, 3] {
            turns.add(Ticket::uncounted(uid), job());
        }
        let mut taken = || turns.take().map(|(ticket, _)| ticket.uid);
        assert_eq!([(); 8].map(|()| taken()), [1, 2, 3, 1, 2, 1, 1, 0].map(|uid| (uid > 0).then_some(uid)));
        turns.done(2);
        assert!(turns.take().is_none(), "the other user's thread is of no use to this one");
        turns.done(1);
        assert_eq!(turns.take().map(|(ticket, _)| ticket.uid), Some(1));
        for uid in [1, 1, 1, 1, 2, 3] {
            turns.done(uid);
        }
        assert_eq!(turns.take().map(|(ticket, _)| ticket.uid), Some(1));
        turns.done(1);
        assert!(turns.0.is_empty(), "nothing is kept of users without jobs");
    }

    #[test]
    fn a_user_has_so_many_jobs_and_no_more() {
        let mut workers = Workers::start().unwrap();
        let mut tickets: Vec<_> = (0..MAX_JOBS).map(|_| workers.admit(1).unwrap()).collect();
        assert_eq!(workers.admit(1).err().unwrap().kind, wire::ErrorKind::ErrorBusy);
        assert!(workers.admit(2).is_ok());
        tickets.pop();
        tickets.push(workers.admit(1).unwrap());
        assert!(workers.admit(1).is_err());
        drop(tickets);
        assert!(workers.admit(2).is_ok());
        assert_eq!(workers.counts.len(), 1);
    }
}
