//! The store's clock, as well as a worker can know it without asking.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use redrive_model::{Timestamp, instant};
use redrive_store::Store;
use tokio::time::Instant;

/// The store's instant at some moment of our monotonic clock. Nothing that is written down is decided by it: it dates
/// ids and tells handlers the time.
#[derive(Debug)]
pub struct StoreClock {
    anchor: Mutex<(Instant, Timestamp)>,
}

impl StoreClock {
    /// Asks the store once.
    pub async fn ask(store: &dyn Store) -> redrive_store::Result<Self> {
        let now = store.now().await?;
        Ok(Self { anchor: Mutex::new((Instant::now(), now)) })
    }

    /// The store's time, extrapolated.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        let (at, then) = *self.anchor.lock().unwrap_or_else(PoisonError::into_inner);
        instant::after(then, at.elapsed())
    }

    /// What the store said just now. Answers how far we were off.
    pub fn correct(&self, now: Timestamp) -> Duration {
        let believed = self.now();
        *self.anchor.lock().unwrap_or_else(PoisonError::into_inner) = (Instant::now(), now);
        instant::between(believed.min(now), believed.max(now))
    }
}
