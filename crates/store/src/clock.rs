//! The one home of the wall clock.
//!
//! On SQLite the store's clock is this trait, read by the writer; on Postgres it is a function of the schema. Nothing
//! else decides leases, due times, breakers or retention.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use redrive_model::Timestamp;
use redrive_model::instant;

/// Something that knows what time it is.
pub trait Clock: Send + Sync + 'static {
    /// The present instant.
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one home of the wall clock")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// A clock that stands still until it is moved, for tests and simulation. Clones share the time.
#[derive(Debug, Clone)]
pub struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    /// A clock that shows `at`.
    #[must_use]
    pub fn new(at: Timestamp) -> Self {
        Self(Arc::new(AtomicI64::new(instant::to_millis(at))))
    }

    /// Moves it on.
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(instant::millis(by), Ordering::SeqCst);
    }

    /// Sets it, also back.
    pub fn set(&self, at: Timestamp) {
        self.0.store(instant::to_millis(at), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        instant::from_millis(self.0.load(Ordering::SeqCst))
    }
}
