//! One act on all waiting jobs that match: counted first, then done in pieces, with one line in the trail.

use redrive_model::{Code, JobId, Policy, Shown};
use redrive_store::{Acted, JobFilter, Matching, PageRequest};

use super::By;
use crate::{Engine, EngineError, Result};

/// Jobs of one piece.
const PIECE: usize = 200;
/// What waits: the states in which a job can be cancelled without ending a run.
const WAITING: [Shown; 5] =
    [Shown::Queued, Shown::Scheduled, Shown::WaitingRetry, Shown::WaitingBatch, Shown::Held];

/// What became of a cancellation of many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BulkCancelled {
    /// So many are cancelled.
    pub cancelled: u64,
    /// It stopped at its bound, and more may match.
    pub more: bool,
}

impl Engine {
    /// How many waiting jobs match now, and the newest of them: exactly these are cancelled, if nobody acts on them meanwhile and the filter
    /// says how far it goes ([`JobFilter::upto`]). Refused without a workload, for one of the engine's own, and for states in which a job does
    /// not wait.
    pub async fn count_waiting(&self, filter: JobFilter) -> Result<Matching<JobId>> {
        Ok(self.store().matching_jobs(self.waiting(filter)?).await?)
    }

    /// Cancels waiting jobs that match, the newest first and at most so many; what comes meanwhile is not meant, and what came since they were counted is
    /// not when the filter says how far it goes. One that a worker has taken
    /// since is left alone.
    pub async fn cancel_waiting(&self, filter: JobFilter, most: usize, by: &By) -> Result<BulkCancelled> {
        let filter = self.waiting(filter)?;
        let subject = format!("waiting jobs {}", which(&filter));
        let act = async {
            let keep = Policy::on_demand().keep.failed;
            let (mut seen, mut cancelled, mut cursor) = (0, 0, None);
            loop {
                let limit = PIECE.min(most - seen);
                let page = self.store().jobs(filter.clone(), PageRequest { limit, cursor }).await?;
                let jobs: Vec<_> = page.rows.iter().map(|row| row.id).collect();
                seen += jobs.len();
                if !jobs.is_empty() {
                    let acted = self.store().cancel(jobs, keep).await?;
                    cancelled += acted.iter().filter(|acted| **acted == Acted::Done).count() as u64;
                }
                cursor = page.next;
                if cursor.is_none() || seen >= most {
                    return Ok(BulkCancelled { cancelled, more: cursor.is_some() });
                }
            }
        };
        let words = |done: &BulkCancelled| match done.more {
            false => format!("{} cancelled", done.cancelled),
            true => format!("{} cancelled, more match", done.cancelled),
        };
        self.acted(by, "jobs.cancel", subject, act, words).await
    }

    /// The filter with what it cannot go without.
    fn waiting(&self, filter: JobFilter) -> Result<JobFilter> {
        let refused = |code: Code, words: &str| EngineError::refused(code, words.to_owned());
        let Some(workload) = &filter.workload else {
            let words = "say which kind of job: many are cancelled of one kind only";
            return Err(refused(Code::ValidationFilterRequired, words));
        };
        if self.is_chore(workload) {
            let words = "the engine's own jobs are not cancelled by the many";
            return Err(refused(Code::ConflictState, words));
        }
        if filter.shown.iter().any(|shown| !WAITING.contains(shown)) {
            let words = "only jobs that wait are cancelled by the many";
            return Err(refused(Code::ValidationInvalidField, words));
        }
        let shown = if filter.shown.is_empty() { WAITING.to_vec() } else { filter.shown.clone() };
        Ok(JobFilter { shown, ..filter })
    }
}

/// The words of a filter, for the trail.
fn which(filter: &JobFilter) -> String {
    let states: Vec<_> = filter.shown.iter().map(|shown| shown.as_str()).collect();
    let words = [
        ("workload", filter.workload.as_ref().map(ToString::to_string)),
        ("status", Some(states.join(","))),
        ("batch", filter.batch.map(|batch| batch.to_string())),
        ("since", filter.since.map(|since| since.to_string())),
        ("text", filter.text.clone()),
        ("up to", filter.upto.map(|upto| upto.to_string())),
    ];
    let said = words.into_iter().filter_map(|(name, value)| Some(format!("{name} {}", value?)));
    said.collect::<Vec<_>>().join(", ")
}
