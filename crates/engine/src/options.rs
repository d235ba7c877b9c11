//! The numbers of a worker.

use std::sync::Arc;
use std::time::Duration;

use redrive_model::Target;
use redrive_model::breaker::Config;

/// The numbers of the breaker of each target.
pub type BreakerOf = Arc<dyn Fn(&Target) -> Config + Send + Sync>;

/// How an engine works. The defaults are those of the contract.
#[derive(Clone)]
pub struct Options {
    /// What operators call this process.
    pub name: String,
    /// Which build it is, recorded with its heartbeat.
    pub build: String,
    /// How long a lease lasts without being extended.
    pub lease_ttl: Duration,
    /// How often expired leases are looked for; with short leases, four times per lease.
    pub sweep: Duration,
    /// How many expired leases are taken back at once.
    pub reclaim_limit: usize,
    /// The queue is looked at at least this often, hint or no hint.
    pub poll: Duration,
    /// How long a drain waits for what runs.
    pub drain: Duration,
    /// At most so many handlers that ignored the end of their attempt are replaced; then the engine says that it is
    /// broken.
    pub stuck_limit: usize,
    /// How long a handler may take to end after it was told to.
    pub grace: Duration,
    /// How often jobs whose time is over are looked for.
    pub retention: Duration,
    /// Events are kept so long, and longer where a reader has not read them.
    pub keep_events: Duration,
    /// The numbers of each target's breaker.
    pub breaker: BreakerOf,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            name: "redrive".into(),
            build: env!("CARGO_PKG_VERSION").into(),
            lease_ttl: Duration::from_secs(60),
            sweep: Duration::from_secs(5),
            reclaim_limit: 100,
            poll: Duration::from_secs(5),
            drain: Duration::from_secs(25),
            stuck_limit: 8,
            grace: Duration::from_secs(5),
            retention: Duration::from_secs(600),
            keep_events: Duration::from_secs(30 * 24 * 3600),
            breaker: Arc::new(|_| Config::default()),
        }
    }
}

impl Options {
    /// Leases are extended this often: four times per lease.
    pub(crate) fn beat(&self) -> Duration {
        self.lease_ttl / 4
    }

    /// Short leases are looked for more often, or a job would wait longer for the look than for its lease.
    pub(crate) fn sweep(&self) -> Duration {
        self.sweep.min(self.beat())
    }

    /// How long a handler may take to end: never longer than what is left of its lease when it is told.
    pub(crate) fn grace(&self) -> Duration {
        self.grace.min(self.margin())
    }

    /// A fifth of the lease before it ends, side effects stop when it could not be extended.
    pub(crate) fn margin(&self) -> Duration {
        self.lease_ttl / 5
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("name", &self.name)
            .field("lease_ttl", &self.lease_ttl)
            .finish_non_exhaustive()
    }
}
