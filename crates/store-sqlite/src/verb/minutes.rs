//! Counting events by minute. They are gathered on a connection that only reads, so that nobody waits for that; the writer adds a
//! few sums and moves the mark, unless somebody else has moved it meanwhile.

use redrive_store::{FIRST_LOOK, KEEP_MINUTES, MINUTES_READER, Result};
use rusqlite::{Connection, params};

use super::record::{execute, find, list};
use crate::sql;
use crate::writer::Tx;

/// Sums of the events between two places.
pub(crate) struct Gathered {
    /// What the mark said, where there is one.
    mark: Option<String>,
    upto: i64,
    rows: usize,
    sums: Vec<Sum>,
}

struct Sum {
    minute: i64,
    workload: String,
    kind: String,
    code: String,
    took_ms: i64,
    jobs: i64,
}

pub(crate) fn gather(conn: &Connection, limit: usize) -> Result<Gathered> {
    let mark = mark(conn)?;
    // Kept in the numbers of readers, who count two events for a row.
    let after = match mark.as_deref().and_then(|text| text.parse::<i64>().ok()) {
        Some(seq) => seq.div_euclid(2),
        None => {
            let (_, newest) =
                find(conn, sql::EVENT_BOUNDS, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))?
                    .unwrap_or((0, 0));
            (newest - FIRST_LOOK).max(0)
        }
    };
    let most = i64::try_from(limit).unwrap_or(i64::MAX);
    let (upto, rows) = find(conn, sql::NEXT_EVENTS, params![after, most], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
    })?
    .unwrap_or((0, 0));
    let sums = list(conn, sql::GATHER_MINUTES, params![after, upto], |row| {
        Ok(Sum {
            minute: row.get(0)?,
            workload: row.get(1)?,
            kind: row.get(2)?,
            code: row.get(3)?,
            took_ms: row.get(4)?,
            jobs: row.get(5)?,
        })
    })?;
    Ok(Gathered { mark, upto: upto.max(after), rows: usize::try_from(rows).unwrap_or(0), sums })
}

impl Gathered {
    /// Nothing is new.
    pub(crate) const fn is_nothing(&self) -> bool {
        self.rows == 0 && self.mark.is_some()
    }
}

/// Adds the sums. Answers over how many rows that went.
pub(crate) fn add(tx: &Tx<'_>, gathered: &Gathered) -> Result<usize> {
    if mark(tx.conn)? != gathered.mark {
        return Ok(0);
    }
    for sum in &gathered.sums {
        let values = params![sum.minute, sum.workload, sum.kind, sum.code, sum.took_ms, sum.jobs];
        execute(tx.conn, sql::ADD_MINUTE, values)?;
    }
    let place = (gathered.upto * 2).to_string();
    execute(tx.conn, sql::CHANGE_SETTING, params![MINUTES_READER, place, "redrive.minutes", tx.now])?;
    let keep = i64::try_from(KEEP_MINUTES.as_millis()).unwrap_or(i64::MAX);
    execute(tx.conn, sql::FORGET_MINUTES, params![tx.now - keep])?;
    Ok(gathered.rows)
}

fn mark(conn: &Connection) -> Result<Option<String>> {
    find(conn, sql::SETTING, params![MINUTES_READER], |row| row.get(0))
}
