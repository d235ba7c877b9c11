//! Sessions that live, and what their owners have.

use redrive_model::{Owner, Shown, Timestamp, instant};
use redrive_store::{MAX_OWNER_COUNT, Result, SessionKey, SessionLife, SessionRow, ShownCount};
use rusqlite::{Connection, params};

use crate::row;
use crate::sql;
use crate::verb::record::{find, list};

pub(crate) fn session(
    conn: &Connection,
    now: Timestamp,
    key: SessionKey,
    life: SessionLife,
) -> Result<Option<SessionRow>> {
    let before = |life| instant::to_millis(now).saturating_sub(instant::millis(life));
    let values = params![key.as_bytes(), before(life.idle), before(life.absolute)];
    find(conn, sql::SESSION, values, |row| {
        let seen_at = row::at(row, 1)?;
        let unseen = instant::between(seen_at, now);
        let token = row::opt_checked(row, 2, str::parse)?;
        Ok(SessionRow { created_at: row::at(row, 0)?, seen_at, unseen, token })
    })
}

pub(crate) fn owner_counts(conn: &Connection, now: Timestamp, owner: &Owner) -> Result<Vec<ShownCount>> {
    let bound = i64::try_from(MAX_OWNER_COUNT).unwrap_or(i64::MAX);
    list(conn, sql::OWNER_COUNTS, params![instant::to_millis(now), owner.as_str(), bound], |row| {
        let jobs = u64::try_from(row.get::<_, i64>(1)?).unwrap_or(0);
        Ok(ShownCount { shown: row::word(row, 0, Shown::parse)?, jobs })
    })
}
