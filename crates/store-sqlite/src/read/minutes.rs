//! What was counted: events by minute, dead letters by code, and what breakers did.

use redrive_model::breaker::{Deed, Turn};
use redrive_model::{Code, Target, Timestamp, WorkloadName, instant};
use redrive_store::{DeadCount, EventKind, MinuteRow, Page, PageRequest, Result, TurnRow};
use rusqlite::{Connection, params};

use crate::row;
use crate::sql;
use crate::verb::record::list;

pub(crate) fn minutes(conn: &Connection, since: Timestamp, per_slot: u32) -> Result<Vec<MinuteRow>> {
    let slot = i64::from(per_slot.max(1)) * 60_000;
    list(conn, sql::MINUTES, params![instant::to_millis(since), slot], |row| {
        Ok(MinuteRow {
            slot: row.get(0)?,
            workload: row::checked(row, 1, str::parse::<WorkloadName>)?,
            kind: row::word(row, 2, EventKind::parse)?,
            code: Some(row.get::<_, String>(3)?)
                .filter(|code| !code.is_empty())
                .map(|code| Code::parse(&code).unwrap_or(Code::Unknown)),
            took_ms: Some(row.get::<_, i64>(4)?).filter(|took| *took > 0),
            jobs: u64::try_from(row.get::<_, i64>(5)?).unwrap_or(0),
        })
    })
}

pub(crate) fn dead_counts(conn: &Connection) -> Result<Vec<DeadCount>> {
    list(conn, sql::DEAD_COUNTS, [], |row| {
        Ok(DeadCount {
            workload: row::checked(row, 0, str::parse::<WorkloadName>)?,
            code: row::code(row, 1)?.unwrap_or(Code::Unknown),
            groups: u64::try_from(row.get::<_, i64>(2)?).unwrap_or(0),
            open: u64::try_from(row.get::<_, i64>(3)?).unwrap_or(0),
        })
    })
}

pub(crate) fn turns(conn: &Connection, target: Option<&Target>, page: &PageRequest) -> Result<Page<TurnRow>> {
    let limit = page.rows();
    let before = page.after::<i64>()?;
    let values = params![target.map(Target::as_str), before, i64::try_from(limit).unwrap_or(50)];
    let rows = list(conn, sql::BREAKER_TURNS, values, |row| {
        let turn = Turn { deed: row::word(row, 3, Deed::parse)?, why: row.get(4)?, by: row.get(5)? };
        let target = row::checked(row, 1, str::parse::<Target>)?;
        Ok(TurnRow { number: row.get(0)?, target, at: row::at(row, 2)?, turn })
    })?;
    let next = rows.last().filter(|_| rows.len() == limit).map(|last| last.number.to_string());
    Ok(Page { rows, next })
}
