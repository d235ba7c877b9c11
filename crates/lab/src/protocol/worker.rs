//! The worker's side: a process with two slots, and the tasks in them.
//!
//! A task outlives its lease. That is the zombie the fence exists for, and because a worker has two slots it can hold
//! a zombie and the rightful task of the same job at once (fault row 9, the ABA case).

use super::JobId;

/// How many tasks one worker runs at once.
pub const SLOTS: usize = 2;

/// A worker's name, as the store sees it in `leased_by`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkerId(pub u8);

/// One execution inside a worker, from its claim to its last write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Task {
    /// The job that it runs.
    pub job: JobId,
    /// The lease token it was given and shows with every write.
    pub token: u8,
    /// Which claim of the job started it. Only the audit reads it: the protocol has no such number.
    pub claim: u8,
    /// The claim said that nothing else may run beside it.
    pub alone: bool,
}

/// One worker process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Worker {
    /// Stopped (SIGSTOP, a blocked runtime, a lost network): its tasks stay, and it neither claims nor writes.
    pub paused: bool,
    /// Running tasks, in order, so that which slot holds which task makes no difference between states.
    pub tasks: Vec<Task>,
}

impl Worker {
    /// Puts a task into a free slot.
    pub fn start(&mut self, task: Task) {
        self.tasks.push(task);
        self.tasks.sort_unstable();
    }

    /// Frees the task's slot.
    pub fn stop(&mut self, task: Task) {
        self.tasks.retain(|other| *other != task);
    }

    /// Whether this process still runs the task of that lease.
    pub fn runs(&self, job: JobId, token: u8) -> bool {
        self.tasks.iter().any(|task| task.job == job && task.token == token)
    }

    /// Whether the process may ask for work: a slot is free and nothing in it must run alone.
    pub fn has_room(&self) -> bool {
        self.tasks.len() < SLOTS && !self.tasks.iter().any(|task| task.alone)
    }
}
