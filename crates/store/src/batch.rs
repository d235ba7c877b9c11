//! How batches change with their members. Both stores use this, so that both count alike.

use std::collections::BTreeMap;

use redrive_model::batch::{Counters, EndRule, end_state};
use redrive_model::{BatchId, BatchState, Code, Failure, Offset, State};

use crate::{Finish, NewJob, Result, StoreError};

/// Failures are counted by such stretches of time, in milliseconds.
const MINUTE: i64 = 60_000;

/// How the counters of a batch change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BatchChange {
    /// Members that were added.
    pub total: i64,
    /// Members that completed.
    pub ok: i64,
    /// Members that failed, or that got a new generation after having failed.
    pub failed: i64,
    /// The failed ones among them that could never have worked.
    pub hard: i64,
    /// Members that were cancelled.
    pub cancelled: i64,
    /// Bytes that completed members made.
    pub bytes: i64,
    /// Members that failed, by code and the minute in which they did (milliseconds); less where one got a new generation.
    pub failures: BTreeMap<(Code, i64), i64>,
    /// No further members come.
    pub seal: bool,
    /// The new members come from one that still runs.
    pub split: bool,
    /// The newest member that failed.
    pub last_failure: Option<(Code, String)>,
    /// The newest dead letter of a member.
    pub dead_offset: Option<Offset>,
}

/// A batch as it is, or as it becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchCount {
    /// Where it is.
    pub state: BatchState,
    /// No further members come.
    pub sealed: bool,
    /// How many of what.
    pub counters: Counters,
}

impl BatchChange {
    /// Nothing but the seal.
    #[must_use]
    pub fn sealed() -> Self {
        Self { seal: true, ..Self::default() }
    }

    /// A member was added at this instant; one that was refused at the door has failed already.
    pub fn add(&mut self, job: &NewJob, at: i64) {
        self.total += 1;
        if let Some(failure) = &job.rejected {
            self.fail(failure, !failure.code.is_retryable(), None, at);
        }
    }

    /// A member's attempt ended for good at this instant.
    pub fn end(&mut self, finish: &Finish, state: State, dead: Option<Offset>, at: i64) {
        match (state, &finish.report.failure) {
            (State::Complete, _) => {
                self.ok += 1;
                self.bytes = self.bytes.saturating_add_unsigned(finish.bytes);
            }
            (State::Failed, Some(failure)) => self.fail(failure, finish.is_hard_failure(), dead, at),
            (State::Failed, None) => self.failed += 1,
            (State::Queued | State::Processing | State::Cancelled, _) => {}
        }
    }

    /// A member failed at this instant.
    pub fn fail(&mut self, failure: &Failure, hard: bool, dead: Option<Offset>, at: i64) {
        self.failed += 1;
        self.hard += i64::from(hard);
        *self.failures.entry((failure.code, minute(at))).or_default() += 1;
        self.last_failure = Some((failure.code, failure.public_message().to_owned()));
        self.dead_offset = dead.or(self.dead_offset);
    }

    /// A member that had failed with this code at that instant got a new generation.
    pub fn reopen(&mut self, failed_with: Option<Code>, at: Option<i64>) {
        self.failed -= 1;
        self.hard -= i64::from(failed_with.is_some_and(|code| !code.is_retryable()));
        if let (Some(code), Some(at)) = (failed_with, at) {
            *self.failures.entry((code, minute(at))).or_default() -= 1;
        }
    }

    /// What the batch becomes; `None` when nothing changes.
    pub fn apply(&self, id: BatchId, before: &BatchCount, rule: EndRule) -> Result<Option<BatchCount>> {
        if before.sealed && *self == Self::sealed() {
            return Ok(None);
        }
        if before.sealed && self.total > 0 && !(self.split && before.state == BatchState::Processing) {
            return Err(StoreError::Invalid(format!("batch {id} is sealed and takes no further members")));
        }
        let c = &before.counters;
        let counters = Counters {
            total: c.total.saturating_add_signed(self.total),
            ok: c.ok.saturating_add_signed(self.ok),
            failed: c.failed.saturating_add_signed(self.failed),
            hard: c.hard.saturating_add_signed(self.hard),
            cancelled: c.cancelled.saturating_add_signed(self.cancelled),
        };
        let sealed = before.sealed || self.seal;
        Ok(Some(BatchCount { state: end_state(&counters, sealed, rule), sealed, counters }))
    }
}

fn minute(at: i64) -> i64 {
    at.div_euclid(MINUTE).saturating_mul(MINUTE)
}
