//! The store's statements: what each verb does to one row, in one atomic step.
//!
//! Every statement sets only the columns that its SQL would set. The callers check the condition (`WHERE`) first; a
//! worker's statements all share one, [`Rules::admits`].

use super::row::{Failure, JobState, LeaseTime, Row};
use super::rules::{Rules, Variant};
use super::worker::WorkerId;

/// What a worker can write about a task of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Write {
    /// Heartbeat.
    Extend,
    /// The handler succeeded.
    Complete,
    /// The handler failed in a way that policy retries under the cap.
    Fail,
    /// Drain: the lease is given back before the work is done.
    Release,
}

impl Write {
    /// All writes, so that the model offers each of them to each task.
    pub const ALL: [Self; 4] = [Self::Extend, Self::Complete, Self::Fail, Self::Release];

    /// The writes after which a task is over, taken or refused. A heartbeat is none of them, not even a refused one: a
    /// handler may ignore that it was cancelled.
    pub const LAST: [Self; 3] = [Self::Complete, Self::Fail, Self::Release];
}

impl Row {
    /// Whether a claim may take this row. Attempts beyond the cap are refused as the CHECK constraint would.
    pub fn is_claimable(&self, rules: Rules) -> bool {
        self.state == JobState::Queued && self.attempts < rules.cap
    }

    /// `queued → processing`: raises the token and charges the attempt.
    pub fn claim(&mut self, rules: Rules, worker: WorkerId) {
        self.state = JobState::Processing;
        self.lease_token += 1;
        self.leased_by = Some(worker);
        self.lease_time = Some(LeaseTime::Left);
        if rules.variant.charges_at_claim() {
            self.attempts += 1;
        }
    }

    /// A worker's write that the fence has admitted.
    pub fn write(&mut self, rules: Rules, write: Write, token: u8) {
        match write {
            Write::Extend => self.lease_time = Some(LeaseTime::Left),
            Write::Complete => {
                self.charge_finished(rules);
                self.end_lease(JobState::Complete);
                self.result = Some(token);
            }
            Write::Fail => {
                self.charge_finished(rules);
                self.requeue_or_fail(rules);
            }
            Write::Release => self.release(rules),
        }
    }

    /// Gives the lease back. While the generation has refunds left it gives the attempt back too; after that the
    /// attempt stays charged, and a job whose attempts are spent must fail here because no claim would take it again.
    fn release(&mut self, rules: Rules) {
        if self.refunds < rules.refunds || rules.variant == Variant::UnlimitedReleases {
            self.refunds += 1;
            if rules.variant.charges_at_claim() {
                self.attempts = self.attempts.saturating_sub(1);
            }
            self.end_lease(JobState::Queued);
        } else if rules.variant == Variant::SpentReleaseQueues {
            self.end_lease(JobState::Queued);
        } else {
            self.charge_finished(rules);
            self.requeue_or_fail(rules);
        }
    }

    /// The sweep found the lease over. The attempt stays charged; a crash is counted apart from it.
    pub fn reclaim(&mut self, rules: Rules, holder_is_gone: bool) {
        let crashed_alone = holder_is_gone && self.runs_alone();
        if holder_is_gone {
            self.crashes += 1;
        }
        if crashed_alone {
            self.fail(Failure::Quarantined);
        } else {
            self.requeue_or_fail(rules);
        }
    }

    /// `failed → queued` by a person: a new generation whose counters start from 0. The token goes on counting.
    pub fn retry_by_hand(&mut self, rules: Rules) {
        self.state = JobState::Queued;
        self.generation += 1;
        self.attempts = 0;
        self.crashes = 0;
        self.refunds = 0;
        self.failure = None;
        self.open_dead_letters = 0;
        if rules.variant == Variant::TokenResetByRetry {
            self.lease_token = 0;
        }
    }

    fn charge_finished(&mut self, rules: Rules) {
        if !rules.variant.charges_at_claim() {
            self.attempts += 1;
        }
    }

    fn requeue_or_fail(&mut self, rules: Rules) {
        if self.attempts < rules.cap {
            self.end_lease(JobState::Queued);
        } else {
            self.fail(Failure::Exhausted);
        }
    }

    /// The dead letter is written in the same transaction as the state.
    fn fail(&mut self, failure: Failure) {
        self.end_lease(JobState::Failed);
        self.failure = Some(failure);
        self.open_dead_letters += 1;
    }

    fn end_lease(&mut self, state: JobState) {
        self.state = state;
        self.leased_by = None;
        self.lease_time = None;
    }
}
