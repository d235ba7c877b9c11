//! When our own surroundings are at fault: a full disk is no fault of any job. Claiming stops, loudly, and is tried again.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use redrive_model::{Failure, Target};
use tokio::time::Instant;

use super::{Worker, breakers};

/// The target that people see while there is no room.
const DISK: &str = "disk";
/// Between two tries at most.
const LONGEST: Duration = Duration::from_secs(60);

/// Until when nothing is claimed, and how long it was last time.
#[derive(Default)]
pub(crate) struct Surroundings {
    trouble: Mutex<Option<(Instant, Duration)>>,
}

impl Surroundings {
    /// Nothing is claimed before this.
    pub(crate) fn closed_until(&self) -> Option<Instant> {
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.map(|(until, _)| until).filter(|until| *until > Instant::now())
    }

    /// Closes for a while: longer when it was closed just before, but not longer for every job that ran into it together.
    fn close(&self, first: Duration) -> Option<Duration> {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let wait = match *trouble {
            Some((until, _)) if until > now => return None,
            Some((until, last)) if now < until + last => (last * 2).min(LONGEST),
            _ => first,
        };
        *trouble = Some((now + wait, wait));
        Some(wait)
    }
}

/// An attempt has met trouble that is not its own.
pub(crate) async fn met(worker: &Worker, failure: &Failure) {
    let Some(wait) = worker.surroundings.close(worker.options.poll) else { return };
    tracing::error!(
        event = "worker.no_room",
        error_code = failure.code.name(),
        wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
        "{}: nothing is claimed until there is room again",
        failure.message
    );
    if let Ok(disk) = Target::new(DISK) {
        breakers::throttle(worker, &disk, wait, None).await;
    }
}
