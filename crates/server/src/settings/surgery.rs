//! One examination at a time, and the newest one remembered.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redrive_api::{Examination, Finding, FindingLevel};
use redrive_model::Timestamp;
use tokio::sync::watch;

use super::Examine;

/// Longer than this nobody is examined: with very many jobs the auditor takes its time, and a database that hangs must not end all
/// examinations for ever.
const LONGEST: Duration = Duration::from_secs(15 * 60);

/// Where examinations are made.
pub(crate) struct Surgery {
    examine: Examine,
    state: Arc<Mutex<Known>>,
    /// How many have ended.
    ended: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Known {
    running_since: Option<Timestamp>,
    newest: Option<(Timestamp, Vec<Finding>)>,
}

impl Surgery {
    pub(crate) fn new(examine: Examine) -> Self {
        Self { examine, state: Arc::default(), ended: watch::Sender::new(0) }
    }

    /// Begins one that goes on by itself; none when one is under way. Answers whether it did. `ended` tells the time at its end.
    pub(crate) fn start(
        &self,
        now: Timestamp,
        ended: impl Future<Output = Option<Timestamp>> + Send + 'static,
    ) -> bool {
        {
            let mut known = lock(&self.state);
            if known.running_since.is_some() {
                return false;
            }
            known.running_since = Some(now);
        }
        let running = Running { state: self.state.clone(), told: self.ended.clone() };
        let examining = (self.examine)();
        tokio::spawn(async move {
            let found = match tokio::time::timeout(LONGEST, examining).await {
                Ok(found) => found,
                Err(_) => vec![Finding::bad(
                    "doctor",
                    format!("it was not done within {} minutes", LONGEST.as_secs() / 60),
                    "Run redrive doctor on the server’s machine: it tells each finding when all are there, however long that takes.",
                )],
            };
            let at = ended.await.unwrap_or(now);
            lock(&running.state).newest = Some((at, found));
        });
        true
    }

    /// Waits until none is under way, but no longer than this.
    pub(crate) async fn wait(&self, longest: Duration) {
        let mut ended = self.ended.subscribe();
        let done = async {
            while lock(&self.state).running_since.is_some() {
                if ended.changed().await.is_err() {
                    return;
                }
            }
        };
        let _ = tokio::time::timeout(longest, done).await;
    }

    /// What is known.
    pub(crate) fn newest(&self) -> Examination {
        let known = lock(&self.state);
        let (at, findings) = known.newest.clone().unzip();
        let findings: Vec<Finding> = findings.unwrap_or_default();
        let well = findings.iter().all(|finding| finding.level != FindingLevel::Bad);
        Examination { running_since: known.running_since, finished_at: at, well: at.map(|_| well), findings }
    }
}

/// An examination that is under way. However it ends, the next one may begin.
struct Running {
    state: Arc<Mutex<Known>>,
    told: watch::Sender<u64>,
}

impl Drop for Running {
    fn drop(&mut self) {
        lock(&self.state).running_since = None;
        self.told.send_modify(|ended| *ended += 1);
    }
}

fn lock(state: &Mutex<Known>) -> MutexGuard<'_, Known> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::sync::Semaphore;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[tokio::test]
    async fn one_is_made_at_a_time_and_the_newest_is_remembered() {
        let (begun, gate) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
        let (counted, waits) = (begun.clone(), gate.clone());
        let surgery = Surgery::new(Arc::new(move || {
            let (n, waits) = (counted.fetch_add(1, Ordering::SeqCst), waits.clone());
            Box::pin(async move {
                waits.acquire().await.unwrap().forget();
                vec![Finding::bad("n", n.to_string(), "do it")]
            })
        }));
        let none = surgery.newest();
        assert_eq!((none.running_since, none.well), (None, None));
        surgery.start(at(1), async { Some(at(5)) });
        surgery.start(at(2), async { Some(at(6)) });
        assert_eq!((surgery.newest().running_since, begun.load(Ordering::SeqCst)), (Some(at(1)), 1));
        gate.add_permits(1);
        surgery.wait(Duration::from_secs(30)).await;
        let first = surgery.newest();
        assert_eq!((first.running_since, first.finished_at, first.well), (None, Some(at(5)), Some(false)));
        assert_eq!(first.findings[0].what, "0");
        surgery.start(at(7), async { Some(at(8)) });
        assert_eq!(surgery.newest().findings, first.findings, "the last one is shown meanwhile");
        gate.add_permits(1);
        surgery.wait(Duration::from_secs(30)).await;
        assert_eq!(surgery.newest().findings[0].what, "1");
    }

    #[tokio::test]
    async fn one_that_panics_keeps_nobody_from_the_next() {
        let tries = Arc::new(AtomicUsize::new(0));
        let surgery = Surgery::new(Arc::new(move || {
            let n = tries.fetch_add(1, Ordering::SeqCst);
            Box::pin(async move {
                assert!(n > 0, "the first one dies");
                vec![Finding::good("n", "fine")]
            })
        }));
        for _ in 0..2 {
            surgery.start(at(1), async { None });
            surgery.wait(Duration::from_secs(30)).await;
        }
        assert_eq!(surgery.newest().well, Some(true));
    }
}
