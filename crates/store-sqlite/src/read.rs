//! Looking at jobs and what belongs to them. Nothing here writes.

mod dead;
mod desk;
mod jobs;
mod minutes;
mod overview;
mod session;
mod token;
mod trail;

use redrive_model::Code;
use redrive_store::Result;
use rusqlite::{Connection, Row, ToSql};

pub(crate) use dead::{count_dead, dead_letter, dead_letters, dead_letters_of, groups};
pub(crate) use desk::{acts, payload, replay_counts, settings};
pub(crate) use jobs::{batch, batch_failures, batches, breakers, count_jobs, job, jobs};
pub(crate) use minutes::{dead_counts, minutes, turns};
pub(crate) use overview::{counts, next_due, paused, queues, waits_alone, workers};
pub(crate) use session::{owner_counts, session};
pub(crate) use token::{token, tokens};
pub(crate) use trail::{attempts, events_after, job_events, last_event, last_failure};

use crate::verb::record::find;

/// A list looks at no more rows than this for one page.
const SCAN: i64 = 20_000;
/// So many rows for each that is wanted are looked at first.
const NEAR: i64 = 2;

/// Where looking stopped when not one row matched; `None` when there was nothing more to look at.
fn end_of_scan<T>(
    conn: &Connection,
    last: &str,
    scan: &str,
    named: &[(&str, &dyn ToSql)],
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Option<T>> {
    let used: Vec<_> = named.iter().copied().filter(|(name, _)| scan.contains(name)).collect();
    let ends = format!("SELECT {last} FROM ({scan}) HAVING count(*) = {SCAN}");
    find(conn, &ends, &*used, read)
}

/// The names a code is stored under, as a JSON list.
fn names(code: Code) -> String {
    serde_json::to_string(&code.names()).unwrap_or_default()
}
