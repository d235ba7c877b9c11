//! The operations of a random sequence, in the abstract.
//!
//! An operation names existing things by a number that counts from the newest one, so that it keeps a meaning when
//! operations before it are shrunk away. What it stands for is found in `resolve.rs`.

use redrive_model::group::GroupState;

/// One step of a sequence.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    /// What is done.
    pub(crate) op: Op,
    /// It is done through the harness's second handle, as another process would.
    pub(crate) elsewhere: bool,
}

/// What is done.
#[derive(Debug, Clone)]
pub(crate) enum Op {
    Enqueue(EnqueueOp),
    /// An earlier call again, word for word.
    EnqueueAgain(usize),
    Publish(u8),
    Claim(ClaimOp),
    /// By this worker, or by the one that was given the first of the leases.
    Extend {
        worker: Option<u8>,
        leases: Vec<LeasePick>,
        ttl: u8,
    },
    SaveState {
        lease: LeasePick,
        state: u8,
    },
    Finish(Vec<FinishOp>),
    /// An earlier call again, word for word.
    FinishAgain(usize),
    /// Takes back leases that have run out, at most so many.
    Reclaim {
        limit: usize,
        policy: u8,
    },
    Cancel {
        jobs: Vec<JobPick>,
        keep: Option<u8>,
    },
    Retry {
        jobs: Vec<JobPick>,
        replay: bool,
    },
    GiveUp {
        jobs: Vec<JobPick>,
        code: u8,
        keep: Option<u8>,
    },
    Reschedule {
        jobs: Vec<JobPick>,
        seconds: i32,
    },
    Discard(Vec<usize>),
    MoveGroup {
        group: usize,
        to: GroupState,
    },
    Pause(Option<u8>),
    Resume(Option<u8>),
    Breaker {
        target: u8,
        change: BreakerChange,
        stale: bool,
    },
    Beat {
        worker: u8,
        ttl: u8,
        draining: bool,
    },
    WantDrained {
        worker: u8,
        wanted: bool,
    },
    Expire(Vec<JobPick>),
    /// A whole sweep in chunks of so many.
    Purge {
        scan: usize,
    },
    PruneAttempts {
        job: JobPick,
        keep: usize,
    },
    Forget {
        hours: u8,
    },
    /// Moves the clock on, in milliseconds.
    Advance(u64),
}

/// Which job: the n-th newest of a kind, or of any kind when there is none of that.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JobPick {
    pub(crate) of: Kind,
    pub(crate) nth: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Any,
    Queued,
    Processing,
    Complete,
    Failed,
    /// A failed member of a batch that has ended.
    FailedMember,
    /// A member of a batch for which somebody waits.
    Awaited,
    /// One that never was.
    Unknown,
}

/// Which lease: the n-th newest.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LeasePick {
    /// Of those that stand.
    Standing(usize),
    /// Of those that stand on a job that has crashed before.
    Crashed(usize),
    /// Of those whose job runs under a newer one.
    Superseded(usize),
    /// Of all that were ever given.
    Given(usize),
    /// One that never was.
    Forged(usize),
}

#[derive(Debug, Clone)]
pub(crate) struct EnqueueOp {
    pub(crate) open: Option<BatchOp>,
    pub(crate) jobs: Vec<JobOp>,
    pub(crate) seal: Option<BatchPick>,
    /// Owner, key and request hash.
    pub(crate) idempotency: Option<(u8, u8, u8)>,
}

#[derive(Debug, Clone)]
pub(crate) struct BatchOp {
    /// Opens the n-th newest again instead of a new one.
    pub(crate) again: Option<usize>,
    pub(crate) tolerant: bool,
    pub(crate) owner: Option<u8>,
    pub(crate) keep: Option<u8>,
}

/// Which batch: the n-th newest.
#[derive(Debug, Clone, Copy)]
pub(crate) enum BatchPick {
    /// Of those that take members, or of all when there are none of these.
    Open(usize),
    /// Of those that have not ended, or of all when there are none of these.
    Running(usize),
    /// Of those for which somebody waits, or of those that have not ended.
    Awaited(usize),
    Any(usize),
    /// One that never was.
    Unknown,
}

#[derive(Debug, Clone)]
pub(crate) struct JobOp {
    /// Uses the id of a job that exists.
    pub(crate) again: Option<JobPick>,
    pub(crate) workload: u8,
    pub(crate) owner: Option<u8>,
    /// A bit for each target.
    pub(crate) targets: u8,
    pub(crate) priority: u8,
    pub(crate) when: WhenOp,
    pub(crate) cap: Option<u32>,
    pub(crate) dedupe: Option<u8>,
    pub(crate) batch: Option<BatchPick>,
    pub(crate) rejected: Option<u8>,
    pub(crate) keep: Option<u8>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum WhenOp {
    Now,
    In(u8),
    /// Seconds from now, also into the past.
    At(i8),
}

#[derive(Debug, Clone)]
pub(crate) struct ClaimOp {
    pub(crate) worker: u8,
    /// At most so many of each workload, in their order.
    pub(crate) wants: [u8; 3],
    pub(crate) limit: usize,
    pub(crate) ttl: u8,
    pub(crate) mode: ModeOp,
    /// A bit for each target without room.
    pub(crate) full: u8,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum ModeOp {
    Normal,
    Alone,
    /// Of this target, by the worker that claims.
    Probe(u8),
    /// By the worker that holds the probe, if there is one.
    RightProbe(usize),
}

#[derive(Debug, Clone)]
pub(crate) struct FinishOp {
    pub(crate) lease: LeasePick,
    pub(crate) expired: bool,
    pub(crate) outcome: OutcomeOp,
    pub(crate) policy: u8,
    pub(crate) draw: u64,
    /// New execution state.
    pub(crate) state: Option<u8>,
    /// The first target is blamed.
    pub(crate) blame: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum OutcomeOp {
    Complete {
        result: bool,
    },
    Failed {
        code: u8,
        retry_after: Option<u8>,
    },
    Snooze(u8),
    RescheduleNow,
    RescheduleIn(u8),
    RescheduleAt(i8),
    AwaitBatch(BatchPick),
    Released,
    Crashed,
    LeaseLost,
    /// Given up without a failure that says why, or without its group: that is refused.
    FailedWithout {
        group: bool,
    },
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum BreakerChange {
    Hold { seconds: Option<u8> },
    Release,
    Open,
    Throttle(u8),
    StartProbe(u8),
    ProbeGood,
    ProbeBad,
    Success,
}
