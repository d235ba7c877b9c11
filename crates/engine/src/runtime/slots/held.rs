//! One lease in a worker's hands.

use redrive_model::{TargetSet, WorkloadName};
use redrive_store::{Claimed, Lease};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Why an attempt should come to an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// Its lease is gone.
    Lost,
    /// Its lease could not be extended in time: perhaps it is gone.
    Doubt,
    /// Its time is over.
    Timeout,
    /// The process drains.
    Drain,
}

/// One lease.
pub(super) struct Held {
    pub(super) workload: WorkloadName,
    pub(super) targets: TargetSet,
    pub(super) since: Instant,
    pub(super) cancel: CancellationToken,
    pub(super) why: Option<Why>,
    /// Its handler runs since then, and may until then.
    pub(super) runs: Option<(Instant, Instant)>,
    pub(super) stuck: bool,
    /// Its handler has ended, and that is being written.
    pub(super) ended: bool,
}

impl Held {
    pub(super) fn new(claimed: &Claimed) -> Self {
        Self {
            workload: claimed.workload.clone(),
            targets: claimed.targets.clone(),
            since: Instant::now(),
            cancel: CancellationToken::new(),
            why: None,
            runs: None,
            stuck: false,
            ended: false,
        }
    }

    pub(super) fn end(&mut self, why: Why) {
        self.why.get_or_insert(why);
        self.cancel.cancel();
    }
}

/// A job whose slot was free.
pub(crate) struct Started {
    pub(crate) claimed: Claimed,
    pub(crate) cancel: CancellationToken,
    /// When it was claimed, by our monotonic clock.
    pub(crate) since: Instant,
}

/// What a handler that ignores its end looks like from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stuck {
    pub(crate) lease: Lease,
    pub(crate) workload: WorkloadName,
    /// How many there are now.
    pub(crate) count: usize,
}
