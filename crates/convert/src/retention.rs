//! Removing PDFs and XML whose time is over, and files that no row knows.
//!
//! The files are walked, the rows decide: every name tells its job. So there is no second list of artifacts that could differ
//! from the disk, and a file that a crash left behind is found like any other. What waits or has failed keeps its source:
//! there is never a queued job without one, and a failed one can be tried again as long as its row is kept.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use redrive_blob::{Blobs, Key, ReferenceError, References, Sweep, Swept, sweep};
use redrive_engine::model::{JobId, State, Timestamp, instant};
use redrive_engine::store::{JobRow, Store};
use redrive_engine::{Code, Context, Done, Failure, Permanent};

use crate::made::Made;

/// A file without a row is an orphan only after this: its row may be on its way.
const GRACE: Duration = Duration::from_secs(24 * 3600);
/// After a walk that had more to do than one walk does.
const SOON: Duration = Duration::from_secs(1);

/// How long what is kept.
#[derive(Debug, Clone, Copy)]
pub struct RetentionOptions {
    /// A PDF, after its job is complete.
    pub pdf: Duration,
    /// An XML, after its job is complete.
    pub xml: Duration,
    /// Between two walks.
    pub every: Duration,
}

/// The permanent job that walks over both places.
#[derive(Clone)]
pub struct Retention {
    store: Arc<dyn Store>,
    sources: Arc<dyn Blobs>,
    results: Arc<dyn Blobs>,
    options: RetentionOptions,
}

impl Retention {
    /// Walks over these places; the store says what is still needed.
    #[must_use]
    pub fn new(
        store: Arc<dyn Store>,
        sources: Arc<dyn Blobs>,
        results: Arc<dyn Blobs>,
        options: RetentionOptions,
    ) -> Self {
        Self { store, sources, results, options }
    }

    /// One walk. Answers what it did with sources and results.
    pub async fn walk(&self) -> Result<(Swept, Swept), Failure> {
        let now = self.store.now().await.map_err(|error| Failure::new(error.code(), error))?;
        let sources = self.one(&*self.sources, Kept::Source, self.options.pdf, now).await?;
        let results = self.one(&*self.results, Kept::Result, self.options.xml, now).await?;
        Ok((sources, results))
    }

    async fn one(
        &self,
        place: &dyn Blobs,
        kept: Kept,
        keep: Duration,
        now: Timestamp,
    ) -> Result<Swept, Failure> {
        let rows = Rows { store: self.store.clone(), kept, keep, now };
        let plan = Sweep { older_than: keep.min(GRACE), ..Sweep::at(now) };
        match sweep(place, &rows, &plan).await {
            Ok(swept) => Ok(swept),
            Err(error) => Err(Failure::new(Code::StorageUnavailable, format!("{error}: {}", error.why))),
        }
    }
}

impl Permanent for Retention {
    async fn run(&self, _: Context) -> Result<Done, Failure> {
        let (sources, results) = self.walk().await?;
        if sources.deleted + results.deleted > 0 {
            tracing::info!(
                event = "retention.expired",
                pdfs = sources.deleted,
                xmls = results.deleted,
                bytes = sources.deleted_bytes + results.deleted_bytes,
                "removed files whose time was over"
            );
        }
        let through = sources.through && results.through;
        Ok(Done::RescheduleIn(if through { self.options.every } else { SOON.min(self.options.every) }))
    }
}

/// What kind of file a place holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// `<job>.pdf`.
    Source,
    /// `<job>/<token>.xml`.
    Result,
}

/// The rows, asked which files they need.
struct Rows {
    store: Arc<dyn Store>,
    kept: Kept,
    keep: Duration,
    now: Timestamp,
}

#[async_trait]
impl References for Rows {
    async fn referenced(&self, keys: &[Key]) -> Result<HashSet<Key>, ReferenceError> {
        let mut needed = HashSet::new();
        let mut over = Vec::new();
        for key in keys {
            // A name that is none of ours is somebody else's file.
            let Some(job) = job_of(key) else {
                needed.insert(key.clone());
                continue;
            };
            match self.store.job(job).await? {
                None if instant::after(job.made_at(), GRACE) > self.now => drop(needed.insert(key.clone())),
                None => {}
                Some(row) if self.is_needed(&row, key) => drop(needed.insert(key.clone())),
                Some(row) if self.kept == Kept::Result && refers_to(&row, key) => over.push(job),
                Some(_) => {}
            }
        }
        // The row says first that the result is over: whoever asks in between hears EXPIRED, not an error.
        if !over.is_empty() {
            self.store.expire(over).await?;
        }
        Ok(needed)
    }
}

impl Rows {
    fn is_needed(&self, row: &JobRow, key: &Key) -> bool {
        let young = row.finished_at.is_none_or(|at| instant::after(at, self.keep) > self.now);
        match (self.kept, row.state) {
            (Kept::Source, State::Complete) => young,
            (Kept::Source, _) => true,
            (Kept::Result, State::Complete) => young && refers_to(row, key),
            (Kept::Result, State::Failed | State::Cancelled) => false,
            // An attempt may be about to adopt it.
            (Kept::Result, _) => true,
        }
    }
}

fn refers_to(row: &JobRow, key: &Key) -> bool {
    row.result.as_deref().and_then(Made::parse).is_some_and(|made| made.key == key.as_str())
}

/// The job that a file belongs to.
fn job_of(key: &Key) -> Option<JobId> {
    let first = key.segments().next()?;
    first.strip_suffix(".pdf").unwrap_or(first).parse().ok()
}
