//! The folder or bucket of people, for operators alone.

use redrive_api::{InFlightCleared, IntakeSettings, IntakeStatus};
use redrive_model::{Code, LeaseToken, State, WorkloadName};
use redrive_store::intake::{
    DocumentChange, DocumentFilter, FailureRecord, MAX_RETRIES, RecordFilter, Stage,
};
use redrive_store::{ActEnd, Page, PageRequest};

use super::Desk;
use crate::intake::{IntakeParts, last_look};
use crate::operator::Operator;
use crate::refusal::Refusal;

/// The workload whose jobs are documents.
const WORKLOAD: &str = "intake";
/// More open moves than this are not counted.
const MOST_MOVES: usize = 1_000;

impl Desk {
    /// The place; a server without one says so.
    pub(super) fn intake(&self) -> Result<&IntakeParts, Refusal> {
        let off = "This server takes no PDFs from a folder or a bucket: INTAKE_URL is not set.";
        self.intake.as_ref().ok_or_else(|| Refusal::new(Code::NotFound, off))
    }

    /// Whether there is such a place.
    pub(crate) fn has_intake(&self) -> bool {
        self.intake.is_some()
    }

    /// How it is.
    pub(crate) async fn intake_status(&self, _: Operator) -> Result<IntakeStatus, Refusal> {
        let (parts, store) = (self.intake()?, self.engine.store());
        let paused = store.paused().await?.iter().any(|name| name.is_empty() || name == WORKLOAD);
        let set = self.retries_set().await?;
        let (in_flight, waiting_retry) = self.in_flight(parts).await?;
        let counts = parts.store.document_counts(&parts.root).await?;
        let open_moves = parts.store.open_moves(&parts.root, 0, MOST_MOVES).await?.len() as u64;
        Ok(IntakeStatus {
            root: parts.root.clone(),
            paused,
            max_retries: set.unwrap_or(parts.max_retries),
            max_retries_from: if set.is_some() { "store" } else { "settings" }.to_owned(),
            max_in_flight: parts.max_in_flight as u64,
            in_flight,
            waiting_retry,
            interval_sec: parts.interval.as_secs_f64(),
            documents: counts.into_iter().map(|(stage, n)| (stage.as_str().to_owned(), n)).collect(),
            open_moves,
            last_look: last_look(&self.engine).await?,
        })
    }

    /// How often a document is tried again, where somebody has said so at run time.
    async fn retries_set(&self) -> redrive_store::Result<Option<u32>> {
        let set = self.engine.store().settings(MAX_RETRIES).await?;
        Ok(set.iter().find(|row| row.key == MAX_RETRIES).and_then(|row| row.value.parse().ok()))
    }

    /// Documents in work, and documents that wait for their next try.
    async fn in_flight(&self, parts: &IntakeParts) -> Result<(u64, u64), Refusal> {
        let live = parts.store.live_documents(&parts.root).await?;
        let queues = self.engine.store().queues().await?;
        let queue = queues.iter().find(|queue| queue.workload.as_str() == WORKLOAD);
        let resting = queue.map_or(0, |queue| queue.stats.waiting_retry).min(live);
        Ok((live - resting, resting))
    }

    /// Changes what is named.
    pub(crate) async fn change_intake(
        &self,
        operator: Operator,
        wanted: &IntakeSettings,
    ) -> Result<(), Refusal> {
        let parts = self.intake()?;
        let by = operator.by(None);
        if let Some(retries) = wanted.max_retries {
            let number = retries.to_string();
            let act = async {
                let before = self.retries_set().await?.unwrap_or(parts.max_retries);
                self.engine.store().set_setting(MAX_RETRIES, Some(&number), by.actor()).await?;
                Ok(before)
            };
            let words = |before: &u32| ActEnd::from(number.as_str()).from_to(before.to_string(), &number);
            self.engine.acted(&by, "intake.max_retries", WORKLOAD, act, words).await?;
        }
        let workload = WorkloadName::new(WORKLOAD).ok();
        match wanted.paused {
            Some(true) => self.engine.pause(workload.as_ref(), &by).await?,
            Some(false) => self.engine.resume(workload.as_ref(), &by).await?,
            None => {}
        }
        Ok(())
    }

    /// How many rows count though nothing is done for them any more.
    pub(crate) async fn count_in_flight(&self, _: Operator) -> Result<InFlightCleared, Refusal> {
        let parts = self.intake()?;
        let cleared = self.dead_rows(parts, false).await?;
        let (in_flight, _) = self.in_flight(parts).await?;
        Ok(InFlightCleared { cleared, in_flight })
    }

    /// Rows that count though nothing is done for them any more are ended as their jobs were.
    pub(crate) async fn clear_in_flight(&self, operator: Operator) -> Result<InFlightCleared, Refusal> {
        let parts = self.intake()?;
        let act = async {
            let before = parts.store.live_documents(&parts.root).await?;
            let cleared = self.dead_rows(parts, true).await?;
            Ok((cleared, before, parts.store.live_documents(&parts.root).await?))
        };
        let words = |(cleared, before, after): &(u64, u64, u64)| {
            let live = |n: &u64| format!("{n} in flight");
            ActEnd::from(format!("{cleared} cleared")).from_to(live(before), live(after))
        };
        let by = operator.by(None);
        let (cleared, ..) = self.engine.acted(&by, "intake.clear_in_flight", WORKLOAD, act, words).await?;
        let (in_flight, _) = self.in_flight(parts).await?;
        Ok(InFlightCleared { cleared, in_flight })
    }

    /// How many rows' jobs have ended; such a row is ended with them where that is wanted.
    async fn dead_rows(&self, parts: &IntakeParts, end: bool) -> redrive_store::Result<u64> {
        let filter = DocumentFilter {
            root: parts.root.clone(),
            stages: vec![Stage::Waiting, Stage::Processing],
            ..DocumentFilter::default()
        };
        let (mut cursor, mut cleared) = (None, 0);
        loop {
            let page = parts.store.documents(filter.clone(), PageRequest { limit: 200, cursor }).await?;
            for row in &page.rows {
                let stage = match self.engine.store().job(row.id).await?.map(|job| job.state) {
                    None => Stage::Gone,
                    Some(State::Failed | State::Cancelled) => Stage::Failed,
                    Some(State::Complete) => Stage::Done,
                    Some(State::Queued | State::Processing) => continue,
                };
                let (token, change) = (LeaseToken(i64::MAX), DocumentChange::stage(stage));
                let counts = !end || parts.store.change_document(row.id, token, change).await?;
                cleared += u64::from(counts);
            }
            cursor = page.next;
            if cursor.is_none() {
                return Ok(cleared);
            }
        }
    }

    /// A page of failure records.
    pub(crate) async fn failure_records(
        &self,
        _: Operator,
        filter: RecordFilter,
        page: PageRequest,
    ) -> Result<Page<FailureRecord>, Refusal> {
        Ok(self.intake()?.store.failure_records(filter, page).await?)
    }
}
