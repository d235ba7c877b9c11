//! Whether the PDFs of failed jobs are still there, for pages that offer a retry.
//!
//! Retention keeps the source of what has failed, so it is hardly ever gone; but somebody may have removed it, and a button that
//! cannot work should say so. A page must not cost its place a question per row, over and over: what was seen is good for a while,
//! few questions are on their way at once, and a page waits only so long for them. What is not known by then counts as there; the
//! retry itself looks again, and what it finds is noted here.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::{StreamExt, stream};
use redrive_blob::{BlobError, Blobs, Key};
use redrive_model::JobId;
use tokio::time::{Instant, timeout};

/// What was seen is good for this long.
const FRESH: Duration = Duration::from_secs(60);
/// A page waits this long for what it does not know.
const PATIENCE: Duration = Duration::from_millis(250);
/// Questions of one page at once.
const AT_ONCE: usize = 8;
/// So much is remembered.
const MOST: usize = 10_000;

/// What is known of sources. Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct Sources {
    place: Arc<dyn Blobs>,
    seen: Arc<Mutex<HashMap<JobId, Seen>>>,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    at: Instant,
    gone: bool,
}

impl Sources {
    pub(crate) fn new(place: Arc<dyn Blobs>) -> Self {
        Self { place, seen: Arc::default() }
    }

    /// Which of these are known to be gone.
    pub(crate) async fn gone(&self, wanted: Vec<(JobId, Key)>) -> HashSet<JobId> {
        let ids: Vec<JobId> = wanted.iter().map(|(id, _)| *id).collect();
        let unknown = self.begin(wanted);
        if !unknown.is_empty() {
            let this = self.clone();
            let looking = tokio::spawn(async move { this.look(unknown).await });
            // It goes on when the page does not wait any more.
            let _ = timeout(PATIENCE, looking).await;
        }
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        ids.into_iter().filter(|id| seen.get(id).is_some_and(|seen| seen.gone)).collect()
    }

    /// A retry has found that it is gone.
    pub(crate) fn note_gone(&self, id: JobId) {
        self.note(id, true);
    }

    /// Those that must be asked for. From now on nobody else asks for them.
    fn begin(&self, wanted: Vec<(JobId, Key)>) -> Vec<(JobId, Key)> {
        let now = Instant::now();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let is_old = |seen: &Seen| now.duration_since(seen.at) >= FRESH;
        let mut unknown = wanted;
        unknown.retain(|(id, _)| seen.get(id).is_none_or(is_old));
        if seen.len() + unknown.len() > MOST {
            seen.retain(|_, seen| !is_old(seen));
        }
        if seen.len() + unknown.len() > MOST {
            seen.clear();
        }
        for (id, _) in &unknown {
            let gone = seen.get(id).is_some_and(|seen| seen.gone);
            seen.insert(*id, Seen { at: now, gone });
        }
        unknown
    }

    async fn look(&self, unknown: Vec<(JobId, Key)>) {
        let asked = stream::iter(unknown).for_each_concurrent(AT_ONCE, |(id, key)| async move {
            match self.place.head(&key).await {
                Ok(_) => self.note(id, false),
                Err(BlobError::NotFound { .. }) => self.note(id, true),
                // The place cannot tell: a retry may be tried.
                Err(_) => {}
            }
        });
        asked.await;
    }

    fn note(&self, id: JobId, gone: bool) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.insert(id, Seen { at: Instant::now(), gone });
    }
}
