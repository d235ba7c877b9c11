//! Batches: members are counted, and whoever waits is woken (decision 15).

use redrive_model::batch::{Counters, EndRule, end_state};
use redrive_model::limits::MAX_LABEL_BYTES;
use redrive_model::{
    BatchId, BatchState, Code, JobId, Offset, Owner, State, Timestamp, WorkloadName, instant, text,
};
use redrive_store::{BatchFailures, BatchRow, EventKind, NewBatch};
use std::collections::BTreeMap;
use std::time::Duration;

use super::super::call::Letter;
use super::{Newest, Reference};

/// How a member failed, and its dead letter if it has one.
pub(crate) type Ended = ((Code, String), Option<Letter>);

/// A batch. Its counters are not kept: see [`Reference::counters`].
#[derive(Debug, Clone)]
pub(crate) struct Batch {
    pub(crate) id: BatchId,
    pub(crate) workload: WorkloadName,
    pub(crate) owner: Option<Owner>,
    pub(crate) label: Option<String>,
    pub(crate) about: Option<String>,
    pub(crate) end_rule: EndRule,
    pub(crate) keep: Option<Duration>,
    pub(crate) sealed: bool,
    pub(crate) state: BatchState,
    pub(crate) bytes: u64,
    /// The newest member that failed, and the newest dead letter.
    pub(crate) newest: Newest<Ended>,
    pub(crate) last_failure_at: Option<Timestamp>,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
    pub(crate) finished_at: Option<Timestamp>,
    /// What was counted when it last changed.
    seen: (Counters, bool),
}

impl Batch {
    pub(super) fn new(new: &NewBatch, now: Timestamp) -> Self {
        Self {
            id: new.id,
            workload: new.workload.clone(),
            owner: new.owner.clone(),
            label: new.label.as_deref().map(|label| text::one_line(label, MAX_LABEL_BYTES, false)),
            about: new.about.clone(),
            end_rule: new.end_rule,
            keep: new.keep,
            sealed: false,
            state: BatchState::Processing,
            bytes: 0,
            newest: Newest::none(),
            last_failure_at: None,
            created_at: now,
            updated_at: now,
            finished_at: None,
            seen: (Counters::default(), false),
        }
    }

    /// When it and its members may be removed.
    pub(super) fn purge_at(&self) -> Option<Timestamp> {
        self.finished_at.zip(self.keep).map(|(at, keep)| instant::after(at, keep))
    }
}

impl Reference {
    /// Counts the members of a batch.
    pub(super) fn counters(&self, id: BatchId) -> Counters {
        let mut counters = Counters::default();
        for member in self.jobs.values().filter(|job| job.batch == Some(id)) {
            counters.total += 1;
            match member.state {
                State::Queued | State::Processing => {}
                State::Complete => counters.ok += 1,
                State::Cancelled => counters.cancelled += 1,
                State::Failed => {
                    counters.failed += 1;
                    let hard = member.failure.as_ref().is_some_and(|(code, _)| !code.is_retryable());
                    counters.hard += u64::from(hard);
                }
            }
        }
        counters
    }

    /// The failed members of a batch, by minute and code.
    pub(crate) fn batch_failures(&self, id: BatchId) -> Vec<BatchFailures> {
        let mut failures: BTreeMap<(Timestamp, Code), u64> = BTreeMap::new();
        for member in self.jobs.values().filter(|job| job.batch == Some(id)) {
            if let (Some((code, _)), Some(at)) = (&member.failure, member.finished_at) {
                *failures.entry((minute(at), *code)).or_default() += 1;
            }
        }
        let told = |((minute, code), jobs)| BatchFailures { minute, code, jobs };
        let mut failures: Vec<_> = failures.into_iter().map(told).collect();
        failures.sort_by_key(|f| (f.minute, f.code.name()));
        failures
    }

    /// After every change of a member: batches end or open again, and the end of one wakes whoever waits for it.
    pub(super) fn settle(&mut self) {
        let ids: Vec<BatchId> = self.batches.keys().copied().collect();
        for id in ids {
            let counters = self.counters(id);
            let now = self.now;
            let Some(batch) = self.batches.get_mut(&id) else { continue };
            if batch.seen == (counters, batch.sealed) {
                continue;
            }
            let was_ended = batch.state.is_ended();
            batch.seen = (counters, batch.sealed);
            batch.updated_at = now;
            batch.state = end_state(&counters, batch.sealed, batch.end_rule);
            batch.finished_at = batch.state.is_ended().then_some(now);
            if batch.state.is_ended() && !was_ended {
                self.batch_event(id, EventKind::BatchEnded);
                for waiting in self.jobs.values_mut().filter(|job| job.awaits == Some(id)) {
                    waiting.awaits = None;
                    waiting.due_at = now;
                }
            }
        }
    }

    /// The newest member that failed.
    pub(super) fn note_failure(&mut self, id: BatchId, failure: (Code, String), dead: Option<Letter>) {
        let (now, call) = (self.now, self.calls);
        if let Some(batch) = self.batches.get_mut(&id) {
            let before = batch.newest.last().and_then(|ended| ended.1);
            batch.newest.push(call, (failure, dead.or(before)));
            batch.last_failure_at = Some(now);
        }
    }

    /// As people see it. The offset is left to whoever compares: it differs from store to store.
    pub(crate) fn batch_row(&self, batch: &Batch) -> BatchRow {
        BatchRow {
            id: batch.id,
            workload: batch.workload.clone(),
            owner: batch.owner.clone(),
            label: batch.label.clone(),
            about: batch.about.clone(),
            state: batch.state,
            sealed: batch.sealed,
            counters: self.counters(batch.id),
            bytes: batch.bytes,
            end_rule: batch.end_rule,
            last_failure: batch.newest.last().map(|ended| ended.0.clone()),
            last_failure_at: batch.last_failure_at,
            dead_offset: batch.newest.last().and_then(|ended| ended.1).map(|_| Offset(0)),
            created_at: batch.created_at,
            updated_at: batch.updated_at,
            finished_at: batch.finished_at,
        }
    }

    /// Whether nobody need wait for it any more. One that is not known has ended, so that nobody waits for ever.
    pub(crate) fn has_ended(&self, id: BatchId) -> bool {
        self.batches.get(&id).is_none_or(|batch| batch.state.is_ended())
    }

    /// The live job with this key.
    pub(super) fn twin(&self, key: redrive_model::dedupe::DedupeKey) -> Option<JobId> {
        self.jobs.values().find(|job| job.holds_key(key)).map(|job| job.id)
    }
}

/// The minute that an instant lies in.
pub(crate) fn minute(at: Timestamp) -> Timestamp {
    instant::from_millis(instant::to_millis(at).div_euclid(60_000) * 60_000)
}
