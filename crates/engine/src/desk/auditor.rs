//! Looks at every job and says where it is: exactly one of runnable, waiting, leased, held, dead, done. Whatever is none or
//! several of these, or is counted wrongly, is a violation that people should hear of.

use std::collections::{BTreeMap, HashMap};

use redrive_model::{BatchState, JobId, Shown, State, Timestamp, WorkloadName, instant};
use redrive_store::{Counts, DeadFilter, DeadState, GroupFilter, JobFilter, JobRow, PageRequest, Store};

use crate::{Engine, Result};

/// Lists at most so many violations.
const MOST: usize = 1_000;
/// A lease that ran out so many lease times ago should have been taken back.
const OVERDUE_LEASES: u32 = 3;

/// What is said of a lease that ran out and that nobody has taken back: so it is while no worker runs.
pub const LEASE_OVERDUE: &str = "its lease ran out long ago and nobody has taken it back";

/// Where a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// Could run now.
    Runnable,
    /// Waits for its time, or for a batch.
    Waiting,
    /// Runs under a lease.
    Leased,
    /// Behind a target that lets nobody pass.
    Held,
    /// Given up, and kept for people.
    Dead,
    /// Complete or cancelled.
    Done,
}

/// Something that must not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The job it is about, where it is about one.
    pub job: Option<JobId>,
    /// What is wrong.
    pub what: String,
}

/// What the auditor found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditReport {
    /// How many jobs were looked at.
    pub jobs: u64,
    /// Where they are.
    pub places: BTreeMap<Place, u64>,
    /// What must not be; at most a thousand are listed.
    pub violations: Vec<Violation>,
    /// Jobs moved while they were counted, so counters could not be compared with rows.
    pub moved: bool,
}

impl AuditReport {
    /// Whether everything is as it must be.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.violations.is_empty()
    }

    fn wrong(&mut self, job: Option<JobId>, what: impl Into<String>) {
        if self.violations.len() < MOST {
            self.violations.push(Violation { job, what: what.into() });
        }
    }
}

