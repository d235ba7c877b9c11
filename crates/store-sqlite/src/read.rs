//! Looking at jobs and what belongs to them. Nothing here writes.

mod answered;
mod dead;
mod desk;
mod jobs;
mod minutes;
mod overview;
mod session;
mod token;
mod trail;

use redrive_model::Code;
use redrive_model::limits::MAX_REACH;
use redrive_store::{Page, PageRequest, Result};
use rusqlite::{Connection, Row, ToSql};

pub(crate) use answered::is_answered;
pub(crate) use dead::{count_dead, dead_letter, dead_letters, dead_letters_of, groups, matching_dead};
pub(crate) use desk::{acts, payload, replay_counts, settings};
pub(crate) use jobs::{batch, batch_failures, batches, breakers, job, jobs, matching_jobs};
pub(crate) use minutes::{dead_counts, minutes, turns};
pub(crate) use overview::{counts, next_due, paused, queues, waits_alone, workers};
pub(crate) use session::{owner_counts, session};
pub(crate) use token::{token, tokens};
pub(crate) use trail::{attempts, events_after, job_events, last_event, last_failure};

use crate::verb::record::{find, list};

/// How a list is read: rows picked by `scan` in order, and looked at by `statement`.
struct List<'a> {
    scan: &'a str,
    statement: &'a str,
    /// What of a scan is its end, in the order of the list.
    last: &'a str,
}

/// A row, the end of what was looked at for it, and how many rows that were.
type Seen<T, C> = (T, C, i64);

impl List<'_> {
    /// One page: what is found at the least of its reaches that fills it. With a full page the next one starts behind its last row, with a
    /// short one where looking stopped.
    fn page<T, C: ToString>(
        &self,
        conn: &Connection,
        named: &[(&str, &dyn ToSql)],
        page: &PageRequest,
        read: impl Fn(&Row<'_>) -> rusqlite::Result<Seen<T, C>>,
        key: impl Fn(&T) -> C,
        end: impl FnOnce(&Row<'_>) -> rusqlite::Result<C>,
    ) -> Result<Page<T>> {
        let limit = page.rows();
        let mut rows = Vec::new();
        for reach in page.reaches() {
            let mut asked = named.to_vec();
            asked.push((":scan", &reach));
            rows = list(conn, self.statement, &*asked, &read)?;
            if rows.len() == limit || rows.last().is_some_and(|(_, _, looked)| *looked < reach) {
                break;
            }
        }
        let next = match rows.last() {
            Some((last, _, _)) if rows.len() == limit => Some(key(last).to_string()),
            Some((_, end, looked)) if *looked == MAX_REACH => Some(end.to_string()),
            Some(_) => None,
            None => self.end(conn, named, end)?.map(|end| end.to_string()),
        };
        Ok(Page { rows: rows.into_iter().map(|(row, _, _)| row).collect(), next })
    }

    /// Where looking stopped when not one row matched; `None` when there was nothing more to look at.
    fn end<C>(
        &self,
        conn: &Connection,
        named: &[(&str, &dyn ToSql)],
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<C>,
    ) -> Result<Option<C>> {
        let mut used: Vec<_> = named.iter().copied().filter(|(name, _)| self.scan.contains(name)).collect();
        used.push((":scan", &MAX_REACH));
        let ends = format!("SELECT {} FROM ({}) HAVING count(*) = {MAX_REACH}", self.last, self.scan);
        find(conn, &ends, &*used, read)
    }
}

/// The names a code is stored under, as a JSON list.
fn names(code: Code) -> String {
    serde_json::to_string(&code.names()).unwrap_or_default()
}
