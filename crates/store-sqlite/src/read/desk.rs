//! The audit trail, settings, payloads, and where a replay's jobs are.

use redrive_model::{JobId, ReplayId, State};
use redrive_store::{ActRow, NewAct, Page, PageRequest, Payload, ReplayCounts, Result, Scope, SettingRow};
use rusqlite::{Connection, params};

use crate::row::{self, blob};
use crate::sql;
use crate::verb::record::{find, list};

pub(crate) fn acts(conn: &Connection, page: &PageRequest) -> Result<Page<ActRow>> {
    let limit = page.rows();
    let before = page.after::<i64>()?;
    let rows = list(conn, sql::ACTS, params![before, i64::try_from(limit).unwrap_or(50)], |row| {
        let act = NewAct {
            actor: row.get(2)?,
            action: row.get(3)?,
            subject: row.get(4)?,
            reason: row.get(5)?,
            scope: row.get::<_, Option<String>>(7)?.as_deref().and_then(Scope::parse),
            request_id: row.get(8)?,
        };
        Ok(ActRow {
            number: row.get(0)?,
            at: row::at(row, 1)?,
            act,
            outcome: row.get(6)?,
            before: row.get(9)?,
            after: row.get(10)?,
        })
    })?;
    let next = rows.last().filter(|_| rows.len() == limit).map(|last| last.number.to_string());
    Ok(Page { rows, next })
}

pub(crate) fn settings(conn: &Connection, prefix: &str) -> Result<Vec<SettingRow>> {
    list(conn, sql::SETTINGS, params![prefix], |row| {
        Ok(SettingRow { key: row.get(0)?, value: row.get(1)?, by: row.get(2)?, at: row::at(row, 3)? })
    })
}

pub(crate) fn payload(conn: &Connection, job: JobId) -> Result<Option<Payload>> {
    find(conn, sql::PAYLOAD, params![blob(job.as_uuid())], |row| {
        Ok(Payload { input: row.get(0)?, state: row.get(1)? })
    })
}

pub(crate) fn replay_counts(conn: &Connection, replay: ReplayId) -> Result<ReplayCounts> {
    let mut counts = ReplayCounts::default();
    for (state, n) in list(conn, sql::REPLAY_COUNTS, params![blob(replay.as_uuid())], |row| {
        Ok((row::word(row, 0, State::parse)?, row.get::<_, i64>(1)?))
    })? {
        *counts.of(state) += u64::try_from(n).unwrap_or(0);
    }
    Ok(counts)
}