impl Engine {
    /// Looks at every job. Reads page by page, so it may run beside the work; it takes as long as there are jobs.
    pub async fn audit(&self) -> Result<AuditReport> {
        let store = &**self.store();
        let since = store.now().await?;
        let letters = self.letters().await?;
        let before = store.counts().await?;
        let mut report = AuditReport::default();
        let mut rows: HashMap<(WorkloadName, State), u64> = HashMap::new();
        let mut cursor = None;
        loop {
            let page = store.jobs(JobFilter::default(), PageRequest { limit: 200, cursor }).await?;
            let now = store.now().await?;
            for row in &page.rows {
                report.jobs += 1;
                *rows.entry((row.workload.clone(), row.state)).or_default() += 1;
                let place = place(row);
                *report.places.entry(place).or_default() += 1;
                self.look(&mut report, row, now, since, &letters).await?;
            }
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        report.moved = store.counts().await? != before;
        if !report.moved {
            compare(&mut report, &before, &rows);
        }
        self.groups_agree(store, &mut report).await?;
        Ok(report)
    }

    async fn look(
        &self,
        report: &mut AuditReport,
        row: &JobRow,
        now: Timestamp,
        since: Timestamp,
        letters: &HashMap<JobId, (u32, u32)>,
    ) -> Result<()> {
        shape(report, row);
        match row.state {
            State::Processing => {
                let bound = self.options().lease_ttl.saturating_mul(OVERDUE_LEASES) + self.options().sweep();
                if row.lease_expires_at.is_some_and(|end| instant::between(end, now) > bound) {
                    report.wrong(Some(row.id), LEASE_OVERDUE);
                }
            }
            State::Queued => {
                if let Some(id) = row.awaits {
                    let batch = self.store().batch(id).await?;
                    if batch.is_none_or(|batch| batch.state != BatchState::Processing)
                        && self.still(row).await?
                    {
                        report.wrong(
                            Some(row.id),
                            format!("it waits for batch {id}, which has ended or is gone"),
                        );
                    }
                }
            }
            // One that was refused at the door never ran and makes no dead letter.
            State::Failed if row.attempt > 0 && row.finished_at.is_some_and(|at| at < since) => {
                let found = letters.get(&row.id).filter(|(generation, _)| *generation == row.generation);
                if found.is_none_or(|(_, n)| *n != 1) && self.still(row).await? {
                    let n = found.map_or(0, |(_, n)| *n);
                    report.wrong(Some(row.id), format!("it failed and has {n} dead letters instead of one"));
                }
            }
            State::Failed | State::Complete | State::Cancelled => {}
        }
        Ok(())
    }

    /// How many dead letters every job has of its newest generation that has one. Those that a retry closed are history.
    async fn letters(&self) -> Result<HashMap<JobId, (u32, u32)>> {
        let mut letters: HashMap<JobId, (u32, u32)> = HashMap::new();
        for state in [DeadState::Open, DeadState::Discarded] {
            let filter = DeadFilter { state: Some(state), ..DeadFilter::default() };
            let mut cursor = None;
            loop {
                let page =
                    self.store().dead_letters(filter.clone(), PageRequest { limit: 200, cursor }).await?;
                for dead in page.rows {
                    let entry = letters.entry(dead.job).or_insert((dead.generation, 0));
                    if dead.generation > entry.0 {
                        *entry = (dead.generation, 0);
                    }
                    entry.1 += u32::from(dead.generation == entry.0);
                }
                cursor = page.next;
                if cursor.is_none() {
                    break;
                }
            }
        }
        Ok(letters)
    }

    /// Whether nobody has touched the job since we read it.
    async fn still(&self, row: &JobRow) -> Result<bool> {
        Ok(self.store().job(row.id).await?.as_ref().is_some_and(|now| {
            (now.state, now.generation, now.token, now.awaits)
                == (row.state, row.generation, row.token, row.awaits)
        }))
    }

    /// The open letters of a group are as many as it says.
    async fn groups_agree(&self, store: &dyn Store, report: &mut AuditReport) -> Result<()> {
        let mut cursor = None;
        loop {
            let page = store.groups(GroupFilter::default(), PageRequest { limit: 200, cursor }).await?;
            for group in &page.rows {
                let filter = DeadFilter { group: Some(group.fingerprint.clone()), ..DeadFilter::default() };
                let open = store.count_dead(filter).await?;
                if open != group.open && !report.moved {
                    let what = format!(
                        "group {} says {} open dead letters, there are {open}",
                        group.fingerprint, group.open
                    );
                    report.wrong(None, what);
                }
            }
            cursor = page.next;
            if cursor.is_none() {
                return Ok(());
            }
        }
    }
}

fn place(row: &JobRow) -> Place {
    match row.shown {
        Shown::Queued => Place::Runnable,
        Shown::Scheduled | Shown::WaitingRetry | Shown::WaitingBatch => Place::Waiting,
        Shown::Held => Place::Held,
        Shown::Processing => Place::Leased,
        Shown::Failed => Place::Dead,
        Shown::Complete | Shown::Partial | Shown::Cancelled => Place::Done,
    }
}

/// What a row of this state must have, and what it may not have.
fn shape(report: &mut AuditReport, row: &JobRow) {
    let is = |state: State| row.state == state;
    let rules = [
        (row.leased_by.is_some() == is(State::Processing), "is leased exactly when it runs"),
        (
            row.lease_expires_at.is_some() == is(State::Processing),
            "has an end of its lease exactly when it runs",
        ),
        (row.failure_code.is_some() == is(State::Failed), "has a failure exactly when it failed"),
        (
            row.result.is_some() == (is(State::Complete) && row.expired_at.is_none()),
            "has a result exactly when it is complete and not expired",
        ),
        (row.finished_at.is_some() == row.state.is_terminal(), "has an end exactly when it ended"),
        (row.awaits.is_none() || is(State::Queued), "waits for a batch only when it is queued"),
        (row.max_attempts.is_none_or(|cap| row.attempt <= cap), "has no more executions than its cap"),
    ];
    for (holds, rule) in rules {
        if !holds {
            report.wrong(Some(row.id), format!("a job {rule}: this one is {}", row.state.as_str()));
        }
    }
}

/// Counters equal rows.
fn compare(report: &mut AuditReport, counts: &Counts, rows: &HashMap<(WorkloadName, State), u64>) {
    let counted: HashMap<(WorkloadName, State), u64> =
        counts.states.iter().map(|count| ((count.workload.clone(), count.state), count.jobs)).collect();
    for key in counted.keys().chain(rows.keys()) {
        let (says, are) = (counted.get(key).copied().unwrap_or(0), rows.get(key).copied().unwrap_or(0));
        if says != are {
            report.wrong(None, format!("{} {} jobs are counted, there are {are}", says, key.1.as_str()));
        }
    }
}
