//! The audit trail, settings, payloads, and where a replay's jobs are.

use redrive_model::{JobId, ReplayId, State, instant};
use redrive_store::{
    ActFilter, ActRow, NewAct, Page, PageRequest, Payload, ReplayCounts, Result, Scope, SettingRow,
};
use rusqlite::{Connection, Row, named_params, params};

use super::List;
use crate::row::{self, blob};
use crate::sql::{self, scan};
use crate::verb::record::{find, list};

pub(crate) fn acts(conn: &Connection, filter: &ActFilter, page: &PageRequest) -> Result<Page<ActRow>> {
    let before = page.after::<i64>()?;
    let limit = i64::try_from(page.rows()).unwrap_or(50);
    let since = filter.since.map(instant::to_millis);
    let named = named_params! {
        ":before": before, ":limit": limit, ":actor": filter.actor, ":action": filter.action, ":subject": filter.subject,
        ":since": since, ":request": filter.request_id,
    };
    let statement = sql::ACTS.replace("{scan}", scan::ACTS);
    List { scan: scan::ACTS, statement: &statement, last: "min(number)" }.page(
        conn,
        named,
        page,
        |row| Ok((act_row(row)?, row.get(11)?, row.get(12)?)),
        |act| act.number,
        |row| row.get::<_, i64>(0),
    )
}

fn act_row(row: &Row<'_>) -> rusqlite::Result<ActRow> {
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
