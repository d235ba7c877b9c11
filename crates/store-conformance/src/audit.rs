//! Checks, through the public trait alone, what must hold after every case.
//!
//! | Invariant | Where |
//! |---|---|
//! | row shape (I1) | here |
//! | events folded = row, only legal moves (I8); one attempt per ended execution, tokens grow (I5, I6) | `trail.rs` |
//! | exactly one dead letter of the generation that failed (I10); groups and lists agree | `dead.rs` |
//! | batch counters, counts and queue equal the rows | `totals.rs` |

mod dead;
mod totals;
mod trail;

use redrive_model::State;
use redrive_store::{JobFilter, JobRow, PageRequest, Store};

/// What is looked at. Cases that remove events or attempts switch those parts off.
#[derive(Debug, Clone, Copy)]
pub struct Audit {
    /// Fold the events of every job.
    pub events: bool,
    /// Count the attempts of every job.
    pub attempts: bool,
}

impl Default for Audit {
    fn default() -> Self {
        Self { events: true, attempts: true }
    }
}

impl Audit {
    /// Looks at everything. Nobody else may write meanwhile.
    pub async fn run(self, store: &dyn Store) {
        let rows = all_jobs(store, JobFilter::default()).await;
        for row in &rows {
            shape(row);
            trail::check(self, store, row).await;
        }
        dead::check(self, store, &rows).await;
        totals::check(store, &rows).await;
    }
}

/// All jobs that a filter finds, page by page.
pub(crate) async fn all_jobs(store: &dyn Store, filter: JobFilter) -> Vec<JobRow> {
    let (mut all, mut cursor) = (Vec::new(), None);
    loop {
        let page = store.jobs(filter.clone(), PageRequest { limit: 200, cursor }).await.unwrap();
        all.extend(page.rows);
        cursor = page.next;
        if cursor.is_none() {
            return all;
        }
    }
}

/// I1: what a row of this state must have, and what it may not have.
fn shape(row: &JobRow) {
    let is = |state: State| row.state == state;
    let id = row.id;
    assert_eq!(
        row.leased_by.is_some(),
        is(State::Processing),
        "{id}: leased exactly when processing: {row:#?}"
    );
    assert_eq!(
        row.lease_expires_at.is_some(),
        is(State::Processing),
        "{id}: a lease ends exactly when processing"
    );
    assert_eq!(
        row.failure_code.is_some(),
        is(State::Failed),
        "{id}: a failure code exactly when failed: {row:#?}"
    );
    assert_eq!(
        row.failure_message.is_some(),
        is(State::Failed),
        "{id}: a failure message exactly when failed"
    );
    let result = is(State::Complete) && row.expired_at.is_none();
    assert_eq!(
        row.result.is_some(),
        result,
        "{id}: a result exactly when complete and not expired: {row:#?}"
    );
    assert_eq!(
        row.finished_at.is_some(),
        row.state.is_terminal(),
        "{id}: ended exactly when terminal: {row:#?}"
    );
    assert!(
        row.purge_at.is_none() || row.state.is_terminal(),
        "{id}: only what has ended is purged: {row:#?}"
    );
    assert!(
        row.awaits.is_none() || is(State::Queued),
        "{id}: only what is queued waits for a batch: {row:#?}"
    );
    assert!(row.expired_at.is_none() || is(State::Complete), "{id}: only what is complete expires: {row:#?}");
    let within = row.max_attempts.is_none_or(|cap| match row.state {
        State::Queued => row.attempt < cap,
        State::Processing | State::Complete | State::Failed | State::Cancelled => row.attempt <= cap,
    });
    assert!(within, "{id}: more executions than its cap: {row:#?}");
}
