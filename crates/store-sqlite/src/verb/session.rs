//! Anonymous sessions: begun, seen, ended, forgotten.

use redrive_model::instant;
use redrive_store::{Result, SessionKey, SessionLife};
use rusqlite::params;

use super::record::execute;
use crate::sql;
use crate::writer::Tx;

pub(crate) fn open(tx: &Tx<'_>, key: SessionKey) -> Result<()> {
    execute(tx.conn, sql::OPEN_SESSION, params![key.as_bytes(), tx.now]).map(drop)
}

pub(crate) fn touch(tx: &Tx<'_>, key: SessionKey) -> Result<bool> {
    execute(tx.conn, sql::TOUCH_SESSION, params![key.as_bytes(), tx.now]).map(|rows| rows > 0)
}

pub(crate) fn end(tx: &Tx<'_>, key: SessionKey) -> Result<bool> {
    execute(tx.conn, sql::END_SESSION, params![key.as_bytes()]).map(|rows| rows > 0)
}

pub(crate) fn forget(tx: &Tx<'_>, life: SessionLife, limit: usize) -> Result<u64> {
    let before = |life| tx.now.saturating_sub(instant::millis(life));
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let values = params![before(life.idle), before(life.absolute), limit];
    execute(tx.conn, sql::FORGET_SESSIONS, values).map(|rows| rows as u64)
}
