//! Who waits for which job, and the one reader of events that tells them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redrive_model::{EventSeq, JobId};
use redrive_store::{EventKind, Store};
use tokio::sync::oneshot;

/// Between two looks when nothing happened. Workers never wait for it: enough files are on their way.
const LOOK: Duration = Duration::from_millis(15);
const AT_ONCE: usize = 1_000;

#[derive(Debug, Default)]
struct Waiting {
    jobs: HashMap<JobId, Vec<oneshot::Sender<()>>>,
    closed: bool,
}

/// Those who wait. Clones are the same.
#[derive(Debug, Clone, Default)]
pub(super) struct Endings(Arc<Mutex<Waiting>>);

impl Endings {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Is done when this job ends, or when nothing more will. Whoever asks before the job is handed in misses nothing.
    pub(super) fn of(&self, job: JobId) -> oneshot::Receiver<()> {
        let (tell, told) = oneshot::channel();
        let mut waiting = self.waiting();
        if !waiting.closed {
            waiting.jobs.entry(job).or_default().push(tell);
        }
        told
    }

    /// Nothing more will end.
    pub(super) fn close(&self) {
        let mut waiting = self.waiting();
        waiting.closed = true;
        waiting.jobs.clear();
    }

    /// Reads events from here on, until it is dropped.
    pub(super) async fn read(self, store: Arc<dyn Store>, mut after: EventSeq) {
        loop {
            match store.events_after(after, AT_ONCE).await {
                Ok(events) if events.is_empty() => tokio::time::sleep(LOOK).await,
                Ok(events) => {
                    for event in events {
                        after = event.seq;
                        let ended = match event.kind {
                            EventKind::Complete | EventKind::Failed | EventKind::Cancelled => true,
                            EventKind::Queued
                            | EventKind::Processing
                            | EventKind::Retry
                            | EventKind::Snoozed
                            | EventKind::Released
                            | EventKind::Reclaimed
                            | EventKind::Expired
                            | EventKind::BatchEnded
                            | EventKind::Published => false,
                        };
                        let job = event.job.filter(|_| ended);
                        for tell in job.and_then(|job| self.waiting().jobs.remove(&job)).unwrap_or_default() {
                            let _ = tell.send(());
                        }
                    }
                }
                Err(error) => {
                    tracing::warn!(event = "convert.events", "{error}");
                    tokio::time::sleep(LOOK * 10).await;
                }
            }
        }
    }
}
